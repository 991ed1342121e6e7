// GLUE's metrics, with the numbers of scikit-learn 1.9 and scipy 1.17.
#include "lib/metrics/class_metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/unit/metrics/metric_checks.h"

namespace bigbird {
namespace {

const std::vector<int> glue_labels = {0, 0, 1, 1, 1, 0, 1, 0};
const std::vector<int> glue_predicted = {0, 1, 1, 0, 1, 0, 1, 1};

TEST(GlueMetrics, OfTwoClasses) {
  expect_metrics(glue_class_metrics(GlueMetric::matthews, glue_labels, glue_predicted, 2),
                 {{"matthews_correlation", 0.2581988897471611}});
  expect_metrics(glue_class_metrics(GlueMetric::accuracy, glue_labels, glue_predicted, 2),
                 {{"accuracy", 0.625}});
  expect_metrics(glue_class_metrics(GlueMetric::accuracy_f1, glue_labels, glue_predicted, 2),
                 {{"accuracy", 0.625}, {"f1", 0.6666666666666666}, {"combined_score", 0.6458333333333333}});
}

TEST(GlueMetrics, AreZeroWhereADenominatorIs) {
  const std::vector<int> zeros(4, 0);
  EXPECT_EQ(glue_class_metrics(GlueMetric::matthews, std::vector<int>{0, 1, 1, 0}, zeros, 2)[0].value, 0);
  expect_metrics(glue_class_metrics(GlueMetric::accuracy_f1, zeros, zeros, 2),
                 {{"accuracy", 1.0}, {"f1", 0.0}, {"combined_score", 0.5}});
}

TEST(GlueMetrics, MismatchedMnliHasNamesOfItsOwn) {
  expect_metrics(join_mnli_metrics({{"accuracy", 0.75}}, {{"accuracy", 0.5}}),
                 {{"accuracy", 0.75}, {"accuracy_mm", 0.5}});
}

TEST(GlueMetrics, CorrelationsOfScores) {
  const std::vector<double> labels = {0, 1, 2.5, 2.5, 5, 4.2};
  const std::vector<double> predicted = {0.3, 0.9, 2, 3.5, 4.4, 4.4};
  expect_metrics(glue_regression_metrics(labels, predicted),
                 {{"pearson", 0.9495320922971113},
                  {"spearmanr", 0.9705882352941178},
                  {"combined_score", (0.9495320922971113 + 0.9705882352941178) / 2}});
}

TEST(GlueMetrics, CorrelationsDependOnNeitherScaleNorSize) {
  const std::vector<double> x = {1, 2, 3, 5};
  std::vector<double> large, small, falling;
  for (const double value : x) {
    large.push_back(1e300 * value);
    small.push_back(1e-300 * value);
    falling.push_back(7 - 1e6 * value);
  }
  EXPECT_NEAR(pearson_correlation(x, large), 1, 1e-12);
  EXPECT_NEAR(pearson_correlation(x, small), 1, 1e-12);
  EXPECT_NEAR(pearson_correlation(x, falling), -1, 1e-12);
  EXPECT_NEAR(spearman_correlation(x, falling), -1, 1e-12);
  EXPECT_LE(pearson_correlation(x, x), 1.0);
}

TEST(GlueMetrics, CorrelationsOfAConstantAreUndefined) {
  const std::vector<double> same = {2, 2, 2};
  const std::vector<double> other = {1, 2, 3};
  for (const Metric& metric : glue_regression_metrics(same, other)) EXPECT_TRUE(std::isnan(metric.value));
  for (const Metric& metric : glue_regression_metrics(other, same)) EXPECT_TRUE(std::isnan(metric.value));
  EXPECT_TRUE(std::isnan(pearson_correlation(std::vector<double>{1}, std::vector<double>{2})));
}

TEST(GlueMetrics, BadInputIsAnError) {
  const std::vector<double> two = {1, 2};
  const std::vector<double> three = {1, 2, 3};
  EXPECT_EQ(error_message([&] { glue_regression_metrics(two, three); }), "2 labels but 3 predictions");
  EXPECT_EQ(error_message([&] { glue_regression_metrics({}, {}); }), "no examples to score");
  const std::vector<double> bad = {1, std::numeric_limits<double>::infinity()};
  EXPECT_EQ(error_message([&] { glue_regression_metrics(two, bad); }),
            "example 2: the prediction is not a finite number");
  EXPECT_EQ(error_message([&] { glue_regression_metrics(bad, two); }),
            "example 2: the label is not a finite number");
  EXPECT_FALSE(error_message([&] { glue_class_metrics(GlueMetric::accuracy, glue_labels, {}, 2); }).empty());
  EXPECT_FALSE(error_message([&] {
                 glue_class_metrics(GlueMetric::accuracy_f1, glue_labels, glue_predicted, 3);
               }).empty());
}

}  // namespace
}  // namespace bigbird
