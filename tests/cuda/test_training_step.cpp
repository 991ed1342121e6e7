// What a training step leaves out on a device, and that it changes no number: operations are counted by a
// backend that watches its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/cuda_options.h"
#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "tests/cuda/compare_models.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;
using Floats = std::vector<float>;
using kernels::Precision;

class WatchedBackend final : public kernels::cuda::CudaBackend {
 public:
  explicit WatchedBackend(Precision precision)
      : CudaBackend(kernels::CudaOptions{.index = 0, .precision = precision}) {}

  void activation_forward(kernels::ConstValues pre, kernels::Values y, kernels::Index count,
                          kernels::Activation activation) override {
    ++activations;
    CudaBackend::activation_forward(pre, y, count, activation);
  }

  void cross_entropy(const kernels::ConstMatrix& logits, const kernels::ClassLabels& labels, float* losses,
                     std::int32_t* predictions, const kernels::LossGradient& gradient) override {
    ++cross_entropies;
    CudaBackend::cross_entropy(logits, labels, losses, predictions, gradient);
  }
  void upload(void* device, const void* host, std::size_t bytes) override {
    if (!gathering) ++single_uploads;
    CudaBackend::upload(device, host, bytes);
  }
  void gather_uploads() override {
    gathering = true;
    CudaBackend::gather_uploads();
  }
  void bring_uploads() override {
    gathering = false;
    ++journeys;
    CudaBackend::bring_uploads();
  }
  void download(void* host, const void* device, std::size_t bytes) override {
    calls += 'r';
    CudaBackend::download(host, device, bytes);
  }
  void replay(std::uint64_t key, const std::function<void()>& work) override {
    calls += 'w';
    CudaBackend::replay(key, work);
  }

  void embedding_backward(kernels::ConstValues dy, const kernels::EmbeddingIndices& indices,
                          const kernels::EmbeddingTables& tables,
                          const kernels::EmbeddingGradients& gradients) override {
    const auto sorted = [&](const std::int32_t* keys, const std::int32_t* order) {
      if (order == nullptr) return false;
      const auto count = static_cast<std::size_t>(indices.tokens);
      std::vector<std::int32_t> key(count), given(count), expected(count);
      CudaBackend::download(key.data(), keys, count * sizeof key[0]);
      CudaBackend::download(given.data(), order, count * sizeof given[0]);
      std::iota(expected.begin(), expected.end(), 0);
      std::stable_sort(expected.begin(), expected.end(), [&](std::int32_t a, std::int32_t b) {
        const auto of = [&](std::int32_t token) {
          return static_cast<std::uint32_t>(key[static_cast<std::size_t>(token)]);  // negative ones last
        };
        return of(a) < of(b);
      });
      return given == expected;
    };
    if (watches_orders) {
      orders += sorted(indices.ids, indices.id_order);
      orders += gradients.type != nullptr && sorted(indices.types, indices.type_order);
      orders += gradients.position != nullptr && sorted(indices.positions, indices.position_order);
    }
    CudaBackend::embedding_backward(dy, indices, tables, gradients);
  }

  bool watches_orders = false;
  int orders = 0;  // that came with the tokens and are right
  int activations = 0, cross_entropies = 0;
  int single_uploads = 0, journeys = 0;
  bool gathering = false;
  std::string calls;  // of work (w) and what is read back (r)
};

// Two layers of two heads of 32, blocks of 16.
ModelConfig small_config() {
  ModelConfig config = tiny_config();
  config.vocab_size = 40;
  config.hidden_size = 64;
  config.intermediate_size = 96;
  config.max_position_embeddings = 160;
  config.block_size = 16;
  config.sep_token_id = 4;
  config.hidden_dropout_prob = 0.1;
  return config;
}

class TrainingStep : public ::testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    std::string why;
    if (kernels::cuda::find_devices(why).empty()) GTEST_SKIP() << "SKIPPED: no CUDA device: " << why;
    kernels::set_thread_count(1);
    backend_ = std::make_unique<WatchedBackend>(GetParam());
  }
  void TearDown() override { kernels::set_thread_count(0); }
  bool narrow() const { return GetParam() == Precision::bf16; }

  static Floats parameters_of(const ModelConfig& config) {
    Floats values = random_parameters(config, 72);
    const ParameterLayout layout(config);
    for (const TensorSpec& spec : layout.tensors()) {
      const float centre = spec.init == Init::ones ? 1.0f : 0.0f;
      for (std::int64_t i = spec.offset; i < spec.offset + spec.count; ++i) {
        float& value = values[static_cast<std::size_t>(i)];
        value = centre + 0.5f * (value - centre);
      }
    }
    return values;
  }

  std::unique_ptr<WatchedBackend> backend_;
};

INSTANTIATE_TEST_SUITE_P(Precisions, TrainingStep, ::testing::Values(Precision::fp32, Precision::bf16),
                         [](const auto& test) { return std::string(name_of(test.param)); });

// Forward and backward; the gradients.
Floats gradients_of(Model& model, const Batch& batch, int passes = 1) {
  ForwardOptions options;
  options.training = true;
  for (int pass = 0; pass < passes; ++pass) {
    options.dropout_seed = 73 + static_cast<std::uint64_t>(pass);
    model.zero_gradients();
    model.backward(mean_scale(model.forward(batch, options)));
  }
  return model.host_gradients();
}

std::vector<ModelConfig> stacks() {
  ModelConfig two_norms = small_config();
  two_norms.norm_type = NormType::prenorm;
  ModelConfig writer = small_config();
  add_decoder(writer);
  writer.decoder.num_hidden_layers = 2;
  writer.decoder.num_attention_heads = 1;
  writer.decoder.intermediate_size = 96;
  return {small_config(), two_norms, writer};
}

// bf16: the product with gelu behind it takes gelu of what it has not rounded yet, gelu made again is of what
// was rounded. So the one gradient that reads it differs by a rounding of bf16; everything else is the same
// bits, and in fp32 everything.
TEST_P(TrainingStep, WhatGeluGivesIsKeptAndNotMadeAgain) {
  for (const ModelConfig& config : stacks()) {
    SCOPED_TRACE(name_of(config.head));
    SCOPED_TRACE(config.norm_type == NormType::prenorm ? "pre-LN" : "post-LN");
    const Batch batch = random_batch(config, {70, 40}, 71);
    const Floats parameters = parameters_of(config);
    const auto run = [&](bool keep, int& activations) {
      const auto model =
          make_model(*backend_, config, batch, {.training = true, .keep_activated = keep, .head_rows = true},
                     parameters);
      backend_->activations = 0;
      const Floats gradients = gradients_of(*model, batch);
      activations = backend_->activations;
      return gradients;
    };
    int again = 0, kept = 0;
    const Floats expected = run(false, again), got = run(true, kept);
    const int layers = static_cast<int>(config.num_hidden_layers +
                                        (config.has_decoder() ? config.decoder.num_hidden_layers : 0));
    EXPECT_EQ(again - kept, layers);
    int reads = 0;
    const ParameterLayout layout(config);
    for (const TensorSpec& spec : layout.tensors()) {
      const Floats a(got.begin() + spec.offset, got.begin() + spec.offset + spec.count),
          b(expected.begin() + spec.offset, expected.begin() + spec.offset + spec.count);
      const bool reads_gelu =
          spec.name.ends_with(".output.dense.weight") && spec.name.find("attention") == std::string::npos;
      if (narrow() && reads_gelu) {
        EXPECT_LT(relative_norm(a, b), 1e-2) << spec.name;
        EXPECT_NE(a, b) << spec.name << ": gelu of numbers that were rounded";
        ++reads;
      } else {
        EXPECT_EQ(a, b) << spec.name;
      }
    }
    EXPECT_EQ(reads, narrow() ? layers : 0);
  }
}

TEST_P(TrainingStep, CheckpointedLayersKeepNothingMore) {
  const ModelConfig config = small_config();
  const BatchLimits limits{160, 2, 20, 160};
  const auto rows = [&](bool keep) {
    return plan_model_memory(config, limits,
                             {.training = true, .grad_checkpoint = true, .keep_activated = keep}, *backend_);
  };
  const std::vector<MemoryRow> with = rows(true), without = rows(false);
  ASSERT_EQ(with.size(), without.size());
  for (std::size_t i = 0; i < with.size(); ++i) EXPECT_EQ(with[i].bytes, without[i].bytes) << with[i].what;
}

// The orders that gradients of embeddings are summed in come with the batch, made ahead of it or not, with
// the pad token last and the last block's padding at the last position.
TEST_P(TrainingStep, OrdersOfEmbeddingGradientsComeWithTheBatch) {
  for (const ModelConfig& config : stacks()) {
    const Batch batch = random_batch(config, {70, 40, 90}, 71);
    const auto model = make_model(*backend_, config, batch, {.training = true}, parameters_of(config));
    backend_->watches_orders = true;
    backend_->orders = 0;
    const Floats expected = gradients_of(*model, batch);
    EXPECT_EQ(backend_->orders, config.has_decoder() ? 4 : 3);  // the decoder and its encoder have no types
    backend_->watches_orders = false;
    Batch ready = batch;
    model->make_ready(ready);
    EXPECT_EQ(ready.row_orders.size(), 3 * batch.ids.size());
    EXPECT_EQ(gradients_of(*model, ready), expected);
    // Three sequences have a first position: summed the other way round.
    const auto places = ready.row_orders.begin() + static_cast<std::ptrdiff_t>(2 * batch.ids.size());
    std::reverse(places, places + 3);
    if (!narrow()) {  // three numbers in bf16 have an exact sum
      EXPECT_NE(gradients_of(*model, ready), expected) << "is not read";
    }
    ready.row_orders.pop_back();
    EXPECT_THROW(gradients_of(*model, ready), Error);
  }
}

// Weights' gradients of the first backward pass after zero_gradients() are written over what is there.
TEST_P(TrainingStep, FirstGradientsAreWritten) {
  for (const ModelConfig& config : stacks()) {
    const Batch batch = random_batch(config, {70, 40}, 71);
    const auto added = make_model(*backend_, config, batch, {.training = true}, parameters_of(config));
    ForwardOptions options;
    options.training = true;
    options.dropout_seed = 73;
    added->backward(mean_scale(added->forward(batch, options)));
    const auto model = make_model(*backend_, config, batch, {.training = true}, parameters_of(config));
    const Floats nothing(static_cast<std::size_t>(model->layout().count()), std::nanf(""));
    for (int repeat = 0; repeat < 3; ++repeat) {  // as it is, recorded, played
      backend_->upload(model->gradients(), nothing.data(), nothing.size() * sizeof(float));
      EXPECT_EQ(gradients_of(*model, batch), added->host_gradients());
    }
  }
}

struct Step {
  ForwardResult result;
  Floats gradients;
};
bool operator==(const LossTerm& a, const LossTerm& b) {
  return a.sum == b.sum && a.count == b.count && a.correct == b.correct;
}

// With the scale known before, the losses of masked tokens and their gradient are one pass over the logits,
// all that the batch brings travels at once, and nothing is read before the backward pass is on its way. A
// recording of either way is not taken for the other's.
TEST_P(TrainingStep, AKnownScaleTakesLossesOnceAndWaitsForNothing) {
  for (const HeadType head : {HeadType::pretraining, HeadType::masked_lm}) {
    ModelConfig config = small_config();
    config.head = head;
    const Batch batch = random_batch(config, {70, 40, 90}, 71);
    const auto model =
        make_model(*backend_, config, batch, {.training = true, .head_rows = true}, parameters_of(config));
    const LossScale scale = scale_of_means(label_counts(batch, config));
    const auto step = [&](bool known) {
      ForwardOptions options;
      options.training = true;
      options.dropout_seed = 73;
      backend_->cross_entropies = backend_->single_uploads = backend_->journeys = 0;
      backend_->calls.clear();
      Step made;
      model->zero_gradients();
      if (known) options.scale = scale;
      made.result = known ? model->forward_backward(batch, options) : model->forward(batch, options);
      if (!known) model->backward(scale);
      if (known) {
        EXPECT_EQ(backend_->calls.substr(0, 2), "ww");
        EXPECT_EQ(backend_->single_uploads, 0);
        EXPECT_EQ(backend_->journeys, 1);
        EXPECT_THROW(model->masked_logits(), Error);
      } else {
        EXPECT_EQ(backend_->calls.substr(0, 2), "wr");
      }
      made.gradients = model->host_gradients();
      return made;
    };
    const int once = head == HeadType::pretraining ? 3 : 1;  // next sentence: twice
    for (int repeat = 0; repeat < 3; ++repeat) {             // as it is, recorded, played
      const Step expected = step(false);
      const int before = backend_->cross_entropies;
      const Step got = step(true);
      if (repeat == 0) {
        EXPECT_EQ(before, once + 1);
        EXPECT_EQ(backend_->cross_entropies, once);
      }
      EXPECT_EQ(got.gradients, expected.gradients);
      EXPECT_EQ(got.result.mlm_losses, expected.result.mlm_losses);
      for (std::size_t loss = 0; loss < loss_kinds.size(); ++loss)
        EXPECT_TRUE(got.result.all[loss] == expected.result.all[loss]) << loss_kinds[loss].name;
      EXPECT_GT(got.result[Loss::mlm].count, 0);
    }
    ForwardOptions options;
    options.training = true;
    EXPECT_THROW(model->forward_backward(batch, options), Error);
    options.scale = scale;
    model->forward(batch, options);
    LossScale other = scale;
    other[Loss::mlm] *= 2;
    EXPECT_THROW(model->backward(other), Error);
  }
}

}  // namespace
}  // namespace bigbird
