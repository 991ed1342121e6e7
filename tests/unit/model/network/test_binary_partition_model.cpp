// BP-Transformer in fp32 against the oracle in double: states of tokens, the root that classes read, and
// every gradient; and what must hold whatever the padding, the batch and the threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/model/network/validate_config.h"
#include "lib/model/plans/partition_lists.h"
#include "reference/binary_partition.h"
#include "tests/support/support.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

// A head with two marks of every token, and types that are read at the root.
ModelConfig bpt_config(std::int64_t contextual = 2, std::int64_t clip_levels = 2) {
  ModelConfig config = tiny_config();
  become_bpt(config);
  config.attention_options.bpt = {contextual, clip_levels};
  config.use_bias = config.output_bias = false;
  config.activation = Activation::relu;
  config.type_vocab_size = 0;
  config.head = HeadType::structured_answers;
  config.token_scores = {{"begin", false}, {"end", false}};
  config.num_labels = 3;
  config.label_names = {"a", "b", "c"};
  validate(config, "bpt");
  return config;
}

reference::PartitionConfig partition_of(const ModelConfig& config) {
  return {reference_config(config), static_cast<std::size_t>(config.attention_options.bpt.contextual),
          static_cast<std::size_t>(config.attention_options.bpt.clip_levels), config.causal};
}

// What the oracle says of every sequence, and the gradients of the losses' means.
struct BptExpected {
  std::vector<std::vector<reference::Matrix>> states;
  reference::Matrix type_logits;
  reference::Parameters gradients;
};
BptExpected bpt_expected(const ModelConfig& config, const std::vector<float>& parameters,
                         const Batch& batch) {
  const reference::Parameters values = reference_parameters(config, parameters);
  const reference::PartitionConfig of = partition_of(config);
  const auto width = static_cast<std::size_t>(config.hidden_size), sequences = batch.lengths.size();
  BptExpected expected;
  expected.type_logits = reference::Matrix(sequences, 3);
  for (const auto& [name, tensor] : values) expected.gradients[name].assign(tensor.size(), 0.0);
  const auto through = [&](const std::string& head, std::size_t output, const reference::Matrix& states,
                           std::size_t row) {
    double logit = values.at(head + ".bias")[output];
    for (std::size_t k = 0; k < width; ++k)
      logit += values.at(head + ".weight")[output * width + k] * states(row, k);
    return logit;
  };
  const auto back = [&](const std::string& head, std::size_t output, const reference::Matrix& states,
                        std::size_t row, double d, reference::Matrix& d_states) {
    expected.gradients[head + ".bias"][output] += d;
    for (std::size_t k = 0; k < width; ++k) {
      expected.gradients[head + ".weight"][output * width + k] += d * states(row, k);
      d_states(row, k) += d * values.at(head + ".weight")[output * width + k];
    }
  };
  for (std::size_t s = 0; s < sequences; ++s) {
    const auto first = batch.ids.begin() + batch.token_offsets[s];
    const std::vector<std::size_t> ids(first, first + batch.lengths[s]);
    expected.states.push_back(reference::partition_forward(of, values, ids));
    const reference::Matrix& last = expected.states.back().back();
    reference::Matrix d_last(last.rows, last.columns);
    for (std::size_t score = 0; score < 2; ++score) {
      const TokenTargets& targets = batch.token_targets[score];
      for (std::int32_t at = targets.group_offsets[s]; at < targets.group_offsets[s + 1]; ++at) {
        const auto i = static_cast<std::size_t>(at);
        const auto row = static_cast<std::size_t>(targets.rows[i] - batch.token_offsets[s]);
        const double logit = through("answer_scores.token", score, last, row);
        back("answer_scores.token", score, last, row,
             (1.0 / (1.0 + std::exp(-logit)) - targets.right[i]) / static_cast<double>(sequences), d_last);
      }
    }
    double total = 0;
    for (std::size_t type = 0; type < 3; ++type) {
      expected.type_logits(s, type) = through("answer_scores.type", type, last, last.rows - 1);
      total += std::exp(expected.type_logits(s, type));
    }
    for (std::size_t type = 0; type < 3; ++type) {
      const double right = batch.sequence_labels[s] == static_cast<std::int32_t>(type) ? 1.0 : 0.0;
      back("answer_scores.type", type, last, last.rows - 1,
           (std::exp(expected.type_logits(s, type)) / total - right) / static_cast<double>(sequences),
           d_last);
    }
    for (const auto& [name, gradient] : reference::partition_backward(of, values, ids, d_last)) {
      for (std::size_t i = 0; i < gradient.size(); ++i) expected.gradients[name][i] += gradient[i];
    }
  }
  return expected;
}

struct OfBpt {
  std::vector<float> states;  // of real tokens, sequence after sequence
  std::vector<float> types;
  std::vector<float> gradients;
};
OfBpt computed_bpt(const ModelConfig& config, const Batch& batch, const std::vector<float>& parameters,
                   ModelOptions options = {.training = true},
                   kernels::Precision precision = kernels::Precision::fp32) {
  const auto backend = kernels::make_cpu_backend(precision);
  const std::unique_ptr<Model> model = make_model(*backend, config, batch, options, parameters);
  const ForwardResult result = model->forward(batch, {});
  OfBpt of;
  const std::vector<float> states = model->last_hidden_state();
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    const auto first = states.begin() + batch.token_offsets[s] * config.hidden_size;
    of.states.insert(of.states.end(), first, first + batch.lengths[s] * config.hidden_size);
  }
  of.types = model->sequence_logits();
  if (!options.training) return of;
  model->backward(mean_scale(result));
  of.gradients = model->host_gradients();
  return of;
}

const std::vector<std::int64_t> bpt_lengths{37, 9, 64, 1, 30, 2};

TEST(Bpt, G2StatesRootAndGradientsAgainstTheReference) {
  for (const auto& [contextual, clip] : {std::pair{1, 5}, std::pair{2, 2}, std::pair{8, 0}}) {
    SCOPED_TRACE(contextual);
    ModelConfig config = bpt_config(contextual, clip);
    config.causal = contextual == 2;
    validate(config, "bpt");
    const Batch batch = random_batch(config, bpt_lengths, 3);
    const std::vector<float> parameters = random_parameters(config, 4);
    const BptExpected expected = bpt_expected(config, parameters, batch);
    const auto backend = kernels::make_cpu_backend();
    const std::unique_ptr<Model> model = make_model(*backend, config, batch, {.training = true}, parameters);
    const ForwardResult result = model->forward(batch, {});
    const std::vector<float> states = model->last_hidden_state();
    for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
      std::vector<double> of_tokens(expected.states[s].back().values);
      of_tokens.resize(static_cast<std::size_t>(batch.lengths[s] * config.hidden_size));
      EXPECT_LT(relative_error(states.data() + batch.token_offsets[s] * config.hidden_size, of_tokens), 2e-6)
          << s;
    }
    EXPECT_LT(relative_error(model->sequence_logits().data(), expected.type_logits.values), 2e-6);
    model->backward(mean_scale(result));
    expect_gradients(*model, expected.gradients, 1e-5);
  }
}

TEST(Bpt, G1LengthsAroundABlock) {
  for (const std::int64_t block : {8, 16, 64}) {
    ModelConfig config = bpt_config();
    config.block_size = block;
    config.max_position_embeddings = 1088;
    config.num_hidden_layers = 1;
    const std::vector<float> parameters = random_parameters(config, 4);
    for (const std::int64_t length : {std::int64_t{1}, block - 1, block, block + 1, std::int64_t{200}}) {
      const Batch batch = random_batch(config, {length}, 3);
      const BptExpected expected = bpt_expected(config, parameters, batch);
      std::vector<double> of_tokens(expected.states[0].back().values);
      of_tokens.resize(static_cast<std::size_t>(length * config.hidden_size));
      for (const bool training : {true, false}) {
        const OfBpt of = computed_bpt(config, batch, parameters, {.training = training});
        EXPECT_LT(relative_error(of.states.data(), of_tokens), 2e-6) << length << " in blocks of " << block;
      }
    }
  }
}

TEST(Bpt, G4PaddingAndBatchMatesChangeNoBit) {
  const ModelConfig config = bpt_config();
  const std::vector<float> parameters = random_parameters(config, 4);
  const Batch all = random_batch(config, bpt_lengths, 3);
  for (const bool training : {false, true}) {
    const OfBpt together = computed_bpt(config, all, parameters, {.training = training});
    std::size_t before = 0;
    for (std::size_t s = 0; s < bpt_lengths.size(); ++s) {
      const auto count = static_cast<std::size_t>(bpt_lengths[s] * config.hidden_size);
      const std::vector<std::int32_t> ids(all.ids.begin() + all.token_offsets[s],
                                          all.ids.begin() + all.token_offsets[s] + all.lengths[s]);
      for (const std::int64_t padded : {std::int64_t{0}, std::int64_t{64}}) {
        Batch alone;
        alone.append(ids, {}, config.block_size, 0, padded);
        const OfBpt one = computed_bpt(config, alone, parameters, {.training = false});
        EXPECT_TRUE(std::equal(one.states.begin(), one.states.end(),
                               together.states.begin() + static_cast<std::ptrdiff_t>(before)));
        EXPECT_TRUE(std::equal(one.types.begin(), one.types.end(),
                               together.types.begin() + static_cast<std::ptrdiff_t>(3 * s)));
      }
      before += count;
    }
  }
}

TEST(Bpt, G5ThreadsAndCheckpointsChangeNoBit) {
  const ModelConfig config = bpt_config();
  const std::vector<float> parameters = random_parameters(config, 4);
  const Batch batch = random_batch(config, bpt_lengths, 3);
  const OfBpt first = computed_bpt(config, batch, parameters);
  for (const int threads : {1, 2, 4}) {
    kernels::set_thread_count(threads);
    const OfBpt other = computed_bpt(config, batch, parameters);
    EXPECT_EQ(first.states, other.states);
    EXPECT_EQ(first.gradients, other.gradients);
  }
  kernels::set_thread_count(0);
  const OfBpt again = computed_bpt(config, batch, parameters, {.training = true, .grad_checkpoint = true});
  EXPECT_EQ(first.gradients, again.gradients);
}

// The lists stay on the device as long as batches have one shape.
TEST(Bpt, BatchesOfOtherShapesInOneModel) {
  const ModelConfig config = bpt_config();
  const std::vector<float> parameters = random_parameters(config, 4);
  const std::vector<Batch> batches{random_batch(config, {37, 20}, 3), random_batch(config, {37, 20}, 5),
                                   random_batch(config, {20, 37}, 6), random_batch(config, {38, 19}, 7),
                                   random_batch(config, {37, 20}, 3)};
  const auto backend = kernels::make_cpu_backend();
  const std::unique_ptr<Model> model =
      make_model(*backend, config, batches[0], {.training = true}, parameters);
  for (const Batch& batch : batches) {
    model->zero_gradients();
    const ForwardResult result = model->forward(batch, {});
    model->backward(mean_scale(result));
    const OfBpt alone = computed_bpt(config, batch, parameters);
    EXPECT_EQ(model->sequence_logits(), alone.types);
    EXPECT_EQ(model->host_gradients(), alone.gradients);
  }
}

TEST(Bpt, InBf16ItComputesTheSameUpToItsDigits) {
  const ModelConfig config = bpt_config();
  const std::vector<float> parameters = random_parameters(config, 4);
  const Batch batch = random_batch(config, bpt_lengths, 3);
  const OfBpt full = computed_bpt(config, batch, parameters);
  const OfBpt half = computed_bpt(config, batch, parameters, {.training = true}, kernels::Precision::bf16);
  const auto apart = [](const std::vector<float>& a, const std::vector<float>& b) {
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      difference += std::pow(static_cast<double>(a[i] - b[i]), 2);
      norm += std::pow(static_cast<double>(b[i]), 2);
    }
    return std::sqrt(difference / norm);
  };
  EXPECT_LT(apart(half.states, full.states), 0.02);
  EXPECT_LT(apart(half.gradients, full.gradients), 0.05);
  EXPECT_GT(apart(half.gradients, full.gradients), 0.0);
}

// Two layers of attention over the lists of the left-to-right form, whose outputs are the next layer's
// queries, keys and values.
TEST(Bpt, P3CausalListsLookBackAlone) {
  constexpr std::int64_t tokens = 29, heads = 2, size = 8, width = heads * size, layers = 3;
  const BptOptions options{2, 3};
  const BinaryPartition lists = binary_partition(tokens, options, true);
  const auto nodes = static_cast<std::size_t>(lists.nodes());
  const auto table = random_parameters(bpt_config(), 9);
  const auto states_of = [&](std::int64_t changed) {
    std::vector<float> states(nodes * width, 0.0f);
    for (std::int64_t i = 0; i < tokens * width; ++i)
      states[static_cast<std::size_t>(i)] =
          table[static_cast<std::size_t>(1000 + i + (i / width == changed ? 7 : 0))];
    const auto backend = kernels::make_cpu_backend();
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      std::vector<float> out(states.size());
      backend->attend_rows({.queries = lists.nodes(),
                            .heads = heads,
                            .head_size = size,
                            .scale = 0.5f,
                            .rows = lists.rows.data(),
                            .offsets = lists.offsets.data(),
                            .labels = lists.labels.data(),
                            .label_weight = table.data(),
                            .label_count = partition_labels(options)},
                           {{states.data(), width}, {states.data(), width}, {states.data(), width}},
                           {out.data(), width}, nullptr);
      states = out;
    }
    return states;
  };
  const std::vector<float> before = states_of(-1);
  for (const std::int64_t changed : {1, 8, 15, 16, 28}) {
    const std::vector<float> after = states_of(changed);
    EXPECT_TRUE(std::equal(before.begin(), before.begin() + changed * width, after.begin())) << changed;
    for (std::int64_t token = changed; token < tokens; ++token) {
      EXPECT_FALSE(std::equal(before.begin() + token * width, before.begin() + (token + 1) * width,
                              after.begin() + token * width))
          << changed << " " << token;
    }
  }
}

// The same of a model.
TEST(Bpt, P3ACausalModelLooksBackAlone) {
  ModelConfig config = bpt_config();
  config.causal = true;
  config.num_hidden_layers = 3;
  const std::vector<float> parameters = random_parameters(config, 4);
  const Batch before = random_batch(config, {37}, 3);
  const std::vector<float> states = computed_bpt(config, before, parameters).states;
  for (const std::size_t changed : {std::size_t{1}, std::size_t{16}, std::size_t{36}}) {
    Batch after = before;
    after.ids[changed] = after.ids[changed] == 7 ? 8 : 7;
    const std::vector<float> others = computed_bpt(config, after, parameters).states;
    const auto first = static_cast<std::ptrdiff_t>(changed) * config.hidden_size;
    EXPECT_TRUE(std::equal(states.begin(), states.begin() + first, others.begin())) << changed;
    EXPECT_FALSE(std::equal(states.begin() + first, states.end(), others.begin() + first)) << changed;
  }
}

TEST(Bpt, WhatItHasNotIsRefusedByName) {
  const auto refused = [](const auto& change, const std::string& what) {
    ModelConfig config = bpt_config();
    change(config);
    try {
      validate(config, "here");
      FAIL() << what;
    } catch (const Error& error) {
      EXPECT_NE(error.message().find(what), std::string::npos) << error.message();
      EXPECT_FALSE(error.hint().empty());
    }
  };
  refused([](ModelConfig& c) { c.position_type = PositionType::absolute; }, "has labels and no positions");
  refused([](ModelConfig& c) { c.norm_type = NormType::prenorm; }, "other LayerNorms");
  refused([](ModelConfig& c) { c.embedding_norm = EmbeddingNorm::before_dropout; }, "other LayerNorms");
  refused([](ModelConfig& c) { c.attention_options.bpt = {1024, 32}; }, "labels, of at most");
  refused(
      [](ModelConfig& c) {
        c.max_position_embeddings = 16'777'216;
        c.attention_options.bpt = {4, 2};
      },
      "entries");
  refused([](ModelConfig& c) { c.head = HeadType::generation; }, "has no head");
}

}  // namespace
}  // namespace bigbird
