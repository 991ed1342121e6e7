// How far outputs and gradients of one model on two devices, or in two precisions, lie apart.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/model/config.h"
#include "lib/model/network/layout.h"

namespace bigbird::testing {

// The tokens of a question have logits of about -1e6, without digits behind the point.
inline bool counts(float expected) {
  return expected > -1e5f;
}

inline double largest_difference(const std::vector<float>& actual, const std::vector<float>& expected) {
  EXPECT_EQ(actual.size(), expected.size());
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(actual[i])) return HUGE_VAL;
    if (!counts(expected[i])) continue;
    difference = std::max(difference, std::abs(static_cast<double>(actual[i] - expected[i])));
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
  }
  return largest > 0 ? difference / largest : difference;
}

inline double dot(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (counts(b[i])) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  return sum;
}

inline double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> counted = a;
  for (std::size_t i = 0; i < a.size(); ++i) counted[i] = counts(b[i]) ? a[i] : 0.0f;
  return dot(counted, b) / std::sqrt(dot(counted, counted) * dot(b, b));
}

inline double relative_norm(const std::vector<float>& actual, const std::vector<float>& expected) {
  std::vector<float> difference = actual;
  for (std::size_t i = 0; i < expected.size(); ++i) difference[i] -= expected[i];
  return std::sqrt(dot(difference, difference) / dot(expected, expected));
}

// The gradient of one tensor beside what it should be.
struct TensorGradient {
  std::string name;
  double size;  // root mean square of what it should be, over that of all gradients together
  // How long it is along what it should be: 1.1 for a gradient that is right but 10 % too large.
  double scale;
  double error;  // || got - expected || / || expected ||
  double got;    // its own root mean square, over that of what all gradients should be
  bool few;      // of at most two numbers
};

inline std::vector<TensorGradient> by_tensor(const ModelConfig& config, const std::vector<float>& got,
                                             const std::vector<float>& expected) {
  const auto mean_square = [](const std::vector<float>& values) {
    return dot(values, values) / static_cast<double>(values.size());
  };
  const double all = mean_square(expected);
  std::vector<TensorGradient> tensors;
  const ParameterLayout layout(config);
  for (const TensorSpec& spec : layout.tensors()) {
    const auto part = [&](const std::vector<float>& whole) {
      return std::vector<float>(whole.begin() + spec.offset, whole.begin() + spec.offset + spec.count);
    };
    const std::vector<float> g = part(got), e = part(expected);
    tensors.push_back({spec.name, std::sqrt(mean_square(e) / all), dot(g, e) / dot(e, e), relative_norm(g, e),
                       std::sqrt(mean_square(g) / all), spec.count <= 2});
  }
  return tensors;
}

// Each tensor by itself: among all gradients a wrong one of a bias or of a LayerNorm does not show.
struct GradientBounds {
  double error;
  double scale;     // distance from 1
  double rounding;  // what may be left of a gradient that is 0, of the root mean square of all
  double few = 1;   // times so much error and scale for a tensor of at most two numbers
};

// Largest differences that test_model.cpp saw on the emulated device, sums of tensor cores rounded |
// truncated (BIGBIRD_EMULATION_TRUNCATE=1), where it wants less than 2e-5 in fp32: hidden 2.5e-6 | 5.9e-6,
// logits 3.9e-6 | 5.5e-6, loss 2.8e-6 | 5.6e-6, against the reference in double at most 1.2e-6 | 5.7e-6; in
// tf32, hidden 5.2e-4 | 6.6e-4, loss 1.1e-3 | 1.0e-3; in bf16, loss 6.9e-3 | 6.9e-3.
inline constexpr GradientBounds fp32_bounds{1e-4, 1e-4, 1e-5};
// The gradient of a softmax that few rows are summed of (the bias of the next sentence's classes: one row a
// sequence) has no errors that cancel: 1 - p errs, relative to itself, by p times what the difference of the
// logits errs absolutely, and logits are sums of many products of numbers beyond 1, each right to tf32's
// 1e-3. 0.011 was seen of its two numbers; every other tensor keeps 1e-2.
inline constexpr GradientBounds tf32_bounds{1e-2, 1e-2, 3e-3, 2};
inline constexpr GradientBounds bf16_bounds{0.1, 0.05, 5e-2};

inline void expect_every_gradient(const ModelConfig& config, const std::vector<float>& got,
                                  const std::vector<float>& expected, const GradientBounds& bounds) {
  for (const TensorGradient& tensor : by_tensor(config, got, expected)) {
    SCOPED_TRACE(tensor.name);
    // Not used by this head, or seen by nothing, as the bias of keys: softmax takes no notice of a number
    // that is added to all scores of a row.
    if (tensor.size < 1e-5) {
      EXPECT_LE(tensor.got, bounds.rounding);
      continue;
    }
    const double allowed = tensor.few ? bounds.few : 1.0;
    EXPECT_LT(tensor.error, allowed * bounds.error);
    EXPECT_NEAR(tensor.scale, 1.0, allowed * bounds.scale);
  }
}

}  // namespace bigbird::testing
