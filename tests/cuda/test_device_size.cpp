// What runs on a device at the sizes of BigBird-base, which the emulation is too slow for: attention of two
// sequences of 4,096 tokens, forward and backward, and of one of 65,536, and the gradient of every tensor of
// twelve layers; all against the CPU backend in fp32. With BIGBIRD_DEVICE_SIZE_TESTS=small in the
// environment the same tests run small, wherever they run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/runtime.h"
#include "kernels/parallel.h"
#include "lib/model/network/validate_config.h"
#include "tests/cuda/attention_test.h"
#include "tests/cuda/backend_test.h"
#include "tests/cuda/compare_models.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird::kernels::cuda::testing {
namespace {

constexpr double bf16_bound = 5e-3;  // as for small attention

class DeviceSize : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    const std::vector<DeviceInfo> devices = find_devices(why);
    if (devices.empty()) GTEST_SKIP() << "SKIPPED: no CUDA device: " << why;
    const char* const wanted = std::getenv("BIGBIRD_DEVICE_SIZE_TESTS");
    small_ = wanted != nullptr && std::string(wanted) == "small";
    if (devices[0].name == "emulated device" && !small_)
      GTEST_SKIP() << "SKIPPED: at the sizes of a device on a device only (BIGBIRD_DEVICE_SIZE_TESTS=small: "
                      "small, here too)";
  }
  Index sized(Index whole, Index small) const { return small_ ? small : whole; }
  // For who reads the JSON of a run: how far from its bound it was.
  static void note(const std::string& name, double value) {
    std::string digits = std::to_string(value * 1e6);
    RecordProperty(name + "_millionths", digits.substr(0, digits.find('.') + 3));
  }

  bool small_ = false;
};

// About normal, each a sum of four uniform numbers, and exact in bf16. Element i of a seed is always the
// same.
Floats many_numbers(Index count, std::uint64_t seed) {
  Floats values(static_cast<std::size_t>(count));
  constexpr std::size_t part = 1 << 16;
  parallel_for((values.size() + part - 1) / part, [&](std::size_t task) {
    for (std::size_t i = task * part; i < std::min(values.size(), (task + 1) * part); ++i) {
      const Philox4x32 bits = philox4x32(seed, i, 0xde51);
      double sum = 0;
      for (const std::uint32_t word : bits.word) sum += word / 4294967296.0;
      values[i] = to_float(to_bf16(static_cast<float>((sum - 2.0) * std::sqrt(3.0))));
    }
  });
  return values;
}

struct Attention {
  Index sequences, tokens, heads, head_size, block_size;
  PlanLists plan;
  std::vector<Index> offsets{0}, lengths;
  std::vector<const BlockPlanView*> views;
  AttentionBatch batch;

  // The published pattern: random blocks lie among the first 15, or 10 where a row has not 64 blocks.
  Attention(Index sequences_, Index tokens_, Index heads_, Index head_size_, Index block_size_)
      : sequences(sequences_),
        tokens(tokens_),
        heads(heads_),
        head_size(head_size_),
        block_size(block_size_),
        plan(random_plan(heads, tokens / block_size, 7, tokens / block_size == 64 ? 16 : 11)) {
    for (Index s = 0; s < sequences; ++s) {
      offsets.push_back(offsets.back() + tokens);
      lengths.push_back(tokens - 5 * s);  // the second ends within its last block
      views.push_back(&plan.view);
    }
    batch.sequences = sequences;
    batch.heads = heads;
    batch.head_size = head_size;
    batch.block_size = block_size;
    batch.token_offsets = offsets.data();
    batch.lengths = lengths.data();
    batch.plans = views.data();
    batch.scale = 1.0f / std::sqrt(static_cast<float>(head_size));
  }
  Attention(const Attention&) = delete;
  Index rows() const { return sequences * tokens; }
  Index width() const { return heads * head_size; }
};

// The output, and with `training` the gradients of q, k and v.
struct Results {
  Floats out, dq, dk, dv;
};

Results attend(Backend& backend, const Attention& a, bool training) {
  const Index rows = a.rows(), c = a.width(), stride = 3 * c;
  backend.reserve_scratch({1, a.sequences, rows, a.tokens, a.heads, a.head_size, a.block_size, 0, training});
  backend.prepare_attention(a.batch);
  Side side(backend);
  const Values qkv = side.values(many_numbers(rows * stride, 1)), out = side.unset(rows * c);
  const Values log_sum_exp = side.unset(rows * a.heads, true);
  const auto log_rows = static_cast<float*>(log_sum_exp.data());
  const QueryKeyValue inputs{{qkv, stride}, {qkv + c, stride}, {qkv + 2 * c, stride}};
  backend.attention_forward(a.batch, inputs, {out, c}, log_rows);
  Results results{.out = side.read(out, rows * c), .dq = {}, .dk = {}, .dv = {}};
  if (!training) return results;
  const Values dout = side.values(many_numbers(rows * c, 2)), gradients = side.unset(rows * stride);
  backend.attention_backward(a.batch, inputs, {out, c}, log_rows, {dout, c},
                             {{gradients, stride}, {gradients + c, stride}, {gradients + 2 * c, stride}});
  const Floats all = side.read(gradients, rows * stride);
  for (auto row = all.begin(); row != all.end(); row += stride) {
    results.dq.insert(results.dq.end(), row, row + c);
    results.dk.insert(results.dk.end(), row + c, row + 2 * c);
    results.dv.insert(results.dv.end(), row + 2 * c, row + 3 * c);
  }
  return results;
}

std::unique_ptr<Backend> narrow_device(bool deterministic) {
  CudaOptions options;
  options.precision = Precision::bf16;
  options.deterministic = deterministic;
  return make_cuda_backend(options);
}

// || got - expected || / || expected || of each block of rows by itself, the largest of all: the global rows
// average over every key and are too small to count among the others. Blocks that should be zero must be.
double worst_block(const Floats& got, const Floats& expected, Index columns, Index block_size) {
  if (got.size() != expected.size()) return HUGE_VAL;
  const auto part = static_cast<std::size_t>(columns * block_size);
  double worst = 0;
  for (std::size_t begin = 0; begin < got.size(); begin += part) {
    double difference = 0, norm = 0;
    for (std::size_t i = begin; i < std::min(got.size(), begin + part); ++i) {
      const double wanted = static_cast<double>(expected[i]), error = static_cast<double>(got[i]) - wanted;
      difference += error * error;
      norm += wanted * wanted;
    }
    const double error = norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
    if (!(error <= worst)) worst = error;
    if (std::isnan(worst)) return worst;
  }
  return worst;
}

TEST_F(DeviceSize, AttentionForwardAndBackwardEqualTheCpu) {
  const Attention a(2, sized(4096, 208), sized(12, 1), 64, sized(64, 16));
  const Results expected = attend(*make_cpu_backend(), a, true);
  for (const bool deterministic : {true, false}) {
    SCOPED_TRACE(deterministic ? "dq in a pass of its own" : "dq by atomic additions");
    const Results got = attend(*narrow_device(deterministic), a, true);
    const std::pair<const char*, std::pair<const Floats*, const Floats*>> pairs[] = {
        {"out", {&got.out, &expected.out}},
        {"dq", {&got.dq, &expected.dq}},
        {"dk", {&got.dk, &expected.dk}},
        {"dv", {&got.dv, &expected.dv}}};
    for (const auto& [name, both] : pairs) {
      const double error = worst_block(*both.first, *both.second, a.width(), a.block_size);
      EXPECT_LT(error, bf16_bound) << name;
      note(std::string(name) + (deterministic ? "" : "_any_order"), error);
    }
  }
}

TEST_F(DeviceSize, AttentionOfALongSequenceEqualsTheCpu) {
  const Attention a(1, sized(65536, 400), sized(12, 1), 64, sized(64, 16));
  const Results expected = attend(*make_cpu_backend(), a, false);
  const double error =
      worst_block(attend(*narrow_device(true), a, false).out, expected.out, a.width(), a.block_size);
  EXPECT_LT(error, bf16_bound);
  note("out", error);
}

ModelConfig base_config(bool small) {
  ModelConfig config;  // as it stands that of BigBird-base
  config.head = HeadType::pretraining;
  config.vocab_size = 32000;
  config.hidden_dropout_prob = 0.0;
  config.attention_probs_dropout_prob = 0.0;
  if (small) {
    config.vocab_size = 50;
    config.hidden_size = 32;
    config.intermediate_size = 64;
    config.num_attention_heads = 1;
    config.max_position_embeddings = 128;
    config.block_size = 16;
    config.random_mode = RandomMode::hf_train;  // google's takes full attention at this length
  }
  validate(config, "a base model");
  return config;
}

// As training begins, but with biases and LayerNorms moved, so that every term counts. On the CPU, rounding
// these weights to bf16 moves the gradient of no tensor of the whole size by more than 2.0 %, and the biases
// of keys, whose gradients are 0, have at most 5e-8 of the root mean square of all.
Floats base_parameters(const ModelConfig& config) {
  const ParameterLayout layout(config);
  Floats values = initial_parameters(layout, config, 3);
  for (const TensorSpec& spec : layout.tensors()) {
    if (spec.init != Init::ones && spec.init != Init::zeros) continue;
    const Floats moves = many_numbers(spec.count, static_cast<std::uint64_t>(spec.offset));
    for (std::int64_t i = 0; i < spec.count; ++i)
      values[static_cast<std::size_t>(spec.offset + i)] += 0.05f * moves[static_cast<std::size_t>(i)];
  }
  return values;
}

TEST_F(DeviceSize, GradientsOfEveryTensorOfABaseModelEqualTheCpus) {
  using namespace bigbird::testing;
  const ModelConfig config = base_config(small_);
  ASSERT_EQ(config.num_hidden_layers, 12);
  const Batch batch = random_batch(config, {sized(4096, 128)}, 5);
  const Floats parameters = base_parameters(config);
  const auto gradients = [&](Backend& backend, double& loss) {
    const auto model = make_model(backend, config, batch, {.training = true}, parameters);
    ForwardOptions options;
    options.training = true;
    const ForwardResult result = model->forward(batch, options);
    loss = scaled_loss(result, mean_scale(result));
    model->zero_gradients();
    model->backward(mean_scale(result));
    return model->host_gradients();
  };
  double expected_loss = 0;
  const Floats expected = gradients(*make_cpu_backend(), expected_loss);
  const struct {
    Precision precision;
    GradientBounds bounds;
    double loss;
  } cases[] = {{Precision::fp32, fp32_bounds, 2e-5},
               {Precision::tf32, tf32_bounds, 2e-3},
               {Precision::bf16, bf16_bounds, 0.02}};
  for (const auto& of : cases) {
    SCOPED_TRACE(precision_name(of.precision));
    double loss = 0;
    CudaOptions options;
    options.precision = of.precision;
    const Floats got = gradients(*make_cuda_backend(options), loss);
    EXPECT_NEAR(loss, expected_loss, of.loss * expected_loss);
    expect_every_gradient(config, got, expected, of.bounds);
    double worst = 0;
    for (const TensorGradient& tensor : by_tensor(config, got, expected))
      if (tensor.size >= 1e-5) worst = std::max(worst, tensor.error);
    note(precision_name(of.precision), worst);
  }
}

}  // namespace
}  // namespace bigbird::kernels::cuda::testing
