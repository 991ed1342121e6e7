// Draws of next tokens; see sampling.h.
#include "lib/text/summarize/sampling.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

namespace bigbird {
namespace {

constexpr float never = -std::numeric_limits<float>::infinity();

// Leaves the k highest scores, and those that are equal to the lowest of them.
void keep_highest(std::span<float> scores, std::int64_t k) {
  if (k == 0 || k >= static_cast<std::int64_t>(scores.size())) return;
  std::vector<float> sorted(scores.begin(), scores.end());
  const auto lowest = sorted.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(sorted.begin(), lowest, sorted.end(), std::greater<>());
  for (float& score : scores) score = score < *lowest ? never : score;
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
