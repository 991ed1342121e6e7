// Scores of a binary classifier; see metrics.h.
#include "lib/tasks/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "lib/core/error.h"

namespace bigbird {
namespace {

void check_examples(std::span<const int> labels, std::span<const double> scores) {
  if (labels.size() != scores.size()) {
    throw_bad_input(fmt::format("{} labels but {} scores", labels.size(), scores.size()));
  }
  if (labels.empty()) throw_bad_input("no examples to score", "give at least one labelled prediction");
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] != 0 && labels[i] != 1) {
      throw_bad_input(fmt::format("example {}: label {} is neither 0 nor 1", i + 1, labels[i]));
    }
    if (!std::isfinite(scores[i]))
      throw_bad_input(fmt::format("example {}: the score is not a finite number", i + 1));
  }
}

double ratio(double numerator, double denominator) {
  return denominator == 0 ? 0 : numerator / denominator;
}

std::vector<std::size_t> order_by_score(std::span<const double> scores) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
  return order;
}

// Calls body(positives, negatives) for every group of equal scores, from the lowest score up.
template <typename Body>
void for_each_tie(std::span<const int> labels, std::span<const double> scores, const Body& body) {
  const std::vector<std::size_t> order = order_by_score(scores);
  std::size_t i = 0;
  while (i < order.size()) {
    const double score = scores[order[i]];
    double positives = 0;
    double negatives = 0;
    for (; i < order.size() && scores[order[i]] == score; ++i)
      (labels[order[i]] == 1 ? positives : negatives) += 1;
    body(positives, negatives);
  }
}

}  // namespace

double auroc(std::span<const int> labels, std::span<const double> scores) {
  check_examples(labels, scores);
  // The share of (positive, negative) pairs in the right order, a tie counting half: the same number as mean
  // ranks give.
  double positives = 0;
  double negatives = 0;
  double wins = 0;
  for_each_tie(labels, scores, [&](double tied_positives, double tied_negatives) {
    wins += tied_positives * (negatives + 0.5 * tied_negatives);
    positives += tied_positives;
    negatives += tied_negatives;
  });
  if (positives == 0 || negatives == 0) return std::numeric_limits<double>::quiet_NaN();
  return wins / (positives * negatives);
}

double average_precision(std::span<const int> labels, std::span<const double> scores) {
  check_examples(labels, scores);
  double positives = 0;
  for (const int label : labels) positives += label;
  if (positives == 0) return std::numeric_limits<double>::quiet_NaN();
  // Walking up from the lowest score, "at or above this score" is what has not been passed yet.
  double positives_left = positives;
  double examples_left = static_cast<double>(labels.size());
  double sum = 0;
  for_each_tie(labels, scores, [&](double tied_positives, double tied_negatives) {
    sum += tied_positives * positives_left / examples_left;
    positives_left -= tied_positives;
    examples_left -= tied_positives + tied_negatives;
  });
  return sum / positives;
}

BinaryMetrics binary_metrics(std::span<const int> labels, std::span<const double> scores, double threshold) {
  check_examples(labels, scores);
  BinaryMetrics m;
  m.threshold = threshold;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const bool predicted = scores[i] >= threshold;
    if (labels[i] == 1) {
      ++(predicted ? m.tp : m.fn);
    } else {
      ++(predicted ? m.fp : m.tn);
    }
  }
  const double tp = static_cast<double>(m.tp);
  const double fp = static_cast<double>(m.fp);
  const double tn = static_cast<double>(m.tn);
  const double fn = static_cast<double>(m.fn);
  m.precision = ratio(tp, tp + fp);
  m.recall = ratio(tp, tp + fn);
  m.specificity = ratio(tn, tn + fp);
  m.f1 = ratio(2 * m.precision * m.recall, m.precision + m.recall);
  // The root is taken factor by factor: the product of four counts of a genome-wide scan would lose digits.
  m.mcc = ratio(tp * tn - fp * fn,
                std::sqrt(tp + fp) * std::sqrt(tp + fn) * std::sqrt(tn + fp) * std::sqrt(tn + fn));
  m.auroc = auroc(labels, scores);
  m.auprc = average_precision(labels, scores);
  return m;
}

std::string metrics_json(const BinaryMetrics& metrics, const std::string& provenance_json) {
  const auto defined = [](double value) {
    return std::isnan(value) ? nlohmann::ordered_json() : nlohmann::ordered_json(value);
  };
  nlohmann::ordered_json json;
  json["precision"] = metrics.precision;
  json["recall"] = metrics.recall;
  json["f1"] = metrics.f1;
  json["mcc"] = metrics.mcc;
  json["auroc"] = defined(metrics.auroc);
  json["auprc"] = defined(metrics.auprc);
  json["tp"] = metrics.tp;
  json["fp"] = metrics.fp;
  json["tn"] = metrics.tn;
  json["fn"] = metrics.fn;
  json["specificity"] = metrics.specificity;
  json["threshold"] = metrics.threshold;
  json["examples"] = metrics.examples();
  if (!provenance_json.empty()) json["provenance"] = nlohmann::ordered_json::parse(provenance_json);
  return json.dump(2) + "\n";
}

}  // namespace bigbird
