// What a training run can be told, whatever it trains. Each default stands once: here where pretraining and
// fine-tuning share it, else in pretraining_defaults() and finetuning_defaults().
//
// The device, the precision of its products and whether its sums have a fixed order are no fields: they come
// with the kernels::Backend that the run is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/ranks/slice_sums.h"
#include "lib/training/optimizer.h"
#include "lib/training/rank_team.h"
#include "lib/training/run_folder.h"

namespace bigbird {

// Which state of a run RUN/final is.
enum class FinalState {
  last,  // after the last update
  best,  // of lowest validation loss, the earlier one of equals; the last where nothing is validated
};

std::string name_of(FinalState state);
// Error{usage} listing the names.
FinalState parse_final_state(const std::string& name);

// Of RunOptions::batch: the largest that fits the memory; of RunOptions::accumulate: as few parts as fit.
// Chosen by choose_batch() (training_run.h) before anything else is made of the two.
inline constexpr std::uint64_t chosen_by_memory = ~std::uint64_t{0};

// Of RunOptions::eval_every: ten times in the run; once an epoch.
inline constexpr std::uint64_t each_tenth_of_run = ~std::uint64_t{0};
inline constexpr std::uint64_t each_epoch = each_tenth_of_run - 1;

// What a run does where nothing is said.
enum class Recipe {
  // Values that learn at any size: AdamW with bias correction, linear decay from the end of the warm-up, a
  // rate that follows the width, ten validations; in pretraining gradients clipped to norm 1, in fine-tuning
  // averaged weights.
  standard,
  // The published ones (BigBird appendices E and F; docs/specification.md 6).
  paper,
};

std::string name_of(Recipe recipe);
// Error{usage} listing the names.
Recipe parse_recipe(const std::string& name);

struct RunOptions {
  std::string run;          // folder to write
  std::string init;         // model folder to begin from; empty, where the task allows it: a fresh model
  bool fresh_head = false;  // of classifiers: the head of `init` is left out

  // What an update sees.
  std::int64_t length = 0;  // most tokens of a sample, special ones included; 0: chosen from the data
  std::uint64_t batch = 0;  // sequences of one update,
  // run in so many micro-batches of ceil(batch / accumulate) sequences, those of all ranks together. One of
  // the two may be chosen_by_memory, in a run of one rank.
  std::uint64_t accumulate = 1;
  std::uint64_t steps = 0;  // updates; 0: as many as `epochs` take
  double epochs = 0;        // passes over the training samples, when steps is 0
  std::uint64_t seed = 1;   // of the order, the masks, the dropout and the initial weights
  double dropout = -1;      // of the hidden states; negative: the model's own

  // What it does to the weights.
  double learning_rate = 1e-4;          // the highest; with rate_by_width that of a model of width 768
  bool rate_by_width = false;           // rate_of_width() has still to be taken
  std::vector<double> rate_choices;     // rate_sweep.h; empty: learning_rate alone
  std::optional<std::uint64_t> warmup;  // updates; default_warmup(steps) when not given
  ScheduleForm schedule = ScheduleForm::google;
  OptimizerOptions optimizer;
  // Of a moving average of the weights (optimizer.h), which is what is validated, kept in checkpoints as
  // the model, and written as `final`; 0: there is none; negative: by the length of the run (average_of_run).
  double average_decay = 0;

  // How it is computed.
  bool grad_checkpoint = false;  // activations are recomputed in backward
  std::size_t memory_limit = 0;  // bytes of the memory the model lives in; 0: what is left of it
  bool debug_nan = false;        // a NaN or infinity is searched for and its layer named

  // What is kept on the way.
  RunStart start = RunStart::fresh;
  std::uint64_t save_every = 0;  // updates between checkpoints; 0: the last and, when stopped, the newest
  std::uint64_t eval_every = 0;  // updates between validations; 0: never; or one of the words above
  std::uint64_t keep_last = 2;   // newest checkpoints; 0: all
  std::uint64_t keep_best = 1;   // of lowest validation loss, beside them
  FinalState final_state = FinalState::last;
  std::uint64_t patience = 0;  // validations without a better one after which a run ends; 0: it never does

  std::string
      tensorboard;  // folder for event files (metrics_log.h), a run's or, of several rates, theirs; empty: none

  // The ranks that train together; null: this process alone. Referred to. All have the same options.
  RankTeam* team = nullptr;

  // Called once when batch or accumulate has been chosen: the texts below may say it.
  std::function<void(RunOptions& chosen)> batch_chosen;

  std::string config_toml;            // becomes RUN/config.toml
  std::string command;                // for the model card; empty: left out
  std::vector<std::string> comments;  // provenance lines on top of metrics.tsv and valid.tsv; none: not there
  std::string provenance_json;        // becomes RUN/provenance.json; empty: left out
};

RunOptions pretraining_defaults(Recipe recipe = Recipe::standard);
RunOptions finetuning_defaults(Recipe recipe = Recipe::standard);

// The learning rate of a model of so many hidden states: learning_rate or, with rate_by_width, learning_rate
// x 768 / width, as wide models want smaller steps of Adam (Yang et al. 2021, Tensor Programs V); below width
// 128 that of 128.
double rate_of_width(const RunOptions& options, std::int64_t width);

// The decay of the average in a run of so many updates: average_decay or, where that is negative, one that
// averages about the last fifth of the run, 1 - 5 / updates.
double average_of_run(const RunOptions& options, std::uint64_t updates);

// Neither batch nor accumulate is left to the memory.
bool is_batch_chosen(const RunOptions& options);

// Error{usage} naming the field that is out of range.
void check_options(const RunOptions& options);

// Sequences of the largest micro-batch.
std::int64_t micro_batch(const RunOptions& options);
// Micro-batches of an update, which several ranks share: at most `accumulate`, fewer where they do not go
// into the batch.
std::int64_t slots_of_update(const RunOptions& options);
// Of the samples of an update, counted from 0, those of these micro-batches.
kernels::IndexRange samples_of_slots(const RunOptions& options, const kernels::IndexRange& slots);

// Of a run over `samples` an epoch. Error{usage} for a warm-up that is longer than the run.
Schedule schedule_of(const RunOptions& options, std::uint64_t samples);

// Updates between validations of a run over `samples` an epoch; 0: never.
std::uint64_t steps_between_validations(const RunOptions& options, std::uint64_t samples);

}  // namespace bigbird
