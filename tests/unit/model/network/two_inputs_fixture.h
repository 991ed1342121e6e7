// Small models of BigBird-ETC, random inputs, and their translation for the oracle; shared by its tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "lib/core/rng.h"
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

inline reference::TwoInputsConfig reference_of(const ModelConfig& config) {
  const EtcOptions& options = config.attention_options.etc;
  return {reference_config(config), static_cast<std::size_t>(options.radius),
          static_cast<std::size_t>(options.distance), options.hard_g2l, options.hard_l2g};
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

}  // namespace bigbird::testing
