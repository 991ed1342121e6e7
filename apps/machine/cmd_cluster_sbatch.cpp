// `bigbird cluster sbatch`: a script that has Slurm run a verb in shards and put them together. It is
// printed, not run.
#include <fmt/format.h>

#include <cstdint>
#include <iostream>
#include <string>

#include "apps/command_line.h"
#include "apps/job_limits.h"
#include "apps/old_names.h"
#include "lib/core/error.h"
#include "lib/parts/sharded_verbs.h"
#include "lib/parts/slurm_script.h"

namespace bigbird::apps {
namespace {

// The script knows the options by their names of today.
void use_names_of_today_behind_verb(std::vector<std::string>& words) {
  std::string begun;
  for (auto word = words.begin(); word != words.end(); ++word) {
    begun += (begun.empty() ? "" : " ") + *word;
    if (find_sharded_verb(begun) == nullptr) continue;
    std::vector<std::string> rest(word + 1, words.end());
    use_names_of_today(begun, rest);
    words.erase(word + 1, words.end());
    words.insert(words.end(), rest.begin(), rest.end());
    return;
  }
}

}  // namespace

int cmd_cluster_sbatch(int argc, char** argv) {
  Verb verb("cluster sbatch",
            "Print a script that has Slurm run a verb in shards, and merge them. Nothing is submitted.",
            {("bigbird cluster sbatch --shards 8 variants -m demo-output/chromatin-run/final -f "
              "demo-output/genome/genome.fa.gz demo-output/genome/variants.vcf.gz -o scored.vcf.gz > "
              "submit.sh"),
             ("bigbird cluster sbatch --shards 100 --cpus-per-task 4 --time 8:00:00 promoter scan -m "
              "demo-output/finetune/final -f demo-output/genome/genome.fa.gz -o scores.bw --calls "
              "calls.bed > submit.sh"),
             ("bigbird cluster sbatch --shards 4 --gres gpu:1 --before 'module load bigbird' "
              "--sbatch=--exclude=n7 variants -m demo-output/chromatin-run/final -f "
              "demo-output/genome/genome.fa.gz demo-output/genome/variants.vcf.gz --device cuda -o "
              "scored.bcf > submit.sh")});
  SlurmScriptOptions options;
  verb.app().prefix_command();
  verb.add_option("--shards N", options.shards, "Shards, each a task of the array", CLI::Range(1, 100'000))
      ->default_str("");
  verb.with_word(verb.add_option("--at-once", options.at_once,
                                 "Most tasks that run at the same time (default: as Slurm lets)"),
                 "auto", "0");
  verb.add_option("--cpus-per-task", options.threads, "CPUs of a task, and its threads", CLI::Range(1, 1024));
  verb.add_option("--mem", options.memory, "Memory of a task, as sbatch takes it");
  verb.add_option("--time", options.time, "Time limit of a task, as sbatch takes it");
  verb.with_word(
      verb.add_option(
          "--stop-before TIME", options.stop_before,
          "Time before its limit at which a task stops and is queued again, or never: the limit ends it"),
      "never", "0");
  verb.add_option("--partition", options.partition, "Partition");
  verb.add_option("--account", options.account, "Account");
  verb.add_option("--qos", options.qos, "Quality of service");
  verb.add_option("--constraint", options.constraint, "Features of nodes, as sbatch takes them");
  verb.add_option(
      "--gres", options.gres,
      "Devices of a task, as gpu:1; give the command --device cuda then. The merge asks for none");
  verb.add_option("--sbatch OPTIONS", options.sbatch,
                  "Further options of sbatch, values with =; may be given again")
      ->allow_extra_args(false);
  verb.add_option("--before COMMANDS", options.before,
                  "Shell commands that each job runs first, as \"module load bigbird\"");
  verb.add_option("--folder DIR", options.folder, "Folder of shards and logs (default: OUT.shards)");
  verb.add_option("--program", options.program, "Program bigbird as the nodes find it");
  if (!verb.parse(argc, argv)) return 0;
  if (options.shards == 0)
    throw_usage("cluster sbatch: --shards is not given", "how many tasks share the work");
  const std::int64_t margin = parse_duration(options.stop_before, "--stop-before");
  if (margin == 0) options.stop_before.clear();
  if (const auto limit = parse_time_limit(options.time, "--time"); limit && *limit <= margin) {
    throw_usage(fmt::format("cluster sbatch: --stop-before {} leaves nothing of --time {}",
                            options.stop_before, options.time),
                "give a longer --time, or --stop-before 0");
  }
  std::vector<std::string> command = verb.command_after_options();
  use_names_of_today_behind_verb(command);
  std::cout << slurm_script(options, command);
  return 0;
}

}  // namespace bigbird::apps
