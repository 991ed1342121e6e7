// The oracle of Reformer's attention: the worked vector, its gradients against central differences, full
// attention as what one chunk comes to, and more rounds as what brings it nearer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "reference/finite_difference.h"
#include "reference/hashed_attention.h"
#include "tests/gradients/random_numbers.h"

namespace bigbird {
namespace {

using namespace reference;
using testing::RandomNumbers;

TEST(Reformer, G10TheWorkedVectorInDouble) {
  const Matrix q(4, 2, {1, 0, 0, 1, 1, 1, 1, -1}), v(4, 2, {1, 0, 0, 1, 2, 2, 3, -1});
  // Tokens 1 and 3 are in bucket 0, the others in bucket 1.
  const Matrix out = hashed_attention_forward({2, false, {1, 3, 0, 2}}, q, v);
  const Vector expected{2.00556032, .59888794, 1.85603386, 1.01192114,
                        .88840634,  .2669562,  1.1546979,  .57948794};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(out.values[i], expected[i], 1e-8) << i;
}

TEST(Reformer, BucketsAreTheLargestOfARotationAndItsOpposite) {
  const Matrix q(4, 2, {1, .5, -2, .1, 0, -3, .2, .3}), rotations(3, 2, {1, 0, 0, 1, -1, -1});
  // One factor of two columns: (x, y, -x, -y).
  EXPECT_EQ(buckets_of(q, rotations, {4, 0}), (std::vector<std::size_t>{0, 2, 3, 1}));
  // And a second of one: (-x - y, x + y), four buckets on.
  EXPECT_EQ(buckets_of(q, rotations, {4, 2}), (std::vector<std::size_t>{4, 2, 3, 5}));
  EXPECT_EQ(hashed_places(q, {rotations, rotations}, {4, 0}, 3),
            (std::vector<std::size_t>{0, 3, 1, 2, no_token, no_token, 0, 3, 1, 2, no_token, no_token}));
  EXPECT_EQ(hashed_places(q, {rotations, rotations}, {4, 0}, 4), (std::vector<std::size_t>{0, 3, 1, 2}));
}

std::vector<Matrix> drawn_rotations(RandomNumbers& random, std::size_t rounds, std::size_t columns,
                                    std::size_t size) {
  std::vector<Matrix> rotations;
  for (std::size_t round = 0; round < rounds; ++round) rotations.push_back(random.matrix(columns, size));
  return rotations;
}

TEST(Reformer, G2GradientsAreCentralDifferences) {
  RandomNumbers random(71);
  for (const bool causal : {false, true}) {
    for (const std::size_t chunk : {2u, 3u, 9u}) {
      SCOPED_TRACE(std::to_string(chunk) + (causal ? " causal" : ""));
      Matrix q = random.matrix(9, 3, -2, 2), v = random.matrix(9, 3, -2, 2);
      const Matrix d_out = random.matrix(9, 3);
      const HashedAttention attention{chunk, causal,
                                      hashed_places(q, drawn_rotations(random, 2, 2, 3), {4, 0}, chunk)};
      const HashedAttentionGradients gradients = hashed_attention_backward(attention, q, v, d_out);
      const auto function = [&] {
        return testing::weighted_sum(hashed_attention_forward(attention, q, v).values, d_out.values);
      };
      EXPECT_LT(largest_gradient_error(q.values, gradients.query.values, function), 1e-6);
      EXPECT_LT(largest_gradient_error(v.values, gradients.value.values, function), 1e-6);
    }
  }
}

// Softmax over all other tokens, keys normalised.
Matrix full_attention(const Matrix& q, const Matrix& v, bool causal) {
  Matrix out(q.rows, v.columns);
  for (std::size_t i = 0; i < q.rows; ++i) {
    double total = 0.0;
    Vector sums(v.columns, 0.0);
    for (std::size_t j = 0; j < (causal ? i : q.rows); ++j) {
      if (j == i) continue;
      double square = 0.0, score = 0.0;
      for (std::size_t d = 0; d < q.columns; ++d) square += q(j, d) * q(j, d) / 3.0;
      for (std::size_t d = 0; d < q.columns; ++d)
        score += q(i, d) * q(j, d) / std::sqrt(3.0 * (square + 1e-6));
      total += std::exp(score);
      for (std::size_t d = 0; d < v.columns; ++d) sums[d] += std::exp(score) * v(j, d);
    }
    for (std::size_t d = 0; d < v.columns; ++d) out(i, d) = total > 0 ? sums[d] / total : v(i, d);
  }
  return out;
}

double largest_difference(const Matrix& a, const Matrix& b) {
  double most = 0.0;
  for (std::size_t i = 0; i < a.values.size(); ++i)
    most = std::max(most, std::abs(a.values[i] - b.values[i]));
  return most;
}

TEST(Reformer, R2OneChunkIsFullAttentionWithoutTheTokenItself) {
  RandomNumbers random(72);
  for (const bool causal : {false, true}) {
    const Matrix q = random.matrix(11, 3, -2, 2), v = random.matrix(11, 3);
    const auto rotations = drawn_rotations(random, 3, 2, 3);
    const HashedAttention attention{11, causal, hashed_places(q, rotations, {4, 0}, 11)};
    EXPECT_LT(largest_difference(hashed_attention_forward(attention, q, v), full_attention(q, v, causal)),
              1e-12);
  }
}

TEST(Reformer, R3MoreRoundsComeNearerToFullAttention) {
  // Tokens in groups of near ones, as attention has them where a few keys take most of the weight.
  std::vector<double> errors;
  for (const std::size_t rounds : {1u, 2u, 4u, 8u}) {
    double error = 0.0;
    for (std::uint32_t seed = 0; seed < 16; ++seed) {
      RandomNumbers random(100 + seed);
      const Matrix centres = random.matrix(8, 3, -6, 6), noise = random.matrix(64, 3, -.5, .5);
      Matrix q(64, 3);
      for (std::size_t i = 0; i < 64; ++i)
        for (std::size_t d = 0; d < 3; ++d) q(i, d) = centres((i * 5) % 8, d) + noise(i, d);
      const Matrix v = random.matrix(64, 3);
      std::vector<Matrix> rotations = drawn_rotations(random, 8, 4, 3);
      rotations.resize(rounds);
      const Matrix out = hashed_attention_forward({8, false, hashed_places(q, rotations, {8, 0}, 8)}, q, v);
      const Matrix full = full_attention(q, v, false);
      for (std::size_t i = 0; i < out.values.size(); ++i)
        error += std::abs(out.values[i] - full.values[i]) / static_cast<double>(16 * out.values.size());
    }
    errors.push_back(error);
  }
  EXPECT_TRUE(std::is_sorted(errors.rbegin(), errors.rend()))
      << errors[0] << " " << errors[1] << " " << errors[2] << " " << errors[3];
  EXPECT_LT(errors[3], .6 * errors[0]);
}

}  // namespace
}  // namespace bigbird
