// Measures calibration; see calibration_measure.h.
#include "lib/metrics/calibration_measure.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/metrics/metrics.h"

namespace bigbird {
namespace {

constexpr double undefined_measure = std::numeric_limits<double>::quiet_NaN();

// Examples of one bin so far.
struct Sums {
  double lowest = 1, highest = 0;
  std::int64_t examples = 0;
  double weight = 0, predicted = 0, observed = 0;

  void add(double probability, std::int64_t positives, std::int64_t negatives, const ClassWeights& weights) {
    const double positive = static_cast<double>(positives) * weights.positive;
    const double both = positive + static_cast<double>(negatives) * weights.negative;
    lowest = std::min(lowest, probability);
    highest = std::max(highest, probability);
    examples += positives + negatives;
    weight += both;
    predicted += both * probability;
    observed += positive;
  }
  ReliabilityBin bin(double lower, double upper) const {
    if (examples == 0) return {lower, upper, 0, undefined_measure, undefined_measure};
    return {lower, upper, examples, predicted / weight, observed / weight};
  }
};

double calibration_error(const std::vector<Sums>& bins) {
  double difference = 0, weight = 0;
  for (const Sums& bin : bins) {
    difference += std::abs(bin.observed - bin.predicted);
    weight += bin.weight;
  }
  return difference / weight;
}

}  // namespace

ClassWeights weights_for_prior(double prior, std::int64_t positives, std::int64_t negatives) {
  const double share = static_cast<double>(positives) / static_cast<double>(positives + negatives);
  return {prior / share, (1 - prior) / (1 - share)};
}

CalibrationMeasure measure_calibration(std::vector<double>& positives, std::vector<double>& negatives,
                                       const ClassWeights& weights, std::size_t bins) {
  CalibrationMeasure measure;
  CalibrationScores& scores = measure.scores;
  scores.auroc = rank_metrics(positives, negatives).auroc;  // sorts both
  scores.positives = static_cast<std::int64_t>(positives.size());
  scores.negatives = static_cast<std::int64_t>(negatives.size());
  const std::size_t examples = positives.size() + negatives.size();
  const auto width = static_cast<double>(bins);
  std::vector<Sums> equal_width(bins), equal_count(bins);
  double weight = 0, loss = 0, squares = 0;
  std::size_t lower = 0;  // examples of a lower probability
  for_each_tie(positives, negatives, [&](double probability, std::size_t p, std::size_t n) {
    const auto tied_positives = static_cast<std::int64_t>(p);
    const auto tied_negatives = static_cast<std::int64_t>(n);
    const auto bin = std::min(bins - 1, static_cast<std::size_t>(probability * width));
    equal_width[bin].add(probability, tied_positives, tied_negatives, weights);
    equal_count[lower * bins / examples].add(probability, tied_positives, tied_negatives, weights);

    constexpr double least = std::numeric_limits<double>::epsilon();
    const double bounded = std::clamp(probability, least, 1 - least);
    const double positive = static_cast<double>(tied_positives) * weights.positive;
    const double negative = static_cast<double>(tied_negatives) * weights.negative;
    weight += positive + negative;
    loss -= positive * std::log(bounded) + negative * std::log1p(-bounded);
    squares += positive * (1 - probability) * (1 - probability) + negative * probability * probability;
    lower += p + n;
  });
  scores.log_loss = loss / weight;
  scores.brier = squares / weight;
  scores.ece_equal_width = calibration_error(equal_width);
  scores.ece_equal_count = calibration_error(equal_count);
  for (std::size_t i = 0; i < bins; ++i) {
    measure.equal_width.push_back(
        equal_width[i].bin(static_cast<double>(i) / width, static_cast<double>(i + 1) / width));
    if (equal_count[i].examples > 0)
      measure.equal_count.push_back(equal_count[i].bin(equal_count[i].lowest, equal_count[i].highest));
  }
  return measure;
}

}  // namespace bigbird
