// Heads of classes that read the mean of neighbouring tokens, once or several times in a sequence, against
// the reference in double.
#include <gtest/gtest.h>

#include <string>

#include "lib/core/error.h"
#include "lib/model/network/validate_config.h"
#include "reference/losses.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

ModelConfig pooling_config(const std::string& pooling, std::int64_t stride) {
  ModelConfig config = tiny_config();
  if (stride > 0) add_stem(config, stride);
  config.block_size = 12;
  config.max_position_embeddings = 144;
  config.head = HeadType::classification;
  config.num_labels = 3;
  config.problem_type = ProblemType::multi_label;
  config.pooling = parse_head_pooling(pooling);
  validate(config, "a model that pools");
  return config;
}

// Rows first to last - 1.
std::vector<std::size_t> rows_from(std::size_t first, std::size_t last) {
  std::vector<std::size_t> rows;
  for (std::size_t row = first; row < last; ++row) rows.push_back(row);
  return rows;
}

void expect_as_reference(const ModelConfig& config, const Batch& batch,
                         const std::vector<std::vector<std::size_t>>& outputs) {
  const auto backend = kernels::make_cpu_backend();
  const std::vector<float> parameters = random_parameters(config, 6);
  BatchLimits limits = limits_of(batch);
  limits.outputs = batch.outputs();
  Model model(*backend, config, limits, {.training = true, .head_rows = true});
  model.set_parameters(parameters);
  reference::ClassificationLabels labels;
  labels.kind = reference::ClassificationLoss::binary_cross_entropy;
  labels.targets = reference::Matrix(outputs.size(), 3);
  std::copy(batch.sequence_targets.begin(), batch.sequence_targets.end(), labels.targets.values.begin());
  reference::Sequences sequences = reference_sequences(config, batch);
  sequences.outputs = outputs;
  const auto expected = reference::classification(
      reference_config(config), reference_parameters(config, parameters), sequences, labels);
  const ForwardResult result = model.forward(batch, {});
  ASSERT_EQ(model.sequence_logits().size(), expected.logits.values.size());
  EXPECT_LT(relative_error(model.sequence_logits().data(), expected.logits.values), 1e-5);
  EXPECT_NEAR(scaled_loss(result, mean_scale(result)), expected.loss, 1e-5 * expected.loss);
  model.backward(mean_scale(result));
  expect_gradients(model, expected.gradients);
}

TEST(Pooling, TheMeanOverAllOrTheMiddleTokensAgreesWithTheReference) {
  // Sequences of 20 and 7 tokens, padded to 24 and 12.
  const ModelConfig all = pooling_config("mean", 0), middle = pooling_config("middle:5", 0);
  const Batch batch = random_batch(all, {20, 7}, 3);
  expect_as_reference(all, batch, {rows_from(0, 20), rows_from(24, 31)});
  expect_as_reference(middle, batch, {rows_from(7, 12), rows_from(25, 30)});
  expect_as_reference(pooling_config("middle:9", 0), batch, {rows_from(5, 14), rows_from(24, 31)});
}

TEST(Pooling, OfAStemItIsOverTheWholeRowsOfTheTokens) {
  // Rows of 3 tokens: the middle 8 of 20 are 6 to 13, rows 2 and 3; of 7 all, rows 8 and 9 of 24 / 3 = 8 on.
  const ModelConfig config = pooling_config("middle:8", 3);
  const Batch batch = random_batch(config, {20, 7}, 4);
  expect_as_reference(config, batch, {rows_from(2, 4), rows_from(8, 10)});
}

TEST(Pooling, SeveralSpansOfASequenceAreAsManyOutputs) {
  const ModelConfig config = pooling_config("middle:6", 3);
  Batch batch = random_batch(config, {60, 20}, 5);
  batch.output_spans = {{1, 7}, {8, 6}, {30, 29}, {62, 6}};
  batch.sequence_targets.assign(4 * 3, 0.0f);
  for (std::size_t i = 0; i < batch.sequence_targets.size(); i += 2) batch.sequence_targets[i] = 1.0f;
  // Tokens 1 to 7: row 1 whole (3 to 5), of row 2 (6 to 8) not all. 8 to 13: rows 3 and half of 4. 30 to 58:
  // rows 10 to 18. The second sequence begins at token 60: 62 to 67 hold row 21 (63 to 65).
  expect_as_reference(config, batch,
                      {rows_from(1, 2), rows_from(3, 4), rows_from(10, 19), rows_from(21, 22)});
}

TEST(Pooling, SpansThatAreNotThereAreRefused) {
  const ModelConfig config = pooling_config("mean", 0);
  const auto backend = kernels::make_cpu_backend();
  const auto refused = [&](const ModelConfig& of, const std::vector<OutputSpan>& spans) {
    Batch batch = random_batch(of, {20, 7}, 3);
    batch.output_spans = spans;
    batch.sequence_targets.assign(spans.size() * 3, 0.0f);
    BatchLimits limits = limits_of(batch);
    limits.outputs = 4;
    Model model(*backend, of, limits, {});
    model.set_parameters(random_parameters(of, 6));
    EXPECT_THROW(model.forward(batch, {}), Error);
  };
  refused(config, {{0, 21}});          // into the padding
  refused(config, {{5, 3}, {7, 2}});   // token 7 twice
  refused(config, {{24, 2}, {0, 2}});  // not ascending
  refused(config, {{0, 0}});
  refused(config, {{40, 1}});
  refused(config, std::vector<OutputSpan>(5, {0, 1}));
  ModelConfig first = config;
  first.pooling = {};
  refused(first, {{0, 2}, {24, 2}});
}

TEST(Pooling, NamesAreReadAsTheyAreWritten) {
  for (const char* name : {"cls", "mean", "middle:200"}) EXPECT_EQ(name_of(parse_head_pooling(name)), name);
  for (const char* name : {"", "middle", "middle:", "middle:0", "middle:-3", "middle:5x", "last"})
    EXPECT_THROW(parse_head_pooling(name), Error) << name;
}

}  // namespace
}  // namespace bigbird
