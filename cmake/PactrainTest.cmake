# SPDX-FileCopyrightText: 2026 The pactrain authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# What mpirun is told goes by the environment, so that one command line fits every MPI. Ranks share
# cores with each other and with other tests; the leaks and lock orders are Open MPI's own.
set(PACTRAIN_MPI_ENVIRONMENT
    OMPI_ALLOW_RUN_AS_ROOT=1
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_rmaps_base_oversubscribe=1
    OMPI_MCA_hwloc_base_binding_policy=none
    OMPI_MCA_mpi_yield_when_idle=1
    OMPI_MCA_btl_tcp_flags=send,inplace
    OMPI_MCA_btl_vader_single_copy_mechanism=none
    PRTE_ALLOW_RUN_AS_ROOT=1
    PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
    PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
    PMIX_MCA_gds=hash
    ASAN_OPTIONS=detect_leaks=0
    "TSAN_OPTIONS=detect_deadlocks=0 ignore_noninstrumented_modules=1")

# pactrain_register(NAME name COMMAND command... [RANKS n...] [TIMEOUT seconds] [LABELS label...])
#
# Registers a command with ctest; with RANKS, once under mpirun for each number of ranks.
function(pactrain_register)
  cmake_parse_arguments(arg "" "NAME;TIMEOUT" "COMMAND;RANKS;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 900)
  endif()
  if(NOT arg_RANKS)
    add_test(NAME ${arg_NAME} COMMAND ${arg_COMMAND})
    set_tests_properties(${arg_NAME} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}")
  endif()
  foreach(ranks IN LISTS arg_RANKS)
    set(name ${arg_NAME}.ranks_${ranks})
    add_test(NAME ${name} COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks}
                                  ${arg_COMMAND})
    set_tests_properties(
      ${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "mpi;${arg_LABELS}" PROCESSORS ${ranks}
                         ENVIRONMENT "${PACTRAIN_MPI_ENVIRONMENT}")
  endforeach()
endfunction()

# What pactrain_add_test adds, without the programs that only check the build and without what is
# marked PLAIN: the tests that are run under sanitizers.
add_custom_target(pactrain_suites)

# pactrain_add_test(NAME name SOURCES file... [LIBS target...] [MAIN object-library] [PLAIN] [KERNELS] ...)
#
# A doctest executable and its registration, of which it takes RANKS, TIMEOUT and LABELS. MAIN is what
# holds main(); pactrain_test_main unless named. PLAIN tests are not run under sanitizers: they
# instantiate once more what others have instantiated, and compiling is what takes the time. For the
# same reason only tests of KERNELS, where running takes longer, are optimised; the whole is by
# benchmarks and the demo. Without PACTRAIN_BUILD_SUITES only PLAIN tests and those of KERNELS are built:
# the others are the same, unoptimised, under sanitizers.
function(pactrain_add_test)
  cmake_parse_arguments(arg "PLAIN;KERNELS" "NAME;MAIN;TIMEOUT" "SOURCES;LIBS;RANKS;LABELS" ${ARGN})
  if(NOT arg_MAIN)
    set(arg_MAIN pactrain_test_main)
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_include_directories(${arg_NAME} PRIVATE ${PROJECT_SOURCE_DIR}/test)
  target_link_libraries(${arg_NAME} PRIVATE ${arg_MAIN} pactrain::pactrain ${arg_LIBS}
                                            pactrain_warnings)
  if(arg_KERNELS)
    target_compile_options(${arg_NAME} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O1>)
  else()
    target_compile_options(${arg_NAME} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O0>)
  endif()
  if(NOT (PACTRAIN_BUILD_SUITES OR arg_PLAIN OR arg_KERNELS))
    set_target_properties(${arg_NAME} PROPERTIES EXCLUDE_FROM_ALL TRUE)
    return()
  endif()
  if(arg_PLAIN)
    list(APPEND arg_LABELS plain)
  else()
    add_dependencies(pactrain_suites ${arg_NAME})
  endif()
  pactrain_register(NAME ${arg_NAME} COMMAND ${arg_NAME} RANKS ${arg_RANKS} LABELS ${arg_LABELS}
                    TIMEOUT ${arg_TIMEOUT})
endfunction()

# pactrain_add_compile_failure(NAME name SOURCE file [LIBS target...])
#
# Tests that wrong use does not compile, and says why. The source names the sentence that each of
# its sections must make the compiler print, once or more:
#
#     // expect(short_mask): a mask needs as many bits as the gradient has entries
#     #ifdef short_mask
#     ...
#     #endif
#
# Without any section the source must compile.
function(pactrain_add_compile_failure)
  cmake_parse_arguments(arg "" "NAME;SOURCE" "LIBS" ${ARGN})
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${arg_SOURCE})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(STRINGS ${source} sections REGEX "^// expect\\([a-z0-9_]+\\): ")
  list(TRANSFORM sections REPLACE "^// expect\\(([a-z0-9_]+)\\).*" "\\1")
  list(REMOVE_DUPLICATES sections)
  if(NOT sections)
    message(FATAL_ERROR "${arg_SOURCE} expects nothing. Write a line '// expect(section): sentence'?")
  endif()

  add_library(${arg_NAME} OBJECT ${arg_SOURCE})
  target_link_libraries(${arg_NAME} PRIVATE pactrain::pactrain ${arg_LIBS} pactrain_warnings)
  foreach(section IN LISTS sections)
    add_test(NAME ${arg_NAME}.${section}
             COMMAND ${CMAKE_COMMAND} -D COMPILER=${CMAKE_CXX_COMPILER} -D SOURCE=${source}
                     -D SECTION=${section}
                     -D "INCLUDES=$<TARGET_PROPERTY:${arg_NAME},INCLUDE_DIRECTORIES>"
                     -D "OPTIONS=${CMAKE_CXX20_STANDARD_COMPILE_OPTION}"
                     -P ${PROJECT_SOURCE_DIR}/cmake/ExpectCompileFailure.cmake)
    set_tests_properties(${arg_NAME}.${section} PROPERTIES TIMEOUT 300 LABELS fail)
  endforeach()
endfunction()
