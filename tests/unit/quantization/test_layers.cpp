// Which layers stay, and what is measured: means of AUROC, and the divergence of masked tokens.
#include "lib/quantization/layers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "lib/core/error.h"
#include "lib/metrics/metrics.h"
#include "lib/model/network/linear_layers.h"
#include "tests/support/tiny_training_data.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

const std::vector<LayerError> example_errors{{"a", 0.1}, {"b", 0.9}, {"c", 0.2}, {"d", 0.9}, {"e", 0.15}};

TEST(ChooseLayers, TheLargestErrorsStayInTheOrderOfTheModel) {
  const LayerChoice two = choose_layers(example_errors, 2);
  EXPECT_EQ(two.kept, (std::vector<LayerError>{{"b", 0.9}, {"d", 0.9}}));
  EXPECT_EQ(two.int8, (std::vector<LayerError>{{"a", 0.1}, {"c", 0.2}, {"e", 0.15}}));
  EXPECT_EQ(choose_layers(example_errors, 1).kept, (std::vector<LayerError>{{"b", 0.9}}));
  EXPECT_TRUE(choose_layers(example_errors, 0).kept.empty());
  EXPECT_TRUE(choose_layers(example_errors, 9).int8.empty());
  EXPECT_EQ(outlying_layers(example_errors), 2u);
  EXPECT_EQ(outlying_layers({{"a", 0.1}, {"b", 0.4}, {"c", 0.1}}), 0u);
  EXPECT_EQ(outlying_layers({}), 0u);
}

TEST(MeanAuroc, IsOverTheOutputsThatHaveBothClasses) {
  LabelledScores scores;
  scores.outputs = 3;
  //               perfect   reversed   of one class
  scores.scores = {0.1, 0.9, 0.5, 0.2, 0.8, 0.5, 0.9, 0.1, 0.5};
  scores.labels = {0, 0, 1, 0, 0, 1, 1, 1, 1};
  EXPECT_DOUBLE_EQ(mean_auroc(scores), 0.5);
  scores.labels = {0, 0, 1, 0, 0, 1, 1, 0, 1};
  EXPECT_DOUBLE_EQ(mean_auroc(scores), 1.0);
  scores.labels.assign(9, 1);
  EXPECT_THROW(mean_auroc(scores), Error);
}

class QuantizedMaskedModel : public ::testing::Test {
 protected:
  QuantizedMaskedModel() {
    write_tiny_tokenizer(folder_ / "tokenizer");
    write_tiny_shards((folder_ / "shards").string(), folder_ / "tokenizer");
    tokenizer_ = load_tokenizer((folder_ / "tokenizer").string());
    config_.vocab_size = static_cast<std::int64_t>(tokenizer_->vocab_size());
    config_.head = HeadType::masked_lm;
    config_.sep_token_id = 3;
    shards_ = std::make_unique<TokenShards>((folder_ / "shards").string());
    PretrainingObjective objective;
    objective.nsp = false;
    batches_ = std::make_unique<PretrainingBatches>(*shards_, *tokenizer_, config_, objective,
                                                    config_.max_position_embeddings, 7);
    model_ = std::make_unique<Model>(*backend_, config_, batches_->limits(2), ModelOptions{});
    model_->set_parameters(random_parameters(config_, 3));
  }
  TemporaryFolder folder_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::unique_ptr<TokenShards> shards_;
  ModelConfig config_ = tiny_config();
  std::unique_ptr<kernels::Backend> backend_ = kernels::make_cpu_backend();
  std::unique_ptr<PretrainingBatches> batches_;
  std::unique_ptr<Model> model_;
};

TEST_F(QuantizedMaskedModel, DivergenceIsThatOfTheTwoDistributions) {
  std::vector<std::string> names;
  for (const LinearLayer& layer : linear_layers(config_)) names.push_back(layer.name);
  const std::vector<std::uint64_t> pieces{0, 1, 2};
  const MaskedDivergence found = masked_divergence(*model_, *batches_, pieces, 2, names);
  // The same by hand, a piece at a time.
  double divergence = 0.0, full = 0.0, quantized = 0.0;
  std::int64_t tokens = 0;
  const auto columns = static_cast<std::size_t>(config_.vocab_size);
  for (const std::uint64_t piece : pieces) {
    const Batch batch = batches_->piece_batch(std::span(&piece, 1));
    model_->compute_in_int8({});
    full += model_->forward(batch, {})[Loss::mlm].sum;
    const std::vector<float> p = model_->masked_logits();
    model_->compute_in_int8(names);
    quantized += model_->forward(batch, {})[Loss::mlm].sum;
    const std::vector<float> q = model_->masked_logits();
    tokens += static_cast<std::int64_t>(batch.masked_rows.size());
    for (std::size_t row = 0; row < p.size(); row += columns) {
      double sum_p = 0.0, sum_q = 0.0;
      for (std::size_t j = row; j < row + columns; ++j) {
        sum_p += std::exp(static_cast<double>(p[j]));
        sum_q += std::exp(static_cast<double>(q[j]));
      }
      for (std::size_t j = row; j < row + columns; ++j) {
        const double a = std::exp(static_cast<double>(p[j])) / sum_p,
                     b = std::exp(static_cast<double>(q[j])) / sum_q;
        divergence += a * std::log(a / b);
      }
    }
  }
  ASSERT_GT(tokens, 0);
  EXPECT_EQ(found.tokens, tokens);
  EXPECT_GT(found.divergence, 0.0);
  EXPECT_NEAR(found.divergence, divergence / static_cast<double>(tokens), 1e-9 + 1e-6 * found.divergence);
  EXPECT_NEAR(found.full, full / static_cast<double>(tokens), 1e-9);
  EXPECT_NEAR(found.quantized, quantized / static_cast<double>(tokens), 1e-9);
  EXPECT_EQ(masked_divergence(*model_, *batches_, pieces, 2, {}).divergence, 0.0);
}

TEST_F(QuantizedMaskedModel, ALayersErrorIsOfTheLogitsStandardDeviation) {
  const auto batch = [&](std::uint64_t i) { return batches_->piece_batch(std::span(&i, 1)); };
  const std::vector<LayerError> found = layer_errors(*model_, 2, batch);
  const std::vector<LinearLayer> layers = linear_layers(config_);
  ASSERT_EQ(found.size(), layers.size());
  EXPECT_FALSE(model_->computes_in_int8());
  const auto columns = static_cast<std::size_t>(config_.vocab_size);
  // By hand, of the third layer.
  std::vector<double> full, quantized;
  for (std::size_t i = 0; i < 2; ++i) {
    model_->compute_in_int8({});
    model_->forward(batch(i), {});
    for (const float value : model_->masked_logits()) full.push_back(static_cast<double>(value));
    model_->compute_in_int8({layers[2].name});
    model_->forward(batch(i), {});
    for (const float value : model_->masked_logits()) quantized.push_back(static_cast<double>(value));
  }
  std::vector<double> means(columns);
  const std::size_t count = full.size() / columns;
  const auto rows = static_cast<double>(count);
  for (std::size_t i = 0; i < full.size(); ++i) means[i % columns] += full[i] / rows;
  double squares = 0.0, spread = 0.0;
  for (std::size_t i = 0; i < full.size(); ++i) {
    squares += (full[i] - quantized[i]) * (full[i] - quantized[i]);
    spread += (full[i] - means[i % columns]) * (full[i] - means[i % columns]);
  }
  EXPECT_EQ(found[2].layer, layers[2].name);
  EXPECT_NEAR(found[2].error, std::sqrt(squares / spread), 1e-6);
  EXPECT_GT(found[2].error, 0.0);
  EXPECT_LT(found[2].error, 0.5);
}

TEST(EffectCorrelation, IsOneWithoutInt8AndThatOfTheRanksWithIt) {
  ModelConfig config = tiny_config();
  config.head = HeadType::classification;
  config.num_labels = 3;
  const auto backend = kernels::make_cpu_backend();
  std::vector<Batch> pairs;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Batch pair = random_batch(config, {30, 30}, seed);
    std::copy_n(pair.ids.begin(), 30, pair.ids.begin() + pair.token_offsets[1]);
    std::copy_n(pair.types.begin(), 30, pair.types.begin() + pair.token_offsets[1]);
    std::int32_t& changed = pair.ids[static_cast<std::size_t>(pair.token_offsets[1]) + 15];
    changed = changed == 7 ? 8 : 7;
    pairs.push_back(std::move(pair));
  }
  const auto model = make_model(*backend, config, pairs[0], {}, random_parameters(config, 5));
  const auto batch = [&](std::size_t i) { return pairs[i]; };
  EXPECT_DOUBLE_EQ(effect_correlation(*model, pairs.size(), batch, {}), 1.0);
  std::vector<std::string> names;
  for (const LinearLayer& layer : linear_layers(config)) names.push_back(layer.name);
  const double found = effect_correlation(*model, pairs.size(), batch, names);
  EXPECT_LT(found, 1.0);
  EXPECT_GT(found, 0.9);
  double sum = 0.0;
  for (std::size_t k = 0; k < 3; ++k) {
    std::vector<double> effects[2];
    for (const Batch& pair : pairs) {
      for (const bool int8 : {false, true}) {
        model->compute_in_int8(int8 ? names : std::vector<std::string>());
        model->forward(pair, {});
        const std::vector<float> logits = model->sequence_logits();
        effects[int8 ? 1 : 0].push_back(static_cast<double>(logits[3 + k]) - static_cast<double>(logits[k]));
      }
    }
    sum += spearman(effects[0], effects[1]);
  }
  EXPECT_DOUBLE_EQ(found, sum / 3);
}

}  // namespace
}  // namespace bigbird
