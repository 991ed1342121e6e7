// Confusion-table metrics, AUROC and average precision; see metrics.h.
#include "reference/metrics.h"

#include <cmath>
#include <cstddef>
#include <functional>
#include <set>
#include <stdexcept>

namespace bigbird::reference {
namespace {

double ratio(double numerator, double denominator) {
  return denominator == 0.0 ? 0.0 : numerator / denominator;
}

}  // namespace

ConfusionTable confusion_table(const std::vector<double>& scores, const std::vector<int>& labels,
                               double threshold) {
  if (scores.size() != labels.size()) throw std::invalid_argument("metrics: one label per score");
  ConfusionTable table;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const bool called = scores[i] >= threshold;
    if (labels[i] == 1) {
      ++(called ? table.true_positives : table.false_negatives);
    } else {
      ++(called ? table.false_positives : table.true_negatives);
    }
  }
  return table;
}

double precision(const ConfusionTable& table) {
  const double hits = static_cast<double>(table.true_positives);
  return ratio(hits, hits + static_cast<double>(table.false_positives));
}

double recall(const ConfusionTable& table) {
  const double hits = static_cast<double>(table.true_positives);
  return ratio(hits, hits + static_cast<double>(table.false_negatives));
}

double f1(const ConfusionTable& table) {
  return ratio(2.0 * precision(table) * recall(table), precision(table) + recall(table));
}

double matthews_correlation(const ConfusionTable& table) {
  const double tp = static_cast<double>(table.true_positives);
  const double fp = static_cast<double>(table.false_positives);
  const double tn = static_cast<double>(table.true_negatives);
  const double fn = static_cast<double>(table.false_negatives);
  return ratio(tp * tn - fp * fn, std::sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)));
}

std::optional<double> auroc(const std::vector<double>& scores, const std::vector<int>& labels) {
  double right = 0.0;
  double pairs = 0.0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    for (std::size_t j = 0; j < scores.size(); ++j) {
      if (labels[i] != 1 || labels[j] != 0) continue;
      pairs += 1.0;
      right += scores[i] > scores[j] ? 1.0 : (scores[i] == scores[j] ? 0.5 : 0.0);
    }
  }
  if (pairs == 0.0) return std::nullopt;
  return right / pairs;
}

std::optional<double> average_precision(const std::vector<double>& scores, const std::vector<int>& labels) {
  const std::set<double, std::greater<double>> thresholds(scores.begin(), scores.end());
  double result = 0.0;
  double recall_before = 0.0;
  for (const double threshold : thresholds) {
    const ConfusionTable table = confusion_table(scores, labels, threshold);
    if (table.true_positives + table.false_negatives == 0) return std::nullopt;
    result += (recall(table) - recall_before) * precision(table);
    recall_before = recall(table);
  }
  if (thresholds.empty()) return std::nullopt;
  return result;
}

}  // namespace bigbird::reference
