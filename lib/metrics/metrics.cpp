// Scores of a binary classifier; see metrics.h.
#include "lib/metrics/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "lib/core/error.h"
#include "lib/core/json_text.h"

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

struct Classes {
  std::vector<double> positives;
  std::vector<double> negatives;
};

Classes by_class(std::span<const int> labels, std::span<const double> scores) {
  check_examples(labels, scores);
  Classes classes;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    (labels[i] == 1 ? classes.positives : classes.negatives).push_back(scores[i]);
  }
  return classes;
}

// Ascending. Many scores by their bytes, the lowest one first; a byte that all of them share needs no pass,
// as the last ones of numbers that were float32 once.
void sort_scores(std::span<double> scores) {
  constexpr std::size_t few = 256;
  if (scores.size() < few) return std::sort(scores.begin(), scores.end());
  constexpr std::uint64_t sign = std::uint64_t{1} << 63;
  constexpr std::size_t bytes = sizeof(std::uint64_t);
  const auto byte_of = [](std::uint64_t key, std::size_t byte) { return (key >> (8 * byte)) & 255; };
  std::vector<std::uint64_t> keys(scores.size()), sorted(scores.size());
  std::array<std::array<std::size_t, 256>, bytes> counts{};
  for (std::size_t i = 0; i < scores.size(); ++i) {
    // Bits that order as the numbers do.
    const auto bits = std::bit_cast<std::uint64_t>(scores[i]);
    keys[i] = (bits & sign) != 0 ? ~bits : bits | sign;
    for (std::size_t byte = 0; byte < bytes; ++byte) ++counts[byte][byte_of(keys[i], byte)];
  }
  for (std::size_t byte = 0; byte < bytes; ++byte) {
    std::array<std::size_t, 256>& places = counts[byte];
    if (places[byte_of(keys[0], byte)] == keys.size()) continue;
    std::exclusive_scan(places.begin(), places.end(), places.begin(), std::size_t{0});
    for (const std::uint64_t key : keys) sorted[places[byte_of(key, byte)]++] = key;
    keys.swap(sorted);
  }
  for (std::size_t i = 0; i < scores.size(); ++i) {
    scores[i] = std::bit_cast<double>((keys[i] & sign) != 0 ? keys[i] & ~sign : ~keys[i]);
  }
}

// Calls body(positives, negatives) for every group of equal scores, from the lowest score up. Both ascending.
template <typename Body>
void for_each_tie(std::span<const double> positives, std::span<const double> negatives, const Body& body) {
  std::size_t p = 0;
  std::size_t n = 0;
  while (p < positives.size() || n < negatives.size()) {
    const bool from_positives =
        n == negatives.size() || (p < positives.size() && positives[p] <= negatives[n]);
    const double score = from_positives ? positives[p] : negatives[n];
    const std::size_t first_positive = p;
    const std::size_t first_negative = n;
    while (p < positives.size() && positives[p] == score) ++p;
    while (n < negatives.size() && negatives[n] == score) ++n;
    body(p - first_positive, n - first_negative);
  }
}

}  // namespace

RankMetrics rank_metrics(std::span<double> positives, std::span<double> negatives) {
  sort_scores(positives);
  sort_scores(negatives);
  const double positive_count = static_cast<double>(positives.size());
  const double negative_count = static_cast<double>(negatives.size());
  // AUROC is the fraction of (positive, negative) pairs in the right order, a tie counting half: the same
  // number as mean ranks give. Walking up from the lowest score, "at or above this score" is what has not
  // been passed yet.
  double wins = 0;
  double precisions = 0;
  double positives_left = positive_count;
  double negatives_left = negative_count;
  for_each_tie(positives, negatives, [&](std::size_t tied_positives, std::size_t tied_negatives) {
    const double p = static_cast<double>(tied_positives);
    const double n = static_cast<double>(tied_negatives);
    wins += p * (negative_count - negatives_left + 0.5 * n);
    precisions += p * positives_left / (positives_left + negatives_left);
    positives_left -= p;
    negatives_left -= n;
  });
  constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
  return {static_cast<std::int64_t>(positives.size()), static_cast<std::int64_t>(negatives.size()),
          positives.empty() || negatives.empty() ? undefined : wins / (positive_count * negative_count),
          positives.empty() ? undefined : precisions / positive_count};
}

std::vector<CurvePoint> ranked_curve(std::span<const double> positives, std::span<const double> negatives) {
  CurvePoint left{static_cast<std::int64_t>(positives.size()), static_cast<std::int64_t>(negatives.size())};
  std::vector<CurvePoint> points;
  for_each_tie(positives, negatives, [&](std::size_t tied_positives, std::size_t tied_negatives) {
    points.push_back(left);
    left.true_positives -= static_cast<std::int64_t>(tied_positives);
    left.false_positives -= static_cast<std::int64_t>(tied_negatives);
  });
  std::reverse(points.begin(), points.end());
  return points;
}

double auroc(std::span<const int> labels, std::span<const double> scores) {
  Classes classes = by_class(labels, scores);
  return rank_metrics(classes.positives, classes.negatives).auroc;
}

double average_precision(std::span<const int> labels, std::span<const double> scores) {
  Classes classes = by_class(labels, scores);
  return rank_metrics(classes.positives, classes.negatives).auprc;
}

BinaryMetrics binary_metrics(std::span<const int> labels, std::span<const double> scores, double threshold) {
  Classes classes = by_class(labels, scores);
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
  const RankMetrics ranks = rank_metrics(classes.positives, classes.negatives);
  m.auroc = ranks.auroc;
  m.auprc = ranks.auprc;
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
  return json_text(json, 2) + "\n";
}

double percentile(std::span<const double> sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - std::floor(place)) * (sorted[above] - sorted[below]);
}

}  // namespace bigbird
