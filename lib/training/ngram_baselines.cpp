// Token n-gram baselines; see ngram_baselines.h.
#include "lib/training/ngram_baselines.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "lib/core/error.h"
#include "lib/core/rng.h"

namespace bigbird {
namespace {

std::uint64_t pair_key(std::int32_t left, std::int32_t token) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) |
         static_cast<std::uint32_t>(token);
}

}  // namespace

NgramModel::NgramModel(const TokenShards& shards, const Tokenizer& tokenizer, std::uint64_t max_tokens,
                       std::uint64_t seed)
    : counts_(tokenizer.vocab_size()), left_counts_(tokenizer.vocab_size()) {
  shards.require_ids_below(tokenizer.vocab_size());
  for (std::uint32_t id = 0; id < tokenizer.vocab_size(); ++id)
    if (!tokenizer.is_special(id)) ++ordinary_pieces_;
  if (shards.token_count() == 0)
    throw_bad_input(shards.prefix() + ": no tokens to count", "give the training shards");
  const std::uint64_t wanted =
      max_tokens == 0 ? shards.token_count() : std::min(max_tokens, shards.token_count());
  pairs_.reserve(static_cast<std::size_t>(wanted));
  const RandomPermutation order(seed, Purpose::pretrain_order, 0, shards.document_count());
  for (std::uint64_t i = 0; i < shards.document_count() && tokens_ < wanted; ++i) {
    const SentenceRange sentences = shards.document(order(i));
    std::int32_t left = -1;
    for (std::uint64_t s = sentences.first; s < sentences.last && tokens_ < wanted; ++s) {
      const TokenView view = shards.sentence(s);
      for (std::size_t t = 0; t < view.size() && tokens_ < wanted; ++t) {
        const auto token = static_cast<std::int32_t>(view[t]);
        ++tokens_;
        ++counts_[static_cast<std::size_t>(token)];
        if (left >= 0) {
          ++left_counts_[static_cast<std::size_t>(left)];
          pairs_.push_back(pair_key(left, token));
        }
        left = token;
      }
    }
  }
  std::sort(pairs_.begin(), pairs_.end());
  double best = 0;
  for (double k = 1; k <= 1e6; k *= 10) {
    const double likelihood = leave_one_out(k);
    if (k == 1 || likelihood > best) {
      best = likelihood;
      k_ = k;
    }
  }
}

double NgramModel::unigram(std::int32_t token) const {
  return (static_cast<double>(counts_[static_cast<std::size_t>(token)]) + 1.0) /
         static_cast<double>(tokens_ + ordinary_pieces_);
}

std::uint64_t NgramModel::pair_count(std::int32_t left, std::int32_t token) const {
  const auto [first, last] = std::equal_range(pairs_.begin(), pairs_.end(), pair_key(left, token));
  return static_cast<std::uint64_t>(last - first);
}

double NgramModel::bigram(std::int32_t left, std::int32_t token) const {
  const auto seen = static_cast<double>(left_counts_[static_cast<std::size_t>(left)]);
  return (static_cast<double>(pair_count(left, token)) + k_ * unigram(token)) / (seen + k_);
}

// Log likelihood of every training pair under the counts without it.
double NgramModel::leave_one_out(double k) const {
  double sum = 0;
  for (auto first = pairs_.begin(); first != pairs_.end();) {
    auto last = first + 1;
    while (last != pairs_.end() && *last == *first) ++last;
    const auto count = static_cast<double>(last - first);
    const auto left = static_cast<std::size_t>(*first >> 32);
    const auto token = static_cast<std::int32_t>(*first & 0xffffffffu);
    const double probability =
        (count - 1.0 + k * unigram(token)) / (static_cast<double>(left_counts_[left]) - 1.0 + k);
    sum += count * std::log(probability);
    first = last;
  }
  return sum;
}

BaselineScores score_baselines(const NgramModel& model, const std::vector<ScoredToken>& tokens) {
  BaselineScores scores;
  for (const ScoredToken& token : tokens) {
    scores.unigram -= std::log(model.unigram(token.label));
    scores.bigram -= std::log(model.bigram(token.left, token.label));
  }
  return scores;
}

}  // namespace bigbird
