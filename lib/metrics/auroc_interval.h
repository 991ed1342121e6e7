// How sure an AUROC is: a percentile bootstrap.
#pragma once

#include <cstdint>
#include <span>

namespace bigbird {

struct Interval {
  double low = 0;
  double high = 0;
};

// Positives and negatives are drawn apart, each as many as there are, with replacement; the interval runs
// from the 2.5th to the 97.5th percentile of the AUROC of `draws` draws, with linear interpolation between
// draws. Draw d takes its numbers from (seed, Purpose::auroc_bootstrap, d): first those of the positives.
// Scores ascending, as rank_metrics leaves them. NaN without draws, positives or negatives. Time: draws times
// the number of scores.
Interval auroc_interval(std::span<const double> positives, std::span<const double> negatives,
                        std::uint64_t draws, std::uint64_t seed);

}  // namespace bigbird
