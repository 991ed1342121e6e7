// What a model promises beside its numbers: dropout and its gradient, recomputation, ragged batches, threads,
// refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

// Sequences short enough for full attention beside long ones, so that every dropout site is met.
const std::vector<std::int64_t> mixed_lengths{12, 45, 20, 7, 64};

// gena: pre-LN with BERT's LayerNorm of the embeddings, rotary positions and gelu in its erf form. coupled: a
// post-LN encoder that is its own decoder.
enum class Body { postnorm, prenorm, gena, coupled };

ModelConfig dropout_config(Body body, HeadType head) {
  ModelConfig config = head == HeadType::generation ? tiny_decoder_config() : tiny_config();
  if (body == Body::coupled) config = tiny_coupled_config();
  config.norm_type = body == Body::postnorm || body == Body::coupled ? NormType::postnorm : NormType::prenorm;
  config.embedding_norm = usual_embedding_norm(config.norm_type);
  if (body == Body::gena) {
    config.embedding_norm = EmbeddingNorm::before_dropout;
    config.activation = Activation::gelu_erf;
    config.position_type = PositionType::rotary;
    config.rotary_dim = 8;
  }
  config.head = head;
  config.num_labels = 3;
  if (head == HeadType::structured_answers) add_answer_scores(config);
  config.hidden_dropout_prob = 0.1;
  config.attention_probs_dropout_prob = 0.2;
  config.classifier_dropout = 0.3;
  return config;
}

struct ThreadCount {
  explicit ThreadCount(int count) { kernels::set_thread_count(count); }
  ~ThreadCount() { kernels::set_thread_count(0); }
};

class ModelBehaviour : public ::testing::Test {
 protected:
  std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();

  // Gradients of one step with dropout.
  std::vector<float> step(const ModelConfig& config, const Batch& batch, const ModelOptions& options,
                          const ForwardOptions& forward) {
    const auto model = make_model(*backend, config, batch, options, random_parameters(config, 11));
    model->backward(mean_scale(model->forward(batch, forward)));
    return model->host_gradients();
  }
};

class EveryBodyAndHead : public ModelBehaviour,
                         public ::testing::WithParamInterface<std::tuple<Body, HeadType>> {
 protected:
  ModelConfig config() const { return dropout_config(std::get<0>(GetParam()), std::get<1>(GetParam())); }
};

// Along its own direction the gradient's derivative is its norm: one number that every mask and every tensor
// goes into.
TEST_P(EveryBodyAndHead, GradientWithDropoutIsTheDerivativeOfTheForwardWithTheSameSeed) {
  const Batch batch = random_batch(config(), mixed_lengths, 21);
  const std::vector<float> parameters = random_parameters(config(), 22);
  const auto model = make_model(*backend, config(), batch, {.training = true}, parameters);
  const ForwardOptions options{.training = true, .dropout_seed = 5, .hidden_state = {}};
  const ForwardResult result = model->forward(batch, options);
  const LossScale scale = mean_scale(result);
  model->backward(scale);
  const std::vector<float> gradient = model->host_gradients();
  double squares = 0.0;
  for (const float value : gradient) squares += static_cast<double>(value) * static_cast<double>(value);
  const double norm = std::sqrt(squares);
  ASSERT_GT(norm, 0.1);

  const auto loss_at = [&](double step) {
    std::vector<float> moved = parameters;
    for (std::size_t i = 0; i < moved.size(); ++i) {
      moved[i] =
          static_cast<float>(static_cast<double>(moved[i]) + step * static_cast<double>(gradient[i]) / norm);
    }
    model->set_parameters(moved);
    return scaled_loss(model->forward(batch, options), scale);
  };
  const double step = 4e-3;
  const double near = loss_at(step) - loss_at(-step), far = loss_at(2 * step) - loss_at(-2 * step);
  EXPECT_NEAR((8 * near - far) / (12 * step) / norm, 1.0, 2e-3);
}

TEST_P(EveryBodyAndHead, RecomputationGivesTheSameGradientsBitForBit) {
  const Batch batch = random_batch(config(), mixed_lengths, 23);
  const ForwardOptions options{.training = true, .dropout_seed = 6, .hidden_state = {}};
  EXPECT_EQ(step(config(), batch, {.training = true, .grad_checkpoint = true}, options),
            step(config(), batch, {.training = true}, options));
}

TEST_P(EveryBodyAndHead, NumberOfThreadsDoesNotChangeAnyBit) {
  const Batch batch = random_batch(config(), mixed_lengths, 24);
  const ForwardOptions options{.training = true, .dropout_seed = 7, .hidden_state = {}};
  std::vector<std::vector<float>> gradients;
  for (const int threads : {1, 2, 3}) {
    const ThreadCount use(threads);
    gradients.push_back(step(config(), batch, {.training = true}, options));
  }
  EXPECT_EQ(gradients[0], gradients[1]);
  EXPECT_EQ(gradients[0], gradients[2]);
}

std::string body_and_head(const ::testing::TestParamInfo<std::tuple<Body, HeadType>>& test) {
  const Body body = std::get<0>(test.param);
  std::string head = name_of(std::get<1>(test.param));
  std::replace(head.begin(), head.end(), '-', '_');
  return (body == Body::postnorm  ? "PostNorm_"
          : body == Body::prenorm ? "PreNorm_"
          : body == Body::coupled ? "Coupled_"
                                  : "Gena_") +
         head;
}

INSTANTIATE_TEST_SUITE_P(All, EveryBodyAndHead,
                         ::testing::Combine(::testing::Values(Body::postnorm, Body::prenorm, Body::gena),
                                            ::testing::Values(HeadType::pretraining, HeadType::classification,
                                                              HeadType::question_answering,
                                                              HeadType::structured_answers)),
                         body_and_head);
// A decoder has a table of positions.
INSTANTIATE_TEST_SUITE_P(Decoder, EveryBodyAndHead,
                         ::testing::Combine(::testing::Values(Body::postnorm, Body::prenorm, Body::coupled),
                                            ::testing::Values(HeadType::generation)),
                         body_and_head);

// In the state after the embeddings dropped elements are zeros, unless a LayerNorm has moved them.
TEST_F(ModelBehaviour, DropoutOfTheEmbeddingsStandsWhereTheConfigSays) {
  const auto share_of_zeros = [&](EmbeddingNorm norm) {
    ModelConfig config = dropout_config(Body::postnorm, HeadType::pretraining);
    config.embedding_norm = norm;
    config.hidden_dropout_prob = 0.25;
    const Batch batch = random_batch(config, {40, 33}, 51);
    const auto model = make_model(*backend, config, batch, {}, random_parameters(config, 52));
    double zeros = 0.0, count = 0.0;
    ForwardOptions options{.training = true, .dropout_seed = 3, .hidden_state = {}};
    options.hidden_state = [&](std::int64_t layer, const std::vector<float>& values) {
      if (layer != 0) return;
      count = static_cast<double>(values.size());
      zeros = static_cast<double>(std::count(values.begin(), values.end(), 0.0f));
    };
    model->forward(batch, options);
    return zeros / count;
  };
  EXPECT_NEAR(share_of_zeros(EmbeddingNorm::none), 0.25, 0.04);
  EXPECT_NEAR(share_of_zeros(EmbeddingNorm::before_dropout), 0.25, 0.04);
  EXPECT_EQ(share_of_zeros(EmbeddingNorm::after_dropout), 0.0);
}

TEST_F(ModelBehaviour, DropoutFollowsItsSeedAndIsOffOutsideTraining) {
  const ModelConfig config = dropout_config(Body::postnorm, HeadType::pretraining);
  const Batch batch = random_batch(config, mixed_lengths, 25);
  const auto model = make_model(*backend, config, batch, {}, random_parameters(config, 26));
  const auto hidden = [&](bool training, std::uint64_t seed) {
    model->forward(batch, {.training = training, .dropout_seed = seed, .hidden_state = {}});
    return model->last_hidden_state();
  };
  EXPECT_EQ(hidden(true, 1), hidden(true, 1));
  EXPECT_NE(hidden(true, 1), hidden(true, 2));
  EXPECT_NE(hidden(true, 1), hidden(false, 1));
  EXPECT_EQ(hidden(false, 1), hidden(false, 2));
}

// Full attention drops probabilities, sparse attention never does (docs/specification.md 1.1).
TEST_F(ModelBehaviour, AttentionProbabilitiesAreDroppedInFullAttentionOnly) {
  ModelConfig config = dropout_config(Body::postnorm, HeadType::pretraining);
  config.hidden_dropout_prob = 0.0;
  const std::vector<float> parameters = random_parameters(config, 27);
  const auto changes = [&](std::int64_t length) {
    const Batch batch = random_batch(config, {length}, 28);
    const auto model = make_model(*backend, config, batch, {}, parameters);
    model->forward(batch, {});
    const std::vector<float> without = model->last_hidden_state();
    model->forward(batch, {.training = true, .dropout_seed = 9, .hidden_state = {}});
    return without != model->last_hidden_state();
  };
  EXPECT_TRUE(changes(28));   // 7 blocks: fewer than 2r + 6
  EXPECT_FALSE(changes(32));  // 8 blocks
}

TEST_F(ModelBehaviour, NeighboursInTheBatchDoNotChangeASequence) {
  for (const Body body : {Body::postnorm, Body::prenorm, Body::gena}) {
    const ModelConfig config = dropout_config(body, HeadType::pretraining);
    const std::vector<float> parameters = random_parameters(config, 31);
    const std::vector<std::int64_t> lengths{33, 5, 64, 50, 18};
    const Batch together = random_batch(config, lengths, 32);
    const auto model = make_model(*backend, config, together, {}, parameters);
    model->forward(together, {});
    const std::vector<float> all = model->last_hidden_state();
    const std::vector<float> pooled = model->pooler_output();
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      const Batch alone = random_batch(config, {lengths[s]}, 32);
      model->forward(alone, {});
      const std::size_t width = static_cast<std::size_t>(config.hidden_size);
      const auto begin = all.begin() + together.token_offsets[s] * config.hidden_size;
      EXPECT_EQ(model->last_hidden_state(),
                std::vector<float>(begin, begin + alone.tokens() * config.hidden_size))
          << "length " << lengths[s];
      EXPECT_EQ(model->pooler_output(),
                std::vector<float>(pooled.begin() + static_cast<std::ptrdiff_t>(s * width),
                                   pooled.begin() + static_cast<std::ptrdiff_t>((s + 1) * width)));
    }
  }
}

TEST_F(ModelBehaviour, PaddingCanBeLeftOutWhereWholeBlocksAreNotWanted) {
  for (const Body body : {Body::postnorm, Body::prenorm, Body::gena}) {
    const ModelConfig config = dropout_config(body, HeadType::pretraining);
    const std::vector<float> parameters = random_parameters(config, 33);
    const std::vector<std::int64_t> lengths{33, 5, 64, 50, 18};  // both full and sparse
    Batch padded = random_batch(config, lengths, 34), bare;
    padded.masked_rows.clear();
    padded.masked_labels.clear();
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      const auto part = [&](const std::vector<std::int32_t>& of) {
        const auto first = of.begin() + padded.token_offsets[s];
        return std::vector<std::int32_t>(first, first + lengths[s]);
      };
      bare.append(part(padded.ids), part(padded.types), 1, 0);
    }
    // The same padded by whole blocks, in rows, and in the plan alone.
    Batch longer, planned = bare;
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      const auto first = bare.ids.begin() + bare.token_offsets[s];
      const auto type = bare.types.begin() + bare.token_offsets[s];
      longer.append({first, first + lengths[s]}, {type, type + lengths[s]}, config.block_size, 0, 64);
      planned.plan_lengths.push_back(64);
    }
    const auto model = make_model(*backend, config, padded, {}, parameters);
    ASSERT_FALSE(model->wants_whole_blocks());
    model->forward(padded, {});
    const std::vector<float> all = model->last_hidden_state(), pooled = model->pooler_output();
    model->forward(bare, {});
    const std::vector<float> got = model->last_hidden_state();
    EXPECT_EQ(model->pooler_output(), pooled);
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      const std::int64_t values = lengths[s] * config.hidden_size;
      const auto from = all.begin() + padded.token_offsets[s] * config.hidden_size;
      const auto at = got.begin() + bare.token_offsets[s] * config.hidden_size;
      EXPECT_TRUE(std::equal(at, at + values, from)) << "length " << lengths[s];
    }
    const auto of_64 = make_model(*backend, config, longer, {}, parameters);
    of_64->forward(longer, {});
    const std::vector<float> rows_of_64 = of_64->last_hidden_state();
    of_64->forward(planned, {});
    const std::vector<float> planned_for_64 = of_64->last_hidden_state();
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      const auto from = rows_of_64.begin() + longer.token_offsets[s] * config.hidden_size;
      const auto at = planned_for_64.begin() + bare.token_offsets[s] * config.hidden_size;
      EXPECT_TRUE(std::equal(at, at + lengths[s] * config.hidden_size, from)) << "length " << lengths[s];
    }
    EXPECT_NE(planned_for_64, got) << "the plan's length changes nothing";
    planned.plan_lengths[0] = 32;  // fewer than its tokens
    EXPECT_THROW(of_64->forward(planned, {}), Error);
    planned.plan_lengths[0] = 66;
    EXPECT_THROW(of_64->forward(planned, {}), Error);
    const auto training = make_model(*backend, config, padded, {.training = true}, parameters);
    EXPECT_TRUE(training->wants_whole_blocks());
    EXPECT_THROW(training->forward(bare, {}), Error);
  }
}

TEST_F(ModelBehaviour, TrainingAndInferenceMemoryGiveTheSameStates) {
  for (const Body body : {Body::postnorm, Body::prenorm, Body::gena}) {
    ModelConfig config = dropout_config(body, HeadType::pretraining);
    config.num_hidden_layers = 3;
    const Batch batch = random_batch(config, mixed_lengths, 33);
    std::vector<std::vector<float>> states;
    for (const ModelOptions options : {ModelOptions{}, ModelOptions{true, false}, ModelOptions{true, true}}) {
      const auto model = make_model(*backend, config, batch, options, random_parameters(config, 34));
      model->forward(batch, {});
      states.push_back(model->last_hidden_state());
    }
    EXPECT_EQ(states[0], states[1]);
    EXPECT_EQ(states[0], states[2]);
  }
}

TEST_F(ModelBehaviour, GradientsAddUpOverCallsUntilTheyAreZeroed) {
  const ModelConfig config = tiny_config();
  const Batch batch = random_batch(config, {40}, 35);
  const auto model = make_model(*backend, config, batch, {.training = true}, random_parameters(config, 36));
  const auto run = [&](float scale) {
    model->forward(batch, {});
    model->backward({{scale, scale}});
    return model->host_gradients();
  };
  const std::vector<float> once = run(0.5f);
  const std::vector<float> twice = run(0.5f);
  model->zero_gradients();
  EXPECT_EQ(run(0.5f), once);
  double largest = 0.0, difference = 0.0;
  for (std::size_t i = 0; i < once.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(twice[i])));
    difference =
        std::max(difference, std::abs(static_cast<double>(twice[i]) - 2.0 * static_cast<double>(once[i])));
  }
  EXPECT_GT(largest, 0.0);
  EXPECT_LT(difference, 1e-5 * largest);
}

TEST_F(ModelBehaviour, LossesCountTheLabelsThatAreGiven) {
  const ModelConfig config = tiny_config();
  Batch batch = random_batch(config, {40, 21}, 37);
  const auto model = make_model(*backend, config, batch, {}, random_parameters(config, 38));
  const ForwardResult all = model->forward(batch, {});
  EXPECT_EQ(all[Loss::mlm].count, static_cast<std::int64_t>(batch.masked_rows.size()));
  EXPECT_EQ(all[Loss::sequence].count, 2);
  double sum = 0.0;
  for (const float loss : all.mlm_losses) sum += static_cast<double>(loss);
  EXPECT_DOUBLE_EQ(sum, all[Loss::mlm].sum);

  batch.masked_labels[1] = ignored_label;
  const ForwardResult fewer = model->forward(batch, {});
  EXPECT_EQ(fewer[Loss::mlm].count, all[Loss::mlm].count - 1);
  EXPECT_NEAR(fewer[Loss::mlm].sum, all[Loss::mlm].sum - static_cast<double>(all.mlm_losses[1]), 1e-9);

  batch.masked_labels.clear();
  batch.sequence_labels.clear();
  const std::vector<float> logits = model->masked_logits();
  const ForwardResult none = model->forward(batch, {});
  EXPECT_EQ(none[Loss::mlm].count + none[Loss::sequence].count, 0);
  EXPECT_EQ(model->masked_logits(), logits);
}

TEST_F(ModelBehaviour, CorrectCountsAreThoseOfTheLargestLogit) {
  const ModelConfig config = tiny_config();
  Batch batch = random_batch(config, {60}, 39);
  const auto model = make_model(*backend, config, batch, {}, random_parameters(config, 40));
  model->forward(batch, {});
  const std::vector<float> logits = model->masked_logits();
  // Every other label becomes the model's own answer, the rest some other id.
  std::int64_t expected = 0;
  for (std::size_t i = 0; i < batch.masked_labels.size(); ++i) {
    const auto row = logits.begin() + static_cast<std::ptrdiff_t>(i) * config.vocab_size;
    const std::int32_t best = static_cast<std::int32_t>(std::max_element(row, row + config.vocab_size) - row);
    batch.masked_labels[i] = i % 2 == 0 ? best : (best + 1) % static_cast<std::int32_t>(config.vocab_size);
    if (i % 2 == 0) ++expected;
  }
  EXPECT_EQ(model->forward(batch, {})[Loss::mlm].correct, expected);
}

TEST_F(ModelBehaviour, RefusesWhatItWasNotBuiltFor) {
  const ModelConfig config = tiny_config();
  const Batch batch = random_batch(config, {40}, 41);
  const auto model = make_model(*backend, config, batch, {}, random_parameters(config, 42));
  EXPECT_THROW(model->forward(random_batch(config, {44}, 41), {}), Error);
  EXPECT_THROW(model->forward(random_batch(config, {20, 20}, 41), {}), Error);
  Batch foreign = batch;
  foreign.ids[3] = 37;
  EXPECT_THROW(model->forward(foreign, {}), Error);
  Batch unordered = batch;
  std::swap(unordered.masked_rows[0], unordered.masked_rows[1]);
  EXPECT_THROW(model->forward(unordered, {}), Error);
  Batch wrong_type = batch;
  wrong_type.types[0] = 2;
  EXPECT_THROW(model->forward(wrong_type, {}), Error);
  EXPECT_THROW(model->backward({{1.0f, 1.0f}}), Error);
  EXPECT_THROW(model->set_parameters({1.0f}), Error);
  EXPECT_NO_THROW(model->forward(batch, {}));
  EXPECT_THROW(model->backward({{1.0f, 1.0f}}), Error);
}

}  // namespace
}  // namespace bigbird
