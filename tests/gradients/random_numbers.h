// Random test input that is the same on every machine, and nothing else.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "reference/attention.h"
#include "reference/tensor.h"

namespace bigbird::testing {

class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint32_t seed) : generator_(seed) {}

  // Uniform in 0 .. count - 1.
  std::size_t below(std::size_t count) { return generator_() % count; }
  // Uniform in [low, high).
  double between(double low, double high) {
    return low + (high - low) * static_cast<double>(generator_()) / 4294967296.0;
  }
  reference::Vector vector(std::size_t size, double low = -1.0, double high = 1.0) {
    reference::Vector result(size);
    for (double& value : result) value = between(low, high);
    return result;
  }
  reference::Matrix matrix(std::size_t rows, std::size_t columns, double low = -1.0, double high = 1.0) {
    return reference::Matrix(rows, columns, vector(rows * columns, low, high));
  }

  // Random key lists of 1 .. longest blocks, repeats and all; different for every head and row.
  reference::AttentionPlan plan(std::size_t heads, std::size_t blocks, std::size_t longest) {
    reference::AttentionPlan result(heads, std::vector<std::vector<std::size_t>>(blocks));
    for (auto& head : result) {
      for (auto& keys : head) {
        keys.resize(1 + below(longest));
        for (std::size_t& block : keys) block = below(blocks);
      }
    }
    return result;
  }

 private:
  std::mt19937 generator_;
};

inline double weighted_sum(const reference::Vector& values, const reference::Vector& weights) {
  double result = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) result += values[i] * weights[i];
  return result;
}

inline double largest_difference(const reference::Vector& a, const reference::Vector& b) {
  if (a.size() != b.size()) return INFINITY;
  double result = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (!(difference <= result)) result = difference;
  }
  return result;
}

}  // namespace bigbird::testing
