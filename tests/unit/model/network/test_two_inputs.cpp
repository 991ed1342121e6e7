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
    const Batch alone = two_inputs_batch(config, {one});
    const Batch among =
        two_inputs_batch(config, {random_inputs(config, 12, 9, {.segments = true, .free = true}, 9), one,
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
