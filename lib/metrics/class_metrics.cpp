// Scores of a classifier of several classes, and GLUE's metrics; see class_metrics.h.
#include "lib/metrics/class_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/metrics/metrics.h"

namespace bigbird {
namespace {

void check_numbers(std::size_t labels, std::size_t predicted) {
  if (labels != predicted) throw_bad_input(fmt::format("{} labels but {} predictions", labels, predicted));
  if (labels == 0) throw_bad_input("no examples to score", "give at least one labelled prediction");
}

double class_ratio(double numerator, double denominator) {
  return denominator == 0 ? 0 : numerator / denominator;
}

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

void append_combined_score(MetricList& metrics) {
  double sum = 0;
  for (const Metric& metric : metrics) sum += metric.value;
  metrics.push_back({"combined_score", sum / static_cast<double>(metrics.size())});
}

}  // namespace

std::string_view class_of_label(std::string_view label) {
  const std::size_t begin = !label.empty() && label.front() == '-' ? 1 : 0;
  const std::size_t point = label.find('.');
  if (point == std::string_view::npos || point == begin) return label;
  const bool digits =
      label.substr(begin, point - begin).find_first_not_of("0123456789") == std::string_view::npos;
  const bool zeros = label.find_first_not_of('0', point + 1) == std::string_view::npos;
  return digits && zeros ? label.substr(0, point) : label;
}

ClassMetrics class_metrics(std::span<const int> labels, std::span<const int> predicted, std::size_t classes) {
  check_numbers(labels.size(), predicted.size());
  ClassMetrics metrics;
  metrics.classes = classes;
  metrics.examples = static_cast<std::int64_t>(labels.size());
  metrics.confusion.assign(classes * classes, 0);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    for (const int value : {labels[i], predicted[i]}) {
      if (value < 0 || static_cast<std::size_t>(value) >= classes) {
        throw_bad_input(fmt::format("example {}: {} is none of the {} classes", i + 1, value, classes));
      }
    }
    ++metrics
          .confusion[static_cast<std::size_t>(labels[i]) * classes + static_cast<std::size_t>(predicted[i])];
  }
  const double all = static_cast<double>(metrics.examples);
  double right = 0, occurring = 0, f1_sum = 0, both = 0, labelled_squares = 0, predicted_squares = 0;
  for (std::size_t c = 0; c < classes; ++c) {
    double labelled = 0, guessed = 0;
    for (std::size_t other = 0; other < classes; ++other) {
      labelled += static_cast<double>(metrics.confusion[c * classes + other]);
      guessed += static_cast<double>(metrics.confusion[other * classes + c]);
    }
    const double hits = static_cast<double>(metrics.confusion[c * classes + c]);
    metrics.precision.push_back(class_ratio(hits, guessed));
    metrics.recall.push_back(class_ratio(hits, labelled));
    metrics.f1.push_back(class_ratio(2 * hits, labelled + guessed));
    right += hits;
    if (labelled + guessed > 0) {
      occurring += 1;
      f1_sum += metrics.f1.back();
    }
    both += labelled * guessed;
    labelled_squares += labelled * labelled;
    predicted_squares += guessed * guessed;
  }
  metrics.accuracy = right / all;
  metrics.macro_f1 = f1_sum / occurring;
  metrics.mcc = class_ratio(
      right * all - both, std::sqrt(all * all - labelled_squares) * std::sqrt(all * all - predicted_squares));
  return metrics;
}

std::string class_metrics_json(const ClassMetrics& metrics, const std::string& provenance_json) {
  nlohmann::ordered_json json;
  json["accuracy"] = metrics.accuracy;
  json["macro_f1"] = metrics.macro_f1;
  json["mcc"] = metrics.mcc;
  json["classes"] = metrics.classes;
  json["precision"] = metrics.precision;
  json["recall"] = metrics.recall;
  json["f1"] = metrics.f1;
  for (std::size_t c = 0; c < metrics.classes; ++c) {
    const auto row = metrics.confusion.begin() + static_cast<std::ptrdiff_t>(c * metrics.classes);
    json["confusion"].push_back(
        std::vector<std::int64_t>(row, row + static_cast<std::ptrdiff_t>(metrics.classes)));
  }
  json["examples"] = metrics.examples;
  if (!provenance_json.empty()) json["provenance"] = nlohmann::ordered_json::parse(provenance_json);
  return json_text(json, 2) + "\n";
}

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

MetricList glue_regression_metrics(std::span<const double> labels, std::span<const double> predicted) {
  check_numbers(labels.size(), predicted.size());
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
