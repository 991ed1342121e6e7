// Scores of a binary classifier. Definitions: BigBird appendix F.2 and Oubounyt et al. 2019; AUROC as the
// rank sum of Mann and Whitney, AUPRC as average precision (the step-wise sum, no interpolation).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace bigbird {

struct BinaryMetrics {
  std::int64_t tp = 0;
  std::int64_t fp = 0;
  std::int64_t tn = 0;
  std::int64_t fn = 0;
  // Ratios whose denominator is 0 are 0.
  double precision = 0;
  double recall = 0;
  double specificity = 0;
  double f1 = 0;
  double mcc = 0;
  // NaN, no value: AUROC without both classes, AUPRC without positives. Ties take their mean rank (AUROC) or
  // enter together (AUPRC), so the order of the input does not matter.
  double auroc = 0;
  double auprc = 0;
  double threshold = 0.5;

  std::int64_t examples() const { return tp + fp + tn + fn; }
};

// labels: 0 or 1. scores: higher is more positive; predicted positive when score >= threshold.
// Throws Error{bad_input} for different lengths, no examples, a label other than 0 and 1, or a score that is
// not finite.
BinaryMetrics binary_metrics(std::span<const int> labels, std::span<const double> scores,
                             double threshold = 0.5);

double auroc(std::span<const int> labels, std::span<const double> scores);
double average_precision(std::span<const int> labels, std::span<const double> scores);

struct RankMetrics {
  std::int64_t positives = 0;
  std::int64_t negatives = 0;
  double auroc = 0;  // NaN without both classes
  double auprc = 0;  // NaN without positives
};

// Both metrics from the scores of the two classes, which are sorted in place: the fast way for many examples.
// The scores must not be NaN.
RankMetrics rank_metrics(std::span<double> positives, std::span<double> negatives);

// Examples at or above a threshold, for each distinct score from the highest down.
struct CurvePoint {
  std::int64_t true_positives = 0;
  std::int64_t false_positives = 0;
  bool operator==(const CurvePoint&) const = default;
};
// Of scores that rank_metrics has sorted: what ROC and precision-recall curves are drawn from. The last point
// holds all examples.
std::vector<CurvePoint> ranked_curve(std::span<const double> positives, std::span<const double> negatives);

// A JSON object with the fields above; undefined values are null. `provenance_json` is put in as it is when
// not empty.
std::string metrics_json(const BinaryMetrics& metrics, const std::string& provenance_json);

// The value below which `share` (0 to 1) of ascending values lie, between two of them by their distance
// (numpy's default). `sorted` must not be empty.
double percentile(std::span<const double> sorted, double share);

}  // namespace bigbird
