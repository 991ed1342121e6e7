// The script that has Slurm run a verb in shards and put them together: an array job whose tasks run the verb
// with --shard and --resume auto, and a job that waits for it and merges.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bigbird {

struct SlurmScriptOptions {
  std::uint64_t shards = 0;
  std::uint64_t at_once = 0;  // 0: as many as Slurm lets
  int threads = 1;            // CPUs of a task
  std::string memory = "4G";  // as sbatch takes it
  std::string time = "4:00:00";
  std::string stop_before = "2m";  // the limit; empty: a task does not stop before it
  // Empty: not asked for.
  std::string partition, account, qos, constraint;
  std::string gres;                 // of a task; the merge asks for none
  std::vector<std::string> sbatch;  // further options of sbatch, each text one or more without spaces in them
  std::string before;               // lines of shell that both jobs run first
  std::string folder;               // of shards and logs; empty: OUT.shards
  std::string program = "bigbird";
};

// `command`: the words of one run, "variants", "-m" ... Error{usage}: of a verb that takes no shards; without
// an output file; with an option that the script gives itself; a folder that sbatch cannot name; a further
// option of sbatch that is none or that the script gives; a line of `before` that ends the script's text.
std::string slurm_script(const SlurmScriptOptions& options, std::vector<std::string> command);

}  // namespace bigbird
