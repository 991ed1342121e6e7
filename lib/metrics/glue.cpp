// GLUE's metrics; see glue.h.
#include "lib/metrics/glue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include "lib/core/error.h"
#include "lib/metrics/class_metrics.h"

namespace bigbird {
namespace {

bool is_constant(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [&](double value) { return value == values[0]; });
}

// The sum with the rounding errors of its steps put back at the end (Neumaier): long lists lose no digits.
double exact_sum(std::span<const double> values) {
  double sum = 0;
  double lost = 0;
  for (const double value : values) {
    const double next = sum + value;
    lost += std::abs(sum) >= std::abs(value) ? (sum - next) + value : (value - next) + sum;
    sum = next;
  }
  return sum + lost;
}

// Values less their mean, scaled to length 1.
std::vector<double> unit_deviations(std::span<const double> values) {
  const double mean = exact_sum(values) / static_cast<double>(values.size());
  std::vector<double> deviations(values.begin(), values.end());
  double largest = 0;
  for (double& deviation : deviations) {
    deviation -= mean;
    largest = std::max(largest, std::abs(deviation));
  }
  // Squares of values scaled by the largest one neither overflow nor vanish.
  std::vector<double> squares;
  squares.reserve(deviations.size());
  for (const double deviation : deviations) squares.push_back((deviation / largest) * (deviation / largest));
  const double length = largest * std::sqrt(exact_sum(squares));
  for (double& deviation : deviations) deviation /= length;
  return deviations;
}

// From 1; equal values share the mean of their ranks.
std::vector<double> mean_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double rank = static_cast<double>(begin + 1 + end) / 2;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = rank;
  }
  return ranks;
}

void append_combined_score(MetricList& metrics) {
  double sum = 0;
  for (const Metric& metric : metrics) sum += metric.value;
  metrics.push_back({"combined_score", sum / static_cast<double>(metrics.size())});
}

std::vector<int> class_numbers(std::span<const std::string> words, std::span<const std::string> names,
                               const char* what) {
  std::vector<int> numbers;
  numbers.reserve(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto found = std::find(names.begin(), names.end(), words[i]);
    if (found == names.end()) {
      throw_bad_input(fmt::format("example {}: {} '{}' is none of the classes", i + 1, what, words[i]),
                      fmt::format("one of: {}", fmt::join(names, ", ")));
    }
    numbers.push_back(static_cast<int>(found - names.begin()));
  }
  return numbers;
}

}  // namespace

MetricList glue_class_metrics(GlueMetric metric, std::span<const int> labels, std::span<const int> predicted,
                              std::size_t classes) {
  if (metric == GlueMetric::pearson_spearman) throw_runtime("correlations are not of classes");
  if (metric != GlueMetric::accuracy && classes != 2) {
    throw_runtime(fmt::format("Matthews' correlation and F1 are of 2 classes, not of {}", classes));
  }
  const ClassMetrics scores = class_metrics(labels, predicted, classes);
  if (metric == GlueMetric::matthews) return {{"matthews_correlation", scores.mcc}};
  MetricList metrics = {{"accuracy", scores.accuracy}};
  if (metric == GlueMetric::accuracy_f1) {
    metrics.push_back({"f1", scores.f1[1]});
    append_combined_score(metrics);
  }
  return metrics;
}

MetricList glue_named_metrics(GlueMetric metric, std::span<const std::string> labels,
                              std::span<const std::string> predicted, std::span<const std::string> names) {
  return glue_class_metrics(metric, class_numbers(labels, names, "label"),
                            class_numbers(predicted, names, "prediction"), names.size());
}

MetricList glue_regression_metrics(std::span<const double> labels, std::span<const double> predicted) {
  if (labels.size() != predicted.size()) {
    throw_bad_input(fmt::format("{} labels but {} predictions", labels.size(), predicted.size()));
  }
  if (labels.empty()) throw_bad_input("no examples to score", "give at least one labelled prediction");
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!std::isfinite(labels[i]) || !std::isfinite(predicted[i])) {
      throw_bad_input(fmt::format("example {}: the {} is not a finite number", i + 1,
                                  std::isfinite(labels[i]) ? "prediction" : "label"));
    }
  }
  MetricList metrics = {{"pearson", pearson_correlation(labels, predicted)},
                        {"spearmanr", spearman_correlation(labels, predicted)}};
  append_combined_score(metrics);
  return metrics;
}

MetricList join_mnli_metrics(MetricList matched, const MetricList& mismatched) {
  for (const Metric& metric : mismatched) {
    matched.push_back(metric);
    matched.back().name += "_mm";
  }
  return matched;
}

double pearson_correlation(std::span<const double> x, std::span<const double> y) {
  if (is_constant(x) || is_constant(y)) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> products = unit_deviations(x);
  const std::vector<double> other = unit_deviations(y);
  for (std::size_t i = 0; i < products.size(); ++i) products[i] *= other[i];
  return std::clamp(exact_sum(products), -1.0, 1.0);
}

double spearman_correlation(std::span<const double> x, std::span<const double> y) {
  return pearson_correlation(mean_ranks(x), mean_ranks(y));
}

}  // namespace bigbird
