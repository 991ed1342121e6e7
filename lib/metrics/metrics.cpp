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
#include <vector>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/rng.h"

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

// The group of equal scores that each score is of, numbered from the lowest score of both classes up: a draw
// of auroc_interval is a count for each, so that nothing is sorted again.
struct Groups {
  std::vector<std::uint32_t> of_positives, of_negatives;
  std::uint32_t count = 0;
};

Groups groups_of(std::span<const double> positives, std::span<const double> negatives) {
  Groups groups;
  for_each_tie(positives, negatives, [&](double, std::size_t tied_positives, std::size_t tied_negatives) {
    groups.of_positives.resize(groups.of_positives.size() + tied_positives, groups.count);
    groups.of_negatives.resize(groups.of_negatives.size() + tied_negatives, groups.count);
    ++groups.count;
  });
  return groups;
}

constexpr double undefined_metric = std::numeric_limits<double>::quiet_NaN();

std::vector<std::size_t> places(std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

std::vector<bool> is_among_top(std::span<const double> values, std::size_t top) {
  std::vector<std::size_t> order = places(values.size());
  const auto higher = [&](std::size_t a, std::size_t b) {
    return values[a] != values[b] ? values[a] > values[b] : a < b;
  };
  std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(top - 1), order.end(), higher);
  std::vector<bool> among(values.size());
  for (std::size_t i = 0; i < top; ++i) among[order[i]] = true;
  return among;
}

// Pearson's correlation of ranks, whose mean is known; undefined where all of one are equal.
double correlation_of_ranks(const std::vector<double>& first, const std::vector<double>& second) {
  const double mean = (static_cast<double>(first.size()) + 1) / 2;
  double product = 0, first_square = 0, second_square = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    product += (first[i] - mean) * (second[i] - mean);
    first_square += (first[i] - mean) * (first[i] - mean);
    second_square += (second[i] - mean) * (second[i] - mean);
  }
  if (first_square == 0 || second_square == 0) return undefined_metric;
  return product / std::sqrt(first_square * second_square);
}

// The distinct values of some pairs, numbered from the lowest: a draw of spearman_interval is a count for
// each, so that nothing is sorted again.
class DistinctValues {
 public:
  explicit DistinctValues(std::span<const double> values) : number_(values.size()) {
    const std::vector<std::size_t> order = [&] {
      std::vector<std::size_t> ascending = places(values.size());
      std::sort(ascending.begin(), ascending.end(),
                [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
      return ascending;
    }();
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i == 0 || values[order[i]] != values[order[i - 1]]) ++count_;
      number_[order[i]] = count_ - 1;
    }
  }

  // Mean ranks of the drawn ones among themselves.
  std::vector<double> ranks(const std::vector<std::uint32_t>& drawn) const {
    std::vector<double> rank(count_);
    for (const std::uint32_t pair : drawn) ++rank[number_[pair]];
    double below = 0;
    for (double& one : rank) {
      const double tied = one;
      one = below + (tied + 1) / 2;
      below += tied;
    }
    std::vector<double> result(drawn.size());
    for (std::size_t i = 0; i < drawn.size(); ++i) result[i] = rank[number_[drawn[i]]];
    return result;
  }

 private:
  std::vector<std::size_t> number_;
  std::size_t count_ = 0;
};

}  // namespace

std::vector<double> mean_ranks(std::span<const double> values) {
  std::vector<std::size_t> order = places(values.size());
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double rank = static_cast<double>(begin + 1 + end) / 2;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = rank;
  }
  return ranks;
}

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
  for_each_tie(positives, negatives, [&](double, std::size_t tied_positives, std::size_t tied_negatives) {
    const double p = static_cast<double>(tied_positives);
    const double n = static_cast<double>(tied_negatives);
    wins += p * (negative_count - negatives_left + 0.5 * n);
    precisions += p * positives_left / (positives_left + negatives_left);
    positives_left -= p;
    negatives_left -= n;
  });
  return {
      static_cast<std::int64_t>(positives.size()), static_cast<std::int64_t>(negatives.size()),
      positives.empty() || negatives.empty() ? undefined_metric : wins / (positive_count * negative_count),
      positives.empty() ? undefined_metric : precisions / positive_count};
}

std::vector<CurvePoint> ranked_curve(std::span<const double> positives, std::span<const double> negatives) {
  CurvePoint left{static_cast<std::int64_t>(positives.size()), static_cast<std::int64_t>(negatives.size())};
  std::vector<CurvePoint> points;
  for_each_tie(positives, negatives, [&](double, std::size_t tied_positives, std::size_t tied_negatives) {
    points.push_back(left);
    left.true_positives -= static_cast<std::int64_t>(tied_positives);
    left.false_positives -= static_cast<std::int64_t>(tied_negatives);
  });
  std::reverse(points.begin(), points.end());
  return points;
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

Interval auroc_interval(std::span<const double> positives, std::span<const double> negatives,
                        std::uint64_t draws, std::uint64_t seed) {
  if (draws == 0 || positives.empty() || negatives.empty()) return {undefined_metric, undefined_metric};
  const Groups groups = groups_of(positives, negatives);
  const double pairs = static_cast<double>(positives.size()) * static_cast<double>(negatives.size());
  std::vector<double> values(draws);
  kernels::parallel_for(draws, [&](std::size_t draw) {
    throw_if_cancelled();
    CounterRng random(seed, Purpose::auroc_bootstrap, draw);
    std::vector<std::uint32_t> drawn_positives(groups.count), drawn_negatives(groups.count);
    const auto take = [&](const std::vector<std::uint32_t>& of, std::vector<std::uint32_t>& drawn) {
      for (std::size_t i = 0; i < of.size(); ++i) ++drawn[of[random.below(of.size())]];
    };
    take(groups.of_positives, drawn_positives);
    take(groups.of_negatives, drawn_negatives);
    double wins = 0;
    double negatives_below = 0;
    for (std::uint32_t group = 0; group < groups.count; ++group) {
      const double tied = drawn_negatives[group];
      wins += drawn_positives[group] * (negatives_below + 0.5 * tied);
      negatives_below += tied;
    }
    values[draw] = wins / pairs;
  });
  std::sort(values.begin(), values.end());
  return {percentile(values, 0.025), percentile(values, 0.975)};
}

double spearman(std::span<const double> one, std::span<const double> other) {
  return correlation_of_ranks(mean_ranks(one), mean_ranks(other));
}

Interval spearman_interval(std::span<const double> one, std::span<const double> other, std::uint64_t draws,
                           std::uint64_t seed) {
  const DistinctValues first(one), second(other);
  std::vector<double> values(draws);
  kernels::parallel_for(draws, [&](std::size_t draw) {
    throw_if_cancelled();
    CounterRng random(seed, Purpose::spearman_bootstrap, draw);
    std::vector<std::uint32_t> drawn(one.size());
    for (std::uint32_t& pair : drawn) pair = static_cast<std::uint32_t>(random.below(one.size()));
    values[draw] = correlation_of_ranks(first.ranks(drawn), second.ranks(drawn));
  });
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty()) return {undefined_metric, undefined_metric};
  std::sort(values.begin(), values.end());
  return {percentile(values, 0.025), percentile(values, 0.975)};
}

double top_overlap(std::span<const double> one, std::span<const double> other, std::size_t top) {
  if (top == 0 || top > one.size()) return undefined_metric;
  const std::vector<bool> first = is_among_top(one, top);
  const std::vector<bool> second = is_among_top(other, top);
  std::size_t shared = 0;
  for (std::size_t i = 0; i < first.size(); ++i) shared += first[i] && second[i] ? 1U : 0U;
  return static_cast<double>(shared) / static_cast<double>(top);
}

}  // namespace bigbird
