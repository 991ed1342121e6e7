// How well a pretrained model predicts held-out shards: MLM loss, accuracy and bits per base, NSP accuracy.
// Deterministic: the pieces in the order of the shards, masked and paired by (seed, piece number).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/ranks/ranks.h"
#include "lib/data/token_shards.h"
#include "lib/training/pretraining.h"
#include "lib/training/trainer.h"

namespace bigbird {

class Model;
class Tokenizer;

// One predicted token: what it was, the true token to its left (the bigram baseline's context), what the
// model's answer costs, and where it stands. The sample is the number of its piece, of streams of its
// document; the position is counted in it from 0, which is [CLS].
struct ScoredToken {
  std::int32_t left = 0;
  std::int32_t label = 0;
  float nats = 0;
  std::int32_t position = 0;
  std::uint64_t sample = 0;
};

// How the weight of queries is spread over the age of keys (Rae et al. 2019, section 5.5): what a model
// remembers, and the segment that it reads, cut into six parts each.
struct AttentionBuckets {
  static constexpr std::int64_t parts = 6;
  std::uint64_t segments = 0;                       // whole ones behind a full memory: means are over these
  std::int64_t compressed = 0, plain = 0, own = 0;  // rows that are cut
  // [layer][3 parts] mean weights over queries and heads: compressed rows, the oldest first, other rows of
  // memory, tokens of the segment. They sum to 1.
  std::vector<std::vector<double>> layers;
};

struct EvaluationResult {
  LossSums sums;
  std::uint64_t samples = 0;
  std::uint64_t tokens = 0;  // of the samples, special tokens included
  // Bases (bytes of text) that the masked tokens stand for: Tokenizer::piece_length. A word's first piece
  // covers the blank before it too.
  std::uint64_t bases_covered = 0;
  std::uint64_t characters_covered = 0;  // of text: of these bytes those that begin one
  std::vector<ScoredToken> scored;       // every predicted token, in order
  AttentionBuckets buckets;              // where they are asked for

  double mlm_loss() const;  // nats per masked token
};

// The piece numbers of an evaluation, ascending: all, or max_samples of them, a random choice keyed by the
// sampler's seed.
std::vector<std::uint64_t> evaluation_pieces(const PretrainSampler& sampler, std::uint64_t max_samples);

struct EvaluationOptions {
  std::int64_t batch = 8;         // sequences at a time; the result does not depend on it
  std::uint64_t max_samples = 0;  // 0: every piece; else so many, a random choice keyed by the sampler's seed
  bool keep_scored = false;       // fill EvaluationResult::scored
  bool progress = false;
  bool attention_buckets = false;  // of streams: the model must have ModelOptions::key_weights
};

// The model must have been built for batches.limits(options.batch). Collective: ranks share the batches, and
// all have the result, which does not depend on how many they are.
EvaluationResult evaluate_pretraining(Model& model, const PretrainingBatches& batches,
                                      const Tokenizer& tokenizer, const EvaluationOptions& options,
                                      kernels::Ranks& ranks = kernels::this_process());

// The same of a model that reads streams: every document from its beginning, in segments of `length` tokens,
// with what is remembered of those before. options.batch streams at a time; the model must have as many, and
// room for such a batch. max_samples are segments.
EvaluationResult evaluate_streams(Model& model, const TokenShards& shards, const Tokenizer& tokenizer,
                                  std::int64_t length, std::uint64_t seed, const EvaluationOptions& options,
                                  kernels::Ranks& ranks = kernels::this_process());

// What predicting without a network gives: token unigrams and bigrams, fitted on training shards and scored
// on the very tokens that the model was asked for.
//
//   unigram  p(t) = (count(t) + 1) / (N + V'), add-one over the V' ordinary (not special) pieces
//   bigram   p(t | l) = (count(l, t) + k p(t)) / (count(l) + k), a Dirichlet prior around the unigram
//            (MacKay and Peto 1995); l is the true token to the left, which the model may not see when that
//            one is masked too. k is the one of 1, 10, ..., 10^6 with the best leave-one-out likelihood of
//            the training bigrams.
//
// Bigrams are counted inside documents, across sentence boundaries, as the samples run; not across documents.
class NgramModel {
 public:
  // Documents in a random order keyed by the seed, until max_tokens are counted (0: all). 8 bytes of memory a
  // token. Error{bad_input} for shards without tokens or with ids that the tokenizer does not have.
  NgramModel(const TokenShards& shards, const Tokenizer& tokenizer, std::uint64_t max_tokens,
             std::uint64_t seed);

  double unigram(std::int32_t token) const;
  // A `left` that was never seen, such as [CLS], falls back to the unigram.
  double bigram(std::int32_t left, std::int32_t token) const;

  std::uint64_t tokens() const { return tokens_; }
  double bigram_prior() const { return k_; }

 private:
  std::uint64_t pair_count(std::int32_t left, std::int32_t token) const;
  double leave_one_out(double k) const;

  std::uint64_t tokens_ = 0;
  std::uint64_t ordinary_pieces_ = 0;
  double k_ = 1;
  std::vector<std::uint64_t> counts_;       // per token
  std::vector<std::uint64_t> left_counts_;  // per token, as the left one of a pair
  std::vector<std::uint64_t> pairs_;        // left << 32 | token, sorted, repeats kept
};

// Nats summed over the tokens.
struct BaselineScores {
  double unigram = 0;
  double bigram = 0;
};
BaselineScores score_baselines(const NgramModel& model, const std::vector<ScoredToken>& tokens);

// A TSV of sample, position, token (its id) and nats, a row a predicted token, in the order of the samples.
// `comments` as of TsvWriter.
void write_token_losses(const std::string& path, const std::vector<ScoredToken>& tokens,
                        const std::vector<std::string>& comments);

}  // namespace bigbird
