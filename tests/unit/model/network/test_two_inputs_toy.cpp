// What BigBird-ETC learns that it could not without its global tokens' sight, and the memory of its training.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "lib/core/rng.h"
#include "lib/model/network/validate_config.h"
#include "tests/support/sanitizer.h"
#include "tests/unit/model/network/two_inputs_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

constexpr std::int32_t toy_mark = 7;
constexpr std::int64_t toy_sentences = 40;

ModelConfig toy_config() {
  ModelConfig config = two_inputs_config(0);
  config.vocab_size = 30;
  config.hidden_size = 32;
  config.num_attention_heads = 2;
  config.intermediate_size = 64;
  config.block_size = 16;
  config.max_position_embeddings = 512;
  config.token_scores = {{"holds a mark", false}};
  EtcOptions& options = config.attention_options.etc;
  options.radius = 8;
  options.globals = 48;
  validate(config, "toy");
  return config;
}

// Sentences of 3 to 7 tokens, half of which hold one marked token; a global token each, which sees its
// sentence only. Cut off: nobody is linked, and global tokens see no long ones.
Batch toy_batch(const ModelConfig& config, std::uint64_t number, bool cut_off) {
  CounterRng random(23, Purpose::test, number);
  TwoInputs inputs;
  std::vector<bool> holds;
  for (std::int32_t sentence = 0; sentence < toy_sentences; ++sentence) {
    const std::int64_t tokens = random.between(3, 7);
    holds.push_back(random.below(2) == 0);
    const std::int64_t place = random.between(0, tokens - 1);
    for (std::int64_t i = 0; i < tokens; ++i) {
      const bool marked = holds.back() && i == place;
      inputs.ids.push_back(marked ? toy_mark : static_cast<std::int32_t>(random.between(8, 29)));
      inputs.links[0].push_back(cut_off ? -1 : sentence);
    }
  }
  inputs.global_ids.assign(toy_sentences, etc_sentence_token);
  Batch batch;
  batch.append(inputs, config.block_size, 0);
  TokenTargets& targets = batch.token_targets.emplace_back();
  targets.open_group();
  for (std::int64_t g = 0; g < toy_sentences; ++g)
    targets.add(global_row(g), holds[static_cast<std::size_t>(g)]);
  return batch;
}

// The share of right answers on 200 sentences after 500 steps.
double toy_accuracy(bool cut_off) {
  ModelConfig config = toy_config();
  config.attention_options.etc.hard_g2l = true;
  config.num_hidden_layers = 1;
  const std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();
  const BatchLimits limits{.tokens = 288, .sequences = 1, .masked_tokens = 0, .longest = 288, .globals = 48};
  Model model(*backend, config, limits, {.training = true});
  model.set_parameters(initial_parameters(model.layout(), config, 5));
  const std::int64_t count = model.layout().count();
  std::vector<float> first(static_cast<std::size_t>(count)), second(first);
  for (std::uint64_t step = 0; step < 500; ++step) {
    const ForwardResult result = model.forward(toy_batch(config, step, cut_off), {});
    model.zero_gradients();
    model.backward(mean_scale(result));
    const kernels::ParameterRun all{0, count, false};
    backend->adamw({model.parameters(), model.gradients(), first.data(), second.data()}, {&all, 1},
                   {.learning_rate = 5e-3f * std::min(1.0f, static_cast<float>(step + 1) / 50.0f)});
  }
  std::int64_t right = 0;
  for (std::uint64_t number = 0; number < 5; ++number) {
    const Batch batch = toy_batch(config, 100000 + number, cut_off);
    model.forward(batch, {});
    const std::vector<float> logits = model.token_logits(0);
    for (std::int64_t g = 0; g < toy_sentences; ++g) {
      const bool said = logits[static_cast<std::size_t>(batch.tokens() + g)] > 0.0f;
      right += said == (batch.token_targets[0].right[static_cast<std::size_t>(g)] != 0) ? 1 : 0;
    }
  }
  return static_cast<double>(right) / (5.0 * toy_sentences);
}

TEST(Etc, Check23AGlobalTokenReportsItsSentence) {
  if (testing::under_sanitizer) GTEST_SKIP() << "hundreds of updates; other tests train what has two inputs";
  EXPECT_GT(toy_accuracy(false), 0.99);
  // Five standard deviations of a coin over 200 sentences are 0.18.
  EXPECT_NEAR(toy_accuracy(true), 0.5, 0.18);
}

// Check 22: what a training step takes grows with the long tokens alone, by as much for each of them.
TEST(Etc, Check22MemoryOfAStepIsLinearInTheLongTokens) {
  ModelConfig config;
  config.attention = AttentionPattern::etc;
  config.embedding_norm = EmbeddingNorm::before_dropout;
  config.position_type = PositionType::none;
  config.type_vocab_size = 16;
  config.head = HeadType::masked_lm;
  config.max_position_embeddings = 16384;
  validate(config, "base size");
  const std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();
  const auto bytes = [&](std::int64_t tokens) {
    const BatchLimits limits{
        .tokens = tokens, .sequences = 1, .masked_tokens = 614, .longest = tokens, .globals = 256};
    std::size_t sum = 0;
    for (const MemoryRow& row : plan_model_memory(config, limits, {.training = true}, *backend))
      sum += row.bytes;
    return static_cast<double>(sum);
  };
  const double one = bytes(4096), two = bytes(8192), four = bytes(16384);
  EXPECT_NEAR((four - two) / (two - one), 2.0, 1e-3);
  EXPECT_GT(two - one, 1e9);  // 12 layers of 768: some 300 kB a token
}

}  // namespace
}  // namespace bigbird
