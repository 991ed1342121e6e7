// Gradients of weights that one product makes are written by it after zero_gradients(), and not cleared
// before: whatever is in their place does not matter, and everything else adds up as it did.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lib/model/network/tensors.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;
using Floats = std::vector<float>;

class FirstGradients : public ::testing::Test {
 protected:
  std::unique_ptr<Model> model_of(const ModelConfig& config, const Batch& batch,
                                  bool grad_checkpoint = false) {
    return make_model(*backend_, config, batch,
                      {.training = true, .grad_checkpoint = grad_checkpoint, .head_rows = true},
                      random_parameters(config, 5));
  }
  void fill(Model& model, float value) {
    const Floats values(static_cast<std::size_t>(model.layout().count()), value);
    backend_->upload(model.gradients(), values.data(), values.size() * sizeof(float));
  }
  static void step(Model& model, const Batch& batch, std::uint64_t dropout_seed = 3) {
    ForwardOptions options;
    options.training = true;
    options.dropout_seed = dropout_seed;
    model.backward(mean_scale(model.forward(batch, options)));
  }
  // Added to the zeros that a model begins with, and after zero_gradients() in the place of NaNs.
  void expect_same(const ModelConfig& config, const Batch& batch, bool grad_checkpoint = false) {
    const auto added = model_of(config, batch, grad_checkpoint);
    step(*added, batch);
    const auto written = model_of(config, batch, grad_checkpoint);
    for (int repeat = 0; repeat < 2; ++repeat) {
      fill(*written, std::numeric_limits<float>::quiet_NaN());
      written->zero_gradients();
      step(*written, batch);
      EXPECT_EQ(written->host_gradients(), added->host_gradients());
    }
  }

  const std::unique_ptr<kernels::Backend> backend_ = kernels::make_cpu_backend();
};

bool all_zero(const Floats& values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return value == 0.0f; });
}

TEST_F(FirstGradients, AreThoseThatAreAddedToZeros) {
  ModelConfig two_norms = tiny_config();
  two_norms.norm_type = NormType::prenorm;
  for (const ModelConfig& config :
       {tiny_config(), two_norms, tiny_decoder_config(), tiny_coupled_config(), tiny_own_decoder_config()}) {
    for (const bool checkpoint : {false, true})
      expect_same(config, random_batch(config, {30, 14}, 7), checkpoint);
  }
}

// Bytes of the layers' weights are left as they are until a product writes them, or someone asks.
TEST_F(FirstGradients, AreNotClearedBefore) {
  ModelConfig config = tiny_config();
  const Batch batch = random_batch(config, {30, 14}, 7);
  const auto model = model_of(config, batch);
  fill(*model, 7.0f);
  float* const there = model->gradients();
  model->zero_gradients();
  const ParameterLayout layout(config);
  ModelTensors places = model_tensors(config, layout, there);
  std::int64_t left = 0, weights = 0;
  for (const LinearTensors* weight : written_once(config, places)) weights += weight->in * weight->out;
  for (std::int64_t i = 0; i < layout.count(); ++i) left += there[i] == 7.0f ? 1 : 0;
  EXPECT_EQ(left, weights);
  EXPECT_EQ(weights, 2 * (4 * 24 * 24 + 2 * 24 * 40));
  EXPECT_TRUE(all_zero(model->host_gradients()));
  EXPECT_TRUE(std::all_of(there, there + layout.count(), [](float value) { return value == 0.0f; }));
  fill(*model, 7.0f);
  model->zero_gradients();
  EXPECT_EQ(model->gradients(), there);
  EXPECT_EQ(std::count(there, there + layout.count(), 0.0f), layout.count());

  // Of weights that are used twice all are cleared.
  config = tiny_coupled_config();
  const Batch pairs = random_batch(config, {30, 14}, 7);
  const auto coupled = model_of(config, pairs);
  ModelTensors shared = model_tensors(config, coupled->layout(), coupled->gradients());
  EXPECT_TRUE(written_once(config, shared).empty());
}

TEST_F(FirstGradients, OnlyTheFirstIsWritten) {
  const ModelConfig config = tiny_config();
  const Batch batch = random_batch(config, {30, 14}, 7);
  const auto model = model_of(config, batch);
  step(*model, batch);
  const Floats once = model->host_gradients();
  step(*model, batch);
  Floats twice = model->host_gradients();
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < once.size(); ++i) {
    difference += std::pow(static_cast<double>(twice[i]) - 2.0 * static_cast<double>(once[i]), 2);
    size += std::pow(static_cast<double>(twice[i]), 2);
  }
  EXPECT_LT(std::sqrt(difference / size), 1e-6);
  model->zero_gradients();
  step(*model, batch);
  EXPECT_EQ(model->host_gradients(), once);
}

// A pass that does not go through all layers: nothing that the head reads, or layers left out.
TEST_F(FirstGradients, OfLayersThatAPassLeavesOutAreZeros) {
  ModelConfig config = tiny_config();
  config.head = HeadType::masked_lm;
  Batch batch = random_batch(config, {30, 14}, 7);
  const auto model = model_of(config, batch);
  batch.masked_rows.clear();
  batch.masked_labels.clear();
  fill(*model, std::numeric_limits<float>::quiet_NaN());
  model->zero_gradients();
  step(*model, batch);
  EXPECT_TRUE(all_zero(model->host_gradients()));

  config = tiny_own_decoder_config();
  config.decoder.encoder_layer_drop = 0.5;
  batch = random_batch(config, {30, 14}, 7);
  const auto added = model_of(config, batch), written = model_of(config, batch);
  int layers_left_out = 0;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    fill(*added, 0.0f);
    step(*added, batch, seed);
    fill(*written, std::numeric_limits<float>::quiet_NaN());
    written->zero_gradients();
    step(*written, batch, seed);
    const Floats gradients = written->host_gradients();
    EXPECT_EQ(gradients, added->host_gradients()) << seed;
    ModelTensors places = model_tensors(config, written->layout(), written->gradients());
    for (const LinearTensors* weight : written_once(config, places)) {
      const auto first = gradients.begin() + (weight->weight - written->gradients());
      layers_left_out += all_zero(Floats(first, first + weight->in * weight->out)) ? 1 : 0;
    }
  }
  EXPECT_GT(layers_left_out, 0);
}

}  // namespace
}  // namespace bigbird
