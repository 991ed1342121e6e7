// Scores of a classifier of several classes; see class_metrics.h.
#include "lib/metrics/class_metrics.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/core/error.h"
#include "lib/core/json_text.h"

namespace bigbird {
namespace {

double class_ratio(double numerator, double denominator) {
  return denominator == 0 ? 0 : numerator / denominator;
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
  if (labels.size() != predicted.size()) {
    throw_bad_input(fmt::format("{} labels but {} predictions", labels.size(), predicted.size()));
  }
  if (labels.empty()) throw_bad_input("no examples to score", "give at least one labelled prediction");
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

}  // namespace bigbird
