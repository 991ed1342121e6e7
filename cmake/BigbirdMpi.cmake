# Plug-ins for MPI (kernels/ranks/mpi_table.h): one for each MPI whose compiler is here, beside the program in lib/bigbird.
# The program itself is linked with none of them.
set(BIGBIRD_MPI_PLUGINS "")
# bigbird_mpi_plugin(FAMILY COMPILER WORDS): WORDS stand in what the compiler says of itself, since `mpicxx` is of any family.
function(bigbird_mpi_plugin family compiler words)
  find_program(BIGBIRD_MPICXX_${family} NAMES mpicxx.${compiler} mpicxx)
  mark_as_advanced(BIGBIRD_MPICXX_${family})
  set(mpicxx "${BIGBIRD_MPICXX_${family}}")
  if(NOT mpicxx)
    return()
  endif()
  execute_process(COMMAND "${mpicxx}" -show OUTPUT_VARIABLE shown ERROR_VARIABLE shown RESULT_VARIABLE failed)
  if(failed OR NOT shown MATCHES "${words}")
    return()
  endif()
  set(library "${CMAKE_BINARY_DIR}/lib/bigbird/libbigbird_${family}.so")
  set(source "${CMAKE_SOURCE_DIR}/kernels/ranks/mpi_plugin.cpp")
  file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/lib/bigbird")
  add_custom_command(OUTPUT "${library}" DEPENDS "${source}" "${CMAKE_SOURCE_DIR}/kernels/ranks/mpi_table.h"
    COMMAND "${mpicxx}" -std=c++17 -O2 -Wall -Wextra -shared -fPIC -fvisibility=hidden -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX
      "-I${CMAKE_SOURCE_DIR}" -o "${library}" "${source}"
    COMMENT "Building the plug-in for ${family}" VERBATIM)
  add_custom_target(bigbird_plugin_${family} ALL DEPENDS "${library}")
  install(FILES "${library}" DESTINATION lib/bigbird)
  list(APPEND BIGBIRD_MPI_PLUGINS ${family})
  set(BIGBIRD_MPI_PLUGINS "${BIGBIRD_MPI_PLUGINS}" PARENT_SCOPE)
endfunction()
if(BIGBIRD_SANITIZE STREQUAL "" AND NOT BIGBIRD_FUZZ)
  bigbird_mpi_plugin(open_mpi openmpi "open-?mpi|openmpi|-lmpi_cxx")
  bigbird_mpi_plugin(mpich mpich "mpich")
endif()
list(JOIN BIGBIRD_MPI_PLUGINS " " shown)
message(STATUS "MPI plug-ins: ${shown}")
