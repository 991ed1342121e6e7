// kernels/ranks holds the processes of one run: one alone, in a folder, by MPI or NCCL opened at run time.
// Engines only copy; sums are taken here, in one fixed tree.
//
// Ranks without an MPI: processes that meet in a folder which all of them see. What is sent is a file that
// appears whole (written beside, then renamed); who waits looks for it. Slow beside an MPI, and right
// wherever a new file is seen soon: a folder in memory on one machine (/dev/shm), Lustre, GPFS; NFS shows one
// after seconds. Enough to start NCCL, which then carries what is large.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kernels/ranks/ranks.h"

namespace bigbird::kernels {

// Which process this is of those that were started.
struct ProcessNumber {
  int rank = 0;
  int count = 1;
  // What tells this start from others of the same folder: a job and its step; empty where nobody says.
  std::string start;
};
// Of SLURM_PROCID and SLURM_STEP_NUM_TASKS (srun), else of RANK and WORLD_SIZE. RanksError where neither is
// set, or they contradict themselves.
ProcessNumber read_process_number();
ProcessNumber read_process_number(const std::function<const char*(const char*)>& variable);

// Collective. `folder` is made where it is missing; of a start without a name it must be new. `patience`:
// seconds that a rank waits for another one before it gives up, while nothing comes. RanksError for a folder
// that was used before or cannot be written, for a rank that has ended, and for one that does not come.
std::unique_ptr<Ranks> make_folder_ranks(const std::string& folder, const ProcessNumber& process,
                                         double patience = 600);

}  // namespace bigbird::kernels
