// Rates on a clock that the test turns: what was counted, over what the clock said.
#include <gtest/gtest.h>

#include "lib/bench/machine_rates.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"

namespace bigbird {
namespace {

// Each run takes the next of these seconds; they begin anew at the end.
struct Script {
  std::vector<double> durations;
  std::vector<double> amounts;
  double now = 100;
  std::size_t runs = 0;

  double work() {
    const double amount = amounts[runs % amounts.size()];
    now += durations[runs % durations.size()];
    ++runs;
    return amount;
  }
  Rate measure(const RateOptions& options) {
    return measure_rate([this] { return work(); }, options, [this] { return now; });
  }
};

TEST(Rates, TheFirstRunIsNotTimed) {
  Script script{{50, 2, 2, 2}, {10}};
  const Rate rate = script.measure({.seconds = 6, .repeats = 3});
  EXPECT_EQ(script.runs, 4u);
  EXPECT_EQ(rate.repeats, 3);
  EXPECT_DOUBLE_EQ(rate.seconds, 6);
  EXPECT_DOUBLE_EQ(rate.median, 5);
  EXPECT_DOUBLE_EQ(rate.best, 5);
  EXPECT_DOUBLE_EQ(rate.spread, 0);
}

TEST(Rates, GoOnUntilBothSecondsAndRepeatsAreReached) {
  Script slow{{4}, {1}};
  EXPECT_EQ(slow.measure({.seconds = 2, .repeats = 3}).repeats, 3);
  Script fast{{0.25}, {1}};
  EXPECT_EQ(fast.measure({.seconds = 2, .repeats = 3}).repeats, 8);
}

TEST(Rates, BestMedianAndSpreadAreOfRatesNotOfTimes) {
  // Rates 10, 5, 2.5 and 2 a second.
  Script script{{1, 1, 2, 4, 5}, {10}};
  const Rate rate = script.measure({.seconds = 12, .repeats = 4});
  EXPECT_EQ(rate.repeats, 4);
  EXPECT_DOUBLE_EQ(rate.best, 10);
  EXPECT_DOUBLE_EQ(rate.median, 3.75);
  EXPECT_DOUBLE_EQ(rate.spread, 8 / 3.75);
}

TEST(Rates, RunsOfOtherAmountsCountWithTheirOwn) {
  Script script{{1, 2}, {7, 6, 30}};  // 6 in 2 s, 30 in 1 s, 7 in 2 s
  const Rate rate = script.measure({.seconds = 0, .repeats = 3});
  EXPECT_DOUBLE_EQ(rate.best, 30);
  EXPECT_DOUBLE_EQ(rate.median, 3.5);
}

TEST(Rates, AClockThatStandsStillIsSaid) {
  Script script{{0}, {1}};
  EXPECT_THROW(script.measure({}), Error);
}

TEST(Rates, StopBetweenTwoRuns) {
  Script script{{1}, {1}};
  int runs = 0;
  const auto work = [&] {
    if (++runs == 3) request_cancel(2);
    return script.work();
  };
  EXPECT_THROW(measure_rate(work, {.seconds = 100, .repeats = 3}, [&] { return script.now; }), Error);
  clear_cancel();
  EXPECT_EQ(runs, 3);
}

TEST(Rates, TheMachinesClockGoesForward) {
  const SecondsClock clock = steady_seconds();
  const double first = clock();
  EXPECT_GE(clock(), first);
}

}  // namespace
}  // namespace bigbird
