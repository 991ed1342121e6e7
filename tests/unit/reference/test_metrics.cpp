// Metrics of the reference against values worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "reference/metrics.h"

namespace bigbird::reference {
namespace {

TEST(ReferenceMetrics, ConfusionTableCallsTheThresholdItselfPositive) {
  const ConfusionTable table = confusion_table({0.5, 0.49, 0.9, 0.1, 0.7}, {1, 1, 1, 0, 0}, 0.5);
  EXPECT_EQ(table.true_positives, 2);
  EXPECT_EQ(table.false_negatives, 1);
  EXPECT_EQ(table.false_positives, 1);
  EXPECT_EQ(table.true_negatives, 1);
  EXPECT_THROW(confusion_table({0.5}, {1, 0}, 0.5), std::invalid_argument);
}

TEST(ReferenceMetrics, FormulasByHand) {
  const ConfusionTable table{6, 2, 8, 4};
  EXPECT_DOUBLE_EQ(precision(table), 0.75);
  EXPECT_DOUBLE_EQ(recall(table), 0.6);
  EXPECT_DOUBLE_EQ(f1(table), 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(matthews_correlation(table), (48.0 - 8.0) / std::sqrt(8.0 * 10.0 * 10.0 * 12.0));
}

TEST(ReferenceMetrics, EmptyDenominatorsGiveZero) {
  const ConfusionTable nothing_called{0, 0, 5, 3};
  EXPECT_EQ(precision(nothing_called), 0.0);
  EXPECT_EQ(recall(nothing_called), 0.0);
  EXPECT_EQ(f1(nothing_called), 0.0);
  EXPECT_EQ(matthews_correlation(nothing_called), 0.0);
}

TEST(ReferenceMetrics, AurocCountsPairsAndHalfOfTies) {
  EXPECT_DOUBLE_EQ(*auroc({0.1, 0.4, 0.35, 0.8}, {0, 0, 1, 1}), 0.75);
  EXPECT_DOUBLE_EQ(*auroc({0.3, 0.3, 0.3}, {0, 1, 1}), 0.5);
  EXPECT_DOUBLE_EQ(*auroc({0.2, 0.2, 0.9}, {0, 1, 1}), 0.75);
  EXPECT_FALSE(auroc({0.2, 0.3}, {1, 1}).has_value());
  EXPECT_FALSE(auroc({}, {}).has_value());
}

TEST(ReferenceMetrics, AveragePrecisionTakesTiesTogether) {
  EXPECT_DOUBLE_EQ(*average_precision({0.1, 0.4, 0.35, 0.8}, {0, 0, 1, 1}), 0.5 + 0.5 * 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(*average_precision({0.5, 0.5, 0.5, 0.5}, {1, 0, 0, 0}), 0.25);
  EXPECT_FALSE(average_precision({0.2, 0.3}, {0, 0}).has_value());
  EXPECT_FALSE(average_precision({}, {}).has_value());
}

}  // namespace
}  // namespace bigbird::reference
