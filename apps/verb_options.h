// The options that verbs share, and what is made of them: one description of each for all.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/attention_options.h"
#include "kernels/backend.h"
#include "lib/core/environment.h"
#include "lib/model/config.h"

namespace bigbird::kernels {
struct RefusedProducts;
}

namespace bigbird::apps {

// Accepts K/M/G suffixes ("5M", "20k") for a count option.
CLI::Validator count_suffix();

class VerbOptions;

// --random-mode and --plan, under the same names and with the same rules in every verb that takes them.
class RandomModeOptions {
 public:
  // help: what --random-mode is for in this verb.
  void add(VerbOptions& verb, const std::string& help);

  // Whether one of the two was given.
  bool given() const { return !mode_.empty() || !plan_.empty(); }
  const std::string& plan() const { return plan_; }
  // Puts what was given into the config: a plan's file is read, and a plan alone means random mode file.
  // Error{usage} for a plan with another mode.
  void apply(ModelConfig& config) const;
  // The same into a mode and a plan that stand for a model's own; nothing where none was given.
  void apply(std::optional<RandomMode>& mode, std::shared_ptr<const PlanTable>& plan) const;

 private:
  std::string mode_;
  std::string plan_;
};

class VerbOptions {
 public:
  const std::string& name() const { return verb_; }  // "promoter build"
  CLI::App& app() { return app_; }

  // An option: its names as CLI11 takes them and, after a blank, what --help calls its value, as in
  // "-o,--output FILE"; where the value goes; what it is; and what it must be, where its type does not say
  // all. It stands under the heading of the OptionGroup that lives.
  template <typename Value>
  CLI::Option* add_option(const std::string& names, Value& value, const std::string& help = {},
                          const std::optional<CLI::Validator>& check = {}) {
    const std::size_t blank = names.find(' ');
    CLI::Option* const option = app_.add_option(names.substr(0, blank), value, help);
    if (blank != std::string::npos) option->type_name(names.substr(blank + 1));
    return check ? option->check(*check) : option;
  }
  // One that has to be given.
  template <typename Value>
  CLI::Option* add_required(const std::string& names, Value& value, const std::string& help,
                            const std::optional<CLI::Validator>& check = {}) {
    return add_option(names, value, help, check)->required();
  }
  // A number that takes K, M and G (count_suffix).
  template <typename Value>
  CLI::Option* add_count(const std::string& names, Value& value, const std::string& help,
                         const std::optional<CLI::Validator>& check = {}) {
    return add_option(names, value, help, check)->transform(count_suffix());
  }
  // A number that --help shows, and a user may type, as a word too: `auto` for 0. As default it is shown so.
  static CLI::Option* with_word(CLI::Option* option, const std::string& word, const std::string& number) {
    return with_words(option, {{word, number}});
  }
  // Several such words, each with its number. `check`: of what is typed as a number, where a word stands for
  // one outside of that. That number is then a word too, since a run's config.toml has it.
  static CLI::Option* with_words(CLI::Option* option,
                                 const std::vector<std::pair<std::string, std::string>>& words,
                                 const std::optional<CLI::Validator>& check = {});
  template <typename Value>
  CLI::Option* add_flag(const std::string& names, Value& value, const std::string& help) {
    return app_.add_flag(names, value, help);
  }
  // After parsing: whether it was given, on the command line, in the file or in the environment.
  bool given(const std::string& option) const { return app_.count(option) > 0; }

  // Shared options; call those that the verb takes, before parse().
  void add_threads();  // -@,--threads (auto: granted_threads): sets kernels::set_thread_count
  void add_seed(std::uint64_t value = 1);  // --seed
  void add_device();                       // --device auto|cpu|cuda[:N]: see make_backend()
  void add_precision();  // --precision auto|fp32|tf32|bf16; verbs without it compute in fp32
  // --random-mode, --plan: attention instead of that of the model folders, for all that are opened after
  // parse().
  void add_random_mode();
  // --attention and its options besides, for verbs that write or show one model.
  void add_attention();
  void add_nondeterministic();  // --nondeterministic, for verbs that train
  // --stop-before TIME, for verbs that go on with --resume.
  void add_stop_before();
  // --force, and what it replaces: an output that is one file is replaced without it.
  void add_force(const std::string& help = "Replace an output folder that holds something");
  // --exclude BED, several times. what: the end of its help, what becomes of what touches the regions.
  CLI::Option* add_exclude(std::vector<std::string>& paths, const std::string& what);

  // Whether the number of threads was left open.
  bool takes_all_cores() const { return has_threads_ && threads_ == 0; }
  std::uint64_t seed() const { return seed_.value(); }  // of a verb that takes one
  // The device and precision that were asked for, said in one line of the log. auto is the first CUDA device
  // that can be used, else the cpu; and bf16 there, fp32 here. Error{bad_input}, before any device is looked
  // for, where one of `models` is no model folder; Error{environment} for a CUDA device that cannot be used;
  // Error{usage} for a precision that the device does not have.
  std::unique_ptr<kernels::Backend> make_backend(const std::vector<std::string>& models = {}) const;
  bool force() const { return force_; }
  const RandomModeOptions& random_mode() const { return random_mode_; }
  const AttentionOptionGroup& attention() const { return attention_; }

 protected:
  VerbOptions(std::string verb, const std::string& sentence);
  // Before the console starts: threads, device and attention as they were parsed.
  void apply_options();
  // Once it can say so: what Slurm granted, and when the work stops for its end.
  void apply_job_limits() const;
  // The device that has no number is then the rank's own.
  void set_rank_on_machine(int rank) { rank_on_machine_ = rank; }

  const std::string verb_;  // as typed after `bigbird`
  CLI::App app_;
  std::optional<std::uint64_t> seed_;                  // of verbs that take one
  std::shared_ptr<kernels::RefusedProducts> refused_;  // of the backends that were made here

 private:
  std::string device_ = "auto";
  std::string precision_ = "fp32";
  RandomModeOptions random_mode_;
  AttentionOptionGroup attention_;
  int threads_ = 0;
  std::optional<GrantedThreads> granted_;  // what threads_ is taken from
  bool force_ = false;
  bool nondeterministic_ = false;
  bool has_device_ = false;
  bool has_threads_ = false;
  std::string stop_before_;
  int rank_on_machine_ = 0;
};

// Options that are added while it lives stand under this heading of --help.
class OptionGroup {
 public:
  OptionGroup(VerbOptions& verb, const std::string& heading)
      : defaults_(*verb.app().option_defaults()), before_(defaults_.get_group()) {
    defaults_.group(heading);
  }
  ~OptionGroup() { defaults_.group(before_); }
  OptionGroup(const OptionGroup&) = delete;
  OptionGroup& operator=(const OptionGroup&) = delete;

 private:
  CLI::OptionDefaults& defaults_;
  std::string before_;
};

}  // namespace bigbird::apps
