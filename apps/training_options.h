// The options of a training run on the command line: every verb that trains takes them under the same names
// and in the same groups, each bound to its field of RunOptions once.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/rank_options.h"
#include "lib/training/rate_sweep.h"
#include "lib/training/run_options.h"

namespace bigbird::apps {

// What the verbs say differently of the same options.
struct TrainingWords {
  std::string sample;               // "Windows", "Sequences": of an update
  std::string length;               // help of --length
  bool needs_init = false;          // a model to begin from has to be given
  bool classifies = false;          // and its head may be left out: --fresh-head
  std::optional<RunOptions> paper;  // what --recipe paper is; without it there is no such option
  std::string warmup = "10 % of the steps, at most 10000";  // the default of --warmup
  // The default of --dropout, where no model has to be given.
  std::string dropout = "the model's own, 0 of a fresh one, 0.1 with --recipe paper";
};

// --init, -o, what is in the groups Training, Checkpoints and validation and Ranks, and the general --seed,
// --threads, --device, --precision, --nondeterministic and --force. --epochs belongs to the tasks whose
// default is in epochs.
class TrainingOptions {
 public:
  // Adds the options to the verb, with the values of the fields as defaults. All are referred to: the object
  // must outlive verb.parse().
  TrainingOptions(Verb& verb, RunOptions& options, const TrainingWords& words);
  TrainingOptions(const TrainingOptions&) = delete;
  TrainingOptions& operator=(const TrainingOptions&) = delete;

  // After parsing: what --recipe says, and what --recipe paper is where that was not known before.
  Recipe recipe() const;
  void set_paper(const RunOptions& paper) { paper_ = paper; }

  // After parsing, and after the verb has put in what a task decides: the fields that are not bound as they
  // are typed, what the recipe decides, provenance, with `fasta` where there is one, and the ranks of the
  // run. `width`: of a fresh model; without it that of --init. Error{usage} for names that do not exist, for
  // --resume with --force, and for options of AdamW and LAMB with another optimizer; {bad_input} where the
  // rate follows the width and --init is no model folder.
  void finish(const std::string& fasta = "", std::optional<std::int64_t> width = {});

  // A path of the data that `train` opens each time it runs: Error{usage} where --lr has several rates and
  // the path can be read only once (a pipe).
  void reads(const std::string& path) const;

  // Runs `train`, once or, where --lr has several rates, for each of them, on what all ranks compute on, each
  // on its own; then the closing lines of the verb. Error{bad_input} where --init is no model folder.
  void run(const std::function<TrainingSummary(kernels::Backend&)>& train);

 private:
  void add_recipe_option();
  void add_update_options(const TrainingWords& words);
  void add_optimizer_options(const TrainingWords& words);
  void add_machine_options();
  void add_checkpoint_options();
  void require_moments() const;
  void take_recipe(std::optional<std::int64_t> width);

  void open_ranks();
  void tell_defaults();
  void tell();

  Verb& verb_;
  RunOptions& options_;
  RankOptions ranks_;
  std::string schedule_;
  std::string optimizer_;
  OptimizerOptions usual_;  // of the recipe, before anything is typed
  std::optional<RunOptions> paper_;
  std::string recipe_ = name_of(Recipe::standard);
  std::string final_;
  std::vector<double> rates_;
  std::string fasta_;                           // of provenance
  std::map<std::string, std::string> of_rate_;  // options as the rate of several that is trained has them
  std::uint64_t warmup_ = 0;
  bool resume_ = false;
  bool parts_by_default_ = false;  // nobody typed --accumulate, and the memory decides
};

}  // namespace bigbird::apps
