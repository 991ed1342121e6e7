// What Transformer-XL learns that it could not without its memory: an echo of tokens that lie three segments
// back, with a memory of one.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "lib/core/rng.h"
#include "lib/model/network/validate_config.h"
#include "tests/support/sanitizer.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

// A segment is groups of a letter and three echoes: of the letter of this group one, two and three segments
// before. Each echo teaches a layer to hold what the next one asks for: no gradient goes through a memory.
constexpr std::int64_t echoes = 3, echo_groups = 2, echo_segment = echo_groups * (1 + echoes);
constexpr std::int32_t letters = 8, first_letter = 8;
constexpr std::int32_t first_echo = 1;

ModelConfig echo_config(std::int64_t memory) {
  ModelConfig config = tiny_config();
  config.vocab_size = first_letter + letters;
  config.hidden_size = 64;
  config.num_attention_heads = 2;
  config.intermediate_size = 128;
  config.initializer_range = 0.1;
  config.num_hidden_layers = echoes;
  config.block_size = echo_segment;
  config.head = HeadType::causal_lm;
  config.attention = AttentionPattern::transformer_xl;
  config.attention_options.recurrent.memory = memory;
  become_recurrent(config);
  validate(config, "toy");
  return config;
}

std::int32_t letter_at(std::int64_t stream, std::int64_t segment, std::int64_t group) {
  CounterRng random(29, Purpose::test,
                    static_cast<std::uint64_t>((stream << 40) + segment * echo_groups + group));
  return static_cast<std::int32_t>(first_letter + random.between(0, letters - 1));
}

Batch echo_batch(const ModelConfig& config, std::int64_t streams, std::int64_t segment) {
  Batch batch;
  for (std::int64_t stream = 0; stream < streams; ++stream) {
    std::vector<std::int32_t> ids;
    for (std::int64_t group = 0; group < echo_groups; ++group) {
      ids.push_back(letter_at(stream, segment, group));
      for (std::int32_t echo = 0; echo < echoes; ++echo) {
        if (segment > echo) {
          batch.masked_rows.push_back(
              static_cast<std::int32_t>(batch.tokens() + static_cast<std::int64_t>(ids.size())));
          batch.masked_labels.push_back(letter_at(stream, segment - 1 - echo, group));
        }
        ids.push_back(first_echo + echo);
      }
    }
    batch.append(ids, {}, config.block_size, 0);
    batch.places.streams.push_back(static_cast<std::int32_t>(stream));
    batch.places.begins.push_back(segment == 0 ? 1 : 0);
  }
  return batch;
}

// The share of right echoes of each distance, over the last tenth of the updates: what is asked for is a
// letter of three segments and three tokens before.
std::vector<double> echo_accuracy(std::int64_t memory, std::int64_t updates) {
  const ModelConfig config = echo_config(memory);
  constexpr std::int64_t streams = 32;
  const std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();
  BatchLimits limits;
  limits.tokens = streams * echo_segment;
  limits.sequences = limits.streams = streams;
  limits.masked_tokens = streams * echo_groups * echoes;
  limits.longest = echo_segment;
  Model model(*backend, config, limits, {.training = true});
  model.set_parameters(initial_parameters(model.layout(), config, 5));
  const std::int64_t count = model.layout().count();
  std::vector<float> first(static_cast<std::size_t>(count)), second(first);
  std::vector<double> right(echoes, 0.0);
  double asked = 0.0;
  for (std::int64_t update = 0; update < updates; ++update) {
    const Batch batch = echo_batch(config, streams, update);
    const ForwardResult result = model.forward(batch, {});
    if (update >= updates - updates / 10) {
      const std::vector<float> logits = model.masked_logits();
      const auto words = static_cast<std::size_t>(config.vocab_size);
      for (std::size_t i = 0; i < batch.masked_rows.size(); ++i) {
        const auto row = logits.begin() + static_cast<std::ptrdiff_t>(i * words);
        const auto said = std::max_element(row, row + static_cast<std::ptrdiff_t>(words)) - row;
        right[i % echoes] += said == batch.masked_labels[i] ? 1.0 : 0.0;
      }
      asked += static_cast<double>(batch.masked_rows.size()) / echoes;
    }
    if (batch.masked_rows.empty()) continue;
    model.zero_gradients();
    model.backward(mean_scale(result));
    const kernels::ParameterRun all{0, count, false};
    const float warm = std::min(1.0f, static_cast<float>(update + 1) / 50.0f);
    const float left = 1.0f - static_cast<float>(update) / static_cast<float>(updates);
    backend->adamw({model.parameters(), model.gradients(), first.data(), second.data()}, {&all, 1},
                   {.learning_rate = 1e-3f * warm * left});
  }
  for (double& share : right) share /= asked;
  return right;
}

TEST(TransformerXlToy, X4CopyOverThreeSegments) {
  if (testing::under_sanitizer) GTEST_SKIP() << "hundreds of updates; other tests train what has a memory";
  const std::vector<double> with = echo_accuracy(echo_segment, 250), without = echo_accuracy(0, 150);
  for (std::size_t echo = 0; echo < with.size(); ++echo) {
    EXPECT_GT(with[echo], 0.9) << echo + 1;
    EXPECT_LT(without[echo], 1.0 / letters + 0.05) << echo + 1;
  }
}

}  // namespace
}  // namespace bigbird
