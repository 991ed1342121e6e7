// Models that read left to right: against the reference in double, nobody sees a later token, and the head
// that predicts the next one, whole and with its logits in pieces.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/model/network/validate_config.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

ModelConfig causal_config(AttentionPattern attention, NormType norm = NormType::postnorm) {
  ModelConfig config = tiny_config();
  config.attention = attention;
  config.attention_options.sparse = {.stride = 12, .summary = 4};
  config.attention_options.longformer.windows = {10};
  config.attention_options.performer.features = 20;
  config.attention_options.reformer.chunk = 5;
  config.use_bias = attention != AttentionPattern::reformer;
  config.causal = true;
  config.head = HeadType::causal_lm;
  config.norm_type = norm;
  config.embedding_norm = usual_embedding_norm(norm);
  validate(config, "a test");
  return config;
}

// Every token but the last of a sequence predicts the next one.
Batch next_token_batch(const ModelConfig& config, const std::vector<std::int64_t>& lengths) {
  Batch batch = random_batch(config, lengths, 7);
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    for (std::int64_t i = 0; i + 1 < lengths[s]; ++i) {
      const std::int64_t row = batch.token_offsets[s] + i;
      batch.masked_rows.push_back(static_cast<std::int32_t>(row));
      batch.masked_labels.push_back(batch.ids[static_cast<std::size_t>(row) + 1]);
    }
  }
  return batch;
}

class NextToken : public ::testing::Test {
 protected:
  std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();
};

// With blocks of one token the lists alone say who sees whom: the reference needs no causal mask.
TEST_F(NextToken, AgreesWithTheReferenceInStatesAndLogits) {
  for (const AttentionPattern attention : {AttentionPattern::full, AttentionPattern::sparse_fixed,
                                           AttentionPattern::performer, AttentionPattern::reformer}) {
    for (const NormType norm : {NormType::postnorm, NormType::prenorm}) {
      const ModelConfig config = causal_config(attention, norm);
      const Batch batch = next_token_batch(config, {37, 9, 64, 2});
      const std::vector<float> parameters = random_parameters(config, 4);
      const auto model = make_model(*backend, config, batch, {}, parameters);
      model->forward(batch, {});

      ModelConfig by_token = config;
      by_token.block_size = 1;
      const reference::Parameters named = reference_parameters(config, parameters);
      reference::Parameters with_pooler = named;  // which the reference's encoder has
      const auto width = static_cast<std::size_t>(config.hidden_size);
      with_pooler["bert.pooler.weight"].assign(width * width, 0.0);
      with_pooler["bert.pooler.bias"].assign(width, 0.0);
      const reference::EncoderResult expected =
          reference::encoder(reference_config(by_token), with_pooler, reference_sequences(by_token, batch));
      const std::vector<float> hidden = model->last_hidden_state();
      std::vector<float> real;
      std::vector<double> wanted, logits;
      const auto& word = named.at("bert.embeddings.word_embeddings.weight");
      const auto& bias = named.at("cls.predictions.bias");
      for (const std::int32_t row : batch.masked_rows) {
        const auto first = static_cast<std::ptrdiff_t>(row) * config.hidden_size;
        const auto* const state = expected.last_hidden_state.values.data() + first;
        real.insert(real.end(), hidden.begin() + first, hidden.begin() + first + config.hidden_size);
        wanted.insert(wanted.end(), state, state + config.hidden_size);
        for (std::size_t id = 0; id < bias.size(); ++id) {
          double logit = bias[id];
          for (std::size_t c = 0; c < width; ++c) logit += word[id * width + c] * state[c];
          logits.push_back(logit);
        }
      }
      EXPECT_LT(relative_error(real.data(), wanted), 1e-5) << name_of(attention);
      EXPECT_LT(relative_error(model->masked_logits().data(), logits), 1e-5) << name_of(attention);
    }
  }
}

TEST_F(NextToken, ALaterTokenChangesNothingBefore) {
  for (const AttentionPattern attention :
       {AttentionPattern::full, AttentionPattern::sparse_fixed, AttentionPattern::sparse_strided,
        AttentionPattern::longformer, AttentionPattern::performer}) {
    const ModelConfig config = causal_config(attention);
    const Batch batch = next_token_batch(config, {50, 21});
    const auto model = make_model(*backend, config, batch, {}, random_parameters(config, 5));
    model->forward(batch, {});
    const std::vector<float> before = model->last_hidden_state();
    for (const std::size_t changed : {std::size_t{13}, std::size_t{31}, std::size_t{49}}) {
      Batch other = batch;
      other.ids[changed] = other.ids[changed] == 3 ? 4 : 3;
      model->forward(other, {});
      const std::vector<float> after = model->last_hidden_state();
      const std::size_t same = changed * static_cast<std::size_t>(config.hidden_size);
      EXPECT_TRUE(
          std::equal(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(same), after.begin()))
          << name_of(attention) << " " << changed;
      EXPECT_NE(before[same], after[same]) << name_of(attention);
    }
  }
}

// Along the gradient of each tensor the loss changes by its length.
TEST_F(NextToken, GradientsAreThoseOfTheLoss) {
  for (const AttentionPattern attention :
       {AttentionPattern::full, AttentionPattern::sparse_fixed, AttentionPattern::sparse_strided,
        AttentionPattern::longformer, AttentionPattern::performer}) {
    const ModelConfig config = causal_config(attention, NormType::prenorm);
    const Batch batch = next_token_batch(config, {29, 12});
    const std::vector<float> parameters = random_parameters(config, 6);
    const auto model = make_model(*backend, config, batch, {.training = true}, parameters);
    const ForwardResult result = model->forward(batch, {});
    const LossScale scale = mean_scale(result);
    model->backward(scale);
    const std::vector<float> gradients = model->host_gradients();
    const auto loss = [&](const std::vector<float>& at) {
      model->set_parameters(at);
      return scaled_loss(model->forward(batch, {}), scale);
    };
    for (const TensorSpec& tensor : model->layout().tensors()) {
      double square = 0;
      for (std::int64_t i = tensor.offset; i < tensor.offset + tensor.count; ++i)
        square += std::pow(static_cast<double>(gradients[static_cast<std::size_t>(i)]), 2);
      const double norm = std::sqrt(square);
      if (norm < 1e-3) continue;  // a bias of keys
      const double step = 2e-3;
      std::vector<float> up = parameters, down = parameters;
      for (std::int64_t i = tensor.offset; i < tensor.offset + tensor.count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const auto move = static_cast<float>(step * static_cast<double>(gradients[at]) / norm);
        up[at] += move;
        down[at] -= move;
      }
      EXPECT_NEAR((loss(up) - loss(down)) / (2 * step), norm, 0.01 * norm + 1e-4)
          << tensor.name << " of " << name_of(attention);
    }
  }
}

// 1,100 rows are more than a piece has.
TEST_F(NextToken, LogitsInPiecesGiveTheSameLossesAndGradients) {
  ModelConfig config = causal_config(AttentionPattern::full);
  config.max_position_embeddings = 1200;
  const Batch batch = next_token_batch(config, {1101});
  const std::vector<float> parameters = random_parameters(config, 8);
  ForwardOptions options;
  options.scale = LossScale{{1.0f / 1100}};
  std::vector<float> gradients[2];
  double losses[2];
  for (const bool pieces : {false, true}) {
    const auto model =
        make_model(*backend, config, batch, {.training = true, .logits_in_pieces = pieces}, parameters);
    model->zero_gradients();
    losses[pieces ? 1 : 0] = model->forward_backward(batch, options)[Loss::mlm].sum;
    gradients[pieces ? 1 : 0] = model->host_gradients();
  }
  EXPECT_EQ(losses[0], losses[1]);
  const std::vector<double> whole(gradients[0].begin(), gradients[0].end());
  EXPECT_LT(relative_error(gradients[1].data(), whole), 1e-6);
  EXPECT_GT(largest_magnitude(whole), 1e-3);
}

TEST_F(NextToken, IsRefusedWhereAPatternLooksAhead) {
  ModelConfig config = causal_config(AttentionPattern::full);
  config.attention = AttentionPattern::bigbird;
  try {
    validate(config, "config.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("attention bigbird looks ahead"), std::string::npos) << error.message();
    EXPECT_NE(error.hint().find("sparse-fixed"), std::string::npos) << error.hint();
  }
  config = causal_config(AttentionPattern::longformer);
  config.attention_options.longformer.global_first = 2;
  EXPECT_THROW(validate(config, "config.json"), Error);
  config = causal_config(AttentionPattern::full);
  config.causal = false;
  EXPECT_THROW(validate(config, "config.json"), Error);
}

}  // namespace
}  // namespace bigbird
