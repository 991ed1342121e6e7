// BigBird-ETC on the device against the CPU: every form of sharing, masks of every kind, dropout, and the
// loss of predicted sentences.
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
#include "tests/unit/model/network/two_inputs_fixture.h"

namespace bigbird {
namespace {

using namespace testing;
using kernels::Precision;

struct TwoInputsCase {
  const char* name;
  EtcProjections projections = EtcProjections::separate;
  bool shared_output = false, shared_feed_forward = true;
  Given given = {};
  bool hard_g2l = false, hard_l2g = false;
  double dropout = 0.0;
  bool cpc = false;
  std::int64_t head_size = 32;
};

const TwoInputsCase two_inputs_cases[] = {
    {.name = "Separate", .given = {.segments = true, .parts = true}},
    {.name = "ByQueryHard",
     .projections = EtcProjections::by_query,
     .shared_output = true,
     .given = {.examples = true, .free = true},
     .hard_g2l = true,
     .hard_l2g = true},
    {.name = "SharedWithDropout",
     .projections = EtcProjections::shared,
     .shared_feed_forward = false,
     .dropout = 0.1},
    {.name = "SentencesWithDropout", .hard_g2l = true, .dropout = 0.1, .cpc = true, .head_size = 24},
};

ModelConfig config_of(const TwoInputsCase& of) {
  ModelConfig config = two_inputs_config(0);
  config.head = HeadType::masked_lm;
  config.token_scores.clear();
  config.num_labels = 2;
  config.block_size = 16;
  config.num_attention_heads = 2;
  config.hidden_size = 2 * of.head_size;
  config.intermediate_size = 96;
  config.hidden_dropout_prob = config.attention_probs_dropout_prob = of.dropout;
  config.max_position_embeddings = 160;
  EtcOptions& options = config.attention_options.etc;
  options.radius = 20;
  options.projections = of.projections;
  options.shared_output = of.shared_output;
  options.shared_feed_forward = of.shared_feed_forward;
  options.hard_g2l = of.hard_g2l;
  options.hard_l2g = of.hard_l2g;
  options.cpc = of.cpc;
  validate(config, of.name);
  return config;
}

Batch batch_of(const TwoInputsCase& of, const ModelConfig& config) {
  Batch batch;
  for (const auto& [longs, globals] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{120, 9}, {20, 3}, {3, 1}})
    batch.append(random_inputs(config, longs, globals, of.given, 7), config.block_size, 0);
  for (const std::int64_t row : {1, 40, 77, 119, 130, 145}) {
    batch.masked_rows.push_back(static_cast<std::int32_t>(row));
    batch.masked_labels.push_back(static_cast<std::int32_t>(1 + row % 30));
  }
  if (of.cpc) batch.sentence_pairs = {{0, 3, 5}, {16, 17, 32}, {0, 1, 2}};
  return batch;
}

struct TwoInputsOutcome {
  std::vector<float> longs, globals, gradients;
  double loss = 0.0;
};
TwoInputsOutcome outcome(kernels::Backend& backend, const TwoInputsCase& of) {
  const ModelConfig config = config_of(of);
  const Batch batch = batch_of(of, config);
  const auto model = make_model(backend, config, batch, {.training = true}, random_parameters(config, 82));
  TwoInputsOutcome got;
  for (int pass = 0; pass < 3; ++pass) {  // the last one from a recording
    ForwardOptions options;
    options.training = true;
    options.dropout_seed = 83;
    const ForwardResult result = model->forward(batch, options);
    const LossScale scale = mean_scale(result);
    got.loss = scaled_loss(result, scale);
    got.longs = model->last_hidden_state();
    got.globals = model->global_hidden_state();
    model->zero_gradients();
    model->backward(scale);
  }
  got.gradients = model->host_gradients();
  return got;
}

class CudaTwoInputs : public ::testing::TestWithParam<TwoInputsCase> {
 protected:
  void SetUp() override {
    std::string why;
    if (kernels::cuda::find_devices(why).empty()) GTEST_SKIP() << "SKIPPED: no CUDA device: " << why;
    kernels::set_thread_count(1);
  }
  void TearDown() override { kernels::set_thread_count(0); }
};

// Padding of the two inputs is not compared: a device computes what nobody reads there.
std::vector<float> real_rows(const std::vector<float>& all, const std::vector<std::int64_t>& offsets,
                             const std::vector<std::int64_t>& lengths, std::int64_t width) {
  std::vector<float> rows;
  for (std::size_t s = 0; s < lengths.size(); ++s)
    rows.insert(rows.end(), all.begin() + offsets[s] * width,
                all.begin() + (offsets[s] + lengths[s]) * width);
  return rows;
}

// Check 12 with dropout: the same masks forward and backward, on both.
TEST_P(CudaTwoInputs, Check12StatesAndGradientsAreTheCpus) {
  const TwoInputsCase& of = GetParam();
  const ModelConfig config = config_of(of);
  const Batch batch = batch_of(of, config);
  const auto cpu = kernels::make_cpu_backend();
  const TwoInputsOutcome expected = outcome(*cpu, of);
  const auto longs = [&](const TwoInputsOutcome& from) {
    return real_rows(from.longs, batch.token_offsets, batch.lengths, config.hidden_size);
  };
  const auto globals = [&](const TwoInputsOutcome& from) {
    return real_rows(from.globals, batch.globals.token_offsets, batch.globals.lengths, config.hidden_size);
  };
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    SCOPED_TRACE(kernels::name_of(precision));
    const bool exact = precision == Precision::fp32;
    const auto device = kernels::cuda::make_cuda_backend({.index = 0, .precision = precision});
    const TwoInputsOutcome got = outcome(*device, of);
    if (exact) {
      EXPECT_LT(largest_difference(longs(got), longs(expected)), 2e-5);
      EXPECT_LT(largest_difference(globals(got), globals(expected)), 2e-5);
    } else {
      EXPECT_GT(cosine(longs(got), longs(expected)), 0.99);
      EXPECT_GT(cosine(globals(got), globals(expected)), 0.99);
    }
    EXPECT_NEAR(got.loss, expected.loss, (exact ? 2e-5 : 0.03) * expected.loss);
    expect_every_gradient(config, got.gradients, expected.gradients,
                          exact ? GradientBounds{1e-4, 1e-4, 4e-5} : GradientBounds{0.3, 0.15, 0.1});
  }
}

INSTANTIATE_TEST_SUITE_P(Configurations, CudaTwoInputs, ::testing::ValuesIn(two_inputs_cases),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace bigbird
