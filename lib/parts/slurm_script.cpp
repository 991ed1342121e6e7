// The script for Slurm; see slurm_script.h.
#include "lib/parts/slurm_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/shell_words.h"
#include "lib/parts/sharded_verbs.h"

namespace bigbird {
namespace {

const ShardedVerb& verb_of(const std::vector<std::string>& words) {
  std::string begin;
  for (const std::string& word : words) begin += word + " ";
  for (const ShardedVerb& verb : sharded_verbs()) {
    if (begin.starts_with(verb.name + " ")) return verb;
  }
  throw_usage(
      words.empty() ? "cluster sbatch: no command" : "cluster sbatch: " + words.front() + " takes no --shard",
      "after the options the command as for one run: " + names_of_sharded_verbs());
}

// Takes "--name VALUE" or "--name=VALUE" out of the words ("-nVALUE" too, where `letter` is given).
std::optional<std::string> take_option(std::vector<std::string>& words, const std::string& name,
                                       const std::string& letter = "") {
  for (auto word = words.begin(); word != words.end(); ++word) {
    std::string value;
    if (*word == name || (!letter.empty() && *word == letter)) {
      if (word + 1 == words.end()) throw_usage("cluster sbatch: " + *word + " has no value");
      value = *(word + 1);
      words.erase(word, word + 2);
    } else if (word->starts_with(name + "=")) {
      value = word->substr(name.size() + 1);
      words.erase(word);
    } else if (!letter.empty() && word->starts_with(letter)) {
      value = word->substr(letter.size());
      words.erase(word);
    } else {
      continue;
    }
    return value;
  }
  return std::nullopt;
}

// Takes a flag out of the words; whether it was there.
bool take_flag(std::vector<std::string>& words, const std::string& name) {
  return std::erase(words, name) > 0;
}

std::optional<std::string> value_of(std::vector<std::string> words, const std::string& name,
                                    const std::string& letter) {
  return take_option(words, name, letter);
}

// ".vcf.gz" of "a/b.vcf.gz", ".part" where the name has none.
std::string suffix_of(const std::string& path) {
  const std::size_t name = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1;
  std::size_t dot = path.rfind('.');
  for (const char* packed : {".gz", ".bgz"}) {
    if (path.ends_with(packed) && dot > name) dot = path.rfind('.', dot - 1);
  }
  return dot == std::string::npos || dot <= name ? ".part" : path.substr(dot);
}

// A path that no program takes for an option.
std::string plain_path(const std::string& path) {
  return path.starts_with('-') ? "./" + path : path;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += " " + shell_word(word);
  return text;
}

// Where sbatch is to put a log: `%` begins a pattern of its own there.
std::string log_option(const std::string& folder, const std::string& name) {
  std::string path;
  for (const char c : folder) path += c == '%' ? std::string("%%") : std::string(1, c);
  return "--output=" + shell_word(path + "/" + name);
}

// What both jobs ask of sbatch alike.
std::string placement(const SlurmScriptOptions& options) {
  std::string text;
  const std::pair<const char*, const std::string&> asked[] = {{"partition", options.partition},
                                                              {"account", options.account},
                                                              {"qos", options.qos},
                                                              {"constraint", options.constraint}};
  for (const auto& [name, value] : asked)
    if (!value.empty()) text += fmt::format(" --{}={}", name, shell_word(value));
  for (const std::string& more : options.sbatch) {
    std::istringstream words(more);
    for (std::string word; words >> word;) text += " " + shell_word(word);
  }
  return text;
}

// Further options are options, and none that the script needs for itself.
void check_further_options(const std::vector<std::string>& texts) {
  static const std::vector<std::string> own = {
      "-a",           "--array", "-J",       "--job-name", "-d",
      "--dependency", "-o",      "--output", "-c",         "--cpus-per-task",
      "-t",           "--time",  "--mem",    "--parsable", "--wrap",
      "-N",           "--nodes", "-n",       "--ntasks"};
  for (const std::string& text : texts) {
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      if (!word.starts_with('-')) {
        throw_usage("cluster sbatch: --sbatch " + text_for_message(word) + " is not an option of sbatch",
                    "write values with =, as --sbatch \"--exclude=n7 --mail-type=END\"");
      }
      if (std::find(own.begin(), own.end(), word.substr(0, word.find('='))) != own.end())
        throw_usage("cluster sbatch: --sbatch " + text_for_message(word) + ": the script gives this option");
    }
  }
}

// What both jobs run first, as the lines of a script.
std::string first_lines(const SlurmScriptOptions& options) {
  if (options.before.empty()) return "";
  std::istringstream lines(options.before);
  for (std::string line; std::getline(lines, line);)
    if (line == "TASK") throw_usage("cluster sbatch: --before has a line TASK, which ends the script's text");
  return options.before + "\n";
}

// An output of the command, and how the names of its shards end.
struct SharedOutput {
  std::string option, path, suffix;
};

// Taken out of the words: the outputs that the shards write, the first one -o.
std::vector<SharedOutput> take_outputs(const ShardedVerb& verb, std::vector<std::string>& words) {
  const std::optional<std::string> output = take_option(words, "--output", "-o");
  if (!output || *output == "-")
    throw_usage("cluster sbatch: the command names no output file", "give it -o OUT");
  std::vector<SharedOutput> outputs = {
      {"-o", plain_path(*output), verb.numbers ? ".part" : suffix_of(*output)}};
  for (const std::string& option : verb.more) {
    if (const auto path = take_option(words, option))
      outputs.push_back({option, plain_path(*path), "." + option.substr(2) + suffix_of(*path)});
  }
  return outputs;
}

// What a task of the array runs. `parts`: the folder of its finished chunks.
std::string task_text(const SlurmScriptOptions& options, const std::string& task, const std::string& parts) {
  if (options.stop_before.empty())
    return "# exec: the signals of a time limit, a preemption or a requeue reach the program.\nexec " + task +
           "\n";
  return "# SLURM_JOB_ID of an array's last task names the whole array.\n"
         "job=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\n"
         "# The end of the job, where Slurm does not give it by itself. Where nobody does, the limit ends the task.\n"
         "if [ -z \"${SLURM_JOB_END_TIME:-}\" ]; then\n"
         "  end=$(squeue -h -j \"$job\" -o %e) && [ -n \"$end\" ] && SLURM_JOB_END_TIME=$(date -d \"$end\" +%s) &&\n"
         "    export SLURM_JOB_END_TIME\n"
         "fi\n"
         "stop=()\n"
         "[ -z \"${SLURM_JOB_END_TIME:-}\" ] || stop=(--stop-before " +
         shell_word(options.stop_before) +
         ")\n"
         "status=0\n" +
         task +
         " || status=$?\n"
         "# Stopped before the time limit: the same task again, which goes on from what is finished.\n"
         "if [ $status -eq 143 ] && [ -e " +
         parts +
         "/run.json ]; then scontrol requeue \"$job\"\n"
         "elif [ $status -eq 143 ]; then echo 'nothing was finished in time: give --time more, or the command a smaller --chunk-size'\n"
         "fi\n"
         "exit $status\n";
}

}  // namespace

std::string slurm_script(const SlurmScriptOptions& options, std::vector<std::string> words) {
  const ShardedVerb& verb = verb_of(words);
  const std::string typed = joined(words);
  for (const char* own : {"--shard", "--resume", "--force", "--stop-before"}) {
    if (std::find(words.begin(), words.end(), own) != words.end() || take_option(words, own)) {
      throw_usage(fmt::format("cluster sbatch: {} in the command", own), "the script gives it");
    }
  }
  const std::vector<SharedOutput> outputs = take_outputs(verb, words);
  std::string merged_options;
  for (const std::string& option : verb.merged) {
    if (const auto path = take_option(words, option))
      merged_options += fmt::format(" {} {}", option, shell_word(plain_path(*path)));
  }
  for (const std::string& flag : verb.merged_flags)
    if (take_flag(words, flag)) merged_options += " " + flag;
  check_further_options(options.sbatch);
  const std::string first = first_lines(options);
  const std::string folder =
      options.folder.empty() ? outputs.front().path + ".shards" : plain_path(options.folder);
  if (folder.find('\\') != std::string::npos) {
    throw_usage(fmt::format("cluster sbatch: the folder of the shards, {}, holds a \\", folder),
                message("sbatch reads names of logs with one otherwise; give another `folder`"));
  }
  const std::string name = shell_word("bigbird-" + verb.name.substr(verb.name.rfind(' ') + 1));
  const std::string program = shell_word(options.program);

  std::string task = program + joined(words) +
                     fmt::format(" --shard \"$SLURM_ARRAY_TASK_ID/{}\" --resume auto", options.shards);
  if (!options.stop_before.empty()) task += " \"${stop[@]}\"";
  for (const SharedOutput& one : outputs)
    task += fmt::format(" {} {}/\"$SLURM_ARRAY_TASK_ID\"{}", one.option, shell_word(folder),
                        shell_word(one.suffix));

  const std::string parts = fmt::format("{}/\"$SLURM_ARRAY_TASK_ID\"{}.parts", shell_word(folder),
                                        shell_word(outputs.front().suffix));

  std::string merge;
  for (const SharedOutput& one : outputs) {
    merge += program + " merge";
    for (std::uint64_t shard = 1; shard <= options.shards; ++shard)
      merge += " " + shell_word(fmt::format("{}/{}{}", folder, shard, one.suffix));
    merge += " -o " + shell_word(one.path) + (&one == &outputs.front() ? merged_options : "") + "\n";
  }

  std::string text = fmt::format(
      "#!/usr/bin/env bash\n"
      "# Written by `bigbird cluster sbatch`: {} shards of\n"
      "#   bigbird{}\n"
      "# as an array job, and a job that puts them together when all are done. Run it where sbatch is. Run it again\n"
      "# after an error or when jobs were cancelled: what is finished stays, the rest goes on.\n"
      "set -euo pipefail\n"
      "mkdir -p {}\n\n",
      options.shards, typed, shell_word(folder));
  if (const auto genome = value_of(words, "--fasta-ref", "-f")) {
    text += fmt::format(
        "# Once, before all tasks want it: the genome's index is made, or held against the genome.\n"
        "{1} info {0} > /dev/null\n\n",
        shell_word(plain_path(*genome)), program);
  }
  text += fmt::format(
      "array=$(sbatch --parsable --job-name={} --array=1-{}{} --requeue --open-mode=append {} \\\n"
      "  --nodes=1 --ntasks=1 --cpus-per-task={} --mem={} --time={}{}{} << 'TASK'\n"
      "#!/usr/bin/env bash\n"
      "{}",
      name, options.shards, options.at_once == 0 ? "" : fmt::format("%{}", options.at_once),
      log_option(folder, "%a.log"), options.threads, shell_word(options.memory), shell_word(options.time),
      placement(options), options.gres.empty() ? "" : " --gres=" + shell_word(options.gres), first);
  text += task_text(options, task, parts);
  text += "TASK\n)\n";
  text += fmt::format(
      "# Without --kill-on-invalid-dep the merge of an array that failed waits for ever.\n"
      "merge=$(sbatch --parsable --job-name={}-merge --dependency=\"afterok:$array\" --kill-on-invalid-dep=yes \\\n"
      "  --open-mode=append {} --nodes=1 --ntasks=1 --cpus-per-task=1 --mem={} --time={}{} << 'TASK'\n"
      "#!/usr/bin/env bash\n"
      "{}"
      "set -e\n"
      "{}"
      "TASK\n)\n"
      "printf 'shards: job %s; merge: job %s; logs: %s\\n' \"$array\" \"$merge\" {}\n",
      name, log_option(folder, "merge.log"), shell_word(options.memory), shell_word(options.time),
      placement(options), first, merge, shell_word(folder));
  return text;
}

}  // namespace bigbird
