# SPDX-FileCopyrightText: 2026 The pactrain authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Run by the tests of pactrain_add_compile_failure: compiles SECTION of SOURCE.

list(TRANSFORM INCLUDES PREPEND "-I")
execute_process(
  COMMAND ${COMPILER} ${OPTIONS} -D${SECTION} ${INCLUDES} -c ${SOURCE} -o /dev/null
  RESULT_VARIABLE result
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output)
if(result EQUAL 0)
  message(FATAL_ERROR "${SECTION} compiles, and must not.")
endif()

file(READ ${SOURCE} source)
string(REGEX MATCHALL "// expect\\(${SECTION}\\): [^\n]*" expected "${source}")
foreach(line IN LISTS expected)
  string(REGEX REPLACE "^// expect\\([^)]*\\): " "" sentence "${line}")
  string(FIND "${output}" "${sentence}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "${SECTION} does not compile, as it must not, but the compiler does not "
                        "say \"${sentence}\". It says:\n${output}")
  endif()
endforeach()
