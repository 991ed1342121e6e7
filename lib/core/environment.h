// What the environment of the process tells: what Slurm granted to the job step that it is, and where the
// user keeps what can be made again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace bigbird {

// By sbatch(1), "output environment variables". Nothing of it is asked of Slurm itself, and nothing is set
// outside of a job.
struct SlurmGrant {
  std::string job;                    // "12", "12_3" of an array, for people
  std::optional<int> threads;         // SLURM_CPUS_PER_TASK
  std::optional<std::size_t> memory;  // bytes on this node: SLURM_MEM_PER_NODE, or _PER_CPU times the CPUs
  std::optional<std::int64_t> end;    // of the time limit, seconds since 1970: SLURM_JOB_END_TIME
};

// Of the environment, or of `variable(name)`, null where there is none. Nothing outside of a job
// (SLURM_JOB_ID). Values that are no numbers are left out.
std::optional<SlurmGrant> slurm_grant();
std::optional<SlurmGrant> slurm_grant(const std::function<const char*(const char*)>& variable);

// Threads that the environment asks a process to take, and the variable that says so: OMP_NUM_THREADS (the
// first number of its list, OpenMP 5.2, 21.2), else what a batch system granted to the job that this is:
// Slurm (SLURM_CPUS_PER_TASK), PBS and TORQUE (PBS_NUM_PPN, NCPUS), Grid Engine (NSLOTS), LSF
// (LSB_DJOB_NUMPROC). Nothing where none says a positive number.
struct GrantedThreads {
  int threads = 0;
  std::string variable;
};
std::optional<GrantedThreads> granted_threads();
std::optional<GrantedThreads> granted_threads(const std::function<const char*(const char*)>& variable);

// The folder of the user for what can be made again, tables of products and packed weights: the program's
// part of $XDG_CACHE_HOME, or of $HOME/.cache (XDG Base Directory Specification); "" without either.
// `variable(name)` is null where there is none.
std::string user_cache_folder(const std::function<const char*(const char*)>& variable);

// Whether what a file of a cache says may be believed: nobody but this user and root could have written it
// (it is theirs, and not everybody may write it). A folder that several users share, such as one in /tmp, may
// hold files of others under the names that are looked for. False too where there is no such file.
bool may_be_trusted(const std::string& path);

}  // namespace bigbird
