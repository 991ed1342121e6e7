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
#pragma once

#include <cstdint>
#include <vector>

#include "lib/data/token_shards.h"
#include "lib/training/evaluator.h"

namespace bigbird {

class Tokenizer;

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

}  // namespace bigbird
