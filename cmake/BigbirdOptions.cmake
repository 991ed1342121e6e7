# Compile options of our own targets: warnings, sanitizers, the include root.
add_library(bigbird_options INTERFACE)
target_include_directories(bigbird_options INTERFACE "${CMAKE_SOURCE_DIR}")
# nvcc is given them for its host compiler. It writes code of its own, which -Wconversion would not like.
set(bigbird_warnings -Wall -Wextra -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND bigbird_warnings -Wno-restrict)  # g++ 12 sees overlaps in std::string's operator+
endif()
target_compile_options(bigbird_options INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${bigbird_warnings};-Wconversion;-Wsign-conversion>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=$<JOIN:${bigbird_warnings},$<COMMA>>>")
# One rounding everywhere: contraction into fused multiply-adds would differ between compilers and levels of the CPU.
# Kernels that want FMA ask for it by name.
target_compile_options(bigbird_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)
# g++ collects its garbage more seldom where there is memory for it: an eighth of the time to compile, and half a GB more.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  cmake_host_system_information(RESULT bigbird_memory QUERY TOTAL_PHYSICAL_MEMORY)  # MiB
  cmake_host_system_information(RESULT bigbird_processors QUERY NUMBER_OF_LOGICAL_CORES)
  math(EXPR bigbird_memory_each "${bigbird_memory} / (${bigbird_processors} + 1)")
  if(bigbird_memory_each GREATER 4000)
    target_compile_options(bigbird_options INTERFACE
      "$<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-expand=300;--param=ggc-min-heapsize=1000000>")
  endif()
endif()
if(BIGBIRD_WERROR)
  target_compile_options(bigbird_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Werror> "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>")
endif()
# Lines in what a sanitizer says of a defect: a sixth of the time to compile. CI goes without (UBSan names them all the
# same); who looks for a defect builds with them.
set(BIGBIRD_SANITIZE_LINES "-g1" CACHE STRING "Debug information under a sanitizer: -g1, -g, or -g0 for none")
if(BIGBIRD_SANITIZE STREQUAL "address")
  # Not asked at every access to a member: is the pointer null (ASan says so where it is used), does it belong to an object
  # of this size or class, does its arithmetic wrap. A sixth of the time to compile.
  target_compile_options(bigbird_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all
    -fno-sanitize=null,object-size,vptr,pointer-overflow -fno-omit-frame-pointer ${BIGBIRD_SANITIZE_LINES})
  # At fixed addresses: of a program that starts in 0.16 s 0.06 s are relocations of what the sanitizers note of its globals.
  target_link_options(bigbird_options INTERFACE -fsanitize=address,undefined
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
  target_compile_definitions(bigbird_options INTERFACE BIGBIRD_ADDRESS_SANITIZER)  # compilers name it differently
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")  # every program; why: in the file
    add_library(bigbird_openmp_file OBJECT "${CMAKE_SOURCE_DIR}/tests/support/sanitized/openmp_file.cpp")
    target_link_libraries(bigbird_options INTERFACE $<TARGET_OBJECTS:bigbird_openmp_file>)
  endif()
elseif(BIGBIRD_SANITIZE STREQUAL "thread")
  # ThreadSanitizer does not understand libgomp: BigbirdDependencies takes no OpenMP.
  target_compile_options(bigbird_options INTERFACE -fsanitize=thread ${BIGBIRD_SANITIZE_LINES})
  target_link_options(bigbird_options INTERFACE -fsanitize=thread)
  target_compile_definitions(bigbird_options INTERFACE BIGBIRD_THREAD_SANITIZER)
elseif(NOT BIGBIRD_SANITIZE STREQUAL "")
  message(FATAL_ERROR "BIGBIRD_SANITIZE=${BIGBIRD_SANITIZE}: use address or thread")
endif()
# For files with kernels of the emulated device: a call at every access to memory, which kernels/cuda/emulation answers
# (global_watch.h). ThreadSanitizer's library, for which compilers make these calls, is not linked.
set(BIGBIRD_WATCHED_ACCESSES "")
if(BIGBIRD_SANITIZE STREQUAL "" AND NOT BIGBIRD_FUZZ)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(BIGBIRD_WATCHED_ACCESSES -fsanitize=thread --param=tsan-instrument-func-entry-exit=0)
  elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    set(BIGBIRD_WATCHED_ACCESSES -fsanitize=thread -mllvm -tsan-instrument-func-entry-exit=0)
  endif()
endif()
target_compile_definitions(bigbird_options INTERFACE BIGBIRD_VERSION="${PROJECT_VERSION}")
if(BIGBIRD_FUZZ)
  # Coverage of every room, for libFuzzer to learn from; tests/fuzz links its main.
  target_compile_options(bigbird_options INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(bigbird_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Code whose speed no one waits for: option parsing and tests. Optimised, it takes twice as long to compile.
function(bigbird_light_optimization target)
  if(BIGBIRD_SANITIZE STREQUAL "" AND NOT target MATCHES "^test_")
    target_compile_options(${target} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O1>)
  else()
    target_compile_options(${target} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O0>)
    # UBSan's checks are a third of the time to compile: of tests ASan watches the memory, of what they call both watch.
    # Rooms that call others read no numbers out of bytes: whether addresses are aligned is asked in those that do.
    if(BIGBIRD_SANITIZE STREQUAL "address" AND target MATCHES "^test_|_tests$")
      target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
    elseif(BIGBIRD_SANITIZE STREQUAL "address")
      target_compile_options(${target} PRIVATE -fno-sanitize=alignment)
    endif()
  endif()
endfunction()

# Headers of libraries, compiled once for all targets with equal flags. The first call, where target and owner are the
# same, makes them; the others use them. Sources keep their own includes: clang-tidy's build and
# BIGBIRD_PRECOMPILE=OFF compile without.
function(bigbird_precompile target owner header)
  if(NOT BIGBIRD_PRECOMPILE)
    return()
  endif()
  if(target STREQUAL owner)
    target_precompile_headers(${target} PRIVATE "${header}")
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()
if(BIGBIRD_PRECOMPILE AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(bigbird_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)  # ccache asks for it
endif()
