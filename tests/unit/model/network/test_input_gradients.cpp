// Gradients of logits at the embeddings, against finite differences of the reference in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/model/network/layout.h"
#include "reference/losses.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

class InputGradients : public ::testing::TestWithParam<NormType> {
 protected:
  InputGradients() {
    config_ = tiny_config();
    config_.random_mode = RandomMode::hf_train;
    config_.head = HeadType::classification;
    config_.problem_type = ProblemType::multi_label;
    config_.num_labels = 3;
    config_.norm_type = GetParam();
    config_.rescale_embeddings = GetParam() == NormType::prenorm;
    // Every token once: the derivative with respect to its row of the word table is that of its position.
    batch_ = random_batch(config_, {config_.vocab_size}, 3);
    std::iota(batch_.ids.begin(), batch_.ids.begin() + config_.vocab_size, 0);
    std::rotate(batch_.ids.begin(), batch_.ids.begin() + 11, batch_.ids.begin() + config_.vocab_size);
    parameters_ = random_parameters(config_, 4);
  }
  ModelConfig config_;
  Batch batch_;
  std::vector<float> parameters_;
  std::unique_ptr<kernels::Backend> backend_ = kernels::make_cpu_backend();
};

TEST_P(InputGradients, AreTheFiniteDifferencesOfTheReference) {
  auto model = make_model(*backend_, config_, batch_, {.training = true}, parameters_);
  model->forward(batch_, {});
  const std::vector<float> weights = {0, 1, -0.5F};
  const std::vector<float> gradients = model->input_gradients(weights);
  const auto width = static_cast<std::size_t>(config_.hidden_size);
  ASSERT_EQ(gradients.size(), static_cast<std::size_t>(batch_.tokens()) * width);

  const reference::EncoderConfig shape = reference_config(config_);
  const reference::Sequences sequences = reference_sequences(config_, batch_);
  reference::Parameters moved = reference_parameters(config_, parameters_);
  reference::ClassificationLabels labels;
  labels.kind = reference::ClassificationLoss::binary_cross_entropy;
  labels.targets = reference::Matrix(1, 3);
  const auto objective = [&] {
    const reference::Matrix logits = reference::classification(shape, moved, sequences, labels).logits;
    return static_cast<double>(weights[1]) * logits(0, 1) + static_cast<double>(weights[2]) * logits(0, 2);
  };
  const double scale = config_.rescale_embeddings ? std::sqrt(static_cast<double>(width)) : 1;
  double largest = 0;
  for (const float value : gradients) largest = std::max(largest, std::abs(static_cast<double>(value)));
  ASSERT_GT(largest, 1e-3);
  CounterRng rng(5, Purpose::test, 0);
  for (std::size_t position = 0; position < static_cast<std::size_t>(config_.vocab_size); ++position) {
    std::vector<double> direction(width);
    for (double& value : direction) value = rng.uniform() - 0.5;
    const auto row = moved.at("bert.embeddings.word_embeddings.weight").begin() +
                     static_cast<std::ptrdiff_t>(static_cast<std::size_t>(batch_.ids[position]) * width);
    constexpr double step = 1e-5;
    const auto shift = [&](double by) {
      for (std::size_t c = 0; c < width; ++c)
        row[static_cast<std::ptrdiff_t>(c)] += by * direction[c] / scale;
      return objective();
    };
    const double above = shift(step);
    const double below = shift(-2 * step);
    shift(step);
    double product = 0;
    for (std::size_t c = 0; c < width; ++c)
      product += direction[c] * static_cast<double>(gradients[position * width + c]);
    EXPECT_NEAR(product, (above - below) / (2 * step), 2e-4 * largest) << "position " << position;
  }
}

TEST_P(InputGradients, NeedAForwardPassAndAWeightPerLogit) {
  auto model = make_model(*backend_, config_, batch_, {.training = true}, parameters_);
  EXPECT_THROW(model->input_gradients({1, 0, 0}), Error);
  model->forward(batch_, {});
  EXPECT_THROW(model->input_gradients({1, 0}), Error);
  const std::vector<float> once = model->input_gradients({1, 0, 0});
  EXPECT_THROW(model->input_gradients({1, 0, 0}), Error) << "backward() works in place";
  model->forward(batch_, {});
  EXPECT_EQ(model->input_gradients({1, 0, 0}), once) << "what gradients() holds has no part in it";
}

// What a batch adds to the vector of a token is what its row of the word table would have had more.
TEST_P(InputGradients, OffsetsAreWordsThatMoved) {
  const auto width = static_cast<std::size_t>(config_.hidden_size);
  const float scale = config_.rescale_embeddings ? std::sqrt(static_cast<float>(width)) : 1.0F;
  const auto table =
      static_cast<std::size_t>(ParameterLayout(config_).offset("bert.embeddings.word_embeddings.weight"));
  std::vector<float> moved = parameters_;
  Batch offset = batch_;
  offset.embedding_offsets.assign(static_cast<std::size_t>(batch_.tokens()) * width, 0.0F);
  CounterRng rng(6, Purpose::test, 0);
  // Not all of them: those in between stay.
  for (std::size_t position = 0; position < static_cast<std::size_t>(config_.vocab_size); position += 3) {
    for (std::size_t c = 0; c < width; ++c) {
      const float more = static_cast<float>(rng.uniform() - 0.5);
      offset.embedding_offsets[position * width + c] = more;
      moved[table + static_cast<std::size_t>(batch_.ids[position]) * width + c] += more / scale;
    }
  }
  const std::vector<float> weights = {0, 1, -0.5F};
  const auto outcome = [&](const Batch& batch, const std::vector<float>& parameters, bool offsets) {
    auto model =
        make_model(*backend_, config_, batch, {.training = true, .embedding_offsets = offsets}, parameters);
    model->forward(batch, {});
    std::vector<float> all = model->sequence_logits();
    const std::vector<float> gradients = model->input_gradients(weights);
    all.insert(all.end(), gradients.begin(), gradients.end());
    return std::vector<double>(all.begin(), all.end());
  };
  const auto apart = [](const std::vector<double>& a, const std::vector<double>& b) {
    return relative_error(std::vector<float>(a.begin(), a.end()).data(), b);
  };
  const std::vector<double> expected = outcome(batch_, moved, false);
  EXPECT_LT(apart(outcome(offset, parameters_, true), expected), 2e-5);
  EXPECT_EQ(outcome(batch_, parameters_, true), outcome(batch_, parameters_, false));
  EXPECT_GT(apart(outcome(batch_, parameters_, true), expected), 1e-2);
}

TEST_P(InputGradients, OffsetsNeedAModelForThemAndOneForEveryToken) {
  Batch offset = batch_;
  const auto values = static_cast<std::size_t>(batch_.tokens() * config_.hidden_size);
  offset.embedding_offsets.assign(values, 0.0F);
  const auto without = make_model(*backend_, config_, batch_, {.training = true}, parameters_);
  EXPECT_THROW(without->forward(offset, {}), Error);
  const auto with =
      make_model(*backend_, config_, batch_, {.training = true, .embedding_offsets = true}, parameters_);
  with->forward(offset, {});
  offset.embedding_offsets.pop_back();
  EXPECT_THROW(with->forward(offset, {}), Error);
}

INSTANTIATE_TEST_SUITE_P(Norms, InputGradients, ::testing::Values(NormType::postnorm, NormType::prenorm));

}  // namespace
}  // namespace bigbird
