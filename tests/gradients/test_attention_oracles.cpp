// The two oracles of block-sparse attention: equal to each other, to central differences, and to properties
// of the softmax.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "reference/attention.h"
#include "reference/finite_difference.h"
#include "tests/gradients/random_numbers.h"

namespace bigbird {
namespace {

using namespace reference;
using testing::largest_difference;
using testing::RandomNumbers;
using testing::weighted_sum;

struct Input {
  AttentionShape shape;
  AttentionPlan plan;
  Vector query, key, value, d_output;
};

Input random_input(RandomNumbers& random, const AttentionShape& shape, const AttentionPlan& plan) {
  const std::size_t size = shape.elements();
  return {shape,
          plan,
          random.vector(size, -2, 2),
          random.vector(size, -2, 2),
          random.vector(size, -2, 2),
          random.vector(size, -2, 2)};
}

Vector dense(const Input& x) {
  return attention_dense_forward(x.shape, x.plan, x.query, x.key, x.value);
}
Vector blocks(const Input& x) {
  return attention_blocks_forward(x.shape, x.plan, x.query, x.key, x.value).output;
}
AttentionGradients dense_gradients(const Input& x) {
  return attention_dense_backward(x.shape, x.plan, x.query, x.key, x.value, x.d_output);
}
AttentionGradients block_gradients(const Input& x) {
  return attention_blocks_backward(x.shape, x.plan, x.query, x.key, x.value, x.d_output);
}

void expect_oracles_agree(const Input& x, const std::string& where) {
  const AttentionGradients a = dense_gradients(x);
  const AttentionGradients b = block_gradients(x);
  EXPECT_LT(largest_difference(dense(x), blocks(x)), 1e-12) << where;
  EXPECT_LT(largest_difference(a.query, b.query), 1e-12) << where;
  EXPECT_LT(largest_difference(a.key, b.key), 1e-12) << where;
  EXPECT_LT(largest_difference(a.value, b.value), 1e-12) << where;
}

TEST(AttentionOracles, AgreeOnRandomPlansWithRepeatsAndPadding) {
  RandomNumbers random(1);
  for (int trial = 0; trial < 200; ++trial) {
    AttentionShape shape{1 + random.below(3), 1 + random.below(7), 1 + random.below(4), 1 + random.below(5),
                         0};
    shape.valid_length = random.below(shape.length() + 1);  // 0 and whole blocks of padding included
    const AttentionPlan plan = random.plan(shape.heads, shape.blocks, 6);
    expect_oracles_agree(random_input(random, shape, plan), "trial " + std::to_string(trial));
  }
}

TEST(AttentionOracles, AgreeOnBigBirdPlansOfFewBlocks) {
  RandomNumbers random(2);
  for (const std::size_t count : {4u, 5u, 6u, 9u}) {
    for (const std::size_t padding : {0u, 1u, 3u, 4u, 7u}) {  // 3 and more: an all-padding tail block
      AttentionShape shape{2, count, 3, 4, count * 3 - padding};
      AttentionPlan random_blocks(2, std::vector<std::vector<std::size_t>>(count - 2));
      for (auto& head : random_blocks) {
        for (auto& row : head) row = {random.below(count), random.below(count)};
      }
      expect_oracles_agree(random_input(random, shape, itc_plan(count, random_blocks)),
                           std::to_string(count) + " blocks, " + std::to_string(padding) + " padding");
    }
  }
}

TEST(AttentionOracles, BothBackwardPassesEqualCentralDifferences) {
  RandomNumbers random(3);
  for (const std::size_t valid : {12u, 10u, 7u}) {
    const AttentionShape shape{2, 4, 3, 3, valid};
    Input x = random_input(random, shape, random.plan(2, 4, 5));
    const AttentionGradients from_dense = dense_gradients(x);
    const AttentionGradients from_blocks = block_gradients(x);
    const auto dense_loss = [&] { return weighted_sum(dense(x), x.d_output); };
    const auto block_loss = [&] { return weighted_sum(blocks(x), x.d_output); };
    EXPECT_LT(largest_gradient_error(x.query, from_dense.query, dense_loss), 1e-6);
    EXPECT_LT(largest_gradient_error(x.key, from_dense.key, dense_loss), 1e-6);
    EXPECT_LT(largest_gradient_error(x.value, from_dense.value, dense_loss), 1e-6);
    EXPECT_LT(largest_gradient_error(x.query, from_blocks.query, block_loss), 1e-6);
    EXPECT_LT(largest_gradient_error(x.key, from_blocks.key, block_loss), 1e-6);
    EXPECT_LT(largest_gradient_error(x.value, from_blocks.value, block_loss), 1e-6);
  }
}

TEST(AttentionOracles, ARepeatedBlockCountsTwice) {
  // One head of one number, zero queries: every listed key weighs the same, so the output is a plain mean
  // with repeats.
  const AttentionShape shape{1, 3, 1, 1, 3};
  const Input x{shape, {{{0, 1, 1}, {2}, {0, 1, 2, 2}}}, {0, 0, 0}, {5, 6, 7}, {1, 4, 10}, {1, 1, 1}};
  const Vector expected{(1.0 + 4.0 + 4.0) / 3.0, 10.0, (1.0 + 4.0 + 10.0 + 10.0) / 4.0};
  EXPECT_LT(largest_difference(dense(x), expected), 1e-15);
  EXPECT_LT(largest_difference(blocks(x), expected), 1e-15);
}

TEST(AttentionOracles, ScoresAreScaledByTheRootOfTheHeadSize) {
  // q . k = 4 ln 3 for the second key and 0 for the first; over sqrt(16) that is ln 3: weights 1/4 and 3/4.
  const AttentionShape shape{1, 2, 1, 16, 2};
  Input x{shape, {{{0, 1}, {0, 1}}}, Vector(32, 0.0), Vector(32, 0.0), Vector(32, 0.0), Vector(32, 1.0)};
  x.query[0] = 4.0;
  x.key[16] = std::log(3.0);
  x.value[16] = 1.0;
  EXPECT_NEAR(dense(x)[0], 0.75, 1e-15);
  EXPECT_NEAR(blocks(x)[0], 0.75, 1e-15);
}

TEST(AttentionOracles, PaddingIsNeitherSeenNorProduced) {
  RandomNumbers random(4);
  const AttentionShape shape{1, 4, 2, 3, 5};
  Input x = random_input(random, shape, full_plan(1, 4));
  const Vector before = dense(x);
  for (std::size_t i = 5 * 3; i < 8 * 3; ++i) {
    EXPECT_EQ(before[i], 0.0);
    EXPECT_EQ(blocks(x)[i], 0.0);
    x.key[i] += 100.0;
    x.value[i] = 1e6;
    x.query[i] = -7.0;
  }
  EXPECT_EQ(dense(x), before);
  const AttentionGradients gradients = block_gradients(x);
  const AttentionGradients again = dense_gradients(x);
  for (std::size_t i = 5 * 3; i < 8 * 3; ++i) {
    for (const AttentionGradients& g : {gradients, again}) {
      EXPECT_EQ(g.query[i], 0.0);
      EXPECT_EQ(g.key[i], 0.0);
      EXPECT_EQ(g.value[i], 0.0);
    }
  }
}

TEST(AttentionOracles, BigBirdPlanListsGlobalWindowAndRandomBlocks) {
  const AttentionPlan plan = itc_plan(6, {{{3}, {4}, {1}, {0}}});
  using Keys = std::vector<std::size_t>;
  EXPECT_EQ(plan[0][0], (Keys{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(plan[0][1], (Keys{0, 1, 2, 5, 3}));
  EXPECT_EQ(plan[0][2], (Keys{0, 1, 2, 3, 5, 4}));
  EXPECT_EQ(plan[0][3], (Keys{0, 2, 3, 4, 5, 1}));
  EXPECT_EQ(plan[0][4], (Keys{0, 3, 4, 5, 0}));
  EXPECT_EQ(plan[0][5], (Keys{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(transposed_plan(plan)[0][1], (Keys{0, 1, 2, 3, 5}));
  EXPECT_EQ(transposed_plan(plan)[0][0], (Keys{0, 1, 2, 3, 4, 4, 5}));
}

TEST(AttentionOracles, APlanThatDoesNotFitIsRefused) {
  const AttentionShape shape{1, 2, 1, 1, 2};
  const Vector x{0, 0};
  EXPECT_THROW(attention_dense_forward(shape, {{{0}, {2}}}, x, x, x), std::invalid_argument);
  EXPECT_THROW(attention_blocks_forward(shape, {{{0}}}, x, x, x), std::invalid_argument);
}

}  // namespace
}  // namespace bigbird
