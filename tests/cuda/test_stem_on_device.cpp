// Models with a stem, and heads that pool, on the device against the CPU: masked tokens with dropout and
// several outputs of a sequence.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/cuda_options.h"
#include "kernels/cuda/runtime.h"
#include "kernels/parallel.h"
#include "lib/model/network/validate_config.h"
#include "tests/cuda/compare_models.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;
using kernels::Precision;

struct StemCase {
  const char* name;
  std::int64_t stride;  // 0: no stem
  HeadType head = HeadType::pretraining;
  const char* pooling = "cls";
  bool spans = false;  // two outputs of a sequence
  double dropout = 0.0;
  bool grad_checkpoint = false;
};

// 8 blocks of 16 tokens, 4 rows of 4 or two of 8, are sparse.
const StemCase stem_cases[] = {
    {.name = "MaskedTokens", .stride = 4, .dropout = 0.1},
    {.name = "Labels", .stride = 8, .head = HeadType::classification, .grad_checkpoint = true},
    {.name = "MiddleOfAStem", .stride = 4, .head = HeadType::classification, .pooling = "middle:20"},
    {.name = "MeanWithoutAStem",
     .stride = 0,
     .head = HeadType::classification,
     .pooling = "mean",
     .dropout = 0.1},
    {.name = "SeveralOutputs",
     .stride = 4,
     .head = HeadType::classification,
     .pooling = "middle:8",
     .spans = true,
     .dropout = 0.1},
};

ModelConfig config_of(const StemCase& of) {
  ModelConfig config = tiny_config();
  if (of.stride > 0) add_stem(config, of.stride);
  config.stem.channels = 24;
  config.hidden_size = 64;
  config.intermediate_size = 96;
  config.rotary_dim = config.position_type == PositionType::rotary ? 32 : 0;
  config.block_size = 16;
  config.max_position_embeddings = 160;
  config.head = of.head;
  config.num_labels = 3;
  config.problem_type = ProblemType::multi_label;
  config.pooling = parse_head_pooling(of.pooling);
  config.hidden_dropout_prob = of.dropout;
  validate(config, of.name);
  return config;
}

Batch batch_of(const StemCase& of, const ModelConfig& config) {
  Batch batch = random_batch(config, {128, 113, 30}, 91);
  if (!of.spans) return batch;
  for (const std::int64_t first : {0, 128, 256}) {
    const auto at = static_cast<std::int32_t>(first);
    batch.output_spans.push_back({at + 1, 10});
    batch.output_spans.push_back({at + 11, 19});
  }
  batch.sequence_targets.resize(6 * 3, 1.0f);
  return batch;
}

struct StemOutcome {
  std::vector<float> logits, gradients;
  double loss = 0.0;
};
StemOutcome outcome(kernels::Backend& backend, const StemCase& of) {
  const ModelConfig config = config_of(of);
  const Batch batch = batch_of(of, config);
  BatchLimits limits = limits_of(batch);
  limits.outputs = batch.outputs();
  Model model(backend, config, limits,
              {.training = true, .grad_checkpoint = of.grad_checkpoint, .head_rows = true});
  model.set_parameters(random_parameters(config, 92));
  StemOutcome got;
  for (int pass = 0; pass < 3; ++pass) {  // the last one from a recording
    ForwardOptions options;
    options.training = true;
    options.dropout_seed = 93;
    const ForwardResult result = model.forward(batch, options);
    const LossScale scale = mean_scale(result);
    got.loss = scaled_loss(result, scale);
    got.logits = model.sequence_logits();
    if (config.has_mlm()) {
      const std::vector<float> masked = model.masked_logits();
      got.logits.insert(got.logits.end(), masked.begin(), masked.end());
    }
    model.zero_gradients();
    model.backward(scale);
  }
  got.gradients = model.host_gradients();
  return got;
}

class CudaStem : public ::testing::TestWithParam<StemCase> {
 protected:
  void SetUp() override {
    std::string why;
    if (kernels::cuda::find_devices(why).empty()) GTEST_SKIP() << "SKIPPED: no CUDA device: " << why;
    kernels::set_thread_count(1);
  }
  void TearDown() override { kernels::set_thread_count(0); }
};

TEST_P(CudaStem, LogitsAndGradientsAreTheCpus) {
  const StemCase& of = GetParam();
  const ModelConfig config = config_of(of);
  const auto cpu = kernels::make_cpu_backend();
  const StemOutcome expected = outcome(*cpu, of);
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    SCOPED_TRACE(kernels::name_of(precision));
    const bool exact = precision == Precision::fp32;
    const auto device = kernels::cuda::make_cuda_backend({.index = 0, .precision = precision});
    const StemOutcome got = outcome(*device, of);
    if (exact) {
      EXPECT_LT(largest_difference(got.logits, expected.logits), 2e-5);
    } else {
      EXPECT_GT(cosine(got.logits, expected.logits), 0.99);
    }
    EXPECT_NEAR(got.loss, expected.loss, (exact ? 2e-5 : 0.03) * expected.loss);
    expect_every_gradient(config, got.gradients, expected.gradients,
                          exact ? fp32_bounds : GradientBounds{0.3, 0.15, 0.1});
  }
}

INSTANTIATE_TEST_SUITE_P(Configurations, CudaStem, ::testing::ValuesIn(stem_cases),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace bigbird
