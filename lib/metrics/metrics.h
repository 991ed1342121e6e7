// Scores of a binary classifier, how sure an AUROC is, and two scores of the same things compared by their
// order. Definitions: BigBird appendix F.2 and Oubounyt et al. 2019; AUROC as the rank sum of Mann and
// Whitney, AUPRC as average precision (the step-wise sum, no interpolation).
#pragma once

#include <cstddef>
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

// Calls body(score, positives, negatives) for every group of equal scores, with how many of each class are in
// it, from the lowest score up. Both ascending.
template <typename Body>
void for_each_tie(std::span<const double> positives, std::span<const double> negatives, const Body& body) {
  for (std::size_t p = 0, n = 0; p < positives.size() || n < negatives.size();) {
    const bool from_positives =
        n == negatives.size() || (p < positives.size() && positives[p] <= negatives[n]);
    const double score = from_positives ? positives[p] : negatives[n];
    const std::size_t first_positive = p, first_negative = n;
    while (p < positives.size() && positives[p] == score) ++p;
    while (n < negatives.size() && negatives[n] == score) ++n;
    body(score, p - first_positive, n - first_negative);
  }
}

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

// From 1; a group of equal values has the mean of its places.
std::vector<double> mean_ranks(std::span<const double> values);
// Spearman's rank correlation: Pearson's of the ranks, ties taking their mean rank. NaN for fewer than two
// values or where all of one score are equal. The values must not be NaN.
double spearman(std::span<const double> one, std::span<const double> other);
// Pairs are drawn with replacement, as many as there are; the interval runs from the 2.5th to the 97.5th
// percentile of spearman() of `draws` draws, as auroc_interval has it. Draw d takes its numbers from (seed,
// Purpose::spearman_bootstrap, d). Draws without a value are left out; NaN where none has one. Time: draws
// times the number of pairs.
Interval spearman_interval(std::span<const double> one, std::span<const double> other, std::uint64_t draws,
                           std::uint64_t seed);

// Of the `top` highest of one score, the fraction that is among the `top` highest of the other; of equal
// values those that come first are taken. NaN where there are fewer values than `top`, or none.
double top_overlap(std::span<const double> one, std::span<const double> other, std::size_t top);

}  // namespace bigbird
