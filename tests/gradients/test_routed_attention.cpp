// The oracle of Routing Transformer's attention: the worked vector, its gradients and those of what tokens
// are away from their centroids against central differences, one cluster as full attention, and which tokens
// a cluster takes.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/finite_difference.h"
#include "reference/routed_attention.h"
#include "tests/gradients/random_numbers.h"

namespace bigbird {
namespace {

using namespace reference;
using testing::RandomNumbers;

TEST(Routing, G10TheWorkedVectorInDouble) {
  const Matrix x(4, 3, {1, 0, .2, 0, 1, .3, .7, .1, -.4, -.3, .2, .9}), mu(2, 3, {1, 0, -1, -1, .5, .5});
  const Matrix v(4, 2, {1, 0, 0, 1, 2, 2, 3, -1});
  const auto members = cluster_members(routed_rows(x), mu, 2);
  EXPECT_EQ(members, (std::vector<std::vector<std::size_t>>{{0, 2}, {1, 3}}));
  const Matrix out = routed_attention_forward({members, members, false}, x, x, v);
  const Vector expected{1.33363316, .6870683,   .24661843,  .82568672,
                        1.63666415, 1.29313027, 2.72367966, -.82568743};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(out.values[i], expected[i], 1e-8) << i;
}

TEST(Routing, ATokenIsInSeveralClustersOrInNone) {
  const Matrix x(4, 2, {1, 0, .9, .1, 0, 1, -1, -1}), mu(2, 2, {1, 0, 1, .5});
  EXPECT_EQ(cluster_members(x, mu, 2), (std::vector<std::vector<std::size_t>>{{0, 1}, {0, 1}}));
  EXPECT_EQ(cluster_members(x, mu, 9), (std::vector<std::vector<std::size_t>>{{0, 1, 2, 3}, {0, 1, 2, 3}}));
  EXPECT_EQ(nearest_clusters(x, mu), (std::vector<std::size_t>{0, 1, 1, 0}));
  // Of equal products the first token.
  const Matrix same(3, 2, {1, 0, 1, 0, 1, 0});
  EXPECT_EQ(cluster_members(same, mu, 1), (std::vector<std::vector<std::size_t>>{{0}, {0}}));
  // In none: zeros. In two: what one gives, twice, over 2.01.
  const Matrix v(4, 1, {1, 1, 1, 1});
  const auto members = cluster_members(x, mu, 2);
  const Matrix out = routed_attention_forward({members, members, false}, x, x, v);
  EXPECT_EQ(out(3, 0), 0.0);
  EXPECT_NEAR(out(0, 0), 2.0 / 2.01, 1e-12);
}

TEST(Routing, G2GradientsAreCentralDifferences) {
  RandomNumbers random(91);
  for (const bool causal : {false, true}) {
    for (const std::size_t window : {2u, 5u, 9u}) {
      SCOPED_TRACE(std::to_string(window) + (causal ? " causal" : ""));
      Matrix q = random.matrix(9, 4, -2, 2), k = random.matrix(9, 4, -2, 2), v = random.matrix(9, 4, -2, 2);
      const Matrix d_out = random.matrix(9, 4), mu = random.matrix(3, 4);
      const RoutedAttention attention{cluster_members(routed_rows(q), mu, window),
                                      cluster_members(routed_rows(k), mu, window), causal};
      const RoutedAttentionGradients gradients = routed_attention_backward(attention, q, k, v, d_out);
      const auto function = [&] {
        return testing::weighted_sum(routed_attention_forward(attention, q, k, v).values, d_out.values);
      };
      EXPECT_LT(largest_gradient_error(q.values, gradients.query.values, function), 1e-6);
      EXPECT_LT(largest_gradient_error(k.values, gradients.key.values, function), 1e-6);
      EXPECT_LT(largest_gradient_error(v.values, gradients.value.values, function), 1e-6);
      const Matrix gradient = commitment_backward(q, mu);
      EXPECT_LT(largest_gradient_error(q.values, gradient.values, [&] { return commitment(q, mu); }), 1e-6);
    }
  }
}

TEST(Routing, T2OneClusterIsFullAttentionOfNormalisedRows) {
  RandomNumbers random(92);
  const Matrix q = random.matrix(11, 3, -2, 2), k = random.matrix(11, 3, -2, 2), v = random.matrix(11, 3);
  const Matrix mu = random.matrix(1, 3), x = routed_rows(q), y = routed_rows(k);
  for (const bool causal : {false, true}) {
    const RoutedAttention attention{cluster_members(x, mu, 11), cluster_members(y, mu, 20), causal};
    const Matrix out = routed_attention_forward(attention, q, k, v);
    for (std::size_t i = 0; i < 11; ++i) {
      Vector sums(3, 0.0);
      double total = 0.0;
      for (std::size_t j = 0; j < (causal ? i + 1 : 11); ++j) {
        double score = 0.0;
        for (std::size_t d = 0; d < 3; ++d) score += x(i, d) * (causal ? x : y)(j, d);
        total += std::exp(score);
        for (std::size_t d = 0; d < 3; ++d) sums[d] += std::exp(score) * v(j, d);
      }
      for (std::size_t d = 0; d < 3; ++d) EXPECT_NEAR(out(i, d), sums[d] / total / 1.01, 1e-12);
    }
  }
}

TEST(Routing, CountsAreSmoothed) {
  const Matrix sums(2, 2, {3, 6, 0, 0});
  EXPECT_EQ(smoothed_centroids(sums, {0, 0}).values, sums.values);
  const Matrix centroids = smoothed_centroids(sums, {3, 0});
  EXPECT_NEAR(centroids(0, 0), 3 / (3.00001 * 3 / 3.00002), 1e-12);
  EXPECT_EQ(centroids(1, 1), 0.0);
}

}  // namespace
}  // namespace bigbird
