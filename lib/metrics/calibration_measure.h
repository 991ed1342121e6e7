// How well probabilities are calibrated: expected calibration error, log loss, Brier score, and the
// reliability curve that the first is read from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bigbird {

// Examples with a probability in [lower, upper), in the last bin of equal width [lower, upper].
struct ReliabilityBin {
  double lower = 0;
  double upper = 0;
  std::int64_t examples = 0;
  double predicted = 0;  // weighted means over the examples; NaN without any
  double observed = 0;
};

struct CalibrationScores {
  std::int64_t positives = 0;
  std::int64_t negatives = 0;
  // Sum over the bins of |observed - predicted| times their fraction of the weight.
  double ece_equal_width = 0;
  double ece_equal_count = 0;
  double log_loss = 0;  // natural logarithm; probabilities are kept 2^-52 away from 0 and 1
  double brier = 0;     // mean of (label - probability)^2
  double auroc = 0;     // NaN without both classes
  std::int64_t examples() const { return positives + negatives; }
};

struct CalibrationMeasure {
  CalibrationScores scores;
  std::vector<ReliabilityBin> equal_width;  // of [0, 1]
  // By rank: an example lies in bin floor(bins * k / n) when k of n have a lower probability, so that equal
  // ones share a bin. Bins without examples are left out; lower and upper are the probabilities in it.
  std::vector<ReliabilityBin> equal_count;
};

// What an example of each class counts.
struct ClassWeights {
  double positive = 1;
  double negative = 1;
};
// As if `prior` of the examples were positive; there are some of both.
ClassWeights weights_for_prior(double prior, std::int64_t positives, std::int64_t negatives);

// The probabilities of the examples of each class, which are sorted in place; one at least. The order in
// which they come does not matter. AUROC is that of rank_metrics (metrics.h), which no weight of a class
// changes.
CalibrationMeasure measure_calibration(std::vector<double>& positives, std::vector<double>& negatives,
                                       const ClassWeights& weights, std::size_t bins);

}  // namespace bigbird
