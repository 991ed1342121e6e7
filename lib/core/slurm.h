// What Slurm granted to the job step that this process is, as its environment tells (sbatch(1), "output
// environment variables"). Nothing of it is asked of Slurm itself, and nothing is set outside of a job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace bigbird {

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

}  // namespace bigbird
