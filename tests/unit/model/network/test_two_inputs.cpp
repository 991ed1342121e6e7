// BigBird-ETC in fp32 against the dense oracle in double: states of both inputs and every gradient, in all
// forms of sharing, with masks and links of every kind; and what must hold whatever the padding.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "lib/core/rng.h"
#include "lib/model/network/validate_config.h"
#include "reference/two_inputs.h"
#include "tests/unit/model/network/model_fixture.h"
#include "tests/unit/model/network/two_inputs_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

// A group of sigmoids for every score and sequence, over some long and global tokens.
void add_targets(Batch& batch, const std::vector<TwoInputs>& sequences, std::uint64_t seed) {
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

Batch batch_of(const ModelConfig& config, const std::vector<TwoInputs>& sequences) {
  Batch batch;
  for (const TwoInputs& inputs : sequences) batch.append(inputs, config.block_size, 0);
  return batch;
}

// What the oracle says of every sequence, with the gradients of the mean of both scores' losses.
struct Expected {
  std::vector<reference::TwoInputsStates> states;
  reference::Parameters gradients;
};
Expected expected_of(const ModelConfig& config, const std::vector<float>& parameters,
                     const std::vector<TwoInputs>& sequences, const Batch& batch) {
  const reference::TwoInputsConfig of = reference_of(config);
  reference::Parameters values = reference_parameters(config, parameters);
  Expected expected;
  for (const auto& [name, tensor] : values) expected.gradients[name].assign(tensor.size(), 0.0);
  const std::size_t width = static_cast<std::size_t>(config.hidden_size);
  const std::string head = "answer_scores.token";
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    const reference::TwoInputsSequence sequence = reference_of(sequences[s]);
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

struct Masks {
  const char* name;
  Given given;
  bool hard_g2l = false, hard_l2g = false;
};

const std::vector<Masks>& kinds_of_masks() {
  static const std::vector<Masks> kinds{
      {"links", {}},
      {"nothing", {.links = false}},
      {"packed", {.examples = true}},
      {"parts", {.segments = true, .parts = true, .free = true}},
      {"hard g2l", {.free = true}, true, false},
      {"hard l2g", {.segments = true, .examples = true, .free = true}, false, true},
      {"both hard", {.parts = true, .examples = true}, true, true}};
  return kinds;
}

void expect_agreement(const ModelConfig& config, const Given& given,
                      const std::vector<std::pair<std::int64_t, std::int64_t>>& lengths) {
  validate(config, "two inputs");
  std::vector<TwoInputs> sequences;
  for (const auto& [longs, globals] : lengths)
    sequences.push_back(random_inputs(config, longs, globals, given, 3));
  Batch batch = batch_of(config, sequences);
  add_targets(batch, sequences, 5);
  std::vector<float> parameters = random_parameters(config, 4);
  const Expected expected = expected_of(config, parameters, sequences, batch);
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

TEST(Etc, Check3EveryFormOfSharingAgainstTheReference) {
  for (int form = 0; form < 16; ++form) {
    if ((form & 3) == 3) continue;
    SCOPED_TRACE(form);
    expect_agreement(two_inputs_config(form), {}, {{37, 5}, {9, 3}});
  }
}

TEST(Etc, Check3EveryMaskAgainstTheReference) {
  for (const Masks& masks : kinds_of_masks()) {
    for (const int form : {0, 1, 2, 32}) {
      SCOPED_TRACE(std::string(masks.name) + ", form " + std::to_string(form));
      ModelConfig config = two_inputs_config(form);
      config.attention_options.etc.hard_g2l = masks.hard_g2l;
      config.attention_options.etc.hard_l2g = masks.hard_l2g;
      expect_agreement(config, masks.given, {{37, 5}, {4, 1}, {17, 9}});
    }
  }
}

TEST(Etc, Check3WithoutLabels) {
  ModelConfig config = two_inputs_config(0);
  config.attention_options.etc.distance = config.attention_options.etc.labels = 0;
  expect_agreement(config, {}, {{21, 6}});
  config.attention_options.etc.hard_g2l = true;
  expect_agreement(config, {}, {{21, 6}});
}

TEST(Etc, Check4LengthsAndRadii) {
  for (const auto& [length, radius] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 1}, {63, 1}, {64, 63}, {65, 64}, {200, 84}, {200, 169}, {65, 1}, {63, 169}}) {
    SCOPED_TRACE(std::to_string(length) + " tokens, radius " + std::to_string(radius));
    ModelConfig config = two_inputs_config(0);
    config.max_position_embeddings = 1088;
    config.block_size = 64;
    config.num_hidden_layers = 1;
    config.attention_options.etc.radius = radius;
    expect_agreement(config, {}, {{length, 3}});
  }
}

// Check 8: more padding on either side and other sequences in the batch change no bit of what is real.
TEST(Etc, Check8PaddingAndBatchMates) {
  for (const bool training : {false, true}) {
    ModelConfig config = two_inputs_config(0);
    const TwoInputs one = random_inputs(config, 37, 5, {.segments = true, .free = true}, 8);
    const Batch alone = batch_of(config, {one});
    const Batch among =
        batch_of(config, {random_inputs(config, 12, 9, {.segments = true, .free = true}, 9), one,
                          random_inputs(config, 50, 2, {.segments = true, .free = true}, 10)});
    Batch padded;
    padded.append(one, 16, 0);
    const std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();
    const std::vector<float> parameters = random_parameters(config, 4);
    std::vector<std::vector<float>> found;
    for (const Batch& batch : {alone, among, padded}) {
      const std::unique_ptr<Model> model =
          make_model(*backend, config, batch, {.training = training}, parameters);
      model->forward(batch, {});
      const std::size_t s = batch.lengths.size() == 3 ? 1 : 0;
      const auto rows = [&](const std::vector<float>& all, std::int64_t first, std::int64_t count) {
        return std::vector<float>(all.begin() + first * config.hidden_size,
                                  all.begin() + (first + count) * config.hidden_size);
      };
      std::vector<float> values = rows(model->last_hidden_state(), batch.token_offsets[s], 37);
      const std::vector<float> globals =
          rows(model->global_hidden_state(), batch.globals.token_offsets[s], 5);
      values.insert(values.end(), globals.begin(), globals.end());
      found.push_back(values);
    }
    EXPECT_EQ(found[0], found[1]);
    EXPECT_EQ(found[0], found[2]);
  }
}

}  // namespace
}  // namespace bigbird
