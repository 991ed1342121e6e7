# bigbird_discover_suites(target prefix): one test of ctest for each suite of a GoogleTest program, PREFIX/SUITE. CMake's own
# gtest_discover_tests starts the program once for each test, and a fixture that trains a model for all tests of its suite
# then trains it for each of them. The list is made when ctest starts, and again when the program has changed.
# Part of the project's files, and (with BIGBIRD_SUITES_OF set) the script that ctest includes: one file, so that both agree.
if(NOT DEFINED BIGBIRD_SUITES_OF)
  function(bigbird_discover_suites target prefix)
    set(script "${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake")
    file(GENERATE OUTPUT "${script}" CONTENT "set(BIGBIRD_SUITES_OF \"$<TARGET_FILE:${target}>\")
set(BIGBIRD_SUITES_PREFIX \"${prefix}\")
set(BIGBIRD_SUITES_LIST \"${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.txt\")
include(\"${CMAKE_SOURCE_DIR}/cmake/BigbirdSuites.cmake\")
unset(BIGBIRD_SUITES_OF)
")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${script}")
  endfunction()
  return()
endif()

if(NOT EXISTS "${BIGBIRD_SUITES_OF}")  # as CMake's own: a test that says what is missing
  add_test("${BIGBIRD_SUITES_PREFIX}_NOT_BUILT" "${BIGBIRD_SUITES_OF}")
  return()
endif()
if("${BIGBIRD_SUITES_OF}" IS_NEWER_THAN "${BIGBIRD_SUITES_LIST}")
  execute_process(COMMAND "${BIGBIRD_SUITES_OF}" --gtest_list_tests OUTPUT_VARIABLE suites_ ERROR_VARIABLE error_
    RESULT_VARIABLE status_)
  if(NOT status_ EQUAL 0)
    message(FATAL_ERROR "${BIGBIRD_SUITES_OF} --gtest_list_tests ended with ${status_}: ${error_}")
  endif()
  string(REGEX MATCHALL "(^|\n)[^ \n]+\\.( |\n)" suites_ "${suites_}")
  string(REGEX REPLACE "[ \n]" "" suites_ "${suites_}")
  file(WRITE "${BIGBIRD_SUITES_LIST}" "${suites_}")
endif()
file(READ "${BIGBIRD_SUITES_LIST}" suites_)
foreach(suite_ IN LISTS suites_)
  string(REGEX REPLACE "\\.$" "" name_ "${suite_}")
  add_test("${BIGBIRD_SUITES_PREFIX}/${name_}" "${BIGBIRD_SUITES_OF}" "--gtest_filter=${suite_}*")
  set_tests_properties("${BIGBIRD_SUITES_PREFIX}/${name_}" PROPERTIES TIMEOUT 1200 LABELS "${BIGBIRD_SUITES_PREFIX}")
endforeach()
