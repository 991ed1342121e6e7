// Pretraining from its options to RUN/final: opens the token shards, completes the model's config, and hands
// over to run_training() (training_run.h).
#pragma once

#include <cstdint>
#include <string>

#include "kernels/backend.h"
#include "lib/model/config.h"
#include "lib/training/pretraining_batches.h"
#include "lib/training/run_options.h"
#include "lib/training/trainer.h"

namespace bigbird {

struct PretrainOptions : RunOptions {
  PretrainOptions() : RunOptions(pretraining_defaults()) {}

  std::string train;      // prefix of token shards
  std::string valid;      // prefix of token shards; may be empty
  std::string tokenizer;  // folder

  // Architecture. For a fresh model the vocabulary and the special ids come from the tokenizer, and
  // max_position_embeddings is raised to `length` in whole blocks; with `init` this is the folder's config,
  // possibly with another attention or dropout. A text model whose folder holds another vocabulary than
  // `tokenizer` gives its rows to the pieces of the same strings (vocabulary_transfer.h).
  ModelConfig config;

  PretrainingObjective objective;
  std::uint64_t eval_samples = 1000;  // of a validation, a seeded choice of pieces; 0: all
};

// Errors: {bad_input} shards, tokenizer and model that do not belong together, an output folder that holds a
// run; {usage} options that contradict each other or those of the run that is resumed; {environment} too
// little memory, naming sizes that fit; {interrupted} after a signal, with everything saved.
TrainingSummary pretrain(const PretrainOptions& options, kernels::Backend& backend);

}  // namespace bigbird
