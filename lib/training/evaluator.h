// How well a pretrained model predicts held-out shards: MLM loss, accuracy and bits per base, NSP accuracy.
// Deterministic: the pieces in the order of the shards, masked and paired by (seed, piece number).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/ranks/ranks.h"
#include "lib/training/pretraining_batches.h"
#include "lib/training/trainer.h"

namespace bigbird {

class Model;
class Tokenizer;

// One masked token: what it was, and the true token to its left (the bigram baseline's context).
struct ScoredToken {
  std::int32_t left = 0;
  std::int32_t label = 0;
};

struct EvaluationResult {
  LossSums sums;
  std::uint64_t samples = 0;
  std::uint64_t tokens = 0;  // of the samples, special tokens included
  // Bases (bytes of text) that the masked tokens stand for: Tokenizer::piece_length.
  std::uint64_t bases_covered = 0;
  std::vector<ScoredToken> scored;  // every masked token, in order

  double mlm_loss() const;       // nats per masked token
  double bits_per_base() const;  // sum of the masked tokens' bits over bases_covered
  // Of text: cross entropy of a masked token in bits (papers call it BPC), and the bits over the bytes that
  // the masked tokens cover, which vocabularies of different sizes can be compared by. A word's first piece
  // covers the blank before it too.
  double bits_per_token() const;
  double bits_per_byte() const { return bits_per_base(); }
};

// The piece numbers of an evaluation, ascending: all, or max_samples of them, a random choice keyed by the
// sampler's seed.
std::vector<std::uint64_t> evaluation_pieces(const PretrainSampler& sampler, std::uint64_t max_samples);

struct EvaluationOptions {
  std::int64_t batch = 8;         // sequences at a time; the result does not depend on it
  std::uint64_t max_samples = 0;  // 0: every piece; else so many, a random choice keyed by the sampler's seed
  bool keep_scored = false;       // fill EvaluationResult::scored
  bool progress = false;
};

// The model must have been built for batches.limits(options.batch). Collective: ranks share the batches, and
// all have the result, which does not depend on how many they are.
EvaluationResult evaluate_pretraining(Model& model, const PretrainingBatches& batches,
                                      const Tokenizer& tokenizer, const EvaluationOptions& options,
                                      kernels::Ranks& ranks = kernels::this_process());

}  // namespace bigbird
