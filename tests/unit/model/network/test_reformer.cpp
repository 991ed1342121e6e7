// Reformer in a model: rotations and buckets, that padding and batch mates change nothing, training with
// rotations of its own for each pass, layers computed again, and configurations that are refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/model/network/attention_clusters.h"
#include "lib/model/network/validate_config.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

ModelConfig reformer_config(ReformerOptions options = {.chunk = 4, .hashes = 2}) {
  ModelConfig config = tiny_config();
  config.attention = AttentionPattern::reformer;
  config.attention_options.reformer = std::move(options);
  become_published(config);
  return config;
}

TEST(Reformer, RotationsAreFunctionsOfSeedLayerHeadAndRound) {
  const ModelConfig config = reformer_config();
  const auto size = static_cast<std::size_t>(config.head_size());
  const std::vector<float> all = hash_rotations(config, 1, 3, 5);
  ASSERT_EQ(all.size(), 2 * 2 * 3 * size);
  EXPECT_EQ(all, hash_rotations(config, 1, 3, 5));
  EXPECT_NE(all, hash_rotations(config, 0, 3, 5));
  EXPECT_NE(all, hash_rotations(config, 1, 3, 6));
  // Of longer sequences the first columns are the same, and more rounds begin with these.
  const std::vector<float> longer = hash_rotations(config, 1, 7, 5);
  ModelConfig more = config;
  more.attention_options.reformer.hashes = 5;
  const std::vector<float> rounds = hash_rotations(more, 1, 3, 5);
  for (std::size_t head = 0; head < 2; ++head) {
    for (std::size_t round = 0; round < 2; ++round) {
      for (std::size_t i = 0; i < 3 * size; ++i) {
        const float value = all[(head * 2 + round) * 3 * size + i];
        ASSERT_EQ(longer[(head * 2 + round) * 7 * size + i], value);
        ASSERT_EQ(rounds[(head * 5 + round) * 3 * size + i], value);
      }
    }
  }
}

// As transformers sets config.num_buckets.
TEST(Reformer, BucketsAreTwoForAChunkInTwoFactorsWhereThereAreMany) {
  ModelConfig config = reformer_config({.chunk = 64});
  config.max_position_embeddings = 4096;
  using Factors = std::array<std::int64_t, 2>;
  EXPECT_EQ(reformer_buckets(config, 4096), (Factors{128, 0}));
  EXPECT_EQ(reformer_buckets(config, 4032), (Factors{64, 0}));
  EXPECT_EQ(reformer_buckets(config, 65), (Factors{4, 0}));
  EXPECT_EQ(reformer_buckets(config, 64), (Factors{2, 0}));
  config.max_position_embeddings = 65536;
  EXPECT_EQ(reformer_buckets(config, 8192), (Factors{16, 16}));
  EXPECT_EQ(reformer_buckets(config, 65536), (Factors{32, 64}));
  config.attention_options.reformer.buckets = {6, 10};
  EXPECT_EQ(reformer_buckets(config, 100), (Factors{6, 10}));
}

TEST(Reformer, G4NeitherBatchMatesNorPaddingAreSeen) {
  const auto backend = kernels::make_cpu_backend();
  ModelConfig config = reformer_config();
  config.head = HeadType::encoder;
  const std::vector<float> parameters = random_parameters(config, 4);
  const Batch one = random_batch(config, {39}, 3), many = random_batch(config, {61, 39, 8}, 3);
  const auto small = make_model(*backend, config, one, {}, parameters);
  const auto large = make_model(*backend, config, many, {}, parameters);
  small->forward(one, {});
  const std::vector<float> expected = small->last_hidden_state();
  large->forward(many, {});
  const std::vector<float> together = large->last_hidden_state();
  large->forward(one, {});  // in a model of longer sequences, and more columns
  const std::vector<float> alone = large->last_hidden_state();
  const auto width = static_cast<std::ptrdiff_t>(config.hidden_size), first = 64 * width;
  ASSERT_EQ(many.token_offsets[1], 64);
  EXPECT_TRUE(std::equal(expected.begin(), expected.begin() + 39 * width, together.begin() + first));
  EXPECT_TRUE(std::equal(expected.begin(), expected.begin() + 39 * width, alone.begin()));
}

TEST(Reformer, TrainingDrawsRotationsForEachPassAndOthersKeepTheirs) {
  const auto backend = kernels::make_cpu_backend();
  const ModelConfig config = reformer_config();
  const Batch batch = random_batch(config, {45, 30}, 3);
  const auto model = make_model(*backend, config, batch, {.training = true}, random_parameters(config, 4));
  const auto state = [&](bool training, std::uint64_t seed) {
    ForwardOptions options;
    options.training = training;
    options.dropout_seed = seed;
    model->forward(batch, options);
    return model->last_hidden_state();
  };
  const std::vector<float> fixed = state(false, 11), first = state(true, 11), second = state(true, 12);
  EXPECT_NE(fixed, first);
  EXPECT_NE(first, second);
  EXPECT_EQ(first, state(true, 11));
  EXPECT_EQ(fixed, state(false, 12));
}

TEST(Reformer, LayersComputedAgainHaveTheSameGradients) {
  const auto backend = kernels::make_cpu_backend();
  const ModelConfig config = reformer_config();
  const Batch batch = random_batch(config, {45, 30}, 3);
  std::vector<std::vector<float>> gradients;
  for (const bool again : {false, true}) {
    const auto model = make_model(*backend, config, batch, {.training = true, .grad_checkpoint = again},
                                  random_parameters(config, 4));
    ForwardOptions options;
    options.training = true;
    options.dropout_seed = 9;
    model->backward(mean_scale(model->forward(batch, options)));
    gradients.push_back(model->host_gradients());
  }
  EXPECT_EQ(gradients[0], gradients[1]);
}

ModelConfig reversible_config(std::int64_t layers) {
  ModelConfig config = reformer_config({.chunk = 4, .hashes = 2, .reversible = true});
  config.num_hidden_layers = layers;
  return config;
}

// Its activations are those of one layer, however many there are; the orders of tokens grow.
TEST(Reformer, R4ActivationsOfReversibleLayersDoNotGrowWithThem) {
  const auto backend = kernels::make_cpu_backend();
  BatchLimits limits;
  limits.tokens = 128;
  limits.sequences = 2;
  limits.masked_tokens = 20;
  limits.longest = 64;
  const auto bytes = [&](const ModelConfig& config) {
    std::map<std::string, std::size_t> of;
    for (const MemoryRow& row : plan_model_memory(config, limits, {.training = true}, *backend))
      of[row.what] += row.bytes;
    return of;
  };
  auto two = bytes(reversible_config(2)), twenty = bytes(reversible_config(20));
  for (const char* what : {"two streams", "activations of one layer", "backward workspace", "heads"}) {
    EXPECT_GT(two.at(what), 0u) << what;
    EXPECT_EQ(two.at(what), twenty.at(what)) << what;
  }
  const std::size_t orders = twenty.at("orders of tokens in chunks");
  EXPECT_LT(orders, 10 * two.at("orders of tokens in chunks") + 1);
  EXPECT_GT(orders + 10 * Arena::alignment, 10 * two.at("orders of tokens in chunks"));
}

// With dropout: what was drawn is drawn again.
TEST(Reformer, R4AStepOfReversibleLayersIsThatOfStoredActivations) {
  const auto backend = kernels::make_cpu_backend();
  ModelConfig config = reversible_config(3);
  config.attention_options.reformer.chunk = 64;  // no step moves a token to another bucket
  config.hidden_dropout_prob = 0.2;
  const Batch batch = random_batch(config, {25, 9}, 3);
  const std::vector<float> parameters = random_parameters(config, 4);
  const auto model = make_model(*backend, config, batch, {.training = true}, parameters);
  ForwardOptions options;
  options.training = true;
  options.dropout_seed = 9;
  // The forward pass stores nothing.
  EXPECT_GT(expect_steps_along_gradients(*model, batch, parameters, options), 15);
}

// In one chunk nothing is hashed, and no later token is known.
TEST(Reformer, WithinAChunkALaterTokenChangesNothingBefore) {
  const auto backend = kernels::make_cpu_backend();
  ModelConfig config = reformer_config({.chunk = 64});
  config.causal = true;
  config.head = HeadType::causal_lm;
  const Batch batch = random_batch(config, {50}, 7);
  const auto model = make_model(*backend, config, batch, {}, random_parameters(config, 5));
  model->forward(batch, {});
  const std::vector<float> before = model->last_hidden_state();
  Batch other = batch;
  other.ids[31] = other.ids[31] == 3 ? 4 : 3;
  model->forward(other, {});
  const std::vector<float> after = model->last_hidden_state();
  const auto same = static_cast<std::ptrdiff_t>(31 * config.hidden_size);
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + same, after.begin()));
  EXPECT_NE(before[static_cast<std::size_t>(same)], after[static_cast<std::size_t>(same)]);
}

void expect_refused(ModelConfig config, const std::string& message) {
  try {
    validate(config, "here");
    FAIL() << message;
  } catch (const Error& error) {
    EXPECT_NE(error.message().find(message), std::string::npos) << error.message();
  }
}

TEST(Reformer, WhatCannotBeIsRefused) {
  expect_refused(reformer_config({.buckets = {7}}), "buckets 7 do not divide into halves");
  expect_refused(reformer_config({.buckets = {4, 0}}), "buckets 4:0 do not divide into halves");
  expect_refused(reformer_config({.buckets = {2, 2, 2}}), "buckets 2:2:2 are more than two factors");
  expect_refused(reformer_config({.buckets = {2048, 1024}}), "buckets 2048:1024 are more than 1048576");
  ModelConfig config = reformer_config();
  config.use_bias = true;
  expect_refused(config, "attention reformer with biases of queries and values");
  config = reformer_config({.reversible = true});
  config.norm_type = NormType::postnorm;
  expect_refused(config, "reversible with post-LN layers");
  config = reformer_config({.reversible = true});
  config.causal = true;
  config.head = HeadType::causal_lm;
  expect_refused(config, "reversible layers predict next tokens by the word table");
  config = reformer_config();
  add_decoder(config);
  expect_refused(config, "attention reformer has no head generation");
}

}  // namespace
}  // namespace bigbird
