// Adaptive-Span on the device against the CPU: segments of three streams whose heads look back less far than
// is remembered, with dropout, and passes that are played from recordings until spans are others.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/cuda_options.h"
#include "kernels/cuda/runtime.h"
#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/model/network/validate_config.h"
#include "tests/cuda/compare_models.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;
using kernels::Precision;

ModelConfig device_spans(std::int64_t max_span, double dropout) {
  ModelConfig config = tiny_config();
  config.vocab_size = 40;
  config.block_size = 16;
  config.num_attention_heads = 2;
  config.hidden_size = 64;
  config.intermediate_size = 96;
  config.head = HeadType::causal_lm;
  config.attention = AttentionPattern::adaptive_span;
  config.attention_options.spans = {.max_span = max_span, .ramp = 8, .span_loss = 1e-3};
  become_recurrent(config);
  config.hidden_dropout_prob = config.attention_probs_dropout_prob = dropout;
  validate(config, "spans");
  return config;
}

Batch spans_batch(const ModelConfig& config, int pass) {
  Batch batch = random_batch(config, {33, 7, 20}, 85);
  for (std::int32_t row = 0; row < static_cast<std::int32_t>(batch.tokens()); row += 3) {
    if (batch.ids[static_cast<std::size_t>(row)] == config.pad_token_id) continue;
    batch.masked_rows.push_back(row);
    batch.masked_labels.push_back((7 * row + pass) % 40);
  }
  batch.places = {{2, 0, 1}, {0, pass == 3 ? std::uint8_t{1} : std::uint8_t{0}, 0}};
  return batch;
}

struct SpansOutcome {
  std::vector<float> states, gradients, memory;
  double loss = 0.0;
};
SpansOutcome outcome_of_spans(kernels::Backend& backend, const ModelConfig& config) {
  std::vector<float> parameters = random_parameters(config, 82);
  const std::int64_t offset = ParameterLayout(config).offset("bert.encoder.spans");
  const std::vector<float> z{0.0f, 0.25f, 0.31f, 0.5f}, later{0.1f, 0.2f, 0.31f, 0.77f};
  std::copy(z.begin(), z.end(), parameters.begin() + offset);
  const auto model = make_model(backend, config, spans_batch(config, 0), {.training = true}, parameters);
  SpansOutcome got;
  for (int pass = 0; pass < 8; ++pass) {  // some from a recording
    if (pass == 6) {
      backend.upload(model->parameters() + offset, later.data(), later.size() * sizeof(float));
      model->after_update(1, 1);
    }
    const Batch batch = spans_batch(config, pass);
    ForwardOptions options;
    options.training = true;
    options.dropout_seed = 83;
    const ForwardResult result = model->forward(batch, options);
    const LossScale scale = mean_scale(result);
    got.loss = scaled_loss(result, scale);
    const std::vector<float> all = model->last_hidden_state();
    got.states.clear();
    for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
      const auto first = all.begin() + batch.token_offsets[s] * config.hidden_size;
      got.states.insert(got.states.end(), first, first + batch.lengths[s] * config.hidden_size);
    }
    model->zero_gradients();
    model->backward(scale);
  }
  got.gradients = model->host_gradients();
  for (std::int64_t stream = 0; stream < 3; ++stream) {
    const std::vector<float> memory = model->stream_memory(stream);
    got.memory.insert(got.memory.end(), memory.begin(), memory.end());
  }
  return got;
}

class CudaAdaptiveSpan : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (kernels::cuda::find_devices(why).empty()) GTEST_SKIP() << "SKIPPED: no CUDA device: " << why;
    kernels::set_thread_count(1);
  }
  void TearDown() override { kernels::set_thread_count(0); }
};

TEST_F(CudaAdaptiveSpan, G6StatesGradientsAndMemoryAreTheCpus) {
  const auto cpu = kernels::make_cpu_backend();
  for (const double dropout : {0.0, 0.1}) {
    const ModelConfig config = device_spans(40, dropout);
    const SpansOutcome expected = outcome_of_spans(*cpu, config);
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
      SCOPED_TRACE(std::string(kernels::name_of(precision)) + (dropout > 0 ? " with dropout" : ""));
      const bool exact = precision == Precision::fp32;
      const auto device = kernels::cuda::make_cuda_backend({.index = 0, .precision = precision});
      const SpansOutcome got = outcome_of_spans(*device, config);
      if (exact) {
        EXPECT_LT(largest_difference(got.states, expected.states), 2e-5);
        EXPECT_LT(largest_difference(got.memory, expected.memory), 2e-5);
      } else {
        EXPECT_GT(cosine(got.states, expected.states), 0.99);
        EXPECT_GT(cosine(got.memory, expected.memory), 0.99);
      }
      EXPECT_NEAR(got.loss, expected.loss, (exact ? 2e-5 : 0.03) * expected.loss);
      expect_every_gradient(config, got.gradients, expected.gradients,
                            exact ? GradientBounds{1e-4, 1e-4, 4e-5} : GradientBounds{0.3, 0.15, 0.1});
    }
  }
}

TEST_F(CudaAdaptiveSpan, LongerSpansThanADeviceTellsApartAreRefused) {
  const ModelConfig config = device_spans(4000, 0.0);
  const auto device = kernels::cuda::make_cuda_backend({.index = 0, .precision = Precision::fp32});
  EXPECT_ANY_THROW(
      make_model(*device, config, spans_batch(config, 0), {.training = true}, random_parameters(config, 82)));
}

}  // namespace
}  // namespace bigbird
