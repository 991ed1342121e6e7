// Scores of next tokens, and draws of them; see score_rules.h.
#include "lib/text/search/score_rules.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

namespace bigbird {
namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

// The length of a row as options count it.
std::int64_t written_of(const SearchOptions& options, std::span<const std::int32_t> sequence) {
  return static_cast<std::int64_t>(sequence.size() - options.before.size());
}

void add_candidate(const TokenCandidate& candidate, std::size_t most, std::vector<TokenCandidate>& best) {
  if (best.size() == most && !is_better(candidate, best.back())) return;
  best.insert(std::upper_bound(best.begin(), best.end(), candidate, is_better), candidate);
  if (best.size() > most) best.pop_back();
}

// Leaves the k highest scores, and those that are equal to the lowest of them.
void keep_highest(std::span<float> scores, std::int64_t k) {
  if (k == 0 || k >= static_cast<std::int64_t>(scores.size())) return;
  std::vector<float> sorted(scores.begin(), scores.end());
  const auto lowest = sorted.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(sorted.begin(), lowest, sorted.end(), std::greater<>());
  for (float& score : scores) score = score < *lowest ? minus_infinity : score;
}

// Shares of the whole, in place of scores.
std::vector<double> shares_of(std::span<const float> scores) {
  const auto largest = static_cast<double>(*std::max_element(scores.begin(), scores.end()));
  std::vector<double> shares(scores.size());
  double sum = 0;
  for (std::size_t i = 0; i < scores.size(); ++i)
    sum += shares[i] = std::exp(static_cast<double>(scores[i]) - largest);
  for (double& share : shares) share /= sum;
  return shares;
}

// Leaves the most likely tokens whose shares make up top_p: those go of which all that are less likely, and
// they themselves, make up 1 - top_p at most. The most likely one stays.
void keep_nucleus(std::vector<double>& shares, double top_p) {
  if (top_p >= 1.0) return;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i] > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return shares[a] < shares[b]; });
  double below = 0;
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    below += shares[order[i]];
    if (below > 1.0 - top_p) break;
    shares[order[i]] = 0;
  }
}

}  // namespace

void log_softmax(std::span<const float> logits, std::span<float> log_probabilities) {
  const float largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += static_cast<double>(std::exp(logit - largest));
  const auto log_sum = static_cast<float>(std::log(sum));
  std::transform(logits.begin(), logits.end(), log_probabilities.begin(),
                 [&](float logit) { return logit - largest - log_sum; });
}

std::vector<std::int32_t> forbidden_tokens(const SearchOptions& options,
                                           std::span<const std::int32_t> sequence) {
  const auto length = static_cast<std::int64_t>(sequence.size());
  std::vector<std::int32_t> forbidden;
  if (forced_token(options, sequence)) return forbidden;
  const std::int64_t n = options.no_repeat_ngram;
  if (n > 0 && length + 1 >= n) {
    const auto last = sequence.last(static_cast<std::size_t>(n - 1));
    for (std::int64_t begin = 0; begin + n <= length; ++begin) {
      const auto gram = sequence.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(n));
      if (std::equal(last.begin(), last.end(), gram.begin())) forbidden.push_back(gram.back());
    }
  }
  if (written_of(options, sequence) < options.min_length) {
    forbidden.push_back(options.end);
    forbidden.insert(forbidden.end(), options.more_ends.begin(), options.more_ends.end());
  }
  forbidden.insert(forbidden.end(), options.never.begin(), options.never.end());
  std::sort(forbidden.begin(), forbidden.end());
  forbidden.erase(std::unique(forbidden.begin(), forbidden.end()), forbidden.end());
  return forbidden;
}

std::optional<std::int32_t> forced_token(const SearchOptions& options,
                                         std::span<const std::int32_t> sequence) {
  const std::int64_t length = written_of(options, sequence);
  if (options.forced_end && length == options.max_length - 1) return options.end;
  return length == 1 ? options.forced_begin : std::nullopt;
}

void apply_score_rules(const SearchOptions& options, std::span<const std::int32_t> sequence,
                       std::span<float> scores) {
  const auto at = [&](std::int32_t token) -> float& { return scores[static_cast<std::size_t>(token)]; };
  if (options.repetition_penalty != 1.0) {
    const auto penalty = static_cast<float>(options.repetition_penalty);
    std::vector<std::int32_t> seen(sequence.begin(), sequence.end());
    std::sort(seen.begin(), seen.end());
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    for (const std::int32_t token : seen)
      at(token) = at(token) < 0 ? at(token) * penalty : at(token) / penalty;
  }
  for (const std::int32_t token : forbidden_tokens(options, sequence)) at(token) = minus_infinity;
  if (const std::optional<std::int32_t> forced = forced_token(options, sequence)) {
    std::fill(scores.begin(), scores.end(), minus_infinity);
    at(*forced) = 0;
  }
}

bool is_better(const TokenCandidate& a, const TokenCandidate& b) {
  if (a.score != b.score) return a.score > b.score;
  return a.row != b.row ? a.row < b.row : a.token < b.token;
}

void add_best(std::span<const float> scores, float offset, std::int32_t row, std::size_t most,
              std::vector<TokenCandidate>& best) {
  for (std::size_t token = 0; token < scores.size(); ++token) {
    if (scores[token] != minus_infinity)
      add_candidate({offset + scores[token], row, static_cast<std::int32_t>(token)}, most, best);
  }
}

void add_best(const TopTokens& row_tokens, const std::vector<std::int32_t>& forbidden, float offset,
              std::int32_t row, std::size_t most, std::vector<TokenCandidate>& best) {
  for (std::size_t i = 0; i < row_tokens.tokens.size(); ++i) {
    const float score = row_tokens.log_probabilities[i];
    const std::int32_t token = row_tokens.tokens[i];
    if (score != minus_infinity && !std::binary_search(forbidden.begin(), forbidden.end(), token))
      add_candidate({offset + score, row, token}, most, best);
  }
}

std::int32_t draw_token(std::span<float> scores, const Sampling& sampling, double uniform) {
  const auto temperature = static_cast<float>(sampling.temperature);
  for (float& score : scores) score /= temperature;
  keep_highest(scores, sampling.top_k);
  std::vector<double> shares = shares_of(scores);
  keep_nucleus(shares, sampling.top_p);
  double sum = 0;
  for (const double share : shares) sum += share;
  double left = uniform * sum;
  std::size_t last = 0;  // rounding may leave a rest: it is the last token's
  for (std::size_t token = 0; token < shares.size(); ++token) {
    if (shares[token] <= 0) continue;
    last = token;
    if (left < shares[token]) break;
    left -= shares[token];
  }
  return static_cast<std::int32_t>(last);
}

}  // namespace bigbird
