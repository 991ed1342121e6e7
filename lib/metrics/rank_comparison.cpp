// See rank_comparison.h.
#include "lib/metrics/rank_comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace bigbird {
namespace {

constexpr double undefined_rank = std::numeric_limits<double>::quiet_NaN();

std::vector<std::size_t> places(std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

// From 1; a group of equal values has the mean of its places.
std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order = places(values.size());
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double rank = (static_cast<double>(begin + end) + 1) / 2;
    for (; begin < end; ++begin) ranks[order[begin]] = rank;
  }
  return ranks;
}

std::vector<bool> is_among_top(std::span<const double> values, std::size_t top) {
  std::vector<std::size_t> order = places(values.size());
  const auto higher = [&](std::size_t a, std::size_t b) {
    return values[a] != values[b] ? values[a] > values[b] : a < b;
  };
  std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(top - 1), order.end(), higher);
  std::vector<bool> among(values.size());
  for (std::size_t i = 0; i < top; ++i) among[order[i]] = true;
  return among;
}

}  // namespace

double spearman(std::span<const double> one, std::span<const double> other) {
  const std::vector<double> first = ranks_of(one);
  const std::vector<double> second = ranks_of(other);
  const double mean = (static_cast<double>(one.size()) + 1) / 2;
  double product = 0, first_square = 0, second_square = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    product += (first[i] - mean) * (second[i] - mean);
    first_square += (first[i] - mean) * (first[i] - mean);
    second_square += (second[i] - mean) * (second[i] - mean);
  }
  if (first_square == 0 || second_square == 0) return undefined_rank;
  return product / std::sqrt(first_square * second_square);
}

double top_overlap(std::span<const double> one, std::span<const double> other, std::size_t top) {
  if (top == 0 || top > one.size()) return undefined_rank;
  const std::vector<bool> first = is_among_top(one, top);
  const std::vector<bool> second = is_among_top(other, top);
  std::size_t shared = 0;
  for (std::size_t i = 0; i < first.size(); ++i) shared += first[i] && second[i] ? 1U : 0U;
  return static_cast<double>(shared) / static_cast<double>(top);
}

}  // namespace bigbird
