// Transformer-XL and Compressive Transformer on the device against the CPU: several segments of three
// streams, with dropout at all its places, memories of every length, and passes that are played from
// recordings.
#include <gtest/gtest.h>

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

struct XlCase {
  const char* name;
  RecurrentOptions options;
  double dropout = 0.0;
  std::int64_t head_size = 32;
  AttentionPattern attention = AttentionPattern::transformer_xl;
  CompressiveOptions compressive = {};
};

const XlCase xl_cases[] = {
    {.name = "Plain", .options = {.memory = 24}},
    {.name = "UntiedClampedWithDropout",
     .options = {.memory = 40, .clamp = 30, .untie = true},
     .dropout = 0.1},
    {.name = "SameLength", .options = {.memory = 20, .same_length = true}, .head_size = 24},
    {.name = "CompressedByConv",
     .options = {.memory = 24},
     .dropout = 0.1,
     .attention = AttentionPattern::compressive,
     .compressive = {.compressed = 12, .rate = 2}},
    {.name = "CompressedByDilated",
     .options = {.memory = 16},
     .attention = AttentionPattern::compressive,
     .compressive = {.compressed = 10, .rate = 3, .compression = Compression::dilated}},
    {.name = "CompressedByMean",
     .options = {.memory = 20},
     .head_size = 24,
     .attention = AttentionPattern::compressive,
     .compressive = {.compressed = 8, .rate = 2, .compression = Compression::mean}},
    {.name = "CompressedByMax",
     .options = {.memory = 20},
     .attention = AttentionPattern::compressive,
     .compressive = {.compressed = 8, .rate = 4, .compression = Compression::max}},
};

ModelConfig config_of(const XlCase& of) {
  ModelConfig config = tiny_config();
  config.vocab_size = 40;
  config.block_size = 16;
  config.num_attention_heads = 2;
  config.hidden_size = 2 * of.head_size;
  config.intermediate_size = 96;
  config.head = HeadType::causal_lm;
  config.attention = of.attention;
  config.attention_options.recurrent = of.options;
  if (compresses(config)) config.attention_options.compressive = of.compressive;
  become_recurrent(config);
  config.hidden_dropout_prob = config.attention_probs_dropout_prob = of.dropout;
  validate(config, of.name);
  return config;
}

Batch xl_batch(const ModelConfig& config, int pass) {
  Batch batch = random_batch(config, {33, 7, 20}, 85);
  for (std::int32_t row = 0; row < static_cast<std::int32_t>(batch.tokens()); row += 3) {
    if (batch.ids[static_cast<std::size_t>(row)] == config.pad_token_id) continue;
    batch.masked_rows.push_back(row);
    batch.masked_labels.push_back((7 * row + pass) % 40);
  }
  batch.places = {{2, 0, 1}, {0, pass == 3 ? std::uint8_t{1} : std::uint8_t{0}, 0}};
  return batch;
}

// Compressions whose rows are no larger than others: a softmax over large ones is all or nothing.
std::vector<float> xl_parameters(const ModelConfig& config) {
  std::vector<float> values = random_parameters(config, 82);
  const ParameterLayout layout(config);
  for (const TensorSpec& spec : layout.tensors()) {
    if (spec.name.find("compression") == std::string::npos) continue;
    for (std::int64_t i = 0; i < spec.count; ++i) values[static_cast<std::size_t>(spec.offset + i)] *= 0.25f;
  }
  return values;
}

struct XlOutcome {
  std::vector<float> states, gradients, memory;
  double loss = 0.0;
};
XlOutcome outcome(kernels::Backend& backend, const XlCase& of) {
  const ModelConfig config = config_of(of);
  const auto model =
      make_model(backend, config, xl_batch(config, 0), {.training = true}, xl_parameters(config));
  XlOutcome got;
  for (int pass = 0; pass < 6; ++pass) {  // the last ones from a recording
    const Batch batch = xl_batch(config, pass);
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

class CudaTransformerXl : public ::testing::TestWithParam<XlCase> {
 protected:
  void SetUp() override {
    std::string why;
    if (kernels::cuda::find_devices(why).empty()) GTEST_SKIP() << "SKIPPED: no CUDA device: " << why;
    kernels::set_thread_count(1);
  }
  void TearDown() override { kernels::set_thread_count(0); }
};

TEST_P(CudaTransformerXl, G6StatesGradientsAndMemoryAreTheCpus) {
  const XlCase& of = GetParam();
  const auto cpu = kernels::make_cpu_backend();
  const XlOutcome expected = outcome(*cpu, of);
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    SCOPED_TRACE(kernels::name_of(precision));
    const bool exact = precision == Precision::fp32;
    const auto device = kernels::cuda::make_cuda_backend({.index = 0, .precision = precision});
    if (!exact && learns_compression(config_of(of))) {
      EXPECT_THROW(outcome(*device, of), Error) << "its targets are fp32";
      continue;
    }
    const XlOutcome got = outcome(*device, of);
    if (exact) {
      EXPECT_LT(largest_difference(got.states, expected.states), 2e-5);
      EXPECT_LT(largest_difference(got.memory, expected.memory), 2e-5);
    } else {
      EXPECT_GT(cosine(got.states, expected.states), 0.99);
      EXPECT_GT(cosine(got.memory, expected.memory), 0.99);
    }
    EXPECT_NEAR(got.loss, expected.loss, (exact ? 2e-5 : 0.03) * expected.loss);
    expect_every_gradient(config_of(of), got.gradients, expected.gradients,
                          exact ? GradientBounds{1e-4, 1e-4, 4e-5} : GradientBounds{0.3, 0.15, 0.1});
  }
}

// Before any work: rows are chosen on the host.
TEST(CudaCompressive, G6MostUsedIsRefusedByName) {
  std::string why;
  if (kernels::cuda::find_devices(why).empty()) GTEST_SKIP() << "SKIPPED: no CUDA device: " << why;
  const auto device = kernels::cuda::make_cuda_backend({.index = 0, .precision = Precision::fp32});
  const XlCase of{.name = "MostUsed",
                  .options = {.memory = 20},
                  .attention = AttentionPattern::compressive,
                  .compressive = {.compression = Compression::most_used}};
  try {
    outcome(*device, of);
    ADD_FAILURE() << "computed";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("most-used"), std::string::npos) << error.message();
  }
}

INSTANTIATE_TEST_SUITE_P(Configurations, CudaTransformerXl, ::testing::ValuesIn(xl_cases),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace bigbird
