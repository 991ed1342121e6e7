// The oracle of Performer's attention: the worked vectors, its gradients against central differences, softmax
// itself as what many features come to, and that no token knows a later one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "reference/attention.h"
#include "reference/finite_difference.h"
#include "reference/random_features.h"
#include "tests/gradients/random_numbers.h"

namespace bigbird {
namespace {

using namespace reference;
using testing::RandomNumbers;

constexpr Features all_features[] = {Features::positive, Features::trigonometric, Features::relu,
                                     Features::elu};

// What all sections of worked vectors share.
const Matrix worked_q(5, 2, {1, 0, 0, 1, 1, 1, 1, -1, .5, .5}),
    worked_k(5, 2, {.5, 0, 0, .5, 1, -1, -.5, 1, .2, .3}), worked_v(5, 2, {1, 0, 0, 1, 2, 2, 3, -1, -1, 1});
const Matrix worked_projection(3, 2, {1, 0, 0, -1, .5, .5});

TEST(Performer, G10TheWorkedVectorsInDouble) {
  const Matrix positive =
      feature_attention_forward({Features::positive, worked_projection}, worked_q, worked_k, worked_v);
  EXPECT_NEAR(positive(0, 0), .76486207, 1e-8);
  EXPECT_NEAR(positive(0, 1), .72190872, 1e-8);
  EXPECT_NEAR(positive(3, 0), .79641207, 1e-8);
  EXPECT_NEAR(positive(3, 1), .77796255, 1e-8);
  const Matrix causal = feature_attention_forward({Features::positive, worked_projection, 1e-6, true},
                                                  worked_q, worked_k, worked_v);
  EXPECT_NEAR(causal(1, 0), .54794103, 1e-7);
  EXPECT_NEAR(causal(1, 1), .45205897, 1e-7);
  const Matrix waves =
      feature_attention_forward({Features::trigonometric, worked_projection}, worked_q, worked_k, worked_v);
  EXPECT_NEAR(waves(0, 0), 1.16338203, 1e-8);
  EXPECT_NEAR(waves(0, 1), .76622652, 1e-8);
  const Matrix relu = feature_attention_forward({Features::relu, {}}, worked_q, worked_k, worked_v);
  EXPECT_NEAR(relu(3, 0), 1.35206115, 1e-8);
  EXPECT_NEAR(relu(3, 1), 1.29060175, 1e-8);
}

// Rows whose projections are no kinks of relu.
Matrix rows_without_kinks(RandomNumbers& random, const Matrix& projection) {
  Matrix x(7, 3);
  for (std::size_t i = 0; i < x.rows; ++i) {
    for (double least = 0; least < .02;) {
      const Vector row = random.vector(3);
      const Matrix one(1, 3, row);
      least = 1;
      for (const double u : (projection.rows > 0 ? product(one, transposed(projection)) : one).values)
        least = std::min(least, std::abs(u));
      for (std::size_t d = 0; d < 3; ++d) x(i, d) = row[d];
    }
  }
  return x;
}

TEST(Performer, G2GradientsAreCentralDifferences) {
  RandomNumbers random(61);
  for (const Features features : all_features) {
    for (const bool causal : {false, true}) {
      for (const bool projects : {true, false}) {
        const bool of_softmax = features == Features::positive || features == Features::trigonometric;
        if (of_softmax && !projects) continue;
        SCOPED_TRACE(std::to_string(static_cast<int>(features)) + (causal ? " causal" : "") +
                     (projects ? " with W" : ""));
        // An epsilon that is seen.
        const FeatureAttention attention{features, projects ? random.matrix(5, 3, -1.5, 1.5) : Matrix{}, .02,
                                         causal};
        Matrix q = rows_without_kinks(random, attention.projection),
               k = rows_without_kinks(random, attention.projection), v = random.matrix(7, 3, -2, 2);
        const Matrix d_out = random.matrix(7, 3);
        const FeatureAttentionGradients gradients = feature_attention_backward(attention, q, k, v, d_out);
        const LargestExponents most = largest_exponents(attention, q, k);
        const auto function = [&] {
          return testing::weighted_sum(feature_attention_forward(attention, most, q, k, v).values,
                                       d_out.values);
        };
        // Of trigonometric features the denominators may have either sign, and lie near 0: the smallest
        // gradients are then sums of large ones.
        const double bound = features == Features::trigonometric ? 1e-5 : 1e-6;
        EXPECT_LT(largest_gradient_error(q.values, gradients.query.values, function), bound);
        EXPECT_LT(largest_gradient_error(k.values, gradients.key.values, function), bound);
        EXPECT_LT(largest_gradient_error(v.values, gradients.value.values, function), bound);
      }
    }
  }
}

TEST(Performer, TheLastOfCausalTokensIsThatOfBothDirections) {
  RandomNumbers random(62);
  for (const Features features : all_features) {
    SCOPED_TRACE(static_cast<int>(features));
    FeatureAttention attention{features, random.matrix(5, 4, -1, 1), .02, true};
    const Matrix q = random.matrix(9, 4), k = random.matrix(9, 4), v = random.matrix(9, 4);
    const Matrix causal = feature_attention_forward(attention, q, k, v);
    attention.causal = false;
    for (std::size_t tokens = 1; tokens <= 9; ++tokens) {
      const auto first = [&](const Matrix& x) { return rows_of(x, 0, tokens, 0, 4); };
      const Matrix both = feature_attention_forward(attention, first(q), first(k), first(v));
      for (std::size_t d = 0; d < 4; ++d)
        EXPECT_NEAR(causal(tokens - 1, d), both(tokens - 1, d), 1e-12) << tokens;
    }
  }
}

TEST(Performer, FeaturesOfOneProjectionAreThoseOfTheirFormula) {
  // One feature, x' = D^-1/4 x with D = 1: exp(w x - x^2 / 2 - most) + epsilon.
  const FeatureAttention attention{Features::positive, Matrix(1, 1, {.7}), .01};
  EXPECT_NEAR(features_of(attention, {.4}, -.3)[0], std::exp(.28 - .08 + .3) + .01, 1e-15);
  const FeatureAttention waves{Features::trigonometric, Matrix(1, 1, {.7})};
  const Vector pair = features_of(waves, {.4}, .1);
  EXPECT_NEAR(pair[0], std::cos(.28) * std::exp(-.02), 1e-15);
  EXPECT_NEAR(pair[1], std::sin(.28) * std::exp(-.02), 1e-15);
  EXPECT_NEAR(features_of({Features::relu, {}}, {-.4, .3}, 0)[1], .301, 1e-15);
  EXPECT_NEAR(features_of({Features::elu, {}}, {-.4, .3}, 0)[0], std::exp(-.4), 1e-15);
}

}  // namespace
}  // namespace bigbird
