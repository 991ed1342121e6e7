// What every verb shares: parsing with one set of names, --help with examples, provenance, and the closing
// line (docs/command-line.md). A verb is one function in apps/cmd_<verb>.cpp: build a Verb, add its options
// to verb.app(), parse, call lib, print.
//
//   int cmd_chunk(int argc, char** argv) {
//     Verb verb("chunk", "Cut a genome into documents of sentences.",
//               {"bigbird chunk -f genome.fa.gz -o documents.bed.gz"});
//     std::string fasta;
//     verb.app().add_option("-f,--fasta-ref", fasta, "Genome (FASTA with .fai)")->required();
//     verb.add_seed();
//     verb.add_threads();
//     if (!verb.parse(argc, argv)) return 0;  // --help was printed
//     ...                                     // the work; bigbird::Error on failure
//     verb.set_throughput(bases, "bp");
//     return 0;  // the closing line is printed by main
//   }
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apps/random_mode_options.h"
#include "kernels/backend.h"

namespace bigbird::kernels {
struct RefusedProducts;
}

namespace bigbird::apps {

class Verb {
 public:
  // name as typed after `bigbird` ("promoter build"); sentence opens --help; examples run as they stand.
  // Every verb gets -h/--help, -q/--quiet, -v/--verbose, --log FILE, --config FILE (TOML), --no-provenance.
  Verb(std::string name, const std::string& sentence, const std::vector<std::string>& examples);
  ~Verb();
  Verb(const Verb&) = delete;
  Verb& operator=(const Verb&) = delete;

  CLI::App& app() { return app_; }

  // Shared options; call those that the verb takes, before parse().
  void add_threads();                      // -@,--threads (0 = all cores): sets kernels::set_thread_count
  void add_seed(std::uint64_t value = 1);  // --seed
  void add_device();                       // --device auto|cpu|cuda[:N]: see make_backend()
  void add_precision();  // --precision auto|fp32|tf32|bf16; verbs without it compute in fp32
  // --random-mode, --plan: attention instead of that of the model folders, for all that are opened after
  // parse().
  void add_random_mode();
  void add_nondeterministic();  // --nondeterministic, for verbs that train
  // --stop-before TIME, for verbs that go on with --resume.
  void add_stop_before(const std::string& group);
  void add_force();  // --force: an output folder that holds a run may be overwritten
  // A flag that also takes one word, "--resume auto", which is then no input: the flag's value.
  void add_flag_word(const std::string& flag, const std::string& word) {
    flag_words_.emplace_back(flag, word);
  }
  // An option with a value that does not change the content here, though it does in other verbs: see
  // command().
  void leave_out_of_provenance(const std::string& option) { no_content_.push_back(option); }

  // argv as the verb sees it: argv[0] is the verb's last word. False when --help was asked for and printed.
  // Usage errors throw Error{usage} with the nearest option as hint.
  bool parse(int argc, char** argv);

  // For a verb that several processes run together, once they know of each other: ranks other than 0 say
  // nothing, or what they say under their number; and the device that has no number is the rank's own.
  void become_rank(int rank, int rank_on_machine, bool speaks);
  // Whether the number of threads was left open.
  bool takes_all_cores() const { return has_threads_ && threads_ == 0; }

  const std::string& name() const { return name_; }
  std::uint64_t seed() const { return seed_; }
  // The device and precision that were asked for, said in one line of the log. auto is the first CUDA device
  // that can be used, else the cpu; and bf16 there, fp32 here. Error{environment} for a CUDA device that
  // cannot be used, Error{usage} for a precision that the device does not have.
  std::unique_ptr<kernels::Backend> make_backend() const;
  bool force() const { return force_; }
  bool provenance() const { return provenance_; }
  bool quiet() const { return quiet_; }
  const RandomModeOptions& random_mode() const { return random_mode_; }
  // The command line as typed, for provenance, without the options that do not change the content (-o, -@,
  // -q, -v, --log, --force, --batch-tokens and those of leave_out_of_provenance): the same work leaves the
  // same bytes.
  const std::string& command() const { return command_; }
  // An option of it as if it had been typed with this value.
  void set_in_command(const std::string& option, const std::string& value);
  // The same in resolved_toml(), where the key is the option without its dashes.
  void set_in_toml(const std::string& option, const std::string& value) {
    resolved_[option.substr(2)] = value;
  }
  // Options that resolved_toml() has only where they were given: their default is not what is used.
  void leave_out_of_toml(const std::vector<std::string>& options) {
    for (const std::string& option : options) not_in_toml_.insert(option.substr(2));
  }
  // The options as resolved, as TOML, to be saved beside the output.
  std::string resolved_toml() const;

  // For the closing line on stderr: version, wall and CPU time, peak memory, and amount/second in the verb's
  // own unit.
  void set_throughput(double amount, const std::string& unit);
  // And the CPU time of each of the `made` that this process made, whatever an earlier one had done before
  // it.
  void set_cost_of(double made, const std::string& one);
  // For verbs whose output a shell reads at every start (completion, man).
  void omit_closing_line() { closing_ = false; }

 private:
  CLI::App app_;
  std::string name_;
  std::vector<std::string> examples_;
  std::vector<std::string> no_content_;
  std::vector<std::pair<std::string, std::string>> flag_words_;
  std::string command_;
  std::map<std::string, std::string> resolved_;
  std::set<std::string> not_in_toml_;
  std::string log_file_;
  std::string device_ = "auto";
  RandomModeOptions random_mode_;
  std::string precision_ = "fp32";
  std::uint64_t seed_ = 1;
  int threads_ = 0;
  int verbose_ = 0;
  bool force_ = false;
  bool nondeterministic_ = false;
  bool quiet_ = false;
  bool no_provenance_ = false;
  bool provenance_ = true;
  bool has_device_ = false;
  std::string stop_before_;
  bool has_threads_ = false;
  bool parsed_ = false;
  bool closing_ = true;
  int rank_on_machine_ = 0;
  std::shared_ptr<kernels::RefusedProducts> refused_;  // of the backends that were made here
  double amount_ = 0;
  std::string unit_;
  double made_ = 0;
  std::string one_;
};

// The closing line of the verb that ran last, for main to print once stdout is known to be written; empty
// after --quiet, --help, or a failure.
std::string closing_line();

// "{tsv,npy}", the names of a table (lib/core/names.h), as --help shows what an option takes.
template <typename Table>
std::string choices(const Table& names) {
  std::string text;
  for (const auto& [value, name] : names) text += (text.empty() ? "{" : ",") + std::string(name);
  return text + "}";
}

// Accepts K/M/G suffixes ("5M", "20k") for a count option: option->transform(count_suffix()).
CLI::Validator count_suffix();

}  // namespace bigbird::apps
