// AdamW variants and learning-rate schedules of the reference against values worked out by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/adamw.h"
#include "reference/schedule.h"

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
