// Models with a decoder on the device against the CPU: one token at a time, work that is recorded, and the
// vocabulary of BigBird-Pegasus. Outputs and gradients of the whole model are in test_model.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/parallel.h"
#include "lib/inference/decoder_steps.h"
#include "tests/cuda/compare_models.h"
#include "tests/unit/model/network/expect_top_tokens.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;
using kernels::Precision;

class CudaDecoder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (kernels::cuda::find_devices(why).empty()) GTEST_SKIP() << "SKIPPED: no CUDA device: " << why;
    kernels::set_thread_count(1);  // products this small are not worth waking threads for
  }
  void TearDown() override { kernels::set_thread_count(0); }
  static std::unique_ptr<kernels::cuda::CudaBackend> cuda(Precision precision) {
    return std::make_unique<kernels::cuda::CudaBackend>(
        kernels::CudaOptions{.index = 0, .precision = precision});
  }
  // Heads of 32 in the encoder, of 64 in the decoder.
  static ModelConfig config_of() {
    ModelConfig config = tiny_config();
    add_decoder(config);
    config.hidden_size = 64;
    config.block_size = 16;
    config.max_position_embeddings = 128;
    config.decoder.num_hidden_layers = 2;
    config.decoder.num_attention_heads = 1;
    return config;
  }
  const std::unique_ptr<kernels::Backend> cpu_ = kernels::make_cpu_backend();
};

// Several rows of a source that go on from one another, a source that is done before the others, and one more
// row than fills a block.
struct Written {
  std::vector<std::vector<float>> logits;  // of each step
};
Written write(kernels::Backend& backend, const ModelConfig& config, const std::vector<float>& parameters) {
  Batch sources = random_batch(config, {33, 50, 20}, 65);
  sources.targets = {};
  Model model(backend, config, limits_of(sources), {});
  model.set_parameters(parameters);
  DecoderSteps steps(model, {.source_tokens = sources.tokens(), .rows = 20, .length = 5});
  Written result;
  for (std::int32_t round = 0; round < 2; ++round) {  // what was written before is forgotten
    model.forward(sources, {});
    steps.begin();
    std::vector<std::int32_t> before;
    for (std::int32_t t = 0; t < 4; ++t) {
      std::vector<std::int32_t> tokens, parents, of;
      for (std::int32_t row = 0; row < 20; ++row) {
        const std::int32_t source = row < 17 ? 0 : row - 16;
        const std::int32_t from = std::min(source, 2);
        if (t >= 2 && from == 1) continue;
        tokens.push_back((5 * t + 7 * row + round) % 36 + 1);
        of.push_back(from);
        // Any row of the same source that was there.
        std::vector<std::int32_t> same;
        for (std::size_t i = 0; i < before.size(); ++i) {
          if (before[i] == from) same.push_back(static_cast<std::int32_t>(i));
        }
        parents.push_back(same.empty() ? 0 : same[static_cast<std::size_t>(3 * row + t) % same.size()]);
      }
      steps.step(tokens, parents, of);
      const std::span<const float> logits = steps.logits();
      result.logits.emplace_back(logits.begin(), logits.end());
      expect_top_tokens(steps, result.logits.back(), static_cast<std::size_t>(config.vocab_size));
      before = of;
    }
  }
  return result;
}

TEST_F(CudaDecoder, OneTokenAtATimeEqualsTheCpu) {
  const ModelConfig config = config_of();
  const std::vector<float> parameters = random_parameters(config, 61);
  const Written expected = write(*cpu_, config, parameters),
                exact = write(*cuda(Precision::fp32), config, parameters),
                narrow = write(*cuda(Precision::bf16), config, parameters);
  ASSERT_EQ(expected.logits.size(), 8u);
  for (std::size_t step = 0; step < expected.logits.size(); ++step) {
    SCOPED_TRACE(step);
    EXPECT_LT(largest_difference(exact.logits[step], expected.logits[step]), 2e-5);
    EXPECT_GT(cosine(narrow.logits[step], expected.logits[step]), 0.999);
  }
  EXPECT_EQ(write(*cuda(Precision::fp32), config, parameters).logits, exact.logits);
}

// One token at a time gives the logits of all at once, on the device too.
TEST_F(CudaDecoder, OneTokenAtATimeGivesTheLogitsOfAllAtOnce) {
  const ModelConfig config = config_of();
  const auto backend = cuda(Precision::fp32);
  Batch whole = random_batch(config, {33, 50}, 66);
  whole.targets.labels.clear();
  const auto model = make_model(*backend, config, whole, {}, random_parameters(config, 67));
  model->forward(whole, {});
  const std::vector<float> all = model->target_logits();
  DecoderSteps steps(*model, {.source_tokens = whole.tokens(), .rows = 2, .length = 15});
  Batch sources = whole;
  sources.targets = {};
  model->forward(sources, {});
  steps.begin();
  for (std::int64_t t = 0; t < whole.targets.lengths[1]; ++t) {
    // The first source is done before the other.
    const bool both = t < 3;
    std::vector<std::int32_t> tokens, of, parents;
    std::vector<float> expected;
    for (std::size_t s = both ? 0 : 1; s < 2; ++s) {
      const std::int64_t row = whole.targets.token_offsets[s] + t;
      tokens.push_back(whole.targets.ids[static_cast<std::size_t>(row)]);
      of.push_back(static_cast<std::int32_t>(s));
      parents.push_back(t <= 3 ? static_cast<std::int32_t>(s) : 0);
      expected.insert(expected.end(), all.begin() + row * config.vocab_size,
                      all.begin() + (row + 1) * config.vocab_size);
    }
    steps.step(tokens, parents, of);
    const std::span<const float> logits = steps.logits();
    EXPECT_LT(largest_difference({logits.begin(), logits.end()}, expected), 2e-5) << "token " << t;
  }
}

TEST_F(CudaDecoder, MemoryOfTheStepsHasRowsForTheirBlocks) {
  const ModelConfig config = config_of();
  const DecoderLimits limits{.source_tokens = 64, .rows = 5, .length = 8};
  const auto bytes = [&](const kernels::Backend& backend) {
    std::size_t sum = 0;
    for (const MemoryRow& row : plan_decoder_memory(config, limits, backend)) sum += row.bytes;
    return sum;
  };
  // Two matrices of 5 blocks of 16 rows of 64 columns, and where rows stand.
  const std::size_t more = bytes(*cuda(Precision::fp32)) - bytes(*cpu_);
  EXPECT_GE(more, 2u * 5 * 16 * 64 * sizeof(float));
  EXPECT_LT(more, 2u * 5 * 16 * 64 * sizeof(float) + 2048);
}

double loss_and_gradients(Model& model, const Batch& batch, std::vector<float>& gradients) {
  const ForwardResult result =
      model.forward(batch, {.training = true, .dropout_seed = 5, .hidden_state = {}});
  model.zero_gradients();
  model.backward(mean_scale(result));
  gradients = model.host_gradients();
  return scaled_loss(result, mean_scale(result));
}

// What differs between the two batches is all that may differ under one key, targets included.
TEST_F(CudaDecoder, RecordedCallsTakeTheTargetsOfEachBatch) {
  ModelConfig config = config_of();
  config.num_hidden_layers = config.decoder.num_hidden_layers = 1;
  config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.1;
  const Batch batches[] = {random_batch(config, {60, 20}, 81), random_batch(config, {57, 29}, 82)};
  ASSERT_EQ(batches[0].targets.token_offsets, batches[1].targets.token_offsets);
  ASSERT_NE(batches[0].targets.lengths, batches[1].targets.lengths);
  const std::vector<float> parameters = random_parameters(config, 83);
  const auto backend = cuda(Precision::fp32);
  const auto model = make_model(*backend, config, batches[0], {.training = true}, parameters);
  const auto other = make_model(*cpu_, config, batches[0], {.training = true}, parameters);
  for (const std::size_t i : {0u, 1u, 0u, 1u}) {
    std::vector<float> got, expected;
    const double loss = loss_and_gradients(*other, batches[i], expected);
    EXPECT_NEAR(loss_and_gradients(*model, batches[i], got), loss, 2e-5 * loss);
    EXPECT_LT(relative_norm(got, expected), 1e-4);
  }
  EXPECT_GE(backend->replays(), 4u);
}

// Logits in pieces, smoothed labels and layers that are left out, in recorded calls too: each pattern of
// layers is a recording of its own.
TEST_F(CudaDecoder, UpdatesInPiecesEqualTheCpu) {
  ModelConfig config = config_of();
  config.decoder.encoder_layer_drop = config.decoder.layer_drop = 0.4;
  const Batch batch = random_batch(config, {64, 64, 60, 64, 59, 64, 64, 64, 64}, 84);
  ASSERT_GT(batch.targets.tokens(), 128);
  const std::vector<float> parameters = random_parameters(config, 85);
  const auto backend = cuda(Precision::fp32);
  const auto model =
      make_model(*backend, config, batch, {.training = true, .logits_in_pieces = true}, parameters);
  const auto other = make_model(*cpu_, config, batch, {.training = true}, parameters);
  for (const std::uint64_t seed : {1u, 2u, 1u, 2u, 1u, 2u}) {
    for (const double epsilon : {0.0, 0.1}) {
      ForwardOptions options;
      options.training = true;
      options.dropout_seed = seed;
      options.smoothing = {epsilon, SmoothingForm::google};
      LossScale scale;
      scale[Loss::target] = 0.01f;
      options.scale = scale;
      const auto update = [&](Model& of) {
        of.zero_gradients();
        const double loss = scaled_loss(of.forward(batch, options), scale);
        of.backward(scale);
        return std::pair{loss, of.host_gradients()};
      };
      const auto [expected_loss, expected] = update(*other);
      const auto [loss, got] = update(*model);
      EXPECT_NEAR(loss, expected_loss, 2e-5 * expected_loss);
      EXPECT_LT(relative_norm(got, expected), 1e-4);
    }
  }
  EXPECT_GE(backend->replays(), 4u);
}

TEST_F(CudaDecoder, TheVocabularyOfBigBirdPegasus) {
  ModelConfig config = config_of();
  config.vocab_size = 96103;
  config.hidden_size = 32;
  config.num_attention_heads = 1;
  config.num_hidden_layers = config.decoder.num_hidden_layers = 1;
  const Batch batch = random_batch(config, {20}, 91);
  const std::vector<float> parameters = random_parameters(config, 92);
  const auto outcome = [&](kernels::Backend& backend, std::vector<float>& gradients) {
    const auto model = make_model(backend, config, batch, {.training = true}, parameters);
    return loss_and_gradients(*model, batch, gradients);
  };
  std::vector<float> expected, got;
  const double loss = outcome(*cpu_, expected);
  EXPECT_NEAR(outcome(*cuda(Precision::fp32), got), loss, 2e-5 * loss);
  expect_every_gradient(config, got, expected, fp32_bounds);
}

}  // namespace
}  // namespace bigbird
