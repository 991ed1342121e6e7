// Sigmoid and softmax against their definitions, at the ends of the range too.
#include "lib/inference/probabilities.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace bigbird {
namespace {

std::vector<double> values(const std::vector<float>& logits, ProblemType problem, std::size_t outputs) {
  std::vector<double> result(outputs);
  values_of_logits(logits, problem, result);
  return result;
}

TEST(Probabilities, TwoClassesAreTheSecondOfTheirSoftmax) {
  for (const std::vector<float>& logits :
       std::vector<std::vector<float>>{{0.25F, -1.5F}, {-3.0F, 2.0F}, {7.0F, 7.0F}, {40.0F, -40.0F}}) {
    const double one = values(logits, ProblemType::single_label, 1)[0];
    EXPECT_NEAR(one / Softmax(logits)(logits[1]), 1.0, 1e-14);
    const double a = std::exp(static_cast<double>(logits[0])), b = std::exp(static_cast<double>(logits[1]));
    EXPECT_NEAR(one / (b / (a + b)), 1.0, 1e-14);
  }
}

TEST(Probabilities, LargeLogitsDoNotOverflow) {
  EXPECT_EQ(values({-2000.0F, 2000.0F}, ProblemType::single_label, 1)[0], 1.0);
  EXPECT_EQ(values({2000.0F, -2000.0F}, ProblemType::single_label, 1)[0], 0.0);
  EXPECT_EQ(values({1000.0F, 1000.0F, -1000.0F}, ProblemType::single_label, 3),
            (std::vector<double>{0.5, 0.5, 0.0}));
  EXPECT_EQ(values({-1000.0F, 0.0F}, ProblemType::multi_label, 2), (std::vector<double>{0.0, 0.5}));
}

TEST(Probabilities, SumToOneAndNumbersStayNumbers) {
  const std::vector<double> three = values({0.5F, -2.0F, 1.25F}, ProblemType::single_label, 3);
  EXPECT_NEAR(three[0] + three[1] + three[2], 1.0, 1e-15);
  EXPECT_NEAR(three[2] / three[0], std::exp(0.75), 1e-14);
  EXPECT_EQ(values({0.5F, -2.0F}, ProblemType::regression, 2), (std::vector<double>{0.5, -2.0}));
}

TEST(Probabilities, OutputsOfAHead) {
  ModelConfig config;
  config.problem_type = ProblemType::single_label;
  config.num_labels = 2;
  EXPECT_EQ(outputs_of(config), 1u);
  config.num_labels = 3;
  EXPECT_EQ(outputs_of(config), 3u);
  config.problem_type = ProblemType::multi_label;
  config.num_labels = 2;
  EXPECT_EQ(outputs_of(config), 2u);
}

}  // namespace
}  // namespace bigbird
