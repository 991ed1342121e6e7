// What the program and a plug-in for MPI know of each other: a table of C functions. A plug-in is compiled by
// the mpicxx of one MPI, whose types it keeps to itself (their binary interfaces differ), and the program
// opens the one that fits its launcher.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { bigbird_mpi_version = 3 };  // of this table; a plug-in of another one is refused

// Every function returns 0, or writes one line of what went wrong to `error` (error_size bytes, a zero at the
// end) and returns something else. Sizes are those of Ranks (ranks.h).
struct BigbirdMpi {
  int version;
  const char* library;  // "Open MPI v4.1.4"
  int rank;
  int count;
  int rank_on_machine;
  int count_on_machine;
  int (*broadcast)(void* data, size_t bytes, int from, char* error, size_t error_size);
  int (*exchange)(const void* to_each, void* from_each, size_t bytes, char* error, size_t error_size);
  int (*all_gather)(const void* mine, void* all, size_t bytes, char* error, size_t error_size);
  void (*end_all)(int status);
  // Collective. `status`: what this process is about to end with; an MPI that does not end is ended with it.
  void (*finish)(int status);
};

// Starts MPI and fills the table. The one symbol of a plug-in that the program looks for.
typedef int (*BigbirdMpiStart)(struct BigbirdMpi* table, char* error, size_t error_size);
int bigbird_mpi_start(struct BigbirdMpi* table, char* error, size_t error_size);

#ifdef __cplusplus
}
#endif
