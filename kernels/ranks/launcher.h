// kernels/ranks holds the processes of one run: one alone, in a folder, by MPI or NCCL opened at run time.
// Engines only copy; sums are taken here, in one fixed tree.
//
// Who started this process, and with how many others: what mpirun and srun say in the environment. A launcher
// of one MPI and the library of another make as many runs as there are processes, each rank 0 of 1, all of
// which would write one run folder: that is found here and refused.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kernels/ranks/ranks.h"

namespace bigbird::kernels {

enum class MpiFamily {
  none,
  open_mpi,  // mpirun of Open MPI, srun --mpi=pmix
  mpich,     // mpirun of MPICH and what descends from it (PMI), srun --mpi=pmi2
};

struct Launch {
  MpiFamily family = MpiFamily::none;
  int count = 1;   // processes started together; 0: the launcher does not say
  std::string by;  // "mpirun of Open MPI", "srun"; empty: nobody
};

// Of the environment, or of `variable(name)`, null where there is none.
Launch read_launch();
Launch read_launch(const std::function<const char*(const char*)>& variable);

// The plug-in's path: BIGBIRD_MPI_PLUGIN where it is set, else ../lib/bigbird beside the folder of the
// program.
std::string plugin_path(MpiFamily family);

// The ranks that a training run has. `choice`: "auto" (as the launcher says), "none" (one process),
// "open-mpi", "mpich" or "folder:DIR" (make_folder_ranks). RanksError where the processes would not know of
// each other, or the MPI cannot be had.
std::unique_ptr<Ranks> open_ranks(const std::string& choice, const Launch& launch);

// Throws where an engine that started knows another number of ranks than the launcher.
void check_count(const Ranks& ranks, const Launch& launch);

}  // namespace bigbird::kernels
