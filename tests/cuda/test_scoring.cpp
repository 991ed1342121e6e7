// What scoring and training ask of a model on the device beside its numbers: that another thread may run it,
// and that the plan of its memory says which numbers it holds.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/cuda_options.h"
#include "kernels/cuda/runtime.h"
#include "kernels/parallel.h"
#include "lib/model/network/validate_config.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;
using kernels::Precision;

// Two layers of two heads of 32, blocks of 16.
ModelConfig scoring_config() {
  ModelConfig config = tiny_config();
  config.hidden_size = 64;
  config.intermediate_size = 96;
  config.max_position_embeddings = 160;
  config.block_size = 16;
  validate(config, "the test's model");
  return config;
}

class CudaScoring : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (kernels::cuda::find_devices(why).empty()) GTEST_SKIP() << "SKIPPED: no CUDA device: " << why;
    kernels::set_thread_count(1);
  }
  void TearDown() override { kernels::set_thread_count(0); }
  static std::unique_ptr<kernels::Backend> cuda(Precision precision) {
    return kernels::cuda::make_cuda_backend({.index = 0, .precision = precision});
  }
};

// The caller prepares, another thread runs, and from the third time of a shape on plays its recording.
TEST_F(CudaScoring, AThreadThatEntersRunsTheModel) {
  const ModelConfig config = scoring_config();
  const Batch batch = random_batch(config, {40, 128}, 97);
  const auto backend = cuda(Precision::bf16);
  const auto model = make_model(*backend, config, batch, {}, random_parameters(config, 98));
  model->forward(batch, {});
  const std::vector<float> expected = model->last_hidden_state();
  std::vector<std::vector<float>> got;
  std::thread([&] {
    backend->enter_thread();
    for (int i = 0; i < 3; ++i) {
      model->forward(batch, {});
      got.push_back(model->last_hidden_state());
    }
  }).join();
  for (const std::vector<float>& hidden : got) EXPECT_EQ(hidden, expected);
  model->forward(batch, {});
  EXPECT_EQ(model->last_hidden_state(), expected);
}

TEST_F(CudaScoring, ThePlanSaysWhatBf16Changes) {
  const ModelConfig config = scoring_config();
  const BatchLimits limits{128, 2, 20, 128};
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    const bool in_bf16 = precision == Precision::bf16;
    int seen = 0;
    for (const MemoryRow& row : plan_model_memory(config, limits, {.training = true}, *cuda(precision))) {
      std::string expected;
      if (row.what.starts_with("activations of ")) expected = in_bf16 ? "bf16, fp32" : "fp32";  // statistics
      if (row.what.starts_with("logits of ") || row.what == "backward workspace")
        expected = in_bf16 ? "bf16" : "fp32";
      if (row.what == "working weights (bf16)") expected = "bf16";
      if (row.what == "parameters" || row.what == "gradients") expected = "fp32";
      if (expected.empty()) continue;
      EXPECT_EQ(row.number_types(), expected) << row.what;
      ++seen;
    }
    EXPECT_EQ(seen, in_bf16 ? 6 : 5);
  }
}

}  // namespace
}  // namespace bigbird
