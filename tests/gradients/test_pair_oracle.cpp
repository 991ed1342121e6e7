// The oracle of pairs and labels: its labels, a worked example, its gradients against central differences,
// and what must hold of any.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "reference/attention_pairs.h"
#include "reference/finite_difference.h"
#include "tests/gradients/random_numbers.h"

namespace bigbird {
namespace {

using namespace reference;
using testing::RandomNumbers;

std::string labels_of_rows(std::size_t tokens, std::size_t most, std::ptrdiff_t radius,
                           const std::vector<int>& parts = {}) {
  std::string text;
  for (std::size_t i = 0; i < tokens; ++i) {
    if (i > 0) text += " / ";
    bool first = true;
    for (std::size_t j = 0; j < tokens; ++j) {
      const std::ptrdiff_t distance = static_cast<std::ptrdiff_t>(j) - static_cast<std::ptrdiff_t>(i);
      if (std::abs(distance) > radius) continue;
      const bool apart = !parts.empty() && parts[i] != parts[j];
      text += (first ? "" : " ") + std::to_string(apart ? 2 * most + 3 : relative_label(distance, most));
      first = false;
    }
  }
  return text;
}

TEST(Etc, Check1LabelsOfPairs) {
  EXPECT_EQ(labels_of_rows(5, 2, 9), "0 1 2 2 2 / 3 0 1 2 2 / 4 3 0 1 2 / 4 4 3 0 1 / 4 4 4 3 0");
  EXPECT_EQ(labels_of_rows(5, 3, 9, {7, 7, 7, 5, 5}),
            "0 1 2 9 9 / 4 0 1 9 9 / 5 4 0 9 9 / 9 9 9 0 1 / 9 9 9 4 0");
  // A window below, at and above the largest distance, seen from a token in its middle.
  const auto of_middle = [](std::size_t most, std::ptrdiff_t radius) {
    std::vector<std::size_t> labels;
    for (std::ptrdiff_t distance = -radius; distance <= radius; ++distance)
      labels.push_back(relative_label(distance, most));
    return labels;
  };
  using Labels = std::vector<std::size_t>;
  EXPECT_EQ(of_middle(2, 3), (Labels{4, 4, 3, 0, 1, 2, 2}));
  EXPECT_EQ(of_middle(3, 1), (Labels{4, 0, 1}));
  EXPECT_EQ(of_middle(1, 1), (Labels{2, 0, 1}));
  EXPECT_EQ(of_middle(12, 12).front(), 24u);
  EXPECT_EQ(of_middle(12, 12).back(), 12u);
}

TEST(Etc, Check2TheWorkedExampleInDouble) {
  PairAttention pairs;
  pairs.scale = 1.0 / std::sqrt(2.0);
  pairs.weight = Matrix(6, 2);
  for (std::size_t u = 0; u < 6; ++u) {
    pairs.weight(u, 0) = 0.1 * static_cast<double>(u);
    pairs.weight(u, 1) = -0.05 * static_cast<double>(u);
    pairs.bias.push_back(0.01 * static_cast<double>(u));
  }
  // The long query's keys: three of the window, then the global one. Tokens 0 and 1 are linked to it.
  const Matrix long_q(3, 2, {1, 0, 0, 1, 1, 1}), long_k(4, 2, {.5, 0, 0, .5, 1, -1, .2, .3}),
      long_v(4, 2, {1, 0, 0, 1, 2, 2, 3, -1});
  const auto distance = [](std::size_t i, std::size_t j) {
    return static_cast<std::ptrdiff_t>(j) - static_cast<std::ptrdiff_t>(i);
  };
  pairs.visible = [&](std::size_t i, std::size_t j) { return j == 3 || std::abs(distance(i, j)) <= 1; };
  pairs.label = [&](std::size_t i, std::size_t j) {
    return j == 3 ? std::size_t{i < 2 ? 4u : 3u} : relative_label(distance(i, j), 1);
  };
  const Matrix out = pair_attention_forward(pairs, long_q, long_k, long_v).output;
  const double expected[] = {1.5061514, -.12052701, 1.3196257, .32351536, 1.64415278, .46376535};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(out.values[i], expected[i], 1e-8) << i;

  // The global query: itself, then the three tokens; under hard g2l not the one that is not linked.
  const Matrix q(1, 2, {1, -1}), k(4, 2, {.2, .3, .5, 0, 0, .5, 1, -1}), v(4, 2, {3, -1, 1, 0, 0, 1, 2, 2});
  pairs.visible = [](std::size_t, std::size_t) { return true; };
  pairs.label = [](std::size_t, std::size_t j) { return std::size_t{j == 0 ? 0u : (j < 3 ? 4u : 3u)}; };
  const Matrix global = pair_attention_forward(pairs, q, k, v).output;
  EXPECT_NEAR(global(0, 0), 1.65020963, 1e-8);
  EXPECT_NEAR(global(0, 1), 1.1664477, 1e-8);
  pairs.visible = [](std::size_t, std::size_t j) { return j < 3; };
  const Matrix hard = pair_attention_forward(pairs, q, k, v).output;
  EXPECT_NEAR(hard(0, 0), 1.17763983, 1e-8);
  EXPECT_NEAR(hard(0, 1), .04031138, 1e-8);
}

struct PairInput {
  PairAttention pairs;
  Matrix q, k, v, d_output;
};

PairInput random_pairs(RandomNumbers& random, bool self_last) {
  constexpr std::size_t tokens = 9, size = 3, most = 2, labels = 8;
  const auto matrix = [&](std::size_t rows) { return Matrix(rows, size, random.vector(rows * size, -2, 2)); };
  PairInput x{{}, matrix(tokens), matrix(tokens), matrix(tokens), matrix(tokens)};
  // Every third key hidden, and everything but its own from query 7 on.
  x.pairs.visible = [](std::size_t i, std::size_t j) { return j % 3 != 1 && (i < 7 || i == j) && i != 5; };
  x.pairs.self_last = self_last;
  x.pairs.scale = 0.6;
  x.pairs.label = [](std::size_t i, std::size_t j) {
    return i + j == 6 ? std::size_t{7}
                      : relative_label(static_cast<std::ptrdiff_t>(j) - static_cast<std::ptrdiff_t>(i), most);
  };
  x.pairs.weight = matrix(labels);
  x.pairs.bias = random.vector(labels, -1, 1);
  x.pairs.factors = Matrix(tokens, tokens, random.vector(tokens * tokens, 0, 2));
  return x;
}

double objective(const PairInput& x) {
  return testing::weighted_sum(pair_attention_forward(x.pairs, x.q, x.k, x.v).output.values,
                               x.d_output.values);
}

TEST(PairOracle, GradientsAreCentralDifferences) {
  RandomNumbers random(5);
  for (const bool self_last : {false, true}) {
    PairInput x = random_pairs(random, self_last);
    const PairAttentionGradients gradients = pair_attention_backward(x.pairs, x.q, x.k, x.v, x.d_output);
    const auto function = [&] { return objective(x); };
    EXPECT_LT(largest_gradient_error(x.q.values, gradients.query.values, function), 1e-6);
    EXPECT_LT(largest_gradient_error(x.k.values, gradients.key.values, function), 1e-6);
    EXPECT_LT(largest_gradient_error(x.v.values, gradients.value.values, function), 1e-6);
    EXPECT_LT(largest_gradient_error(x.pairs.weight.values, gradients.weight.values, function), 1e-6);
    EXPECT_LT(largest_gradient_error(x.pairs.bias, gradients.bias, function), 1e-6);
  }
}

TEST(Etc, Check7BiasesOfLabelsSumToNothing) {
  RandomNumbers random(6);
  PairInput x = random_pairs(random, false);
  const PairAttentionGradients gradients = pair_attention_backward(x.pairs, x.q, x.k, x.v, x.d_output);
  double sum = 0;
  for (const double value : gradients.bias) sum += value;
  EXPECT_NEAR(sum, 0.0, 1e-12);
  const double before = objective(x);
  for (double& value : x.pairs.bias) value += 3.5;
  EXPECT_NEAR(objective(x), before, 1e-12);
}

// Queries that stand behind four other keys, labels behind of which two are hidden, own keys never or last.
PairInput random_segment(RandomNumbers& random, bool no_self, bool self_last) {
  constexpr std::size_t queries = 6, start = 4, keys = queries + start, size = 3, most = 7;
  const auto matrix = [&](std::size_t rows) { return Matrix(rows, size, random.vector(rows * size, -2, 2)); };
  PairInput x{{}, matrix(queries), matrix(keys), matrix(keys), matrix(queries)};
  const auto distance = [](std::size_t i, std::size_t j) {
    return static_cast<std::ptrdiff_t>(j) - static_cast<std::ptrdiff_t>(start + i);
  };
  x.pairs.visible = [=](std::size_t i, std::size_t j) { return distance(i, j) <= 0 && (i != 2 || j > 4); };
  x.pairs.label = [=](std::size_t i, std::size_t j) {
    return label_behind(std::min<std::ptrdiff_t>(distance(i, j), 0), most);
  };
  x.pairs.scale = 0.6;
  x.pairs.start = start;
  x.pairs.no_self = no_self;
  x.pairs.self_last = self_last;
  x.pairs.weight = matrix(most + 1);
  x.pairs.bias = random.vector(most + 1, -1, 1);
  x.pairs.bias[1] = x.pairs.bias[5] = -INFINITY;
  return x;
}

TEST(TransformerXl, G2GradientsAreCentralDifferences) {
  RandomNumbers random(8);
  for (const auto& [no_self, self_last] : {std::pair{false, false}, {true, false}, {false, true}}) {
    PairInput x = random_segment(random, no_self, self_last);
    const PairAttentionGradients gradients = pair_attention_backward(x.pairs, x.q, x.k, x.v, x.d_output);
    EXPECT_EQ(gradients.bias[1], 0.0);
    EXPECT_EQ(gradients.bias[5], 0.0);
    Vector finite = {gradients.bias[0], gradients.bias[2], gradients.bias[6]};
    Vector moved = {x.pairs.bias[0], x.pairs.bias[2], x.pairs.bias[6]};
    const auto function = [&] {
      x.pairs.bias[0] = moved[0];
      x.pairs.bias[2] = moved[1];
      x.pairs.bias[6] = moved[2];
      return objective(x);
    };
    EXPECT_LT(largest_gradient_error(x.q.values, gradients.query.values, function), 1e-6);
    EXPECT_LT(largest_gradient_error(x.k.values, gradients.key.values, function), 1e-6);
    EXPECT_LT(largest_gradient_error(x.v.values, gradients.value.values, function), 1e-6);
    EXPECT_LT(largest_gradient_error(x.pairs.weight.values, gradients.weight.values, function), 1e-6);
    EXPECT_LT(largest_gradient_error(moved, finite, function), 1e-6);
  }
}

// A hidden label is a key that is not there.
TEST(TransformerXl, G2AHiddenLabelIsAHiddenPair) {
  RandomNumbers random(9);
  PairInput x = random_segment(random, false, false);
  PairInput without = x;
  without.pairs.bias[1] = without.pairs.bias[5] = 0.0;
  without.pairs.visible = [x](std::size_t i, std::size_t j) {
    const std::size_t label = x.pairs.label(i, j);
    return x.pairs.visible(i, j) && label != 1 && label != 5;
  };
  EXPECT_EQ(pair_attention_forward(x.pairs, x.q, x.k, x.v).output.values,
            pair_attention_forward(without.pairs, x.q, x.k, x.v).output.values);
}

TEST(TransformerXl, G10TheWorkedExampleInDouble) {
  const Matrix q(2, 2, {.1, .8, 1.1, .8}), k(3, 2, {.5, 0, 0, .5, 1, -1}), v(3, 2, {1, 0, 0, 1, 2, 2});
  PairAttention pairs;
  pairs.scale = 1.0 / std::sqrt(2.0);
  pairs.start = 1;
  pairs.visible = [](std::size_t i, std::size_t j) { return j <= i + 1; };
  pairs.label = [](std::size_t i, std::size_t j) {
    return label_behind(static_cast<std::ptrdiff_t>(j) - static_cast<std::ptrdiff_t>(i + 1), 2);
  };
  pairs.weight = Matrix(3, 2, {0, .1, .2, .1, .4, .1});
  for (std::size_t label = 0; label < 3; ++label)
    pairs.bias.push_back(.2 * pairs.weight(label, 0) + .25 * pairs.weight(label, 1));
  const Matrix out = pair_attention_forward(pairs, q, k, v).output;
  const double expected[] = {.44891365, .55108635, .92777242, .81968802};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(out.values[i], expected[i], 1e-7) << i;
  const Matrix weights =
      pair_attention_forward(pairs, q, k, Matrix(3, 3, {1, 0, 0, 0, 1, 0, 0, 0, 1})).output;
  const double probabilities[] = {.44891365, .55108635, 0, .42946546, .32138106, .24915348};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(weights.values[i], probabilities[i], 1e-7) << i;
}

TEST(AdaptiveSpan, G10TheWorkedExampleInDouble) {
  const double scores[] = {.3, -.2, .5, .1}, mask[] = {1, 1, .5, 0};
  PairAttention pairs;
  pairs.start = 4;
  pairs.no_self = true;
  pairs.visible = [](std::size_t, std::size_t) { return true; };
  pairs.label = [](std::size_t i, std::size_t j) {
    return label_behind(static_cast<std::ptrdiff_t>(j) - static_cast<std::ptrdiff_t>(i + 4), 4);
  };
  pairs.scale = 1.0 / std::sqrt(2.0);
  pairs.weight = Matrix(5, 1, {9, 0, 0, 0, 0});
  pairs.bias = {3, 0, 0, 0, 0};
  for (std::size_t d = 1; d <= 4; ++d) {
    pairs.weight(d, 0) = scores[d - 1] / pairs.scale;
    pairs.bias[d] = std::log(mask[d - 1]) / pairs.scale;
  }
  Matrix each(5, 5);
  for (std::size_t j = 0; j < 5; ++j) each(j, j) = 1.0;
  const Matrix out =
      pair_attention_forward(pairs, Matrix(1, 1, {1}), Matrix(5, 1, {0, 0, 0, 0, 7}), each).output;
  const double expected[] = {0, .27543413, .27355308, .45101279, 0};
  for (std::size_t j = 0; j < 5; ++j) EXPECT_NEAR(out(0, j), expected[j], 1e-7) << j;
}

TEST(PairOracle, AQueryWithoutAKeyIsZeros) {
  RandomNumbers random(7);
  const PairInput x = random_pairs(random, false);
  const PairAttentionOutput out = pair_attention_forward(x.pairs, x.q, x.k, x.v);
  EXPECT_EQ(out.log_sum_exp[5], INFINITY);
  for (std::size_t d = 0; d < 3; ++d) EXPECT_EQ(out.output(5, d), 0.0);
}

}  // namespace
}  // namespace bigbird
