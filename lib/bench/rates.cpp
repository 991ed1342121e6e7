// See rates.h.
#include "lib/bench/rates.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "lib/core/cancel.h"
#include "lib/core/error.h"

namespace bigbird {
namespace {

// Runs that a clock sees nothing of would go on for ever.
constexpr int most_runs_without_time = 1000;

}  // namespace

SecondsClock steady_seconds() {
  return [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
}

Rate measure_rate(const std::function<double()>& work, const RateOptions& options,
                  const SecondsClock& clock) {
  work();
  Rate rate;
  std::vector<double> rates;
  int without_time = 0;
  while (rate.seconds < options.seconds || rate.repeats < options.repeats) {
    throw_if_cancelled();
    const double begin = clock();
    const double amount = work();
    const double seconds = clock() - begin;
    if (!(seconds > 0)) {
      if (++without_time == most_runs_without_time)
        throw_runtime("the clock stands still: nothing can be timed with it");
      continue;
    }
    rate.seconds += seconds;
    rate.repeats += 1;
    rates.push_back(amount / seconds);
  }
  throw_if_cancelled();
  std::sort(rates.begin(), rates.end());
  const std::size_t middle = rates.size() / 2;
  rate.median = rates.size() % 2 == 1 ? rates[middle] : (rates[middle - 1] + rates[middle]) / 2;
  rate.best = rates.back();
  rate.spread = rate.median > 0 ? (rates.back() - rates.front()) / rate.median : 0;
  return rate;
}

}  // namespace bigbird
