// Binary metrics against values by hand and against the oracle in reference/.
#include "lib/metrics/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "reference/metrics.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

TEST(BinaryMetrics, EqualsTheNumbersByHand) {
  const std::vector<int> labels = {1, 1, 1, 0, 0, 0, 0, 0};
  const std::vector<double> scores = {0.9, 0.8, 0.2, 0.7, 0.4, 0.3, 0.1, 0.05};
  const BinaryMetrics m = binary_metrics(labels, scores);
  EXPECT_EQ(m.tp, 2);
  EXPECT_EQ(m.fp, 1);
  EXPECT_EQ(m.tn, 4);
  EXPECT_EQ(m.fn, 1);
  EXPECT_DOUBLE_EQ(m.precision, 2.0 / 3);
  EXPECT_DOUBLE_EQ(m.recall, 2.0 / 3);
  EXPECT_DOUBLE_EQ(m.specificity, 0.8);
  EXPECT_DOUBLE_EQ(m.f1, 2.0 / 3);
  EXPECT_DOUBLE_EQ(m.mcc, (2 * 4 - 1 * 1) / std::sqrt(3.0 * 3 * 5 * 5));
  EXPECT_DOUBLE_EQ(m.auroc, 12.0 / 15);                  // 5 + 5 + 2 of 15 pairs in order
  EXPECT_DOUBLE_EQ(m.auprc, (1.0 + 1.0 + 3.0 / 6) / 3);  // precision at each positive
}

TEST(BinaryMetrics, AgreesWithTheOracleOnRandomScoresWithTies) {
  for (std::uint64_t round = 0; round < 100; ++round) {
    CounterRng rng(11, Purpose::test, round);
    const std::size_t count = 2 + static_cast<std::size_t>(rng.below(60));
    std::vector<int> labels;
    std::vector<double> scores;
    const std::uint64_t levels = 1 + rng.below(20);  // few levels make many ties
    for (std::size_t i = 0; i < count; ++i) {
      labels.push_back(static_cast<int>(rng.below(2)));
      scores.push_back(static_cast<double>(rng.below(levels)) / static_cast<double>(levels));
    }
    const BinaryMetrics m = binary_metrics(labels, scores, 0.4);
    const auto table = reference::confusion_table(scores, labels, 0.4);
    EXPECT_EQ(m.tp, table.true_positives);
    EXPECT_EQ(m.fp, table.false_positives);
    EXPECT_EQ(m.tn, table.true_negatives);
    EXPECT_EQ(m.fn, table.false_negatives);
    EXPECT_NEAR(m.precision, reference::precision(table), 1e-12);
    EXPECT_NEAR(m.recall, reference::recall(table), 1e-12);
    EXPECT_NEAR(m.f1, reference::f1(table), 1e-12);
    EXPECT_NEAR(m.mcc, reference::matthews_correlation(table), 1e-12);
    const auto auroc = reference::auroc(scores, labels);
    EXPECT_EQ(auroc.has_value(), !std::isnan(m.auroc));
    if (auroc) {
      EXPECT_NEAR(m.auroc, *auroc, 1e-12);
    }
    const auto auprc = reference::average_precision(scores, labels);
    EXPECT_EQ(auprc.has_value(), !std::isnan(m.auprc));
    if (auprc) {
      EXPECT_NEAR(m.auprc, *auprc, 1e-12);
    }
  }
}

// Made by tests/peers/make_metrics.py.
TEST(RankMetrics, EqualsScikitLearnOnRandomScoresWithTies) {
  const auto golden = nlohmann::json::parse(
      testing::read_text(testing::source_dir() / "tests" / "golden" / "metrics_sklearn.json"));
  std::size_t undefined = 0;
  for (const auto& profile : golden.at("profiles")) {
    SCOPED_TRACE(profile.at("name").get<std::string>());
    const std::string labels = profile.at("labels");
    std::vector<double> classes[2];
    for (std::size_t i = 0; i < labels.size(); ++i) {
      classes[labels[i] - '0'].push_back(profile.at("scores_1024")[i].get<double>() / 1024);
    }
    const RankMetrics ranks = rank_metrics(classes[1], classes[0]);
    EXPECT_EQ(ranks.positives, profile.at("positives"));
    EXPECT_EQ(ranks.positives + ranks.negatives, golden.at("rows"));
    for (const auto& [name, value] : {std::pair{"auroc", ranks.auroc}, {"auprc", ranks.auprc}}) {
      if (profile.at(name).is_null()) {
        EXPECT_TRUE(std::isnan(value)) << name;
        ++undefined;
      } else {
        EXPECT_NEAR(value, profile.at(name).get<double>(), 1e-12) << name;
      }
    }
  }
  EXPECT_EQ(undefined, 3u) << "no positive: neither; no negative: no AUROC";
}

TEST(RankMetrics, ManyScoresOfEverySizeAndSignAreSorted) {
  std::vector<double> positives = {0.0, -0.0, std::numeric_limits<double>::denorm_min(), -1e300, 1e300};
  std::vector<double> negatives;
  CounterRng rng(12, Purpose::test, 0);
  for (int i = 0; i < 2000; ++i) {
    positives.push_back((rng.uniform() - 0.4) * std::pow(10.0, static_cast<double>(rng.below(20)) - 10));
    negatives.push_back(static_cast<double>(static_cast<float>(rng.uniform() - 0.5)));
  }
  negatives.push_back(0.0);
  std::vector<int> labels(positives.size(), 1);
  labels.resize(positives.size() + negatives.size(), 0);
  std::vector<double> scores = positives;
  scores.insert(scores.end(), negatives.begin(), negatives.end());
  std::vector<double> expected = positives;
  std::sort(expected.begin(), expected.end());
  const RankMetrics ranks = rank_metrics(positives, negatives);
  EXPECT_EQ(positives, expected);
  EXPECT_NEAR(ranks.auroc, reference::auroc(scores, labels).value(), 1e-12);
  EXPECT_NEAR(ranks.auprc, reference::average_precision(scores, labels).value(), 1e-12);
}

TEST(RankMetrics, CurveStepsThroughTheDistinctScores) {
  std::vector<double> positives = {0.9, 0.5, 0.5};
  std::vector<double> negatives = {0.7, 0.5, 0.1, 0.1};
  rank_metrics(positives, negatives);
  EXPECT_EQ(ranked_curve(positives, negatives), (std::vector<CurvePoint>{{1, 0}, {1, 1}, {3, 2}, {3, 4}}));
}

TEST(BinaryMetrics, OneClassHasNoAurocAndJsonSaysNull) {
  const std::vector<int> labels = {0, 0};
  const std::vector<double> scores = {0.1, 0.9};
  const BinaryMetrics m = binary_metrics(labels, scores);
  EXPECT_TRUE(std::isnan(m.auroc));
  EXPECT_EQ(m.mcc, 0);
  const auto json = nlohmann::json::parse(metrics_json(m, R"({"version":"x"})"));
  EXPECT_TRUE(json.at("auroc").is_null());
  EXPECT_TRUE(json.at("auprc").is_null());
  EXPECT_EQ(json.at("fp"), 1);
  EXPECT_EQ(json.at("provenance").at("version"), "x");
}

TEST(BinaryMetrics, RefusesWhatItCannotScore) {
  EXPECT_THROW(binary_metrics(std::vector<int>{}, std::vector<double>{}), Error);
  EXPECT_THROW(binary_metrics(std::vector<int>{1}, std::vector<double>{0.1, 0.2}), Error);
  EXPECT_THROW(binary_metrics(std::vector<int>{2}, std::vector<double>{0.1}), Error);
  EXPECT_THROW(
      binary_metrics(std::vector<int>{1}, std::vector<double>{std::numeric_limits<double>::quiet_NaN()}),
      Error);
}

}  // namespace
}  // namespace bigbird
