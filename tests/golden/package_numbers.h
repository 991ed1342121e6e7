// How near outputs and gradients of attention come to those of a published package: 2e-5, and 1e-4 of the
// norm.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

namespace bigbird::testing {

template <typename Values>
void expect_output(const Values& values, const std::vector<float>& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(values[i], expected[i], 2e-5) << i;
}
template <typename Values>
void expect_gradient(const Values& values, const std::vector<float>& expected, const char* of) {
  ASSERT_EQ(values.size(), expected.size());
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference += std::pow(double{values[i]} - double{expected[i]}, 2);
    norm += std::pow(double{expected[i]}, 2);
  }
  EXPECT_LT(std::sqrt(difference), 1e-4 * std::sqrt(norm)) << of;
}

}  // namespace bigbird::testing
