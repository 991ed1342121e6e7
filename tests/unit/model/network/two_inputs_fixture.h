// Small models of BigBird-ETC, random inputs, and their translation for the oracle; shared by its tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "lib/core/rng.h"
#include "lib/model/network/validate_config.h"
#include "lib/model/plans/patterns.h"
#include "reference/two_inputs.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird::testing {

// Which parts of TwoInputs are given.
struct Given {
  bool links = true, segments = false, parts = false, examples = false, free = false;
};

inline ModelConfig two_inputs_config(int form) {
  ModelConfig config = tiny_config();
  config.head = HeadType::structured_answers;
  config.token_scores = {{"begin", false}, {"end", false}};
  config.num_labels = 0;
  config.label_names.clear();
  config.attention = AttentionPattern::etc;
  config.embedding_norm = EmbeddingNorm::before_dropout;
  config.position_type = (form & 32) != 0 ? PositionType::absolute : PositionType::none;
  config.type_vocab_size = 5;
  config.num_random_blocks = 0;
  config.num_attention_heads = 3;
  EtcOptions& options = config.attention_options.etc;
  options.radius = 4;
  options.distance = 3;
  options.labels = 14;
  options.globals = 16;
  options.stretch = 5;
  options.projections = static_cast<EtcProjections>((form & 3) % 3);
  options.shared_output = (form & 4) != 0;
  options.shared_feed_forward = (form & 8) == 0;
  return config;
}

inline TwoInputs random_inputs(const ModelConfig& config, std::int64_t longs, std::int64_t globals,
                               const Given& given, std::uint64_t seed) {
  CounterRng random(seed, Purpose::test, static_cast<std::uint64_t>(1000 * longs + globals));
  const auto ids = [&](std::int64_t count, std::int64_t most, std::int64_t least = 0) {
    std::vector<std::int32_t> values;
    for (std::int64_t i = 0; i < count; ++i)
      values.push_back(static_cast<std::int32_t>(random.between(least, most - 1)));
    return values;
  };
  const auto flags = [&](std::int64_t count) {
    std::vector<std::uint8_t> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(random.below(4) == 0 ? 1 : 0);
    return values;
  };
  // Ascending numbers, as stretches of a text have.
  const auto stretches = [&](std::int64_t count, std::int32_t most) {
    std::vector<std::int32_t> values;
    for (std::int64_t i = 0; i < count; ++i)
      values.push_back(static_cast<std::int32_t>(most - 1 - most * i / count));
    return values;
  };
  TwoInputs inputs;
  inputs.ids = ids(longs, config.vocab_size, 1);  // a pad token never teaches its row
  inputs.types = ids(longs, config.type_vocab_size);
  inputs.global_ids = ids(globals, config.vocab_size, 1);
  inputs.global_types = ids(globals, config.type_vocab_size);
  if (given.links) {
    for (auto& column : inputs.links) {
      column = ids(longs, globals + 1);
      for (std::int32_t& link : column) --link;
    }
  }
  if (given.segments) inputs.segments = stretches(longs, 3);
  if (given.parts) inputs.parts = stretches(globals, 2);
  if (given.examples) {
    inputs.examples = stretches(longs, 2);
    inputs.global_examples = stretches(globals, 2);
  }
  if (given.free) {
    inputs.free = flags(longs);
    inputs.global_free = flags(globals);
  }
  return inputs;
}

// Of a sequence of so many long tokens, on which random blocks depend.
inline reference::TwoInputsConfig reference_of(const ModelConfig& config, std::int64_t longs = 0) {
  const EtcOptions& options = config.attention_options.etc;
  reference::TwoInputsConfig of{reference_config(config), static_cast<std::size_t>(options.radius),
                                static_cast<std::size_t>(options.distance), options.hard_g2l,
                                options.hard_l2g};
  of.block = static_cast<std::size_t>(config.block_size);
  const std::int64_t blocks = (longs + config.block_size - 1) / config.block_size;
  for (std::int64_t layer = 0; config.num_random_blocks > 0 && layer < config.num_hidden_layers; ++layer) {
    auto& heads = of.random.emplace_back();
    for (const auto& head : etc_random_rows(blocks, config.num_attention_heads, config.block_size,
                                            options.radius, config.num_random_blocks, layer)) {
      auto& rows = heads.emplace_back();
      for (const auto& row : head) rows.emplace_back(row.begin(), row.end());
    }
  }
  return of;
}

inline std::vector<std::size_t> sizes_of(const std::vector<std::int32_t>& values) {
  return {values.begin(), values.end()};
}
inline reference::TwoInputsSequence reference_of(const TwoInputs& inputs) {
  return {sizes_of(inputs.ids),
          sizes_of(inputs.types),
          sizes_of(inputs.global_ids),
          sizes_of(inputs.global_types),
          inputs.links,
          inputs.segments,
          inputs.examples,
          inputs.parts,
          inputs.global_examples,
          inputs.free,
          inputs.global_free};
}

// The rows of one sequence within what the model gives.
inline void expect_states(const std::vector<float>& actual, const reference::Matrix& expected,
                          std::int64_t first_row, double most, const std::string& what) {
  double largest = 0;
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const auto at = static_cast<std::size_t>(first_row) * expected.columns + i;
    largest = std::max(largest, std::abs(static_cast<double>(actual[at]) - expected.values[i]));
  }
  EXPECT_LT(largest, most * std::max(1.0, largest_magnitude(expected.values))) << what;
}

// A group of sigmoids for every score and sequence, over some long and global tokens.
inline void add_targets(Batch& batch, const std::vector<TwoInputs>& sequences, std::uint64_t seed) {
  batch.token_targets.assign(2, {});
  for (std::size_t score = 0; score < 2; ++score) {
    CounterRng random(seed, Purpose::test, 77 + score);
    for (std::size_t s = 0; s < sequences.size(); ++s) {
      batch.token_targets[score].open_group();
      for (std::size_t i = 0; i < sequences[s].ids.size(); ++i) {
        if (random.below(3) == 0)
          batch.token_targets[score].add(batch.token_offsets[s] + static_cast<std::int64_t>(i),
                                         random.below(2) == 0);
      }
      for (std::size_t g = 0; g < sequences[s].global_ids.size(); ++g) {
        if (random.below(2) == 0)
          batch.token_targets[score].add(
              global_row(batch.globals.token_offsets[s] + static_cast<std::int64_t>(g)),
              random.below(2) == 0);
      }
    }
  }
}

inline Batch two_inputs_batch(const ModelConfig& config, const std::vector<TwoInputs>& sequences) {
  Batch batch;
  for (const TwoInputs& inputs : sequences) batch.append(inputs, config.block_size, 0);
  return batch;
}

// What the oracle says of every sequence, with the gradients of the mean of both scores' losses.
struct TwoInputsExpected {
  std::vector<reference::TwoInputsStates> states;
  reference::Parameters gradients;
};
inline TwoInputsExpected expected_of(const ModelConfig& config, const std::vector<float>& parameters,
                                     const std::vector<TwoInputs>& sequences, const Batch& batch) {
  reference::Parameters values = reference_parameters(config, parameters);
  TwoInputsExpected expected;
  for (const auto& [name, tensor] : values) expected.gradients[name].assign(tensor.size(), 0.0);
  const std::size_t width = static_cast<std::size_t>(config.hidden_size);
  const std::string head = "answer_scores.token";
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    const reference::TwoInputsSequence sequence = reference_of(sequences[s]);
    const reference::TwoInputsConfig of = reference_of(config, batch.lengths[s]);
    const reference::TwoInputsStates& states =
        expected.states.emplace_back(reference::two_inputs_forward(of, values, sequence));
    reference::Matrix d_longs(sequences[s].ids.size(), width),
        d_globals(sequences[s].global_ids.size(), width);
    for (std::size_t score = 0; score < batch.token_targets.size(); ++score) {
      const TokenTargets& targets = batch.token_targets[score];
      for (std::int32_t at = targets.group_offsets[s]; at < targets.group_offsets[s + 1]; ++at) {
        const auto i = static_cast<std::size_t>(at);
        const std::int64_t row = targets.rows[i];
        const bool longs = row >= 0;
        const std::int64_t first = longs ? batch.token_offsets[s] : batch.globals.token_offsets[s];
        const auto place = static_cast<std::size_t>((longs ? row : -1 - row) - first);
        const reference::Matrix& state = longs ? states.longs.back() : states.globals.back();
        double logit = values[head + ".bias"][score];
        for (std::size_t k = 0; k < width; ++k)
          logit += values[head + ".weight"][score * width + k] * state(place, k);
        const double d =
            (1.0 / (1.0 + std::exp(-logit)) - targets.right[i]) / static_cast<double>(sequences.size());
        expected.gradients[head + ".bias"][score] += d;
        for (std::size_t k = 0; k < width; ++k) {
          expected.gradients[head + ".weight"][score * width + k] += d * state(place, k);
          (longs ? d_longs : d_globals)(place, k) += d * values[head + ".weight"][score * width + k];
        }
      }
    }
    const reference::Parameters of_one =
        reference::two_inputs_backward(of, values, sequence, d_longs, d_globals);
    for (const auto& [name, gradient] : of_one) {
      for (std::size_t i = 0; i < gradient.size(); ++i) expected.gradients[name][i] += gradient[i];
    }
  }
  return expected;
}

inline void expect_agreement(const ModelConfig& config, const Given& given,
                             const std::vector<std::pair<std::int64_t, std::int64_t>>& lengths) {
  validate(config, "two inputs");
  std::vector<TwoInputs> sequences;
  for (const auto& [longs, globals] : lengths)
    sequences.push_back(random_inputs(config, longs, globals, given, 3));
  Batch batch = two_inputs_batch(config, sequences);
  add_targets(batch, sequences, 5);
  std::vector<float> parameters = random_parameters(config, 4);
  const TwoInputsExpected expected = expected_of(config, parameters, sequences, batch);
  const std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();
  const std::unique_ptr<Model> model = make_model(*backend, config, batch, {.training = true}, parameters);
  const ForwardResult result = model->forward(batch, {});
  const std::vector<float> longs = model->last_hidden_state(), globals = model->global_hidden_state();
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    // Values are about 1: the fp32 noise of 2 layers.
    expect_states(longs, expected.states[s].longs.back(), batch.token_offsets[s], 2e-6, "long rows");
    expect_states(globals, expected.states[s].globals.back(), batch.globals.token_offsets[s], 2e-6,
                  "global rows");
  }
  model->backward(mean_scale(result));
  expect_gradients(*model, expected.gradients);
}

}  // namespace bigbird::testing
