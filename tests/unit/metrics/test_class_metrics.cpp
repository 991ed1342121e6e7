// Scores of several classes, against values worked out by hand.
#include "lib/metrics/class_metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "lib/core/error.h"
#include "lib/metrics/metrics.h"

namespace bigbird {
namespace {

TEST(ClassMetrics, AreThoseOfTheConfusionTable) {
  const std::vector<int> labels = {0, 0, 0, 1, 1, 2, 2, 2, 2, 2};
  const std::vector<int> predicted = {0, 0, 1, 1, 2, 2, 2, 2, 0, 2};
  const ClassMetrics metrics = class_metrics(labels, predicted, 4);
  EXPECT_EQ(metrics.confusion, (std::vector<std::int64_t>{2, 1, 0, 0, 0, 1, 1, 0, 1, 0, 4, 0, 0, 0, 0, 0}));
  EXPECT_DOUBLE_EQ(metrics.accuracy, 0.7);
  EXPECT_DOUBLE_EQ(metrics.f1[0], 4.0 / 6.0);
  EXPECT_DOUBLE_EQ(metrics.f1[1], 0.5);
  EXPECT_DOUBLE_EQ(metrics.f1[2], 0.8);
  EXPECT_DOUBLE_EQ(metrics.f1[3], 0.0);
  EXPECT_DOUBLE_EQ(metrics.macro_f1, (4.0 / 6.0 + 0.5 + 0.8) / 3.0);  // class 3 does not occur
  // 7 right of 10; labels 3, 2, 5, predictions 3, 2, 5: (70 - 38) / sqrt(62 * 62).
  EXPECT_DOUBLE_EQ(metrics.mcc, 32.0 / 62.0);
  EXPECT_DOUBLE_EQ(metrics.recall[2], 0.8);
  EXPECT_DOUBLE_EQ(metrics.precision[1], 0.5);
}

TEST(ClassMetrics, AreThoseOfTwoClassesForTwo) {
  const std::vector<int> labels = {1, 1, 1, 0, 0, 0, 0};
  const std::vector<double> scores = {0.9, 0.8, 0.1, 0.7, 0.2, 0.1, 0.3};
  std::vector<int> predicted;
  for (const double score : scores) predicted.push_back(score >= 0.5 ? 1 : 0);
  const BinaryMetrics two = binary_metrics(labels, scores);
  const ClassMetrics several = class_metrics(labels, predicted, 2);
  EXPECT_NEAR(several.mcc, two.mcc, 1e-12);
  EXPECT_NEAR(several.f1[1], two.f1, 1e-12);
  EXPECT_NEAR(several.recall[0], two.specificity, 1e-12);
}

TEST(ClassMetrics, HaveNoCorrelationWhereAllIsOneClass) {
  const ClassMetrics metrics = class_metrics(std::vector<int>{1, 1, 2}, std::vector<int>{1, 1, 1}, 3);
  EXPECT_EQ(metrics.mcc, 0);
  const auto json = nlohmann::json::parse(class_metrics_json(metrics, "{\"a\": 1}"));
  EXPECT_EQ(json.at("confusion").at(2).at(1), 1);
  EXPECT_EQ(json.at("provenance").at("a"), 1);
  EXPECT_EQ(json.at("examples"), 3);
}

TEST(ClassMetrics, RefuseWhatIsNoClass) {
  EXPECT_THROW(class_metrics(std::vector<int>{0, 3}, std::vector<int>{0, 1}, 3), Error);
  EXPECT_THROW(class_metrics(std::vector<int>{0}, std::vector<int>{-1}, 3), Error);
  EXPECT_THROW(class_metrics(std::vector<int>{0}, std::vector<int>{0, 1}, 3), Error);
  EXPECT_THROW(class_metrics(std::vector<int>{}, std::vector<int>{}, 3), Error);
}

}  // namespace
}  // namespace bigbird
