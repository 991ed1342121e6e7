// Routing Transformer in a model: fresh centroids, that padding and batch mates change nothing, what its loss
// is and gives to the gradients, layers computed again, clusters that find what was planted, and
// configurations that are refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/model/network/attention_routing.h"
#include "lib/model/network/validate_config.h"
#include "reference/routed_attention.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

ModelConfig routing_config(RoutingOptions options = {.clusters = 3, .window = 12, .local_window = 5}) {
  ModelConfig config = tiny_config();
  config.attention = AttentionPattern::routing;
  config.attention_options.routing = options;
  become_published(config);
  return config;
}

TEST(Routing, FreshCentroidsHaveMean0AndVariance1AndHaveCountedNothing) {
  const ModelConfig config = routing_config();
  const ParameterLayout layout(config);
  const std::vector<float> values = initial_parameters(layout, config, 5);
  const TensorSpec* const sums = layout.find("bert.encoder.layer.1.attention.self.centroids.sums");
  const TensorSpec* const counts = layout.find("bert.encoder.layer.1.attention.self.centroids.counts");
  ASSERT_NE(sums, nullptr);
  ASSERT_NE(counts, nullptr);
  EXPECT_EQ(sums->shape, (std::vector<std::int64_t>{1, 3, config.head_size()}));
  EXPECT_EQ(counts->shape, (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(sums->moving_decay, 0.999);
  EXPECT_FALSE(sums->decay);
  const auto size = static_cast<double>(config.head_size());
  for (std::int64_t row = 0; row < 3; ++row) {
    double mean = 0, square = 0;
    for (std::int64_t d = 0; d < config.head_size(); ++d) {
      const double x = values[static_cast<std::size_t>(sums->offset + row * config.head_size() + d)];
      mean += x / size;
      square += x * x / size;
    }
    EXPECT_NEAR(mean, 0.0, 1e-6);
    EXPECT_NEAR(square, 1.0, 1e-4);
    EXPECT_EQ(values[static_cast<std::size_t>(counts->offset + row)], 0.0f);
  }
}

TEST(Routing, G4NeitherBatchMatesNorPaddingAreSeen) {
  const auto backend = kernels::make_cpu_backend();
  ModelConfig config = routing_config();
  config.head = HeadType::encoder;
  const std::vector<float> parameters = random_parameters(config, 4);
  const Batch one = random_batch(config, {39}, 3), many = random_batch(config, {61, 39, 8}, 3);
  const auto small = make_model(*backend, config, one, {}, parameters);
  const auto large = make_model(*backend, config, many, {}, parameters);
  small->forward(one, {});
  const std::vector<float> expected = small->last_hidden_state();
  large->forward(many, {});
  const std::vector<float> together = large->last_hidden_state();
  const auto width = static_cast<std::ptrdiff_t>(config.hidden_size), first = 64 * width;
  ASSERT_EQ(many.token_offsets[1], 64);
  EXPECT_TRUE(std::equal(expected.begin(), expected.begin() + 39 * width, together.begin() + first));
}

// A step along a tensor's gradient changes the whole loss by its length; with what tokens are away from
// their centroids, which is large here.
TEST(Routing, TheLossOfCentroidsHasItsGradient) {
  const auto backend = kernels::make_cpu_backend();
  for (const bool causal : {false, true}) {
    ModelConfig config = routing_config({.clusters = 1, .window = 64, .local_window = 5, .commitment = 0.5});
    config.causal = causal;
    if (causal) config.head = HeadType::causal_lm;
    const Batch batch = random_batch(config, {25, 9}, 3);
    const std::vector<float> parameters = random_parameters(config, 4);
    const auto model = make_model(*backend, config, batch, {.training = true}, parameters);
    ForwardOptions options;
    options.training = true;
    options.dropout_seed = 9;
    const ForwardResult result = model->forward(batch, options);
    ASSERT_EQ(result[Loss::commitment].count, 34);
    EXPECT_GT(result[Loss::commitment].sum, 0.0);
    EXPECT_EQ(model->forward(batch, {})[Loss::commitment].count, 0);
    EXPECT_GT(expect_steps_along_gradients(*model, batch, parameters, options), 15);
  }
}

TEST(Routing, LayersComputedAgainHaveTheSameGradients) {
  const auto backend = kernels::make_cpu_backend();
  for (const bool causal : {false, true}) {
    ModelConfig config = routing_config();
    config.causal = causal;
    if (causal) config.head = HeadType::causal_lm;
    const Batch batch = random_batch(config, {45, 30}, 3);
    std::vector<std::vector<float>> gradients;
    std::vector<double> losses;
    for (const bool again : {false, true}) {
      const auto model = make_model(*backend, config, batch, {.training = true, .grad_checkpoint = again},
                                    random_parameters(config, 4));
      ForwardOptions options;
      options.training = true;
      options.dropout_seed = 9;
      const ForwardResult result = model->forward(batch, options);
      losses.push_back(result[Loss::commitment].sum);
      model->backward(mean_scale(result));
      gradients.push_back(model->host_gradients());
    }
    EXPECT_EQ(gradients[0], gradients[1]);
    EXPECT_EQ(losses[0], losses[1]);
  }
}

// Kernels as an update calls them: queries of three planted groups, whose centroids begin anywhere.
TEST(Routing, T5CentroidsFindPlantedClusters) {
  constexpr kernels::Index tokens = 60, size = 16, groups = 3;
  constexpr float share = 0.05f;
  const auto backend = kernels::make_cpu_backend();
  const ModelConfig config = routing_config({.clusters = groups, .window = tokens / groups});
  CounterRng random(47, Purpose::test, 0);
  std::vector<float> centres, sums, counts(groups, 0.0f), centroids(groups * size);
  for (kernels::Index i = 0; i < groups * size; ++i)
    centres.push_back(static_cast<float>(2 * random.normal()));
  for (kernels::Index i = 0; i < groups * size; ++i) sums.push_back(static_cast<float>(random.normal()));
  const kernels::Index offsets[] = {0, tokens}, lengths[] = {tokens}, places[] = {0, tokens};
  kernels::RoutingBatch batch;
  batch.sequences = batch.heads = 1;
  batch.head_size = size;
  batch.clusters = groups;
  batch.window = tokens / groups;
  batch.token_offsets = offsets;
  batch.lengths = lengths;
  batch.place_offsets = places;
  batch.causal = true;
  double with_own = 0;
  for (int update = 0; update <= 200; ++update) {
    std::vector<float> rows, gradient(tokens * size, 0.0f), new_sums(groups * size, 0.0f),
        new_counts(groups, 0.0f);
    for (kernels::Index i = 0; i < tokens * size; ++i) {
      const auto group = static_cast<std::size_t>((i / size) % groups);
      rows.push_back(centres[group * size + static_cast<std::size_t>(i % size)] +
                     static_cast<float>(0.3 * random.normal()));
    }
    std::vector<std::int32_t> order(tokens), nearest(tokens);
    backend->make_centroids(1, groups, size, sums.data(), counts.data(), centroids.data());
    backend->route_tokens(batch, centroids.data(), {rows.data(), size},
                          {order.data(), nearest.data(), nullptr});
    const float weight = 0;
    backend->route_tokens_backward(batch, centroids.data(), nearest.data(), {rows.data(), size}, &weight,
                                   {gradient.data(), size}, new_sums.data(), new_counts.data());
    backend->move_towards(sums.data(), new_sums.data(), groups * size, share);
    backend->move_towards(counts.data(), new_counts.data(), groups, share);
    // Of each cluster the tokens of its most frequent group.
    with_own = 0;
    for (std::size_t cluster = 0; cluster < groups; ++cluster) {
      std::map<std::int32_t, int> of;
      for (std::size_t i = 0; i < tokens / groups; ++i) ++of[order[cluster * tokens / groups + i] % groups];
      int most = 0;
      for (const auto& [group, count] : of) most = std::max(most, count);
      with_own += most / static_cast<double>(tokens);
    }
  }
  EXPECT_GE(with_own, 0.95);
}

void expect_no_routing(ModelConfig config, const std::string& message) {
  try {
    validate(config, "here");
    FAIL() << message;
  } catch (const Error& error) {
    EXPECT_NE(error.message().find(message), std::string::npos) << error.message();
  }
}

TEST(Routing, WhatCannotBeIsRefused) {
  expect_no_routing(routing_config({.local_heads = 2}), "local_heads 2 of num_attention_heads 2");
  ModelConfig config = routing_config();
  add_decoder(config);
  expect_no_routing(config, "attention routing has no head generation");
  config = routing_config();
  config.position_type = PositionType::none;
  expect_no_routing(config, "attention routing without positions");
}

}  // namespace
}  // namespace bigbird
