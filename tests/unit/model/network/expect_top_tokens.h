// The best tokens that steps of a decoder or of a text name, against all of their logits.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "lib/core/error.h"
#include "lib/model/network/top_tokens.h"

namespace bigbird::testing {

// logits: those of the last step, [rows, vocabulary].
template <typename Steps>
void expect_top_tokens(Steps& steps, const std::vector<float>& logits, std::size_t vocabulary) {
  const std::int64_t count = 5;
  const TopTokens all = steps.top(count);
  for (std::size_t row = 0; row < logits.size() / vocabulary; ++row) {
    const TopTokens top = all.rows(row, 1);
    const auto value = [&](std::int32_t token) {
      return static_cast<double>(logits[row * vocabulary + static_cast<std::size_t>(token)]);
    };
    double sum = 0.0;
    std::vector<std::int32_t> order;
    for (std::int32_t token = 0; token < static_cast<std::int32_t>(vocabulary); ++token) {
      sum += std::exp(value(token));
      order.push_back(token);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int32_t a, std::int32_t b) { return value(a) > value(b); });
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      EXPECT_EQ(top.tokens[i], order[i]);
      EXPECT_NEAR(static_cast<double>(top.log_probabilities[i]), value(order[i]) - std::log(sum), 1e-5);
    }
  }
  EXPECT_THROW(steps.top(0), Error);
  EXPECT_THROW(steps.top(static_cast<std::int64_t>(vocabulary) + 1), Error);
}

}  // namespace bigbird::testing
