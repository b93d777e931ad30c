# SPDX-FileCopyrightText: 2026 The pactrain authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(config_dir ${CMAKE_INSTALL_DATADIR}/cmake/pactrain)
set(pkgconfig_dir ${CMAKE_INSTALL_DATADIR}/pkgconfig)

# An export set for each component, so that the package's config file reads only what is asked for.
foreach(component IN LISTS PACTRAIN_COMPONENTS)
  set(target pactrain_${component})
  if(component STREQUAL "pactrain")
    set(target pactrain)
  endif()
  install(TARGETS ${target} EXPORT ${target} FILE_SET HEADERS FILE_SET device)
  install(EXPORT ${target} NAMESPACE pactrain:: DESTINATION ${config_dir}
          FILE pactrain-${component}-targets.cmake)
endforeach()

configure_package_config_file(cmake/pactrain-config.cmake.in pactrain-config.cmake
                              INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(pactrain-config-version.cmake COMPATIBILITY SameMinorVersion
                                 ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/pactrain-config.cmake
              ${PROJECT_BINARY_DIR}/pactrain-config-version.cmake DESTINATION ${config_dir})
install(DIRECTORY cmake/modules DESTINATION ${config_dir})

configure_file(cmake/pactrain.pc.in pactrain.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/pactrain.pc DESTINATION ${pkgconfig_dir})
if(PACTRAIN_HAS_MPI)
  get_target_property(mpi_cflags MPI::MPI_CXX INTERFACE_INCLUDE_DIRECTORIES)
  get_target_property(mpi_libs MPI::MPI_CXX INTERFACE_LINK_LIBRARIES)
  list(TRANSFORM mpi_cflags PREPEND "-isystem ")
  list(JOIN mpi_cflags " " mpi_cflags)
  list(JOIN mpi_libs " " mpi_libs)
  configure_file(cmake/pactrain-mpi.pc.in pactrain-mpi.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/pactrain-mpi.pc DESTINATION ${pkgconfig_dir})
endif()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
