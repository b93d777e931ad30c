# SPDX-FileCopyrightText: 2026 The pactrain authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Kokkos by its own package, repaired where a distribution's is broken: Debian's target
# Kokkos::kokkos names an include directory that does not exist, and CMake would stop at it. The
# package's variables say where the headers are. Nothing is changed where all is well.

# Debian's package would turn compiler extensions off, for the whole project and for good.
if(NOT DEFINED CMAKE_CXX_EXTENSIONS)
  set(CMAKE_CXX_EXTENSIONS OFF)
  set(pactrain_unset_extensions TRUE)
endif()
find_package(Kokkos QUIET CONFIG)
if(pactrain_unset_extensions)
  unset(CMAKE_CXX_EXTENSIONS)
  unset(pactrain_unset_extensions)
endif()

if(TARGET Kokkos::kokkos)
  get_target_property(pactrain_directories Kokkos::kokkos INTERFACE_INCLUDE_DIRECTORIES)
  foreach(directory IN LISTS pactrain_directories)
    if(IS_ABSOLUTE "${directory}" AND NOT EXISTS "${directory}" AND Kokkos_INCLUDE_DIRS)
      set_target_properties(Kokkos::kokkos PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
                                                      "${Kokkos_INCLUDE_DIRS}")
    endif()
  endforeach()
  unset(pactrain_directories)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Kokkos REQUIRED_VARS Kokkos_DIR VERSION_VAR Kokkos_VERSION)
