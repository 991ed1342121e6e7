// The model in fp32 against the reference in double: hidden states, logits, losses and every parameter
// gradient. Errors are the largest difference over the largest magnitude of a tensor.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <ostream>

#include "lib/model/network/validate_config.h"
#include "reference/losses.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

constexpr double forward_tolerance = 1e-5;

struct Case {
  const char* name;
  NormType norm = NormType::postnorm;
  AttentionPattern attention = AttentionPattern::bigbird;
  std::vector<std::int64_t> lengths;
  bool use_bias = true;
  bool rescale = false;
  std::int64_t heads = 2;
  std::optional<EmbeddingNorm> embedding_norm = {};  // else the usual one
  bool final_norm = true;
  Activation activation = Activation::gelu_tanh;
  std::int64_t rotary_dim = 0;  // 0: absolute positions
  AttentionOptions options = {};
  bool gated = false;
  bool feed_forward_bias = true;
  std::optional<Activation> head_activation = {};
  bool token_dropout = false;
};

std::ostream& operator<<(std::ostream& out, const Case& of) {
  return out << of.name;
}

ModelConfig config_of(const Case& of) {
  ModelConfig config = tiny_config();
  config.norm_type = of.norm;
  config.attention = of.attention;
  config.attention_options = of.options;
  config.use_bias = of.use_bias;
  config.rescale_embeddings = of.rescale;
  config.num_attention_heads = of.heads;
  config.embedding_norm = of.embedding_norm.value_or(usual_embedding_norm(of.norm));
  config.final_norm = of.final_norm;
  config.activation = of.activation;
  config.gated_feed_forward = of.gated;
  config.feed_forward_bias = of.feed_forward_bias;
  config.head_activation = of.head_activation;
  config.token_dropout = of.token_dropout;
  if (of.token_dropout) config.mask_token_id = 4;
  if (of.rotary_dim > 0) {
    config.position_type = PositionType::rotary;
    config.rotary_dim = of.rotary_dim;
    config.rotary_base = 100.0;
  }
  validate(config, of.name);
  return config;
}

// Some tokens masked that are no padding, in each sequence another share, for token dropout to see.
Batch with_masks(Batch batch, const ModelConfig& config) {
  for (std::size_t i = 0; config.token_dropout && i < batch.ids.size(); ++i) {
    if (batch.ids[i] != config.pad_token_id && i * i % 7 == 2)
      batch.ids[i] = static_cast<std::int32_t>(config.mask_token_id);
  }
  return batch;
}

class ModelAgainstReference : public ::testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();
};

TEST_P(ModelAgainstReference, PretrainingAgreesInStatesLogitsLossesAndGradients) {
  const ModelConfig config = config_of(GetParam());
  const Batch batch = with_masks(random_batch(config, GetParam().lengths, 3), config);
  const std::vector<float> parameters = random_parameters(config, 4);
  const std::unique_ptr<Model> model = make_model(*backend, config, batch, {.training = true}, parameters);

  reference::PretrainingLabels labels;
  labels.masked.assign(batch.ids.size(), reference::ignored_label);
  for (std::size_t i = 0; i < batch.masked_rows.size(); ++i) {
    labels.masked[static_cast<std::size_t>(batch.masked_rows[i])] = batch.masked_labels[i];
  }
  labels.next_sentence.assign(batch.sequence_labels.begin(), batch.sequence_labels.end());
  const reference::PretrainingResult expected =
      reference::pretraining(reference_config(config), reference_parameters(config, parameters),
                             reference_sequences(config, batch), labels);

  ForwardOptions options;
  std::vector<std::vector<float>> states;
  options.hidden_state = [&](std::int64_t layer, const std::vector<float>& values) {
    ASSERT_EQ(layer, static_cast<std::int64_t>(states.size()));
    states.push_back(values);
  };
  const ForwardResult result = model->forward(batch, options);
  ASSERT_EQ(states.size(), expected.hidden_states.size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    EXPECT_LT(relative_error(states[i].data(), expected.hidden_states[i].values), forward_tolerance)
        << "state " << i;
  }
  EXPECT_LT(relative_error(model->last_hidden_state().data(), expected.last_hidden_state.values),
            forward_tolerance);
  EXPECT_LT(relative_error(model->pooler_output().data(), expected.pooled.values), forward_tolerance);
  EXPECT_LT(relative_error(model->sequence_logits().data(), expected.relationship_logits.values),
            forward_tolerance);
  const std::vector<float> logits = model->masked_logits();
  const std::size_t vocabulary = static_cast<std::size_t>(config.vocab_size);
  ASSERT_EQ(logits.size(), batch.masked_rows.size() * vocabulary);
  std::vector<double> expected_logits;
  for (const std::int32_t row : batch.masked_rows) {
    const double* from =
        expected.prediction_logits.values.data() + static_cast<std::size_t>(row) * vocabulary;
    expected_logits.insert(expected_logits.end(), from, from + vocabulary);
  }
  EXPECT_LT(relative_error(logits.data(), expected_logits), forward_tolerance);
  const LossScale scale = mean_scale(result);
  EXPECT_NEAR(scaled_loss(result, {{scale[Loss::mlm]}}), expected.masked_loss,
              forward_tolerance * expected.masked_loss);
  EXPECT_NEAR(scaled_loss(result, {{0.0f, scale[Loss::sequence]}}), expected.next_sentence_loss,
              forward_tolerance * expected.next_sentence_loss);

  model->backward(scale);
  expect_gradients(*model, expected.gradients);
}

TEST_P(ModelAgainstReference, ClassificationAgreesInLogitsLossAndGradients) {
  ModelConfig config = config_of(GetParam());
  config.head = HeadType::classification;
  config.num_labels = 3;
  const Batch batch = with_masks(random_batch(config, GetParam().lengths, 5), config);
  const std::vector<float> parameters = random_parameters(config, 6);
  const std::unique_ptr<Model> model = make_model(*backend, config, batch, {.training = true}, parameters);

  reference::ClassificationLabels labels;
  labels.classes.assign(batch.sequence_labels.begin(), batch.sequence_labels.end());
  const reference::ClassificationResult expected =
      reference::classification(reference_config(config), reference_parameters(config, parameters),
                                reference_sequences(config, batch), labels);

  const ForwardResult result = model->forward(batch, {});
  EXPECT_LT(relative_error(model->sequence_logits().data(), expected.logits.values), forward_tolerance);
  const LossScale scale = mean_scale(result);
  EXPECT_NEAR(scaled_loss(result, scale), expected.loss, forward_tolerance * expected.loss);
  model->backward(scale);
  expect_gradients(*model, expected.gradients);
}

INSTANTIATE_TEST_SUITE_P(
    Configurations, ModelAgainstReference,
    ::testing::Values(
        Case{.name = "PostNormSparse", .lengths = {48}},
        Case{.name = "PostNormRagged", .lengths = {37, 9, 64, 1, 33}},
        Case{.name = "PostNormFull", .lengths = {10, 27}},
        Case{.name = "PreNormSparse", .norm = NormType::prenorm, .lengths = {45}},
        Case{.name = "PreNormRagged", .norm = NormType::prenorm, .lengths = {40, 5, 61}},
        Case{.name = "WithoutProjectionBias", .lengths = {36, 35}, .use_bias = false},
        Case{.name = "RescaledEmbeddings", .norm = NormType::prenorm, .lengths = {34}, .rescale = true},
        Case{.name = "WindowOnly", .attention = AttentionPattern::window, .lengths = {30, 62}},
        Case{.name = "Performer",
             .attention = AttentionPattern::performer,
             .lengths = {37, 9, 64, 1},
             .options = {.performer = {.features = 30}}},
        Case{.name = "PerformerPreNormRotary",
             .norm = NormType::prenorm,
             .attention = AttentionPattern::performer,
             .lengths = {18, 33},
             .rotary_dim = 8,
             .options = {.performer = {.features = 7}}},
        Case{.name = "PerformerRelu",
             .attention = AttentionPattern::performer,
             .lengths = {21, 5},
             .options = {.performer = {.kernel = FeatureMap::relu}}},
        Case{.name = "PerformerElu",
             .attention = AttentionPattern::performer,
             .lengths = {21, 5},
             .options = {.performer = {.features = 9,
                                       .kernel = FeatureMap::elu,
                                       .projection = FeatureProjection::iid}}},
        Case{.name = "PerformerWaves",
             .attention = AttentionPattern::performer,
             .lengths = {21, 5},
             .options = {.performer = {.features = 64, .kernel = FeatureMap::trigonometric}}},
        Case{.name = "Reformer",
             .norm = NormType::prenorm,
             .attention = AttentionPattern::reformer,
             .lengths = {37, 9, 64, 1, 4},
             .use_bias = false,
             .options = {.reformer = {.chunk = 4, .hashes = 3}}},
        Case{.name = "ReformerReversible",
             .norm = NormType::prenorm,
             .attention = AttentionPattern::reformer,
             .lengths = {37, 9, 64, 1, 4},
             .use_bias = false,
             .options = {.reformer = {.chunk = 4, .hashes = 3, .reversible = true}}},
        Case{.name = "ReformerReversibleRotaryWithoutFinalNorm",
             .norm = NormType::prenorm,
             .attention = AttentionPattern::reformer,
             .lengths = {50, 18},
             .use_bias = false,
             .final_norm = false,
             .rotary_dim = 8,
             .options = {.reformer = {.chunk = 16, .reversible = true}}},
        Case{.name = "ReformerPostNormRotary",
             .attention = AttentionPattern::reformer,
             .lengths = {50, 18},
             .use_bias = false,
             .rotary_dim = 8,
             .options = {.reformer = {.chunk = 7, .hashes = 1, .buckets = {4, 6}}}},
        Case{.name = "Routing",
             .norm = NormType::prenorm,
             .attention = AttentionPattern::routing,
             .lengths = {37, 9, 64, 1, 4},
             .use_bias = false,
             .options = {.routing = {.clusters = 3, .window = 12, .local_window = 5}}},
        Case{.name = "RoutingOfAllHeadsPostNormRotary",
             .attention = AttentionPattern::routing,
             .lengths = {50, 18},
             .rotary_dim = 8,
             .options = {.routing = {.clusters = 4, .window = 30, .local_heads = 0}}},
        Case{.name = "Star", .attention = AttentionPattern::star, .lengths = {37, 9, 64, 1}},
        Case{.name = "BlockBert",
             .attention = AttentionPattern::blockbert,
             .lengths = {37, 9, 64, 1},
             .options = {.blockbert = {3, {1, 1}}, .sparse = {}}},
        Case{.name = "SparseFixed",
             .attention = AttentionPattern::sparse_fixed,
             .lengths = {37, 9, 64, 1},
             .options = {.blockbert = {}, .sparse = {.stride = 12, .summary = 4, .summary_patterns = 2}}},
        Case{.name = "SparseFixedSplitHeads",
             .norm = NormType::prenorm,
             .attention = AttentionPattern::sparse_fixed,
             .lengths = {37, 50},
             .options = {.blockbert = {}, .sparse = {.stride = 16, .heads_as = HeadsAs::split}}},
        Case{.name = "SparseFixedByLayers",
             .attention = AttentionPattern::sparse_fixed,
             .lengths = {37, 50},
             .options = {.blockbert = {}, .sparse = {.stride = 16, .heads_as = HeadsAs::layers}}},
        Case{.name = "OneHead", .lengths = {41}, .heads = 1},
        Case{.name = "ErfGelu", .lengths = {36, 35}, .activation = Activation::gelu_erf},
        Case{.name = "Relu", .lengths = {36, 35}, .activation = Activation::relu},
        Case{.name = "Silu", .lengths = {36, 35}, .activation = Activation::silu},
        // GENA-LM's sparse models: rotary positions over a part of each head (12), LayerNorm at both ends.
        Case{.name = "GenaSparse",
             .norm = NormType::prenorm,
             .lengths = {37, 9, 64, 1, 33},
             .embedding_norm = EmbeddingNorm::before_dropout,
             .activation = Activation::gelu_erf,
             .rotary_dim = 8},
        Case{.name = "RotaryWholeHead", .lengths = {45, 20}, .rotary_dim = 12},
        Case{.name = "PreNormWithoutFinalNorm",
             .norm = NormType::prenorm,
             .lengths = {40, 5},
             .final_norm = false},
        // Nucleotide Transformer's second version, and the same parts in layers of the other form.
        Case{.name = "GatedSilu",
             .norm = NormType::prenorm,
             .lengths = {37, 9, 64, 1},
             .activation = Activation::silu,
             .rotary_dim = 12,
             .gated = true,
             .feed_forward_bias = false,
             .head_activation = Activation::gelu_erf},
        Case{.name = "GatedPostNorm", .lengths = {50, 18}, .activation = Activation::gelu_erf, .gated = true},
        Case{.name = "GatedReversible",
             .norm = NormType::prenorm,
             .attention = AttentionPattern::reformer,
             .lengths = {37, 9},
             .use_bias = false,
             .options = {.reformer = {.chunk = 4, .hashes = 3, .reversible = true}},
             .gated = true},
        Case{.name = "WithoutFeedForwardBias", .lengths = {36, 35}, .feed_forward_bias = false},
        Case{.name = "TokenDropout", .lengths = {37, 9, 64, 1}, .token_dropout = true},
        Case{.name = "TokenDropoutWithoutEmbeddingNorm",
             .norm = NormType::prenorm,
             .lengths = {45, 20},
             .rescale = true,
             .rotary_dim = 12,
             .token_dropout = true},
        Case{.name = "PostNormWithoutEmbeddingNorm", .lengths = {40}, .embedding_norm = EmbeddingNorm::none}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace bigbird
