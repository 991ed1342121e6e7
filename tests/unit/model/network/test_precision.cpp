// A model on a bf16 backend, its outputs and its gradients: close to fp32, and as independent of threads and
// of the rest of the batch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <tuple>

#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/model/network/memory.h"
#include "lib/model_folder/open_model.h"
#include "tests/cuda/compare_models.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

// Blocks of 32 and heads of 16, so that attention takes the tile unit where there is one.
ModelConfig wider_config() {
  ModelConfig config = tiny_config();
  config.hidden_size = 64;
  config.num_attention_heads = 4;
  config.intermediate_size = 128;
  config.block_size = 32;
  config.max_position_embeddings = 512;
  config.random_mode = RandomMode::hf_eval;
  return config;
}

std::vector<float> last_states(kernels::Precision precision, const ModelConfig& config, const Batch& batch) {
  const auto backend = kernels::make_cpu_backend(precision);
  const auto model =
      make_model(*backend, config, batch, {}, initial_parameters(ParameterLayout(config), config, 3));
  model->forward(batch, {});
  return model->last_hidden_state();
}

class ModelPrecision : public ::testing::Test {
 protected:
  void TearDown() override { kernels::set_thread_count(0); }
  const ModelConfig config = wider_config();
  const Batch batch = random_batch(config, {400, 33, 97}, 7);
};

// Scores of a variant are told apart by less than bf16 keeps of a pooled row: the head of first tokens is
// taken in fp32 of whatever state the layers left.
TEST_F(ModelPrecision, HeadsOfFirstTokensAreTakenInFp32) {
  ModelConfig of_classes = config;
  of_classes.head = HeadType::classification;
  of_classes.num_labels = 3;
  const ParameterLayout layout(of_classes);
  const std::vector<float> parameters = random_parameters(of_classes, 5);
  const auto backend = kernels::make_cpu_backend(kernels::Precision::bf16);
  const auto model = make_model(*backend, of_classes, batch, {}, parameters);
  model->forward(batch, {});
  const std::vector<float> states = model->last_hidden_state(), logits = model->sequence_logits();
  const auto width = static_cast<std::size_t>(of_classes.hidden_size);
  // The sum over `in` of a layer's output, in double.
  const auto output = [&](const std::string& name, std::size_t row, const std::vector<double>& in) {
    const float* const weight =
        parameters.data() + layout.offset(name + ".weight") + static_cast<std::ptrdiff_t>(row * in.size());
    double sum =
        static_cast<double>(parameters[static_cast<std::size_t>(layout.offset(name + ".bias")) + row]);
    for (std::size_t i = 0; i < in.size(); ++i) sum += static_cast<double>(weight[i]) * in[i];
    return sum;
  };
  double largest = 0.0, worst = 0.0;
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    const float* const first = states.data() + static_cast<std::size_t>(batch.token_offsets[s]) * width;
    const std::vector<double> state(first, first + width);
    std::vector<double> inner;
    for (std::size_t row = 0; row < width; ++row) {
      const double x = output("classifier.dense", row, state);
      inner.push_back(0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x))));
    }
    for (std::size_t label = 0; label < 3; ++label) {
      const double expected = output("classifier.out_proj", label, inner);
      largest = std::max(largest, std::abs(expected));
      worst = std::max(worst, std::abs(static_cast<double>(logits[s * 3 + label]) - expected));
    }
  }
  EXPECT_LT(worst, 2e-6 * largest);
}

TEST_F(ModelPrecision, StatesOfEveryTokenPointTheSameWayInBothPrecisions) {
  const std::vector<float> exact = last_states(kernels::Precision::fp32, config, batch);
  const std::vector<float> rounded = last_states(kernels::Precision::bf16, config, batch);
  const std::size_t width = static_cast<std::size_t>(config.hidden_size);
  double largest = 0.0;
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    for (std::int64_t t = 0; t < batch.lengths[s]; ++t) {
      const std::size_t row = static_cast<std::size_t>(batch.token_offsets[s] + t) * width;
      double product = 0.0, a = 0.0, b = 0.0;
      for (std::size_t i = row; i < row + width; ++i) {
        const double x = static_cast<double>(exact[i]), y = static_cast<double>(rounded[i]);
        product += x * y;
        a += x * x;
        b += y * y;
        largest = std::max(largest, std::abs(x - y));
      }
      ASSERT_GE(product / std::sqrt(a * b), 0.999) << "sequence " << s << ", token " << t;
    }
  }
  EXPECT_GT(largest, 1e-5) << "nothing was rounded";
}

TEST_F(ModelPrecision, Bf16StatesDependNeitherOnThreadsNorOnTheRestOfTheBatch) {
  kernels::set_thread_count(2);
  const std::vector<float> together = last_states(kernels::Precision::bf16, config, batch);
  kernels::set_thread_count(1);
  Batch alone;
  const auto first = batch.ids.begin() + batch.token_offsets[1];
  const auto first_type = batch.types.begin() + batch.token_offsets[1];
  alone.append({first, first + batch.lengths[1]}, {first_type, first_type + batch.lengths[1]},
               config.block_size, static_cast<std::int32_t>(config.pad_token_id));
  const std::vector<float> single = last_states(kernels::Precision::bf16, config, alone);
  const float* const beside = together.data() + batch.token_offsets[1] * config.hidden_size;
  EXPECT_EQ(std::memcmp(single.data(), beside,
                        static_cast<std::size_t>(batch.lengths[1] * config.hidden_size) * sizeof(float)),
            0);
}

TEST_F(ModelPrecision, PackedWeightsGiveTheSameStatesAndTakeTheFloatsPlace) {
  for (const kernels::Precision precision : {kernels::Precision::fp32, kernels::Precision::bf16}) {
    const auto backend = kernels::make_cpu_backend(precision);
    const std::vector<float> parameters = initial_parameters(ParameterLayout(config), config, 3);
    const auto limits = [&](const ModelConfig&) { return limits_of(batch); };
    const auto model = open_model(config, parameters, {*backend, limits});
    model->forward(batch, {});
    EXPECT_EQ(model->last_hidden_state(), last_states(precision, config, batch));
    if (model->packed_bytes() == 0) {
      EXPECT_EQ(model->host_parameters(), parameters);
      continue;
    }
    EXPECT_EQ(precision, kernels::Precision::bf16);
    EXPECT_THROW(model->host_parameters(), Error);
    EXPECT_THROW(model->parameters_to_read(), Error);
    EXPECT_THROW(model->set_parameters(parameters), Error);
    EXPECT_TRUE(
        model->packs(*ParameterLayout(config).find("bert.encoder.layer.1.attention.self.key.weight")));
    EXPECT_FALSE(model->packs(*ParameterLayout(config).find("bert.encoder.layer.1.attention.self.key.bias")));
  }
}

TEST_F(ModelPrecision, ThePlanOfPackedWeightsLeavesTheirFloatsOut) {
  const auto backend = kernels::make_cpu_backend(kernels::Precision::bf16);
  const auto model =
      make_model(*backend, config, batch, {}, initial_parameters(ParameterLayout(config), config, 3));
  const std::vector<MemoryRow> rows = plan_model_memory(config, limits_of(batch), {}, *backend);
  const auto bytes_of = [&](const std::string& what) {
    std::size_t bytes = 0;
    for (const MemoryRow& row : rows) bytes += row.what == what ? row.bytes : 0;
    return bytes;
  };
  EXPECT_EQ(bytes_of("packed weights"), model->packed_bytes());
  if (model->packed_bytes() == 0) GTEST_SKIP() << "nothing is packed here";
  const std::size_t all = static_cast<std::size_t>(ParameterLayout(config).count()) * sizeof(float);
  EXPECT_LT(bytes_of("parameters"), all - model->packed_bytes());
  EXPECT_GT(bytes_of("parameters"), all - 3 * model->packed_bytes());
}

// A step's gradients with dropout, whose masks are the same in both precisions.
std::vector<float> gradients(kernels::Precision precision, const ModelConfig& config, const Batch& batch,
                             const ModelOptions& options) {
  std::vector<float> parameters = random_parameters(config, 5);
  const ParameterLayout layout(config);
  for (const TensorSpec& spec : layout.tensors()) {  // so small that no score of attention reaches tens
    const float centre = spec.init == Init::ones ? 1.0f : 0.0f;
    for (std::int64_t i = spec.offset; i < spec.offset + spec.count; ++i) {
      float& value = parameters[static_cast<std::size_t>(i)];
      value = centre + 0.5f * (value - centre);
    }
  }
  const auto backend = kernels::make_cpu_backend(precision);
  const auto model = make_model(*backend, config, batch, options, parameters);
  const ForwardOptions forward{.training = true, .dropout_seed = 9, .hidden_state = {}};
  model->backward(mean_scale(model->forward(batch, forward)));
  return model->host_gradients();
}

class GradientPrecision : public ModelPrecision,
                          public ::testing::WithParamInterface<std::tuple<HeadType, NormType>> {
 protected:
  ModelConfig config_of() const {
    ModelConfig of = config;
    of.head = std::get<0>(GetParam());
    of.norm_type = std::get<1>(GetParam());
    of.embedding_norm = usual_embedding_norm(of.norm_type);
    if (of.norm_type == NormType::prenorm) {  // as GENA-LM's larger models
      of.embedding_norm = EmbeddingNorm::before_dropout;
      of.activation = Activation::gelu_erf;
      of.position_type = PositionType::rotary;
      of.rotary_dim = 8;
    }
    of.random_mode = RandomMode::hf_train;
    of.num_labels = 3;
    of.hidden_dropout_prob = 0.1;
    of.attention_probs_dropout_prob = 0.1;
    add_answer_scores(of);
    return of;
  }
};

TEST_P(GradientPrecision, EveryTensorsGradientPointsWhereThatOfFp32Does) {
  const ModelConfig of = config_of();
  const Batch labelled = random_batch(of, {400, 33, 97}, 8);
  const std::vector<float> exact = gradients(kernels::Precision::fp32, of, labelled, {.training = true});
  const std::vector<float> rounded = gradients(kernels::Precision::bf16, of, labelled, {.training = true});
  EXPECT_GT(cosine(rounded, exact), 0.999);
  EXPECT_GT(relative_norm(rounded, exact), 1e-4) << "nothing was rounded";
  expect_every_gradient(of, rounded, exact, bf16_bounds);
}

// Recomputed or kept, at the rows alone that the head reads or at all, and on any number of threads.
TEST_P(GradientPrecision, DependsOnNothingButTheNumbers) {
  const ModelConfig of = config_of();
  const Batch labelled = random_batch(of, {400, 33, 97}, 8);
  for (const bool head_rows : {false, true}) {
    const ModelOptions kept{.training = true, .head_rows = head_rows};
    kernels::set_thread_count(1);
    const std::vector<float> expected = gradients(kernels::Precision::bf16, of, labelled, kept);
    ModelOptions again = kept;
    again.grad_checkpoint = true;
    kernels::set_thread_count(3);
    EXPECT_EQ(gradients(kernels::Precision::bf16, of, labelled, again), expected) << head_rows;
  }
}

INSTANTIATE_TEST_SUITE_P(All, GradientPrecision,
                         ::testing::Combine(::testing::Values(HeadType::pretraining, HeadType::classification,
                                                              HeadType::question_answering,
                                                              HeadType::structured_answers),
                                            ::testing::Values(NormType::postnorm, NormType::prenorm)),
                         [](const auto& test) {
                           std::string name = name_of(std::get<0>(test.param));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name + (std::get<1>(test.param) == NormType::postnorm ? "_PostNorm"
                                                                                        : "_PreNormRotary");
                         });

TEST_F(ModelPrecision, TheGradientsOfADecoderPointWhereThoseOfFp32Do) {
  const ModelConfig of = tiny_decoder_config();
  const Batch labelled = random_batch(of, {45, 12, 30}, 10);
  const std::vector<float> exact = gradients(kernels::Precision::fp32, of, labelled, {.training = true});
  const std::vector<float> rounded = gradients(kernels::Precision::bf16, of, labelled, {.training = true});
  EXPECT_GT(cosine(rounded, exact), 0.999);
  expect_every_gradient(of, rounded, exact, bf16_bounds);
}

}  // namespace
}  // namespace bigbird
