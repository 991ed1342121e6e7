// Every layer and loss of the reference against central differences, and against values worked out by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/finite_difference.h"
#include "reference/layers.h"
#include "reference/losses.h"
#include "tests/gradients/random_numbers.h"

namespace bigbird {
namespace {

using namespace reference;
using testing::RandomNumbers;
using testing::weighted_sum;

constexpr double tolerance = 1e-6;

TEST(CentralDifference, IsExactForAQuarticAndRestoresItsVariable) {
  double x = 1.7;
  const double slope = central_difference(x, [&] { return x * x * x * x - 2.0 * x; });
  EXPECT_NEAR(slope, 4.0 * 1.7 * 1.7 * 1.7 - 2.0, 1e-10);
  EXPECT_EQ(x, 1.7);
}

TEST(CentralDifference, SeesAWrongGradient) {
  Vector x{0.3, -1.2};
  const auto square = [&] { return x[0] * x[0] + x[1] * x[1]; };
  EXPECT_LT(largest_gradient_error(x, {0.6, -2.4}, square), 1e-9);
  EXPECT_GT(largest_gradient_error(x, {0.6, -2.40001}, square), 1e-6);
  EXPECT_GT(largest_gradient_error(x, {0.6, NAN}, square), 1e-6);
  EXPECT_GT(largest_gradient_error(x, {0.6}, square), 1e-6);
}

TEST(Linear, BackwardEqualsCentralDifferences) {
  RandomNumbers random(1);
  Matrix x = random.matrix(5, 4);
  Vector weight = random.vector(3 * 4);
  Vector bias = random.vector(3);
  const Matrix d_y = random.matrix(5, 3);
  const auto loss = [&] { return weighted_sum(linear_forward(x, weight, bias).values, d_y.values); };
  const LinearGradients gradients = linear_backward(x, weight, d_y);
  EXPECT_LT(largest_gradient_error(x.values, gradients.x.values, loss), tolerance);
  EXPECT_LT(largest_gradient_error(weight, gradients.weight, loss), tolerance);
  EXPECT_LT(largest_gradient_error(bias, gradients.bias, loss), tolerance);
}

TEST(Linear, WeightIsOutputsByInputs) {
  const Matrix y = linear_forward(Matrix(1, 2, {1, 10}), {1, 2, 3, 4, 5, 6}, {100, 200, 300});
  EXPECT_EQ(y.values, (Vector{121, 243, 365}));
  EXPECT_EQ(linear_forward(Matrix(1, 2, {1, 10}), {1, 2, 3, 4, 5, 6}, {}).values, (Vector{21, 43, 65}));
}

TEST(LayerNorm, BackwardEqualsCentralDifferences) {
  RandomNumbers random(2);
  for (const double epsilon : {1e-12, 0.1}) {
    Matrix x = random.matrix(4, 6);
    Vector gamma = random.vector(6, 0.5, 1.5);
    Vector beta = random.vector(6);
    const Matrix d_y = random.matrix(4, 6);
    const auto loss = [&] {
      return weighted_sum(layer_norm_forward(x, gamma, beta, epsilon).values, d_y.values);
    };
    const LayerNormGradients gradients = layer_norm_backward(x, gamma, epsilon, d_y);
    EXPECT_LT(largest_gradient_error(x.values, gradients.x.values, loss), tolerance);
    EXPECT_LT(largest_gradient_error(gamma, gradients.gamma, loss), tolerance);
    EXPECT_LT(largest_gradient_error(beta, gradients.beta, loss), tolerance);
  }
}

TEST(LayerNorm, UsesTheBiasedVariance) {
  const Matrix y = layer_norm_forward(Matrix(1, 2, {1, 5}), {3, 3}, {10, 10}, 0.0);
  EXPECT_NEAR(y(0, 0), 7.0, 1e-12);
  EXPECT_NEAR(y(0, 1), 13.0, 1e-12);
}

TEST(Letters, BackwardEqualsCentralDifferences) {
  RandomNumbers random(4);
  LetterFilters filters{5, 3, 4, random.vector(5 * 3 * 4), random.vector(4)};
  const std::vector<std::size_t> ids{2, 0, 1, 1, 2, 0, 0};
  const Matrix d_y = random.matrix(7, 4);
  const auto loss = [&] { return weighted_sum(letters_forward(filters, ids, 6, 7).values, d_y.values); };
  const LetterGradients gradients = letters_backward(filters, ids, 6, d_y);
  EXPECT_LT(largest_gradient_error(filters.tables, gradients.tables, loss), tolerance);
  EXPECT_LT(largest_gradient_error(filters.bias, gradients.bias, loss), tolerance);
}

TEST(Letters, AFilterSeesItsLettersInOrderAndNothingOutside) {
  // Of three places and two letters; the digit of a sum says which place, its value which letter.
  const LetterFilters filters{3, 2, 1, {100, 200, 10, 20, 1, 2}, {5000}};
  EXPECT_EQ(letters_forward(filters, {0, 1, 1, 0}, 3, 4).values, (Vector{5012, 5122, 5220, 5200}));
}

TEST(Activations, BackwardEqualsCentralDifferences) {
  RandomNumbers random(3);
  Matrix x = random.matrix(4, 5, -3, 3);
  const Matrix d_y = random.matrix(4, 5);
  for (const Activation form :
       {Activation::gelu_tanh, Activation::gelu_erf, Activation::relu, Activation::silu}) {
    const auto activation_loss = [&] { return weighted_sum(activation_forward(x, form).values, d_y.values); };
    EXPECT_LT(largest_gradient_error(x.values, activation_backward(x, d_y, form).values, activation_loss),
              tolerance);
  }
  Matrix gated = random.matrix(4, 10, -3, 3);  // inputs, then their gates
  for (const Activation form : {Activation::gelu_tanh, Activation::gelu_erf, Activation::silu}) {
    const auto gated_loss = [&] { return weighted_sum(gated_forward(gated, form).values, d_y.values); };
    EXPECT_LT(largest_gradient_error(gated.values, gated_backward(gated, d_y, form).values, gated_loss),
              tolerance);
  }
  const auto tanh_loss = [&] { return weighted_sum(tanh_forward(x).values, d_y.values); };
  EXPECT_LT(largest_gradient_error(x.values, tanh_backward(x, d_y).values, tanh_loss), tolerance);
}

TEST(Activations, ActivationsHaveTheirKnownValues) {
  EXPECT_NEAR(activation_forward(Matrix(1, 1, {2.0}), Activation::gelu_tanh)(0, 0), 1.954597694087775, 1e-12);
  EXPECT_NEAR(activation_forward(Matrix(1, 1, {2.0}), Activation::gelu_erf)(0, 0), 1.954499736103642, 1e-12);
  EXPECT_NEAR(activation_forward(Matrix(1, 1, {2.0}), Activation::silu)(0, 0), 1.761594155955765, 1e-12);
  EXPECT_EQ(activation_forward(Matrix(1, 2, {2.0, -2.0}), Activation::relu).values, (Vector{2.0, 0.0}));
}

TEST(Embedding, BackwardEqualsCentralDifferences) {
  RandomNumbers random(4);
  Matrix word = random.matrix(5, 3);
  Matrix type = random.matrix(2, 3);
  Matrix position = random.matrix(4, 3);
  const std::vector<std::size_t> ids{3, 1, 3, 0}, types{0, 1, 1, 0}, positions{0, 1, 0, 1};
  const Matrix d_y = random.matrix(4, 3);
  for (const Vector& scales : {Vector{}, Vector{0.5, 0.0, 2.0, 1.0}}) {
    const auto loss = [&] {
      return weighted_sum(embedding_forward(word, type, position, 1.5, ids, types, positions, scales).values,
                          d_y.values);
    };
    const EmbeddingGradients gradients =
        embedding_backward(word, type, position, 1.5, ids, types, positions, d_y, scales);
    EXPECT_LT(largest_gradient_error(word.values, gradients.word.values, loss), tolerance);
    EXPECT_LT(largest_gradient_error(type.values, gradients.type.values, loss), tolerance);
    EXPECT_LT(largest_gradient_error(position.values, gradients.position.values, loss), tolerance);
  }
}

TEST(Losses, GradientsEqualCentralDifferences) {
  RandomNumbers random(5);
  Matrix x = random.matrix(5, 4, -3, 3);
  const std::vector<std::int64_t> labels{2, ignored_label, 0, 3, ignored_label};
  const Matrix targets = random.matrix(5, 4, 0, 1);
  const LabelShares shares{0.7, 0.3 / static_cast<double>(x.columns - 1)};
  EXPECT_LT(largest_gradient_error(x.values, smoothed_cross_entropy(x, labels, shares).gradient.values,
                                   [&] { return smoothed_cross_entropy(x, labels, shares).loss; }),
            tolerance);
  EXPECT_LT(largest_gradient_error(x.values, softmax_cross_entropy(x, labels).gradient.values,
                                   [&] { return softmax_cross_entropy(x, labels).loss; }),
            tolerance);
  EXPECT_LT(largest_gradient_error(x.values, binary_cross_entropy_with_logits(x, targets).gradient.values,
                                   [&] { return binary_cross_entropy_with_logits(x, targets).loss; }),
            tolerance);
  EXPECT_LT(
      largest_gradient_error(x.values, binary_cross_entropy_with_logits(x, targets, 8.0).gradient.values,
                             [&] { return binary_cross_entropy_with_logits(x, targets, 8.0).loss; }),
      tolerance);
  EXPECT_LT(largest_gradient_error(x.values, mean_squared_error(x, targets).gradient.values,
                                   [&] { return mean_squared_error(x, targets).loss; }),
            tolerance);
}

TEST(Losses, GradientsOfGroupsEqualCentralDifferences) {
  RandomNumbers random(6);
  Vector x = random.vector(7, -3, 3);
  for (const std::vector<bool>& right : {std::vector<bool>{false, true, false, true, true, false, false},
                                         std::vector<bool>{true, false, false, false, false, false, false},
                                         std::vector<bool>(7, true), std::vector<bool>(7, false)}) {
    EXPECT_LT(largest_gradient_error(x, choice_cross_entropy(x, right).gradient.values,
                                     [&] { return choice_cross_entropy(x, right).loss; }),
              tolerance);
    EXPECT_LT(largest_gradient_error(x, mark_cross_entropy(x, right).gradient.values,
                                     [&] { return mark_cross_entropy(x, right).loss; }),
              tolerance);
  }
}

// With one right number it is cross entropy; with two, that of the two as one class.
TEST(Losses, ChoicesByHand) {
  const Vector x{0.0, std::log(3.0), std::log(4.0)};
  EXPECT_NEAR(choice_cross_entropy(x, {false, true, false}).loss, std::log(8.0 / 3.0), 1e-12);
  EXPECT_NEAR(choice_cross_entropy(x, {true, true, false}).loss, std::log(8.0 / 4.0), 1e-12);
  EXPECT_EQ(choice_cross_entropy(x, {false, false, false}).loss, 0.0);
  EXPECT_EQ(choice_cross_entropy(x, {false, false, false}).gradient.values, Vector(3, 0.0));
  EXPECT_NEAR(mark_cross_entropy(x, {true, true, false}).loss,
              std::log(2.0) + std::log(4.0 / 3.0) + std::log(5.0), 1e-12);
}

TEST(Losses, ValuesByHand) {
  const Matrix logits(3, 2, {0.0, std::log(3.0), 900.0, 1000.0, 5.0, 5.0});
  EXPECT_NEAR(softmax_cross_entropy(logits, {1, 0, ignored_label}).loss, (std::log(4.0 / 3.0) + 100.0) / 2.0,
              1e-12);
  const LossAndGradient none = softmax_cross_entropy(logits, {ignored_label, ignored_label, ignored_label});
  EXPECT_EQ(none.loss, 0.0);
  EXPECT_EQ(none.gradient.values, Vector(6, 0.0));
  EXPECT_THROW(softmax_cross_entropy(logits, {1, 2, 0}), std::invalid_argument);

  const Matrix two(1, 2, {std::log(3.0), -1000.0});
  EXPECT_NEAR(binary_cross_entropy_with_logits(two, Matrix(1, 2, {1, 1})).loss,
              (std::log(4.0 / 3.0) + 1000.0) / 2.0, 1e-9);
  // A positive at probability 3/4 counts 8 times, a negative there once; both divide by 2.
  const Matrix same(1, 2, {std::log(3.0), std::log(3.0)});
  EXPECT_NEAR(binary_cross_entropy_with_logits(same, Matrix(1, 2, {1, 0}), 8.0).loss,
              (8.0 * std::log(4.0 / 3.0) + std::log(4.0)) / 2.0, 1e-12);
  EXPECT_NEAR(mean_squared_error(Matrix(1, 2, {1, 5}), Matrix(1, 2, {3, 2})).loss, (4.0 + 9.0) / 2.0, 1e-12);
}

// torch.nn.BCEWithLogitsLoss(pos_weight = 8 for each class) of PyTorch 2, in float64.
TEST(Losses, WeightedPositivesEqualPyTorch) {
  const Matrix logits(2, 3, {0.3, -2.0, 4.0, 1.5, -0.7, 0.0});
  const LossAndGradient got =
      binary_cross_entropy_with_logits(logits, Matrix(2, 3, {1, 0, 1, 0, 1, 0.25}), 8.0);
  EXPECT_NEAR(got.loss, 2.8566709676233217, 1e-14);
  const Vector expected = {-0.5674099775844547, 0.019867153670352924, -0.023981613282788732,
                           0.1362624126989406,  -0.8909170295575549,  -0.10416666666666667};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(got.gradient.values[i], expected[i], 1e-14) << i;
  }
}

}  // namespace
}  // namespace bigbird
