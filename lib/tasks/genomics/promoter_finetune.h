// Fine-tuning a pretrained encoder into a promoter classifier: from options to RUN/final (BigBird appendix
// F.2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/tasks/genomics/labelled_sequences.h"
#include "lib/training/optimizer.h"
#include "lib/training/run_folder.h"
#include "lib/training/schedule.h"
#include "lib/training/trainer.h"

namespace bigbird {

struct PromoterFinetuneOptions {
  // A folder with a train and a valid side (labelled_sequences.h), of `promoter build` or one's own; or,
  // instead, the sides themselves: `valid` may be left out.
  std::string data;
  LabelledSource train;
  LabelledSource valid;
  std::string init;  // pretrained or fine-tuned model folder
  std::string run;   // folder to write

  std::int64_t length = 0;       // tokens every window is padded or cut to; 0: the longest training window
  std::uint64_t batch = 32;      // windows of one update,
  std::uint64_t accumulate = 1;  // run in so many micro-batches of ceil(batch / accumulate) windows
  double epochs = 3;             // passes over the training windows, when steps is 0
  std::uint64_t steps = 0;
  std::uint64_t seed = 1;
  double dropout = -1;  // negative: the model's own
  double learning_rate = 1e-4;
  std::optional<std::uint64_t> warmup;  // default_warmup(steps) when not given
  ScheduleForm schedule = ScheduleForm::google;
  OptimizerOptions optimizer;
  bool grad_checkpoint = false;

  RunStart start = RunStart::fresh;
  std::uint64_t save_every = 500;
  std::uint64_t eval_every = 0;  // 0: once an epoch
  std::uint64_t keep_last = 2;
  std::uint64_t keep_best = 1;
  std::size_t memory_limit = 0;  // bytes of the memory the model lives in; 0: what is left of it
  bool debug_nan = false;

  std::string config_toml;            // becomes RUN/config.toml
  std::string command;                // for the model card; empty: left out
  std::vector<std::string> comments;  // provenance lines of metrics.tsv
};

// Softmax cross entropy over the classes of the data, at least two; for two it is the paper's binary cross
// entropy on the difference of the logits. Sequences that the validation side shares with the training side,
// on either strand, are counted in a warning. The model folders get window.json, where the data's manifest
// tells the window, and profiles.tsv. Errors: {bad_input} example files, model and tokenizer that do not
// belong together, an output folder that holds a run; {usage} options out of range or other than those of the
// run that is resumed; {environment} too little memory; {interrupted} after a signal, with everything saved.
TrainingSummary promoter_finetune(const PromoterFinetuneOptions& options, kernels::Backend& backend);

}  // namespace bigbird
