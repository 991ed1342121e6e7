// The rate that falls with the root of the step; test_training_run.cpp holds the two others against the
// reference.
#include <gtest/gtest.h>

#include <cmath>

#include "lib/training/optimizer.h"

namespace bigbird {
namespace {

TEST(Schedule, FallsWithTheRootOfTheStep) {
  const Schedule schedule{ScheduleForm::inverse_sqrt, 2.0, 4, 100};
  EXPECT_EQ(schedule.rate(0), 0.0);
  EXPECT_EQ(schedule.rate(2), 1.0);
  EXPECT_EQ(schedule.rate(4), 2.0);
  EXPECT_EQ(schedule.rate(16), 1.0);
  EXPECT_DOUBLE_EQ(schedule.rate(99), 2.0 * std::sqrt(4.0 / 99.0));
  EXPECT_EQ(schedule.rate(100), 0.0);
  const Schedule without{ScheduleForm::inverse_sqrt, 2.0, 0, 100};
  EXPECT_EQ(without.rate(0), 2.0);
  EXPECT_EQ(without.rate(4), 1.0);
  EXPECT_EQ(parse_schedule_form(name_of(ScheduleForm::inverse_sqrt)), ScheduleForm::inverse_sqrt);
}

}  // namespace
}  // namespace bigbird
