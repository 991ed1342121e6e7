// Words of six bases and the fraction of G and C, counted by hand; the regression on them beside that of
// scikit-learn (tests/peers/make_baselines.py).
#include "lib/genomics/kmers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "kernels/parallel.h"
#include "lib/core/rng.h"
#include "lib/genomics/logistic_regression.h"
#include "lib/io/genome/fasta.h"
#include "lib/metrics/metrics.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using WordCounts = std::map<int, int>;

WordCounts counts_of(KmerFeatures& features, const std::string& sequence) {
  std::vector<KmerValue> row;
  features.of(sequence, row);
  WordCounts counts;
  for (const KmerValue& each : row) {
    EXPECT_TRUE(counts.empty() || counts.rbegin()->first < each.feature) << "ascending, each once";
    counts[each.feature] = static_cast<int>(std::lround(std::exp(each.value) - 1));
    EXPECT_FLOAT_EQ(each.value, std::log1p(static_cast<float>(counts[each.feature])));
  }
  return counts;
}

TEST(Kmers, OfOneStrandAreNumberedByTheirLetters) {
  KmerFeatures features(false);
  EXPECT_EQ(features.count(), 4096u);
  EXPECT_EQ(counts_of(features, "AAAAAAA"), (WordCounts{{0, 2}}));
  EXPECT_EQ(counts_of(features, "TTTTTT"), (WordCounts{{4095, 1}}));
  EXPECT_EQ(counts_of(features, "AAAACG"), (WordCounts{{6, 1}}));
  EXPECT_EQ(counts_of(features, "ACGTAC"),
            (WordCounts{{((((0 * 4 + 1) * 4 + 2) * 4 + 3) * 4 + 0) * 4 + 1, 1}}));
  EXPECT_EQ(counts_of(features, "AAAAA"), WordCounts{});
  EXPECT_EQ(counts_of(features, ""), WordCounts{});
}

TEST(Kmers, DoNotReachAcrossOtherLetters) {
  KmerFeatures features(false);
  EXPECT_EQ(counts_of(features, "AAAAANAAAAA"), WordCounts{});
  EXPECT_EQ(counts_of(features, "AAAAAANAAAAAAA"), (WordCounts{{0, 3}}));
  EXPECT_EQ(counts_of(features, "NNNNNNNN"), WordCounts{});
}

TEST(Kmers, OfBothStrandsAreThoseOfTheReverseComplement) {
  KmerFeatures features(true);
  EXPECT_EQ(features.count(), 2080u);  // (4096 + 64 palindromes) / 2
  EXPECT_EQ(counts_of(features, "TTTTTT"), (WordCounts{{0, 1}}));
  EXPECT_EQ(counts_of(features, "AAAAAANTTTTTT"), (WordCounts{{0, 2}}));
  CounterRng random(1, Purpose::test, 0);
  std::string sequence;
  for (int i = 0; i < 500; ++i) sequence += "ACGTN"[random.below(i % 50 == 0 ? 5 : 4)];
  const WordCounts counts = counts_of(features, sequence);
  EXPECT_GT(counts.size(), 300u);
  EXPECT_EQ(counts_of(features, reverse_complement(sequence)), counts);
}

TEST(Kmers, TheShareOfGAndCIsAmongKnownBases) {
  EXPECT_DOUBLE_EQ(share_of_gc("ACGT"), 0.5);
  EXPECT_DOUBLE_EQ(share_of_gc("GNNC"), 1.0);
  EXPECT_DOUBLE_EQ(share_of_gc("AATG"), 0.25);
  EXPECT_DOUBLE_EQ(share_of_gc("NNN"), 0.0);
  EXPECT_DOUBLE_EQ(share_of_gc(""), 0.0);
}

class LogisticRegression : public ::testing::Test {
 protected:
  LogisticRegression()
      : golden_(nlohmann::json::parse(
                    testing::read_text(testing::source_dir() / "tests" / "golden" / "baselines.json"))
                    .at("kmers")) {}
  ~LogisticRegression() override { kernels::set_thread_count(0); }

  SparseRows rows(const char* side, bool both_strands) const {
    KmerFeatures features(both_strands);
    SparseRows rows;
    rows.features = features.count();
    std::vector<KmerValue> row;
    for (const auto& window : golden_.at(side).at("windows")) {
      features.of(window.get<std::string>(), row);
      rows.add(row);
    }
    return rows;
  }
  std::vector<std::uint8_t> labels(const char* side) const {
    return golden_.at(side).at("labels").get<std::vector<std::uint8_t>>();
  }

  nlohmann::json golden_;
};

TEST_F(LogisticRegression, IsTheOneOfScikitLearn) {
  LogisticOptions exact;
  exact.tolerance = 1e-8;
  for (const auto& wanted : golden_.at("fits")) {
    const bool both_strands = wanted.at("both_strands").get<bool>();
    const SparseRows train = rows("train", both_strands), test = rows("test", both_strands);
    const std::vector<std::uint8_t> train_labels = labels("train"), test_labels = labels("test");
    const std::vector<LogisticTask> tasks = {{train_labels, wanted.at("l2").get<double>()}};
    const LogisticModel model = fit_logistic(train, tasks, exact).front();
    EXPECT_TRUE(model.converged);
    EXPECT_LT(model.steps, 200);
    EXPECT_NEAR(model.intercept, wanted.at("intercept").get<double>(), 1e-4);
    double largest = 0;
    for (const double weight : model.weights) largest = std::max(largest, std::abs(weight));
    EXPECT_NEAR(largest, wanted.at("largest_weight").get<double>(), 1e-4);
    const std::vector<double> logits = model.logits(test);
    std::vector<double> positives, negatives;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      EXPECT_NEAR(logits[i], wanted.at("logits")[i].get<double>(), 1e-4);
      (test_labels[i] == 1 ? positives : negatives).push_back(logits[i]);
    }
    EXPECT_DOUBLE_EQ(rank_metrics(positives, negatives).auroc, wanted.at("auroc").get<double>());
    // The usual tolerance gives the same order.
    const LogisticModel usual = fit_logistic(train, tasks, {}).front();
    EXPECT_NEAR(log_loss(usual, test, test_labels), log_loss(model, test, test_labels), 1e-4);
  }
}

// More tasks than lie side by side, and each is what it is alone; nor do threads change a bit.
TEST_F(LogisticRegression, NeitherOtherTasksNorThreadsChangeAFit) {
  const SparseRows train = rows("train", false);
  const std::vector<std::uint8_t> all = labels("train");
  std::vector<std::vector<std::uint8_t>> questions;
  for (std::size_t k = 0; k < 11; ++k) {
    questions.push_back(all);
    for (std::size_t i = 0; i < all.size(); i += k + 2) questions.back()[i] ^= 1;
  }
  std::vector<LogisticTask> tasks;
  for (const auto& question : questions) tasks.push_back({question, 3.0 + static_cast<double>(tasks.size())});
  kernels::set_thread_count(1);
  const std::vector<LogisticModel> one = fit_logistic(train, tasks, {});
  kernels::set_thread_count(4);
  const std::vector<LogisticModel> four = fit_logistic(train, tasks, {});
  ASSERT_EQ(one.size(), 11u);
  for (std::size_t k = 0; k < one.size(); ++k) {
    EXPECT_TRUE(one[k].converged);
    EXPECT_EQ(one[k].weights, four[k].weights);
    EXPECT_EQ(one[k].intercept, four[k].intercept);
    const LogisticModel alone = fit_logistic(train, std::span(tasks).subspan(k, 1), {}).front();
    EXPECT_EQ(one[k].weights, alone.weights) << k;
  }
}

TEST_F(LogisticRegression, WithoutFeaturesTheInterceptIsTheLogOfTheOdds) {
  SparseRows rows;
  rows.features = 4;
  for (int i = 0; i < 10; ++i) rows.add({});
  const std::vector<std::uint8_t> labels = {1, 0, 0, 0, 1, 0, 0, 0, 0, 0};
  const LogisticModel model = fit_logistic(rows, std::vector<LogisticTask>{{labels, 1}}, {}).front();
  EXPECT_NEAR(model.intercept, std::log(2.0 / 8.0), 1e-4);
  EXPECT_EQ(model.weights, std::vector<double>(4, 0.0));
  EXPECT_NEAR(log_loss(model, rows, labels), -(0.2 * std::log(0.2) + 0.8 * std::log(0.8)), 1e-8);
}

// Labels that a word separates: the penalty keeps the weight finite, and a stronger one keeps it smaller.
TEST_F(LogisticRegression, APenaltyKeepsWeightsFinite) {
  SparseRows rows;
  rows.features = 1;
  std::vector<std::uint8_t> labels;
  for (int i = 0; i < 20; ++i) {
    rows.add(i % 2 == 0 ? std::vector<KmerValue>{{0, 1.0f}} : std::vector<KmerValue>{});
    labels.push_back(i % 2 == 0);
  }
  const std::vector<LogisticTask> tasks = {{labels, 0.01}, {labels, 1}, {labels, 100}};
  const std::vector<LogisticModel> models = fit_logistic(rows, tasks, {});
  EXPECT_GT(models[0].weights[0], models[1].weights[0]);
  EXPECT_GT(models[1].weights[0], models[2].weights[0]);
  EXPECT_GT(models[2].weights[0], 0);
  EXPECT_LT(models[0].weights[0], 30);
  // The gradient is 0: l2 w = sum of (label - p) over rows that have the word.
  const double p = 1 / (1 + std::exp(-models[1].weights[0] - models[1].intercept));
  EXPECT_NEAR(models[1].weights[0], 10 * (1 - p), 1e-3);
}

}  // namespace
}  // namespace bigbird
