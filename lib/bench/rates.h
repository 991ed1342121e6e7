// How fast something goes: work that is done again and again until a clock has seen enough of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace bigbird {

// Seconds since some moment, never going back.
using SecondsClock = std::function<double()>;
// The machine's steady clock.
SecondsClock steady_seconds();

struct RateOptions {
  double seconds = 2.0;      // of timed work, at least
  std::int64_t repeats = 3;  // and so many runs of it
};

// Amounts a second. Of an even number of runs the median is the mean of the two in the middle.
struct Rate {
  double best = 0;
  double median = 0;
  double spread = 0;  // (highest - lowest) / median
  std::int64_t repeats = 0;
  double seconds = 0;  // of all runs together, without the first
};

// Runs `work` once without a look at the clock (pages are made, weights are packed), then until both of
// `options` are reached. It returns how much it did, and may do another amount each time. Error{interrupted}
// between two runs when a stop was requested; Error{runtime} for work whose runs take no time that the clock
// can see.
Rate measure_rate(const std::function<double()>& work, const RateOptions& options, const SecondsClock& clock);

}  // namespace bigbird
