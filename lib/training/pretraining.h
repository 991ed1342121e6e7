// A pretraining run from its options to RUN/final: opens what is needed, plans the memory, builds or loads
// the model, and hands over to the training loop (trainer.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/model/config.h"
#include "lib/training/optimizer.h"
#include "lib/training/pretraining_batches.h"
#include "lib/training/run_folder.h"
#include "lib/training/schedule.h"
#include "lib/training/trainer.h"

namespace bigbird {

struct PretrainOptions {
  std::string train;      // prefix of token shards
  std::string valid;      // prefix of token shards; may be empty
  std::string tokenizer;  // folder
  std::string run;        // folder to write
  std::string init;       // model folder to take the weights from; empty: a fresh model

  // Architecture. For a fresh model the vocabulary and the special ids come from the tokenizer, and
  // max_position_embeddings is raised to `length` in whole blocks; with `init` this is the folder's config,
  // possibly with another attention or dropout.
  ModelConfig config;

  std::int64_t length = 4096;    // most tokens of a sample, special ones included
  std::uint64_t batch = 256;     // sequences of one update,
  std::uint64_t accumulate = 1;  // run in so many micro-batches of ceil(batch / accumulate) sequences
  std::uint64_t steps = 1000000;
  std::uint64_t seed = 1;
  PretrainingObjective objective;
  double learning_rate = 1e-4;
  std::optional<std::uint64_t> warmup;  // default_warmup(steps) when not given
  ScheduleForm schedule = ScheduleForm::google;
  OptimizerOptions optimizer;
  bool grad_checkpoint = false;

  RunStart start = RunStart::fresh;
  std::uint64_t save_every = 1000;
  std::uint64_t eval_every = 1000;    // with `valid`
  std::uint64_t eval_samples = 1000;  // a seeded choice of pieces; 0: all
  std::uint64_t keep_last = 2;
  std::uint64_t keep_best = 1;
  std::size_t memory_limit = 0;  // bytes of the memory the model lives in; 0: what is left of it
  bool debug_nan = false;

  std::string config_toml;            // becomes RUN/config.toml
  std::string command;                // for the model card; empty: left out
  std::vector<std::string> comments;  // provenance lines of metrics.tsv
};

// Errors: {bad_input} shards, tokenizer and model that do not belong together, an output folder that holds a
// run; {usage} options that contradict each other or those of the run that is resumed; {environment} too
// little memory, naming sizes that fit; {interrupted} after a signal, with everything saved.
TrainingSummary pretrain(const PretrainOptions& options, kernels::Backend& backend);

}  // namespace bigbird
