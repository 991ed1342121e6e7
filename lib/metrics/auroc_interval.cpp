// See auroc_interval.h. A draw is a count for each group of equal scores, so that nothing is sorted again.
#include "lib/metrics/auroc_interval.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/rng.h"
#include "lib/metrics/metrics.h"

namespace bigbird {
namespace {

// The group of equal scores that each score is of, numbered from the lowest score of both classes up.
struct Groups {
  std::vector<std::uint32_t> of_positives, of_negatives;
  std::uint32_t count = 0;
};

Groups groups_of(std::span<const double> positives, std::span<const double> negatives) {
  Groups groups;
  for (std::size_t p = 0, n = 0; p < positives.size() || n < negatives.size(); ++groups.count) {
    const bool from_positives =
        n == negatives.size() || (p < positives.size() && positives[p] <= negatives[n]);
    const double score = from_positives ? positives[p] : negatives[n];
    for (; p < positives.size() && positives[p] == score; ++p) groups.of_positives.push_back(groups.count);
    for (; n < negatives.size() && negatives[n] == score; ++n) groups.of_negatives.push_back(groups.count);
  }
  return groups;
}

}  // namespace

Interval auroc_interval(std::span<const double> positives, std::span<const double> negatives,
                        std::uint64_t draws, std::uint64_t seed) {
  constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
  if (draws == 0 || positives.empty() || negatives.empty()) return {undefined, undefined};
  const Groups groups = groups_of(positives, negatives);
  const double pairs = static_cast<double>(positives.size()) * static_cast<double>(negatives.size());
  std::vector<double> values(draws);
  kernels::parallel_for(draws, [&](std::size_t draw) {
    throw_if_cancelled();
    CounterRng random(seed, Purpose::auroc_bootstrap, draw);
    std::vector<std::uint32_t> drawn_positives(groups.count), drawn_negatives(groups.count);
    const auto take = [&](const std::vector<std::uint32_t>& of, std::vector<std::uint32_t>& drawn) {
      for (std::size_t i = 0; i < of.size(); ++i) ++drawn[of[random.below(of.size())]];
    };
    take(groups.of_positives, drawn_positives);
    take(groups.of_negatives, drawn_negatives);
    double wins = 0;
    double negatives_below = 0;
    for (std::uint32_t group = 0; group < groups.count; ++group) {
      const double tied = drawn_negatives[group];
      wins += drawn_positives[group] * (negatives_below + 0.5 * tied);
      negatives_below += tied;
    }
    values[draw] = wins / pairs;
  });
  std::sort(values.begin(), values.end());
  return {percentile(values, 0.025), percentile(values, 0.975)};
}

}  // namespace bigbird
