// Whole models on the device: outputs, losses and gradients in fp32 against the CPU backend and reference/,
// bf16 against fp32, calls that are recorded and run again, and a training step. Sizes are tiny, so that the
// emulated device runs them; dropout is on where a case says so, with the same masks on both sides.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/cuda_options.h"
#include "kernels/cuda/runtime.h"
#include "kernels/parallel.h"
#include "lib/core/rng.h"
#include "lib/model/network/validate_config.h"
#include "lib/training/optimizer.h"
#include "tests/cuda/compare_models.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;
using Floats = std::vector<float>;
using kernels::Precision;

struct Case {
  const char* name;
  std::vector<std::int64_t> lengths;
  std::function<void(ModelConfig&)> change = [](ModelConfig&) {};
  double hidden_dropout = 0.0;
  double probability_dropout = 0.0;
  bool grad_checkpoint = false;
  bool token_targets = false;  // question answering: several right starts and ends
};

std::ostream& operator<<(std::ostream& out, const Case& of) {
  return out << of.name;
}

// Two layers of two heads of 32, blocks of 16; sparse from 8 blocks (113 tokens) on.
ModelConfig config_of(const Case& of) {
  ModelConfig config = tiny_config();
  config.vocab_size = 40;
  config.hidden_size = 64;
  config.intermediate_size = 96;
  config.max_position_embeddings = 160;
  config.block_size = 16;
  config.sep_token_id = 4;
  config.num_labels = 3;
  config.hidden_dropout_prob = of.hidden_dropout;
  config.attention_probs_dropout_prob = of.probability_dropout;
  of.change(config);
  validate(config, of.name);
  return config;
}

Batch batch_of(const Case& of, const ModelConfig& config, std::uint64_t seed) {
  Batch batch = random_batch(config, of.lengths, seed);
  if (!of.token_targets) return batch;
  batch.start_positions.clear();
  batch.end_positions.clear();
  batch.token_targets = random_targets(batch, {{"start", true}, {"end", true}}, seed);
  return batch;
}

struct Outcome {
  Floats hidden;
  Floats logits;  // of every kind that the head has
  double loss = 0;
  Floats gradients;  // empty for a model without a head
};

void append(Floats& to, const Floats& more) {
  to.insert(to.end(), more.begin(), more.end());
}

Outcome run(Model& model, const Batch& batch, std::uint64_t dropout_seed) {
  const ModelConfig& config = model.config();
  ForwardOptions options;
  options.training = true;
  options.dropout_seed = dropout_seed;
  const ForwardResult result = model.forward(batch, options);
  Outcome outcome;
  outcome.hidden = model.last_hidden_state();
  if (config.uses_pooler()) append(outcome.logits, model.pooler_output());
  if (config.has_mlm()) append(outcome.logits, model.masked_logits());
  if (config.head == HeadType::pretraining || config.head == HeadType::classification) {
    append(outcome.logits, model.sequence_logits());
  }
  if (config.head == HeadType::question_answering) {
    append(outcome.logits, model.start_logits());
    append(outcome.logits, model.end_logits());
  }
  for (std::size_t score = 0; score < config.token_scores.size(); ++score)
    append(outcome.logits, model.token_logits(score));
  if (config.head == HeadType::structured_answers) append(outcome.logits, model.sequence_logits());
  if (config.has_decoder()) append(outcome.logits, model.target_logits());
  const LossScale scale = mean_scale(result);
  outcome.loss = scaled_loss(result, scale);
  if (config.head == HeadType::encoder) return outcome;
  model.zero_gradients();
  model.backward(scale);
  outcome.gradients = model.host_gradients();
  return outcome;
}

// size 1: weights so large that scores of attention reach tens, and a wrong term is seen at once.
Floats parameters_of(const ModelConfig& config, float size = 1.0f) {
  Floats values = random_parameters(config, 72);
  const ParameterLayout layout(config);
  for (const TensorSpec& spec : layout.tensors()) {
    const float centre = spec.init == Init::ones ? 1.0f : 0.0f;
    for (std::int64_t i = spec.offset; i < spec.offset + spec.count; ++i) {
      float& value = values[static_cast<std::size_t>(i)];
      value = centre + size * (value - centre);
    }
  }
  return values;
}

Outcome run(kernels::Backend& backend, const Case& of, const Floats& parameters) {
  const ModelConfig config = config_of(of);
  const Batch batch = batch_of(of, config, 71);
  const auto model = make_model(backend, config, batch,
                                {.training = true, .grad_checkpoint = of.grad_checkpoint}, parameters);
  return run(*model, batch, 73);
}

class CudaModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (kernels::cuda::find_devices(why).empty()) GTEST_SKIP() << "SKIPPED: no CUDA device: " << why;
    kernels::set_thread_count(1);  // products this small are not worth waking threads for
  }
  void TearDown() override { kernels::set_thread_count(0); }
  static std::unique_ptr<kernels::Backend> cuda(Precision precision) {
    return kernels::cuda::make_cuda_backend({.index = 0, .precision = precision});
  }
  const std::unique_ptr<kernels::Backend> cpu_ = kernels::make_cpu_backend();
};

class CudaModel : public CudaModelTest, public ::testing::WithParamInterface<Case> {};

TEST_P(CudaModel, Fp32EqualsTheCpu) {
  const Floats parameters = parameters_of(config_of(GetParam()));
  const auto backend = cuda(Precision::fp32);
  const Outcome got = run(*backend, GetParam(), parameters), expected = run(*cpu_, GetParam(), parameters);
  EXPECT_LT(largest_difference(got.hidden, expected.hidden), 2e-5);
  EXPECT_LT(largest_difference(got.logits, expected.logits), 2e-5);
  EXPECT_NEAR(got.loss, expected.loss, 2e-5 * expected.loss);
  if (expected.gradients.empty()) return;  // no head, no loss
  expect_every_gradient(config_of(GetParam()), got.gradients, expected.gradients, fp32_bounds);
}

TEST_P(CudaModel, Tf32IsCloseToTheCpu) {
  const Floats parameters = parameters_of(config_of(GetParam()), 0.5f);
  const auto backend = cuda(Precision::tf32);
  const Outcome got = run(*backend, GetParam(), parameters), expected = run(*cpu_, GetParam(), parameters);
  EXPECT_LT(largest_difference(got.hidden, expected.hidden), 1e-2);
  EXPECT_NEAR(got.loss, expected.loss, 2e-3 * expected.loss);
  if (expected.gradients.empty()) return;
  expect_every_gradient(config_of(GetParam()), got.gradients, expected.gradients, tf32_bounds);
}

TEST_P(CudaModel, Bf16PointsWhereFp32Does) {
  const Floats parameters = parameters_of(config_of(GetParam()), 0.5f);
  const auto backend = cuda(Precision::bf16);
  const Outcome got = run(*backend, GetParam(), parameters), expected = run(*cpu_, GetParam(), parameters);
  EXPECT_GT(cosine(got.hidden, expected.hidden), 0.999);
  EXPECT_GT(cosine(got.logits, expected.logits), 0.999);
  EXPECT_NEAR(got.loss, expected.loss, 0.02 * expected.loss);
  if (expected.gradients.empty()) return;
  EXPECT_GT(cosine(got.gradients, expected.gradients), 0.999);
  expect_every_gradient(config_of(GetParam()), got.gradients, expected.gradients, bf16_bounds);
}

const std::vector<Case>& cases() {
  const auto head = [](HeadType type, ProblemType problem = ProblemType::single_label) {
    return [=](ModelConfig& config) {
      config.head = type;
      config.problem_type = problem;
    };
  };
  const auto decoder = [](ModelConfig& config) {
    add_decoder(config);
    config.decoder.num_hidden_layers = 2;
    config.decoder.num_attention_heads = 1;
  };
  static const std::vector<Case> all{
      {.name = "Pretraining", .lengths = {128}, .hidden_dropout = 0.1},
      // Short sequences take full attention, where probabilities are dropped: the batch is cut into runs.
      {.name = "RaggedInRuns", .lengths = {20, 120, 9}, .hidden_dropout = 0.1, .probability_dropout = 0.2},
      {.name = "FullAttention",
       .lengths = {60, 33},
       .change = [](ModelConfig& config) { config.attention = AttentionPattern::full; },
       .hidden_dropout = 0.1,
       .probability_dropout = 0.2},
      {.name = "WindowOneHeadNoBias",
       .lengths = {75},
       .change =
           [](ModelConfig& config) {
             config.attention = AttentionPattern::window;
             config.num_attention_heads = 1;
             config.hidden_size = 32;
             config.use_bias = false;
           }},
      {.name = "Checkpointed", .lengths = {118}, .hidden_dropout = 0.1, .grad_checkpoint = true},
      {.name = "PreNorm",
       .lengths = {40, 21},
       .change =
           [](ModelConfig& config) {
             config.norm_type = NormType::prenorm;
             config.rescale_embeddings = true;
           },
       .hidden_dropout = 0.1},
      // GENA-LM's sparse models: rotary positions over a part of each head, LayerNorm at both ends.
      {.name = "RotaryErf",
       .lengths = {113},
       .change =
           [](ModelConfig& config) {
             config.norm_type = NormType::prenorm;
             config.embedding_norm = EmbeddingNorm::before_dropout;
             config.activation = Activation::gelu_erf;
             config.position_type = PositionType::rotary;
             config.rotary_dim = 16;
             config.rotary_base = 100.0;
           },
       .hidden_dropout = 0.1},
      // Rows of 4 tokens: 8 blocks of 4 rows are 128 tokens.
      {.name = "StemAndMaskedTokens",
       .lengths = {128, 113, 30},
       .change =
           [](ModelConfig& config) {
             add_stem(config, 4);
             config.head = HeadType::pretraining;
           },
       .hidden_dropout = 0.1},
      {.name = "StemAndLabels",
       .lengths = {30, 50},
       .change =
           [=](ModelConfig& config) {
             add_stem(config, 8);
             head(HeadType::classification, ProblemType::multi_label)(config);
           },
       .grad_checkpoint = true},
      {.name = "EncoderAlone", .lengths = {30, 50}, .change = head(HeadType::encoder)},
      {.name = "MaskedTokens", .lengths = {40}, .change = head(HeadType::masked_lm)},
      {.name = "Classification",
       .lengths = {30, 50},
       .change = head(HeadType::classification),
       .hidden_dropout = 0.1},
      {.name = "MultiLabel",
       .lengths = {30, 50},
       .change =
           [=](ModelConfig& config) {
             head(HeadType::classification, ProblemType::multi_label)(config);
             config.positive_weight = 8.0;
           }},
      {.name = "Regression",
       .lengths = {30, 50},
       .change = head(HeadType::classification, ProblemType::regression)},
      {.name = "Questions",
       .lengths = {64, 37},
       .change = head(HeadType::question_answering),
       .hidden_dropout = 0.1},
      {.name = "SeveralRightPositions",
       .lengths = {64, 37},
       .change = head(HeadType::question_answering),
       .hidden_dropout = 0.1,
       .token_targets = true},
      {.name = "AnswersInParts",
       .lengths = {64, 37},
       .change =
           [](ModelConfig& config) {
             config.head = HeadType::structured_answers;
             add_answer_scores(config);
           },
       .hidden_dropout = 0.1},
      // BigBird-Pegasus: the decoder has other heads than the encoder; no types, no biases of attention.
      {.name = "Decoder",
       .lengths = {113, 30},
       .change = decoder,
       .hidden_dropout = 0.1,
       .probability_dropout = 0.1},
      {.name = "DecoderCheckpointed",
       .lengths = {70},
       .change = decoder,
       .hidden_dropout = 0.1,
       .grad_checkpoint = true},
      // The published code's coupled model: one set of weights for both stacks, post-LN.
      {.name = "CoupledDecoder",
       .lengths = {113, 30},
       .change =
           [](ModelConfig& config) {
             config.type_vocab_size = 0;
             config.head = HeadType::generation;
             config.decoder = {.num_hidden_layers = config.num_hidden_layers,
                               .num_attention_heads = config.num_attention_heads,
                               .intermediate_size = config.intermediate_size,
                               .coupled = true};
           },
       .hidden_dropout = 0.1,
       .probability_dropout = 0.1},
  };
  return all;
}

INSTANTIATE_TEST_SUITE_P(Configurations, CudaModel, ::testing::ValuesIn(cases()),
                         [](const auto& test) { return std::string(test.param.name); });

// Buffers are shared between layers, logits are floats, labels are missing and so may be masked tokens.
TEST_F(CudaModelTest, InferenceEqualsTheCpus) {
  for (const char* name :
       {"RaggedInRuns", "RotaryErf", "Questions", "AnswersInParts", "Decoder", "CoupledDecoder"}) {
    const auto of = std::find_if(cases().begin(), cases().end(),
                                 [&](const Case& known) { return known.name == std::string(name); });
    ASSERT_NE(of, cases().end());
    const ModelConfig config = config_of(*of);
    Batch batch = random_batch(config, of->lengths, 77);
    const BatchLimits limits = limits_of(batch);
    batch.masked_labels.clear();
    batch.sequence_labels.clear();
    batch.start_positions.clear();
    batch.end_positions.clear();
    batch.token_targets.clear();
    batch.targets.labels.clear();
    Batch unmasked = batch;
    unmasked.masked_rows.clear();
    const auto outcome = [&](kernels::Backend& backend, const Batch& given) {
      Model model(backend, config, limits, {});
      model.set_parameters(parameters_of(config, 0.5f));
      EXPECT_EQ(model.forward(given, {})[Loss::mlm].count, 0);
      Outcome got{.hidden = model.last_hidden_state(), .logits = {}, .loss = 0, .gradients = {}};
      if (config.has_mlm()) append(got.logits, model.masked_logits());
      if (config.head == HeadType::question_answering) append(got.logits, model.start_logits());
      if (config.head == HeadType::structured_answers) append(got.logits, model.token_logits(1));
      if (config.has_decoder()) append(got.logits, model.target_logits());
      return got;
    };
    for (const Batch* given : {&batch, &unmasked}) {
      const Outcome expected = outcome(*cpu_, *given);
      const Outcome exact = outcome(*cuda(Precision::fp32), *given);
      EXPECT_LT(largest_difference(exact.hidden, expected.hidden), 2e-5) << name;
      EXPECT_LT(largest_difference(exact.logits, expected.logits), 2e-5) << name;
      const Outcome narrow = outcome(*cuda(Precision::bf16), *given);
      EXPECT_GT(cosine(narrow.hidden, expected.hidden), 0.999) << name;
      EXPECT_EQ(narrow.logits.size(), expected.logits.size());
      if (expected.logits.empty()) continue;
      EXPECT_GT(cosine(narrow.logits, expected.logits), 0.999) << name;
    }
  }
}

// What `bigbird attribute` reads: no loss is asked for, and the gradient of the logits comes from the host.
TEST_F(CudaModelTest, GradientsAtTheEmbeddingsEqualTheCpus) {
  const auto of = std::find_if(cases().begin(), cases().end(),
                               [](const Case& known) { return known.name == std::string("MultiLabel"); });
  ASSERT_NE(of, cases().end());
  const ModelConfig config = config_of(*of);
  const Floats parameters = parameters_of(config, 0.5f);
  Batch batch = random_batch(config, of->lengths, 78);
  const auto gradients = [&](kernels::Backend& backend) {
    const auto model = make_model(backend, config, batch, {.training = true}, parameters);
    Batch unlabelled = batch;
    unlabelled.sequence_targets.clear();
    model->forward(unlabelled, {});
    return model->input_gradients({0, 1, -0.5f, 2, 0, 0});  // [2 sequences, 3 labels]
  };
  const Floats expected = gradients(*cpu_);
  EXPECT_LT(relative_norm(gradients(*cuda(Precision::fp32)), expected), 1e-4);
  EXPECT_GT(cosine(gradients(*cuda(Precision::bf16)), expected), 0.999);
}

// Integrated gradients move the vectors of the tokens; work that was recorded for a batch that does is none
// for one that does not.
TEST_F(CudaModelTest, OffsetsOfEmbeddingsEqualTheCpus) {
  const auto of = std::find_if(cases().begin(), cases().end(),
                               [](const Case& known) { return known.name == std::string("MultiLabel"); });
  ASSERT_NE(of, cases().end());
  const ModelConfig config = config_of(*of);
  const Floats parameters = parameters_of(config, 0.5f);
  Batch plain = random_batch(config, of->lengths, 79);
  plain.sequence_targets.clear();
  Batch moved = plain;
  CounterRng rng(80, Purpose::test, 0);
  for (std::int64_t i = 0; i < plain.tokens() * config.hidden_size; ++i)
    moved.embedding_offsets.push_back(static_cast<float>(rng.uniform() - 0.5));
  const auto gradients = [&](kernels::Backend& backend) {
    const auto model =
        make_model(backend, config, plain, {.training = true, .embedding_offsets = true}, parameters);
    std::vector<Floats> each;
    for (const Batch* batch : {&plain, &moved, &plain, &moved, &plain, &moved}) {
      model->forward(*batch, {});
      each.push_back(model->input_gradients({0, 1, -0.5f, 2, 0, 0}));
    }
    return each;
  };
  const std::vector<Floats> expected = gradients(*cpu_), exact = gradients(*cuda(Precision::fp32)),
                            narrow = gradients(*cuda(Precision::bf16));
  EXPECT_LT(cosine(expected[0], expected[1]), 0.99);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_LT(relative_norm(exact[i], expected[i]), 1e-4) << i;
    EXPECT_GT(cosine(narrow[i], expected[i]), 0.999) << i;
  }
}

TEST_F(CudaModelTest, Fp32EqualsTheReferenceInDouble) {
  const Case sparse{.name = "Reference", .lengths = {128, 37}};
  const ModelConfig config = config_of(sparse);
  const Batch batch = random_batch(config, sparse.lengths, 75);
  const Floats parameters = random_parameters(config, 76);
  reference::PretrainingLabels labels;
  labels.masked.assign(batch.ids.size(), -100);
  for (std::size_t i = 0; i < batch.masked_rows.size(); ++i) {
    labels.masked[static_cast<std::size_t>(batch.masked_rows[i])] = batch.masked_labels[i];
  }
  labels.next_sentence.assign(batch.sequence_labels.begin(), batch.sequence_labels.end());
  const reference::PretrainingResult expected =
      reference::pretraining(reference_config(config), reference_parameters(config, parameters),
                             reference_sequences(config, batch), labels);
  const auto backend = cuda(Precision::fp32);
  const auto model = make_model(*backend, config, batch, {.training = true}, parameters);
  const ForwardResult result = model->forward(batch, {});
  EXPECT_LT(relative_error(model->last_hidden_state().data(), expected.last_hidden_state.values), 2e-5);
  EXPECT_LT(relative_error(model->pooler_output().data(), expected.pooled.values), 2e-5);
  EXPECT_LT(relative_error(model->sequence_logits().data(), expected.relationship_logits.values), 2e-5);
  EXPECT_NEAR(scaled_loss(result, mean_scale(result)), expected.loss, 2e-5 * expected.loss);
  model->backward(mean_scale(result));
  expect_gradients(*model, expected.gradients);
}

// What differs between the two batches is all that may differ under one key: ids, labels, masked positions
// and their number, lengths within the same padding, the dropout seed.
TEST_F(CudaModelTest, RecordedCallsGiveWhatCallsThatWereNeverRecordedGive) {
  const Case pretraining{.name = "Repeat",
                         .lengths = {125, 20},
                         .change = [](ModelConfig& config) { config.num_hidden_layers = 1; },
                         .hidden_dropout = 0.1,
                         .probability_dropout = 0.1};
  const ModelConfig config = config_of(pretraining);
  const Batch batches[] = {random_batch(config, {125, 20}, 81), random_batch(config, {114, 29}, 82)};
  ASSERT_NE(batches[0].masked_rows.size(), batches[1].masked_rows.size());
  ASSERT_EQ(batches[0].token_offsets, batches[1].token_offsets);
  BatchLimits limits = limits_of(batches[0]);
  limits.masked_tokens = 64;
  const Floats parameters = random_parameters(config, 83);
  std::vector<Outcome> expected;  // of models that met one batch only
  for (std::uint64_t i = 0; i < 2; ++i) {
    const auto backend = cuda(Precision::bf16);
    Model model(*backend, config, limits, {.training = true});
    model.set_parameters(parameters);
    expected.push_back(run(model, batches[i], i));
  }
  const auto backend = cuda(Precision::bf16);
  Model model(*backend, config, limits, {.training = true});
  model.set_parameters(parameters);
  for (const std::uint64_t i : {0u, 1u, 0u, 1u}) {
    const Outcome got = run(model, batches[i], i);
    EXPECT_EQ(got.hidden, expected[i].hidden);
    EXPECT_EQ(got.logits, expected[i].logits);
    EXPECT_EQ(got.loss, expected[i].loss);
    EXPECT_EQ(got.gradients, expected[i].gradients);
  }
  // Forward and backward of the last two rounds.
  EXPECT_GE(dynamic_cast<kernels::cuda::CudaBackend&>(*backend).replays(), 4u);
}

// The same with the rows of groups, how many and which are right.
TEST_F(CudaModelTest, RecordedCallsTakeTheGroupsOfEachBatch) {
  const Case parts{.name = "Groups", .lengths = {30, 20}, .change = [](ModelConfig& config) {
                     config.num_hidden_layers = 1;
                     config.head = HeadType::structured_answers;
                     add_answer_scores(config);
                   }};
  const ModelConfig config = config_of(parts);
  const Batch batches[] = {random_batch(config, {30, 20}, 84), random_batch(config, {25, 29}, 85)};
  ASSERT_NE(batches[0].token_targets[1].rows.size(), batches[1].token_targets[1].rows.size());
  const auto backend = cuda(Precision::fp32);
  const auto model =
      make_model(*backend, config, batches[0], {.training = true}, random_parameters(config, 86));
  const auto other = make_model(*cpu_, config, batches[0], {.training = true}, random_parameters(config, 86));
  for (const std::uint64_t i : {0u, 1u, 0u, 1u}) {
    const Outcome got = run(*model, batches[i], i), expected = run(*other, batches[i], i);
    EXPECT_NEAR(got.loss, expected.loss, 2e-5 * expected.loss);
    EXPECT_LT(relative_norm(got.gradients, expected.gradients), 1e-4);
  }
  EXPECT_GE(dynamic_cast<kernels::cuda::CudaBackend&>(*backend).replays(), 4u);
}

// Forward of one model, forward of another, backward of the first.
TEST_F(CudaModelTest, ModelsOfOneBackendDoNotMeet) {
  const Case pretraining{.name = "Two", .lengths = {100, 30}};
  const ModelConfig config = config_of(pretraining);
  const Batch batch = random_batch(config, {100, 30}, 87), other_batch = random_batch(config, {30, 100}, 88);
  const Floats parameters = random_parameters(config, 89);
  const auto backend = cuda(Precision::fp32);
  const ModelOptions training{.training = true, .grad_checkpoint = false};
  const auto model = make_model(*backend, config, batch, training, parameters);
  const auto gradients = [&](const std::function<void()>& between) {
    const ForwardResult result = model->forward(batch, {});
    between();
    model->zero_gradients();
    model->backward(mean_scale(result));
    return model->host_gradients();
  };
  const Floats alone = gradients([] {});
  const auto other = make_model(*backend, config, other_batch, training, random_parameters(config, 90));
  for (int call = 0; call < 3; ++call) {  // the third is played from recordings
    EXPECT_EQ(gradients([&] { other->forward(other_batch, {}); }), alone);
  }
}

TEST_F(CudaModelTest, StatesOnTheWayAreThoseOfACallThatIsNotWatched) {
  const Case pretraining{.name = "States", .lengths = {40, 20}};
  const ModelConfig config = config_of(pretraining);
  const Batch batch = random_batch(config, pretraining.lengths, 85);
  const auto backend = cuda(Precision::bf16);
  const auto model = make_model(*backend, config, batch, {}, random_parameters(config, 86));
  std::vector<Floats> states;
  ForwardOptions watched;
  watched.hidden_state = [&](std::int64_t, const Floats& values) { states.push_back(values); };
  for (int call = 0; call < 3; ++call) {
    states.clear();
    model->forward(batch, watched);
    ASSERT_EQ(states.size(), 3u);
    model->forward(batch, {});
    EXPECT_EQ(states.back(), model->last_hidden_state());
  }
}

// Parameters after two updates of the whole step: forward, backward, clipping, optimizer.
Floats train(kernels::Backend& backend, const ModelConfig& config, const Batch& batch,
             const Floats& parameters, OptimizerVariant variant, std::vector<double>& norms) {
  const auto model = make_model(backend, config, batch, {.training = true}, parameters);
  OptimizerOptions options;
  options.variant = variant;
  options.clip_norm = 0.5;
  Optimizer optimizer(backend, model->layout(), options);
  for (std::uint64_t update = 1; update <= 2; ++update) {
    ForwardOptions forward;
    forward.training = true;
    forward.dropout_seed = update;
    const ForwardResult result = model->forward(batch, forward);
    model->zero_gradients();
    model->backward(mean_scale(result));
    norms.push_back(optimizer.update(model->parameters(), model->gradients(), 1e-3, update));
  }
  return model->host_parameters();
}

TEST_F(CudaModelTest, TrainingStepsEqualTheCpus) {
  const Case pretraining{.name = "Step", .lengths = {60}, .hidden_dropout = 0.1};
  const ModelConfig config = config_of(pretraining);
  const Batch batch = random_batch(config, pretraining.lengths, 91);
  const Floats before = random_parameters(config, 92);
  const auto backend = cuda(Precision::fp32);
  for (const auto variant : {OptimizerVariant::google, OptimizerVariant::adafactor, OptimizerVariant::lamb}) {
    SCOPED_TRACE(name_of(variant));
    std::vector<double> norms, cpu_norms;
    Floats got = train(*backend, config, batch, before, variant, norms);
    Floats expected = train(*cpu_, config, batch, before, variant, cpu_norms);
    for (std::size_t i = 0; i < norms.size(); ++i) EXPECT_NEAR(norms[i], cpu_norms[i], 1e-4 * cpu_norms[i]);
    for (std::size_t i = 0; i < before.size(); ++i) {
      got[i] -= before[i];
      expected[i] -= before[i];
    }
    // A key bias has no gradient but rounding, which Adafactor makes as large as any.
    for (const ParameterLayout layout(config); const TensorSpec& tensor : layout.tensors()) {
      const std::int64_t count = tensor.name.ends_with("key.bias") ? tensor.count : 0;
      for (Floats* all : {&got, &expected}) std::fill_n(all->begin() + tensor.offset, count, 0.0f);
    }
    EXPECT_GT(dot(expected, expected), 0.0);
    EXPECT_LT(relative_norm(got, expected), 1e-3);
  }
}

TEST_F(CudaModelTest, WorkingWeightsFollowEveryWriterOfTheParameters) {
  const Case pretraining{.name = "Working", .lengths = {40}};
  const ModelConfig config = config_of(pretraining);
  const Batch batch = random_batch(config, pretraining.lengths, 95);
  const auto backend = cuda(Precision::bf16);
  const auto model = make_model(*backend, config, batch, {.training = true}, random_parameters(config, 96));
  const Floats untrained = run(*model, batch, 0).hidden;
  Optimizer optimizer(*backend, model->layout(), {});
  optimizer.update(model->parameters(), model->gradients(), 1e-2, 1);
  const Floats trained = run(*model, batch, 0).hidden;
  EXPECT_NE(untrained, trained);
  const auto other = make_model(*backend, config, batch, {.training = true}, model->host_parameters());
  EXPECT_EQ(run(*other, batch, 0).hidden, trained);
}

TEST_F(CudaModelTest, ThePlanNamesTheWorkingWeights) {
  const ModelConfig config = config_of({.name = "Plan", .lengths = {}});
  const BatchLimits limits{128, 2, 20, 128};
  const std::size_t parameters = static_cast<std::size_t>(ParameterLayout(config).count());
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    const auto backend = cuda(precision);
    std::size_t working = 0;
    for (const MemoryRow& row : plan_model_memory(config, limits, {.training = true}, *backend)) {
      if (row.what == "working weights (bf16)") working += row.bytes;
    }
    if (precision == Precision::fp32) {
      EXPECT_EQ(working, 0u);
    } else {
      EXPECT_GE(working, 2 * parameters);
      EXPECT_LT(working, 2 * parameters + 256);
    }
  }
}

}  // namespace
}  // namespace bigbird
