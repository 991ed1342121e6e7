// Reformer's toy (Kitaev et al. 2020, section 4): texts 0 w 0 w, w of 63 random symbols, read left to
// right; the second w is to be copied. One layer learns it with four hashes, in chunks of 16; with one it
// finds fewer of the symbols that it looks for.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernels/backend.h"
#include "lib/core/rng.h"
#include "lib/model/network/model.h"
#include "lib/model/network/validate_config.h"
#include "tests/support/sanitizer.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

constexpr std::int64_t copy_half = 64, copy_symbols = 63, copy_texts = 16;

ModelConfig copy_config(std::int64_t hashes) {
  ModelConfig config;
  config.vocab_size = copy_symbols + 1;
  config.hidden_size = 128;
  config.num_hidden_layers = 1;
  config.num_attention_heads = 4;
  config.intermediate_size = 128;
  config.max_position_embeddings = 2 * copy_half;
  config.block_size = 16;
  config.type_vocab_size = 0;
  config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0;
  config.causal = true;
  config.head = HeadType::causal_lm;
  config.attention = AttentionPattern::reformer;
  config.attention_options.reformer = {.chunk = 16, .hashes = hashes};
  become_published(config);
  config.initializer_range = 0.05;
  validate(config, "toy");
  return config;
}

Batch copies(const ModelConfig& config, std::uint64_t number) {
  Batch batch;
  CounterRng random(45, Purpose::test, number);
  for (std::int64_t text = 0; text < copy_texts; ++text) {
    std::vector<std::int32_t> ids{0};
    while (static_cast<std::int64_t>(ids.size()) < copy_half)
      ids.push_back(static_cast<std::int32_t>(random.between(1, config.vocab_size - 1)));
    for (std::int64_t i = 0; i < copy_half; ++i) ids.push_back(ids[static_cast<std::size_t>(i)]);
    for (std::int64_t i = copy_half; i + 1 < 2 * copy_half; ++i) {
      batch.masked_rows.push_back(static_cast<std::int32_t>(batch.tokens() + i));
      batch.masked_labels.push_back(ids[static_cast<std::size_t>(i + 1)]);
    }
    batch.append(ids, {}, config.block_size, 0);
  }
  return batch;
}

BatchLimits limits_of_copies() {
  BatchLimits limits;
  limits.tokens = copy_texts * 2 * copy_half;
  limits.sequences = copy_texts;
  limits.masked_tokens = copy_texts * (copy_half - 1);
  limits.longest = 2 * copy_half;
  return limits;
}

// The share of right symbols in texts that were not learned from.
double copied(kernels::Backend& backend, std::int64_t hashes, const std::vector<float>& parameters) {
  constexpr std::uint64_t batches = 4, unseen = std::uint64_t{1} << 40;
  const ModelConfig config = copy_config(hashes);
  Model model(backend, config, limits_of_copies(), {});
  model.set_parameters(parameters);
  double right = 0, asked = 0;
  for (std::uint64_t number = 0; number < batches; ++number) {
    const Batch batch = copies(config, unseen + number);
    model.forward(batch, {});
    const std::vector<float> logits = model.masked_logits();
    const auto words = static_cast<std::ptrdiff_t>(config.vocab_size);
    for (std::size_t i = 0; i < batch.masked_rows.size(); ++i) {
      const auto row = logits.begin() + static_cast<std::ptrdiff_t>(i) * words;
      right += std::max_element(row, row + words) - row == batch.masked_labels[i] ? 1 : 0;
      asked += 1;
    }
  }
  return right / asked;
}

std::vector<float> learned(kernels::Backend& backend, std::int64_t hashes, std::int64_t updates) {
  const ModelConfig config = copy_config(hashes);
  Model model(backend, config, limits_of_copies(), {.training = true});
  model.set_parameters(initial_parameters(model.layout(), config, 1));
  const std::int64_t count = model.layout().count();
  std::vector<float> first(static_cast<std::size_t>(count)), second(first);
  for (std::int64_t update = 0; update < updates; ++update) {
    ForwardOptions options;
    options.training = true;
    options.dropout_seed = static_cast<std::uint64_t>(update);
    const ForwardResult result = model.forward(copies(config, static_cast<std::uint64_t>(update)), options);
    model.zero_gradients();
    model.backward(mean_scale(result));
    const kernels::ParameterRun all{0, count, false};
    const float warm = std::min(1.0f, static_cast<float>(update + 1) / 200.0f);
    backend.adamw({model.parameters(), model.gradients(), first.data(), second.data()}, {&all, 1},
                  {.learning_rate = 1e-3f * warm});
  }
  return model.host_parameters();
}

TEST(ReformerToy, R5CopiesOfALongHalf) {
  if (under_sanitizer) GTEST_SKIP() << "hundreds of updates; other tests train Reformer";
  const auto backend = kernels::make_cpu_backend();
  const std::vector<float> parameters = learned(*backend, 4, 200);
  const double with_four = copied(*backend, 4, parameters), with_one = copied(*backend, 1, parameters);
  EXPECT_GT(with_four, 0.99);
  EXPECT_LT(with_one, with_four - 0.01);
  EXPECT_GT(with_one, 0.5);
}

}  // namespace
}  // namespace bigbird
