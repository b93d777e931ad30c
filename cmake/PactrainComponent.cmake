# SPDX-FileCopyrightText: 2026 The pactrain authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Whoever brings pactrain in by add_subdirectory must see what it found.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
# Open MPI's C++ bindings, long removed from the standard, would be linked otherwise.
set(MPI_CXX_SKIP_MPICXX ON)
# Find modules for packages that some distributions ship broken.
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR}/modules)

# pactrain_component(NAME name NEEDS imported-target FIND package [COMPONENTS component...])
#
# Makes the interface target pactrain::<name> of the headers in include/pactrain/<name>, which needs
# an imported target of a package. The component `pactrain` is the core: all that is in no other.
# PACTRAIN_ENABLE_<NAME> says whether tests, benchmarks and examples of the component are built:
# AUTO (if the package is found), ON (or fail), OFF; PACTRAIN_HAS_<NAME> says whether they are. The
# headers are installed in any case: it is their user who needs the package.
function(pactrain_component)
  cmake_parse_arguments(arg "" "NAME;NEEDS" "FIND" ${ARGN})
  string(TOUPPER ${arg_NAME} upper)
  set(base ${PROJECT_SOURCE_DIR}/include)

  if(arg_NAME STREQUAL "pactrain")
    set(target pactrain)
    set(enable ON)
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${base}/pactrain/*.hpp)
    list(FILTER headers EXCLUDE REGEX "/pactrain/(openmp|mpi|kokkos|cuda|nccl|torch)/")
  else()
    set(target pactrain_${arg_NAME})
    set(PACTRAIN_ENABLE_${upper} AUTO CACHE STRING "Build what needs pactrain::${arg_NAME}")
    set_property(CACHE PACTRAIN_ENABLE_${upper} PROPERTY STRINGS AUTO ON OFF)
    set(enable ${PACTRAIN_ENABLE_${upper}})
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${base}/pactrain/${arg_NAME}/*.hpp)
    file(GLOB_RECURSE device_headers CONFIGURE_DEPENDS ${base}/pactrain/${arg_NAME}/*.cuh)
  endif()

  if(enable STREQUAL "AUTO")
    find_package(${arg_FIND} QUIET)
  elseif(enable)
    find_package(${arg_FIND} REQUIRED)
  endif()
  set(has FALSE)
  if(enable AND TARGET ${arg_NEEDS})
    set(has TRUE)
  else()
    message(STATUS "pactrain: without ${arg_NEEDS}, nothing that needs pactrain::${arg_NAME} "
                   "is built here (PACTRAIN_ENABLE_${upper} is ${enable})")
  endif()
  set(PACTRAIN_HAS_${upper} ${has} PARENT_SCOPE)

  add_library(${target} INTERFACE)
  add_library(pactrain::${arg_NAME} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${arg_NAME})
  target_sources(${target} INTERFACE FILE_SET HEADERS BASE_DIRS ${base} FILES ${headers})
  # Only a device compiler reads these: they are installed, and left out of header verification.
  target_sources(${target} INTERFACE FILE_SET device TYPE HEADERS BASE_DIRS ${base}
                                     FILES ${device_headers})
  set_target_properties(${target} PROPERTIES INTERFACE_HEADER_SETS_TO_VERIFY HEADERS)
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_link_libraries(${target} INTERFACE ${arg_NEEDS})
  if(NOT target STREQUAL "pactrain")
    target_link_libraries(${target} INTERFACE pactrain)
  endif()
  if(PROJECT_IS_TOP_LEVEL AND has)
    set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  endif()
  set(PACTRAIN_COMPONENTS ${PACTRAIN_COMPONENTS} ${arg_NAME} PARENT_SCOPE)
endfunction()
