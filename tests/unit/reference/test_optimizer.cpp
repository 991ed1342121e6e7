// AdamW variants, LAMB, Adafactor and learning-rate schedules of the reference against values worked out by
// hand.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/optimizer.h"

namespace bigbird::reference {
namespace {

TEST(ReferenceAdamW, FirstGoogleUpdateHasNoBiasCorrection) {
  AdamWState state;
  Vector p{2.0};
  adamw_update({AdamWVariant::google, 0.9, 0.999, 1e-6, 0.01}, 0.1, {4.0}, p, state);
  // m = 0.4, v = 0.016.
  EXPECT_NEAR(p[0], 2.0 - 0.1 * (0.4 / (std::sqrt(0.016) + 1e-6) + 0.01 * 2.0), 1e-14);
  EXPECT_NEAR(state.first_moment[0], 0.4, 1e-15);
  EXPECT_NEAR(state.second_moment[0], 0.016, 1e-15);
}

TEST(ReferenceAdamW, FirstTorchUpdateMovesByTheRateWhateverTheGradient) {
  AdamWState state;
  Vector p{2.0, -1.0};
  adamw_update({AdamWVariant::torch, 0.9, 0.999, 0.0, 0.0}, 0.1, {4.0, -1e-4}, p, state);
  EXPECT_NEAR(p[0], 1.9, 1e-12);
  EXPECT_NEAR(p[1], -0.9, 1e-12);
}

TEST(ReferenceAdamW, TorchDecaysBeforeItMoves) {
  AdamWState state;
  Vector p{2.0};
  adamw_update({AdamWVariant::torch, 0.9, 0.999, 0.0, 0.5}, 0.1, {4.0}, p, state);
  EXPECT_NEAR(p[0], 2.0 * (1.0 - 0.1 * 0.5) - 0.1, 1e-12);
}

TEST(ReferenceAdamW, MomentsCarryOverToTheSecondUpdate) {
  AdamWState state;
  Vector p{0.0};
  const AdamWOptions options{AdamWVariant::torch, 0.5, 0.75, 0.25, 0.0};
  adamw_update(options, 1.0, {2.0}, p, state);
  adamw_update(options, 1.0, {-4.0}, p, state);
  // m: 1, then 0.5 - 2 = -1.5; v: 1, then 0.75 + 4 = 4.75; corrections by 0.75 = 1 - 0.25 and by 0.4375.
  EXPECT_NEAR(p[0], -2.0 / 2.25 + (1.5 / 0.75) / (std::sqrt(4.75 / 0.4375) + 0.25), 1e-12);
}

// The first update knows nothing of before (1 - 1^-0.8 = 0): a vector moves by its own size, and the rate,
// against the sign of the gradient.
// |p| = 5. m = 0.1 g, v = 0.001 g^2: m / sqrt(v) = sqrt(10) sign(g), but for epsilon.
TEST(ReferenceLamb, TheFirstUpdateMovesByAShareOfTheNorm) {
  LambOptions options;
  options.epsilon = 0.0;
  options.weight_decay = 0.1;
  AdamWState state;
  Vector p = {3.0, -4.0};
  lamb_update(options, 0.01, {2.0, 2.0}, p, state);
  const double a = std::sqrt(10.0) + 0.3, b = std::sqrt(10.0) - 0.4;
  const double ratio = 5.0 / std::sqrt(a * a + b * b);
  EXPECT_NEAR(p[0], 3.0 - 0.01 * ratio * a, 1e-15);
  EXPECT_NEAR(p[1], -4.0 - 0.01 * ratio * b, 1e-15);
  EXPECT_NEAR(state.first_moment[0], 0.2, 1e-16);
  EXPECT_NEAR(state.second_moment[0], 0.004, 1e-16);
}

TEST(ReferenceLamb, TheRatioIsOneWhereANormIsZeroAndOfWhatIsExcluded) {
  LambOptions options;
  options.epsilon = 0.0;
  options.weight_decay = 0.1;
  AdamWState zeros, none, excluded;
  Vector p = {0.0, 0.0}, still = {0.0, 0.0}, bias = {3.0, -4.0};
  lamb_update(options, 0.01, {2.0, -2.0}, p, zeros);
  EXPECT_NEAR(p[0], -0.01 * std::sqrt(10.0), 1e-15);
  EXPECT_NEAR(p[1], 0.01 * std::sqrt(10.0), 1e-15);
  options.epsilon = 1e-6;
  lamb_update(options, 0.01, {0.0, 0.0}, still, none);
  EXPECT_EQ(still, Vector(2, 0.0));
  options.epsilon = 0.0;
  options.excluded = true;
  lamb_update(options, 0.01, {2.0, 2.0}, bias, excluded);
  EXPECT_NEAR(bias[0], 3.0 - 0.01 * std::sqrt(10.0), 1e-15) << "no decay";
  EXPECT_NEAR(bias[1], -4.0 - 0.01 * std::sqrt(10.0), 1e-15);
}

TEST(ReferenceAdafactor, TheFirstUpdateOfAVectorIsItsSizeTimesTheRate) {
  AdafactorState state;
  Vector p{3.0, -4.0, 0.0, 5.0};  // rms sqrt(12.5)
  adafactor_update(0.1, {4}, {2.0, -1e-3, 7.0, 0.0}, p, state);
  const double way = 0.1 * std::sqrt(12.5);  // times 1, -1, 1 and 0, of an rms below 1
  EXPECT_NEAR(p[0], 3.0 - way, 1e-12);
  EXPECT_NEAR(p[1], -4.0 + way, 1e-12);
  EXPECT_NEAR(p[2], -way, 1e-12);
  EXPECT_EQ(p[3], 5.0);
}

TEST(ReferenceAdafactor, AMatrixIsDividedByItsRowsAndColumns) {
  AdafactorState state;
  Vector p{0.0, 0.0, 0.0, 0.0};  // taken to have an rms of 1e-3
  adafactor_update(2.0, {2, 2}, {3.0, 1.0, 1.0, 0.0}, p, state);
  // Squares 9 1 / 1 0: rows 5 and 0.5, columns 5 and 0.5, mean of the rows 2.75. u = g sqrt(2.75 / (row
  // column)): 3 sqrt(0.11), sqrt(1.1) twice, 0; of rms sqrt((0.99 + 1.1 + 1.1) / 4) < 1.
  EXPECT_NEAR(state.rows[0], 5.0, 1e-12);
  EXPECT_NEAR(state.rows[1], 0.5, 1e-12);
  EXPECT_NEAR(state.columns[0], 5.0, 1e-12);
  EXPECT_NEAR(state.columns[1], 0.5, 1e-12);
  EXPECT_NEAR(p[0], -2e-3 * 3.0 * std::sqrt(0.11), 1e-15);
  EXPECT_NEAR(p[1], -2e-3 * std::sqrt(1.1), 1e-15);
  EXPECT_NEAR(p[2], -2e-3 * std::sqrt(1.1), 1e-15);
  EXPECT_EQ(p[3], 0.0);
}

TEST(ReferenceAdafactor, TheSecondUpdateMixesByItsNumberAndIsCutToAnRmsOfOne) {
  AdafactorState state;
  Vector p{1.0, 1.0};
  adafactor_update(0.0, {2}, {1.0, 1.0}, p, state);
  adafactor_update(0.5, {2}, {3.0, 4.0}, p, state);
  const double b = 1.0 - std::pow(2.0, -0.8);
  const double u = 3.0 / std::sqrt(b + 9.0 * (1.0 - b)), w = 4.0 / std::sqrt(b + 16.0 * (1.0 - b));
  const double rms = std::sqrt((u * u + w * w) / 2.0);
  ASSERT_GT(rms, 1.0);
  EXPECT_NEAR(p[0], 1.0 - 0.5 * u / rms, 1e-12);
  EXPECT_NEAR(p[1], 1.0 - 0.5 * w / rms, 1e-12);
}

TEST(ReferenceAdafactor, WhatHasNoGradientStays) {
  AdafactorState matrix, vector;
  Vector p{1.0, -2.0, 0.0, 3.0, 0.5, 1.5}, q = p;
  const Vector before = p, zeros(6, 0.0);
  for (int update = 0; update < 3; ++update) {
    adafactor_update(0.1, {2, 3}, zeros, p, matrix);
    adafactor_update(0.1, {6}, zeros, q, vector);
  }
  EXPECT_EQ(p, before);
  EXPECT_EQ(q, before);
}

TEST(ReferenceSchedule, GoogleDecayIsCountedFromStepZero) {
  const auto rate = [](std::int64_t step) {
    return learning_rate(ScheduleVariant::google, 2.0, step, 10, 100);
  };
  EXPECT_DOUBLE_EQ(rate(0), 0.0);
  EXPECT_DOUBLE_EQ(rate(9), 1.8);
  EXPECT_DOUBLE_EQ(rate(10), 1.8);  // the jump: 2.0 would be the end of the ramp
  EXPECT_DOUBLE_EQ(rate(50), 1.0);
  EXPECT_DOUBLE_EQ(rate(100), 0.0);
  EXPECT_DOUBLE_EQ(rate(170), 0.0);
}

TEST(ReferenceSchedule, HuggingFaceDecayIsCountedFromTheEndOfWarmUp) {
  const auto rate = [](std::int64_t step) {
    return learning_rate(ScheduleVariant::hugging_face, 2.0, step, 10, 100);
  };
  EXPECT_DOUBLE_EQ(rate(5), 1.0);
  EXPECT_DOUBLE_EQ(rate(10), 2.0);
  EXPECT_DOUBLE_EQ(rate(55), 1.0);
  EXPECT_DOUBLE_EQ(rate(100), 0.0);
  EXPECT_DOUBLE_EQ(learning_rate(ScheduleVariant::hugging_face, 2.0, 0, 0, 100), 2.0);
}

}  // namespace
}  // namespace bigbird::reference
