// For tests/mpi/run.sh, preloaded: an MPI that never ends, as MPICH 4.0.2 over UCX at times.
#include <unistd.h>

extern "C" __attribute__((visibility("default"))) int MPI_Finalize(void) {
  for (;;) pause();
}
