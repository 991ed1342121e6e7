// Operations of a model's products, against the tensors that it has and a walk over pairs of tokens.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "lib/model/network/model_operations.h"
#include "lib/model/plans/block_plan.h"
#include "lib/model/plans/plan_table.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

double sum(const std::vector<std::int64_t>& lengths) {
  double all = 0;
  for (const std::int64_t length : lengths) all += static_cast<double>(length);
  return all;
}

// Rows that a matrix is multiplied with in a forward pass.
double rows_of(const std::string& name, const ModelConfig& config, const Batch& batch) {
  const auto begins = [&](const char* with) { return name.rfind(with, 0) == 0; };
  const double tokens = sum(batch.lengths), targets = sum(batch.targets.lengths);
  const auto sequences = static_cast<double>(batch.sequences());
  const auto masked = static_cast<double>(batch.masked_rows.size());
  if (begins("bert.embeddings.word")) return config.has_decoder() ? targets : (config.has_mlm() ? masked : 0);
  if (begins("bert.encoder.layer.")) return tokens;
  if (begins("bert.pooler")) return config.uses_pooler() ? sequences : 0;
  if (begins("cls.predictions.transform")) return masked;
  if (begins("cls.seq_relationship") || begins("classifier.") || begins("answer_scores.type"))
    return sequences;
  if (begins("qa_classifier.") || begins("answer_scores.token")) return tokens;
  if (begins("decoder.layer.")) {
    const bool of_source = name.find("crossattention.self.key") != std::string::npos ||
                           name.find("crossattention.self.value") != std::string::npos;
    return of_source ? tokens : targets;
  }
  return 0;
}

double linear_operations(const ModelConfig& config, const Batch& batch) {
  double all = 0;
  const ParameterLayout layout(config);
  for (const TensorSpec& tensor : layout.tensors()) {
    const bool is_matrix = tensor.shape.size() == 2 && tensor.name != "final_logits_bias";
    if (is_matrix) all += 2.0 * static_cast<double>(tensor.count) * rows_of(tensor.name, config, batch);
  }
  return all;
}

// A pair of tokens at a time, for every listing of the key's block.
double attention_operations(const ModelConfig& config, const Batch& batch) {
  double pairs = 0;
  const std::int64_t block = config.block_size;
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    const std::int64_t blocks = (batch.plan_length(s) + block - 1) / block, length = batch.lengths[s];
    const bool full = !full_attention_reason(config, blocks).empty();
    for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
      for (const auto& head : plan_rows(config, layer, blocks, full)) {
        for (std::int64_t query = 0; query < length; ++query) {
          for (const std::int32_t listed : head[static_cast<std::size_t>(query / block)]) {
            for (std::int64_t key = listed * block; key < std::min(length, (listed + 1) * block); ++key)
              pairs += 1;
          }
        }
      }
    }
  }
  double all = 4.0 * static_cast<double>(config.head_size()) * pairs;
  for (std::size_t s = 0; s < batch.targets.lengths.size(); ++s) {
    for (std::int64_t row = 0; row < batch.targets.lengths[s]; ++row) {
      const auto keys =
          static_cast<double>(row + 1 + batch.lengths[s]);  // itself, what is before, the source
      all += static_cast<double>(config.decoder.num_hidden_layers) * 4.0 *
             static_cast<double>(config.hidden_size) * keys;
    }
  }
  return all;
}

TEST(ModelOperations, AreThoseOfTheTensorsAndOfThePairsThatAttentionLists) {
  std::vector<ModelConfig> configs;
  for (const HeadType head :
       {HeadType::encoder, HeadType::pretraining, HeadType::masked_lm, HeadType::classification,
        HeadType::question_answering, HeadType::structured_answers}) {
    configs.push_back(tiny_config());
    configs.back().head = head;
    if (head == HeadType::structured_answers) add_answer_scores(configs.back());
  }
  configs.push_back(tiny_decoder_config());
  configs.push_back(tiny_own_decoder_config());
  for (const ModelConfig& config : configs) {
    ModelOperations operations(config);
    // Full and sparse attention, whole and torn last blocks; again from what is remembered.
    for (const std::vector<std::int64_t>& lengths :
         {std::vector<std::int64_t>{5}, {64, 33, 7}, {36}, {33, 64}}) {
      const Batch batch = random_batch(config, lengths, 7);
      EXPECT_DOUBLE_EQ(operations.forward(batch),
                       linear_operations(config, batch) + attention_operations(config, batch))
          << name_of(config.head) << " " << lengths.size();
    }
  }
}

// A sequence that is padded to many blocks needs nothing for them.
TEST(ModelOperations, PaddingCountsForNothingButThePlan) {
  ModelConfig config = tiny_config();
  config.head = HeadType::encoder;
  Batch batch;
  batch.append({1, 2, 3, 4, 5, 6}, {}, config.block_size, 0, 64);
  EXPECT_EQ(batch.tokens(), 64);
  EXPECT_DOUBLE_EQ(ModelOperations(config).forward(batch),
                   linear_operations(config, batch) + attention_operations(config, batch));
}

TEST(ModelOperations, AListedBlockCountsAsOftenAsItIsListed) {
  ModelConfig config = tiny_config();
  PlanTable::Rows rows;
  for (std::int32_t row = 0; row < 16; ++row) rows.push_back({0, row, row, row});
  config.random_mode = RandomMode::file;
  config.plan = std::make_shared<PlanTable>(config.block_size,
                                            std::vector<PlanTable::Heads>{PlanTable::Heads{rows, rows}}, "");
  const Batch batch = random_batch(config, {64}, 7);
  const double attention = ModelOperations(config).forward(batch) - linear_operations(config, batch);
  // Layers, heads, rows, listed blocks, pairs of tokens, and products of a pair.
  EXPECT_DOUBLE_EQ(attention, 2.0 * 2 * 16 * 4 * 16 * 4 * static_cast<double>(config.head_size()));
}

// In 10^12: linear layers 2.09, the head of 614 masked tokens 0.09, attention the rest.
TEST(ModelOperations, AnUpdateOfBigBirdBase) {
  ModelConfig config;
  config.vocab_size = 32000;
  Batch batch;
  batch.append(std::vector<std::int32_t>(4096, 7), {}, 64, 0);
  for (std::int32_t row = 0; row < 614; ++row) batch.masked_rows.push_back(row);
  const double linear = 12.0 * (4.0 * 768 * 768 + 2.0 * 768 * 3072) * 4096,
               head = 614.0 * 768 * (768 + 32000);
  const double attention = ModelOperations(config).forward(batch) - 2 * (linear + head);
  // Of 12 x 12 x 64 rows two of each head see all blocks, and others at most eight.
  EXPECT_LE(attention, 12.0 * 12 * (2 * 64 + 62 * 8) * 64 * 64 * 4 * 64);
  EXPECT_GE(attention, 12.0 * 12 * (2 * 64 + 62 * 7) * 64 * 64 * 4 * 64);
}

TEST(ModelOperations, LayersThatAreLeftOutCountByTheirShare) {
  ModelConfig config = tiny_decoder_config();
  const Batch batch = random_batch(config, {36, 20}, 7);
  const double all = ModelOperations(config).forward(batch);
  config.decoder.encoder_layer_drop = config.decoder.layer_drop = 1.0;
  const double logits = ModelOperations(config).forward(batch);
  EXPECT_GT(logits, 0);
  config.decoder.encoder_layer_drop = config.decoder.layer_drop = 0.25;
  EXPECT_NEAR(ModelOperations(config).forward(batch), logits + 0.75 * (all - logits), 1e-6 * all);
}

}  // namespace
}  // namespace bigbird
