// Pretraining from its options to RUN/final: batches of token shards, the model's config completed, and over
// to run_training() (training_run.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/data/mlm_masking.h"
#include "lib/data/pretrain_sampler.h"
#include "lib/model/config.h"
#include "lib/model/network/batch.h"
#include "lib/model/network/layout.h"
#include "lib/model/network/model_limits.h"
#include "lib/training/next_tokens.h"
#include "lib/training/run_options.h"
#include "lib/training/trainer.h"
#include "lib/training/two_input_samples.h"

namespace bigbird {

// From samples to batches: masked, ragged, each sequence padded to its own multiple of the block size.
struct PretrainingObjective {
  bool mlm = true;
  bool nsp = true;
  // Every token's next one instead of both, by a model that reads left to right (ModelConfig::causal): token
  // t predicts t + 1 of its document. What has no piece of its own ([UNK]) is not predicted; [SEP], the end
  // of a document of text, is.
  bool next = false;
  double mask_probability = 0.15;
  // Text shards (TokenShards::is_text) have no next sentences unless this says so as well: the paper's text
  // models learn masked tokens alone.
  bool nsp_of_text = false;
  MaskingUnit unit = MaskingUnit::tokens;  // of the shards: words for text; set by objective_for()
  Masks masks = Masks::as_trained;         // what an evaluation may ask for
  // Hides sentences as well (contrastive predictive coding): of models of BigBird-ETC with EtcOptions::cpc.
  // Only training asks for it; an evaluation hides no sentence, so that its numbers are those of masked
  // tokens.
  bool cpc = false;
};

// What is learnt on these shards by such a model: as asked for on DNA; on text by whole words, and without
// next sentences; by BigBird-ETC masked tokens, without next sentences. Error{usage} where that leaves
// nothing, or next sentences are asked of BigBird-ETC by name (nsp_of_text).
PretrainingObjective objective_for(const TokenShards& shards, const ModelConfig& config,
                                   const PretrainingObjective& asked);

// The head that is trained: the next token of a model that reads left to right, masked tokens alone of
// BigBird-ETC, else those of Hugging Face's BigBirdForPreTraining.
HeadType pretraining_head(const ModelConfig& config);

// What a fresh model of config.attention has that others have not: of BigBird-ETC etcmodel's embeddings,
// token types, activation and LayerNorms, and no positions; of all else what the config has.
ModelConfig fresh_architecture(ModelConfig config);

// Immutable: safe from many threads. Refers to the shards, which must outlive it.
class PretrainingBatches {
 public:
  // Error{usage} when neither objective is on, Error{bad_input} for shards with ids that the tokenizer does
  // not have. The objective is objective_for() of what is asked for. Sequences have two inputs where the
  // model is of BigBird-ETC, with a global token for each sentence.
  PretrainingBatches(const TokenShards& shards, const Tokenizer& tokenizer, const ModelConfig& config,
                     const PretrainingObjective& objective, std::int64_t length, std::uint64_t seed);

  const PretrainSampler& sampler() const { return sampler_; }
  const PretrainingObjective& objective() const { return objective_; }
  const NextTokens& next_tokens() const { return next_; }
  // Draws [first, first + count) in training order.
  Batch training_batch(std::uint64_t first, std::uint64_t count) const;
  // Pieces in the order of the shards, for evaluation: masks, pairs and hidden sentences of each are drawn
  // for its number. When left_neighbours is given, the true id to the left of every masked token is appended
  // to it.
  Batch piece_batch(std::span<const std::uint64_t> pieces,
                    std::vector<std::int32_t>* left_neighbours = nullptr) const;

  // The largest batch of so many samples, hidden sentences included. The second: with the objective of the
  // shards (objective_for).
  BatchLimits limits(std::int64_t sequences) const;
  static BatchLimits limits(const ModelConfig& config, const PretrainingObjective& objective,
                            std::int64_t length, std::int64_t sequences);

 private:
  void append_next(PretrainSample sample, Batch& batch, std::vector<std::int32_t>* left_neighbours) const;
  void append(PretrainSample sample, std::uint64_t draw, Batch& batch, SentencesAlone& alone,
              std::vector<std::int32_t>* left_neighbours) const;
  std::vector<std::size_t> hide_sentences(PretrainSample& sample, std::uint64_t draw, const Batch& batch,
                                          SentencesAlone& alone) const;

  ModelConfig config_;
  PretrainingObjective objective_;
  std::uint64_t seed_;
  std::int32_t mask_id_;
  PretrainSampler sampler_;
  MlmMasker masker_;
  NextTokens next_;
};

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
  // BigBird-ETC: standard deviation of tables of labels that no folder has (layout.h).
  double relative_init = relative_init_range;

  PretrainingObjective objective;
  std::uint64_t eval_samples = 1000;  // of a validation, a seeded choice of pieces; 0: all
};

// Errors: {bad_input} shards, tokenizer and model that do not belong together, an output folder that holds a
// run; {usage} options that contradict each other or those of the run that is resumed; {environment} too
// little memory, naming sizes that fit; {interrupted} after a signal, with everything saved.
TrainingSummary pretrain(const PretrainOptions& options, kernels::Backend& backend);

}  // namespace bigbird
