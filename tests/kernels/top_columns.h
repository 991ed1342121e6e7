// Rows of logits to choose the largest from, and what reference/token_search.h says of them. The backends'
// tests share them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/types.h"
#include "reference/token_search.h"

namespace bigbird::kernels {

struct TopShape {
  Index rows, columns, count;
};

// Fewer columns than threads, than a vector and than are kept; rows that begin within a vector; all that is
// kept; the vocabulary of BigBird-Pegasus.
inline const TopShape top_shapes[] = {{3, 1, 1},      {2, 5, 5},     {5, 64, 10},    {3, 1003, 32},
                                      {3, 1003, 33},  {2, 128, 128}, {2, 5003, 128}, {1, 4097, 1},
                                      {2, 96103, 10}, {1, 96103, 64}};

// Whole multiples of 1/64 between -8 and 8, of which equal ones come often. Of short rows the first is all
// equal, and the second rises, so that every number is the best so far.
inline std::vector<float> top_logits(const TopShape& shape) {
  std::mt19937 random(static_cast<std::uint32_t>(shape.columns));
  std::vector<float> logits;
  for (Index i = 0; i < shape.rows * shape.columns; ++i)
    logits.push_back((static_cast<float>(random() % 1025u) - 512.0f) / 64.0f);
  if (shape.columns > 2000) return logits;
  for (Index i = 0; i < shape.columns; ++i) {
    const Index eighth = i / 8;  // eight are equal
    logits[static_cast<std::size_t>(i)] = 1.5f;
    if (shape.rows > 1)
      logits[static_cast<std::size_t>(shape.columns + i)] = static_cast<float>(eighth) / 16.0f;
  }
  return logits;
}

inline void expect_top(const TopShape& shape, const std::vector<float>& logits,
                       const std::vector<float>& log_probabilities,
                       const std::vector<std::int32_t>& columns) {
  ASSERT_EQ(log_probabilities.size(), static_cast<std::size_t>(shape.rows * shape.count));
  ASSERT_EQ(columns.size(), log_probabilities.size());
  for (Index row = 0; row < shape.rows; ++row) {
    const auto first = logits.begin() + row * shape.columns;
    const reference::TopColumns expected = reference::top_log_softmax(
        reference::Vector(first, first + shape.columns), static_cast<std::size_t>(shape.count));
    for (std::size_t i = 0; i < expected.columns.size(); ++i) {
      const std::size_t at = static_cast<std::size_t>(row * shape.count) + i;
      ASSERT_EQ(static_cast<std::size_t>(columns[at]), expected.columns[i]) << "row " << row << ", " << i;
      const double value = expected.log_probabilities[i];
      ASSERT_NEAR(static_cast<double>(log_probabilities[at]), value, 1e-6 * std::max(1.0, std::abs(value)))
          << "row " << row << ", " << i;
    }
  }
}

// -infinity in most places, everywhere but for fewer numbers than are asked for, and one place without a
// number.
constexpr TopShape odd_top{3, 700, 40};
inline std::vector<float> odd_top_logits() {
  std::vector<float> logits(static_cast<std::size_t>(odd_top.rows * odd_top.columns), -INFINITY);
  for (std::size_t i = 0; i < 100; ++i) logits[7 * i] = static_cast<float>(i % 10);
  for (const std::size_t i : {3u, 650u, 41u}) logits[700 + i] = 2.0f;
  for (std::size_t i = 1400; i < 2100; ++i) logits[i] = 0.5f;
  logits[1400 + 333] = NAN;
  return logits;
}
inline void expect_odd_top(const std::vector<float>& logits, const std::vector<float>& log_probabilities,
                           const std::vector<std::int32_t>& columns) {
  const TopShape first{1, odd_top.columns, odd_top.count};
  expect_top(first, logits, {log_probabilities.begin(), log_probabilities.begin() + 40},
             {columns.begin(), columns.begin() + 40});
  EXPECT_EQ(std::vector<std::int32_t>(columns.begin() + 40, columns.begin() + 46),
            (std::vector<std::int32_t>{3, 41, 650, 0, 1, 2}));
  for (std::size_t i = 40; i < 80; ++i) {
    if (i < 43) {
      EXPECT_NEAR(log_probabilities[i], -std::log(3.0f), 1e-6f);
    } else {
      EXPECT_EQ(log_probabilities[i], -INFINITY) << i;
    }
  }
  for (std::size_t i = 80; i < 120; ++i) {
    EXPECT_TRUE(std::isnan(log_probabilities[i])) << i;
    EXPECT_TRUE(columns[i] >= 0 && columns[i] < odd_top.columns) << i;
  }
}

}  // namespace bigbird::kernels
