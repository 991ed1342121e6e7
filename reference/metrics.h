// Classification metrics by their definitions, the ranking ones by looking at every pair of examples.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace bigbird::reference {

struct ConfusionTable {
  std::int64_t true_positives = 0;
  std::int64_t false_positives = 0;
  std::int64_t true_negatives = 0;
  std::int64_t false_negatives = 0;
};
// An example is called positive when score >= threshold. labels are 0 or 1.
ConfusionTable confusion_table(const std::vector<double>& scores, const std::vector<int>& labels,
                               double threshold);

// Each is 0 when its denominator is 0.
double precision(const ConfusionTable& table);
double recall(const ConfusionTable& table);
double f1(const ConfusionTable& table);
double matthews_correlation(const ConfusionTable& table);

// The fraction of (positive, negative) pairs that the scores put in the right order, a tie counting one half:
// the rank sum with mean ranks. Undefined (no value) with one class only.
std::optional<double> auroc(const std::vector<double>& scores, const std::vector<int>& labels);

// Average precision: the sum over distinct scores, from the highest, of (recall gained there) * (precision
// there); tied examples enter together and nothing is interpolated. Undefined without positives.
std::optional<double> average_precision(const std::vector<double>& scores, const std::vector<int>& labels);

}  // namespace bigbird::reference
