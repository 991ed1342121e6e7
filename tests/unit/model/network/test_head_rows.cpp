// The last layer at the rows alone that a head reads (ModelOptions::head_rows), against the same layer at all
// tokens.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <tuple>

#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/model/network/memory.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

const std::vector<std::int64_t> head_row_lengths{12, 45, 20, 7, 64};

struct RowsOutcome {
  ForwardResult result;
  std::vector<float> sequence_logits, masked_logits, gradients;
};

struct RowsCase {
  NormType norm;
  HeadType head;
};

std::string name_of_case(const ::testing::TestParamInfo<RowsCase>& test) {
  std::string head = name_of(test.param.head);
  std::replace(head.begin(), head.end(), '-', '_');
  return (test.param.norm == NormType::postnorm ? "PostNorm_" : "PreNorm_") + head;
}

ModelConfig rows_config(NormType norm, HeadType head) {
  ModelConfig config = tiny_config();
  config.norm_type = norm;
  config.embedding_norm = usual_embedding_norm(norm);
  config.head = head;
  config.num_labels = 3;
  config.hidden_dropout_prob = 0.1;
  config.classifier_dropout = 0.3;
  return config;
}

class HeadRows : public ::testing::TestWithParam<RowsCase> {
 protected:
  std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();
  ModelConfig config = rows_config(GetParam().norm, GetParam().head);

  RowsOutcome outcome(const Batch& batch, const ModelOptions& options) const {
    const auto model = make_model(*backend, config, batch, options, random_parameters(config, 31));
    RowsOutcome got;
    got.result = model->forward(batch, {.training = options.training, .dropout_seed = 8, .hidden_state = {}});
    if (config.head != HeadType::masked_lm) got.sequence_logits = model->sequence_logits();
    if (config.has_mlm()) got.masked_logits = model->masked_logits();
    if (!options.training) return got;
    model->backward(mean_scale(got.result));
    got.gradients = model->host_gradients();
    return got;
  }

  // Whether a tensor belongs to the last layer behind its attention, or to the final LayerNorm: its gradient
  // is a sum over rows.
  bool is_behind(const std::string& name) const {
    const std::string last = "layer." + std::to_string(config.num_hidden_layers - 1) + ".";
    const std::size_t at = name.find(last);
    if (at == std::string::npos) return name.find("encoder.LayerNorm") != std::string::npos;
    return name.find("self", at) == std::string::npos;
  }
};

void expect_equal_outputs(const RowsOutcome& some, const RowsOutcome& all) {
  EXPECT_EQ(some.result[Loss::mlm].sum, all.result[Loss::mlm].sum);
  EXPECT_EQ(some.result.mlm_losses, all.result.mlm_losses);
  EXPECT_EQ(some.result[Loss::mlm].correct, all.result[Loss::mlm].correct);
  EXPECT_EQ(some.result[Loss::sequence].sum, all.result[Loss::sequence].sum);
  EXPECT_EQ(some.sequence_logits, all.sequence_logits);
  EXPECT_EQ(some.masked_logits, all.masked_logits);
}

TEST_P(HeadRows, OutputsOfInferenceAreTheSameBits) {
  const Batch batch = random_batch(config, head_row_lengths, 32);
  expect_equal_outputs(outcome(batch, {.head_rows = true}), outcome(batch, {}));
}

TEST_P(HeadRows, LossesAndGradientsAreTheSameBitsOutsideOfThatPart) {
  Batch batch = random_batch(config, head_row_lengths, 33);
  if (config.has_mlm() &&
      batch.masked_rows.front() != 0) {  // a first token that is masked stands there twice
    batch.masked_rows.insert(batch.masked_rows.begin(), 0);
    batch.masked_labels.insert(batch.masked_labels.begin(), 5);
  }
  const RowsOutcome all = outcome(batch, {.training = true});
  const RowsOutcome some = outcome(batch, {.training = true, .head_rows = true});
  expect_equal_outputs(some, all);
  EXPECT_EQ(outcome(batch, {.training = true, .grad_checkpoint = true, .head_rows = true}).gradients,
            some.gradients);

  std::size_t behind = 0;
  const ParameterLayout layout(config);
  for (const TensorSpec& tensor : layout.tensors()) {
    const auto first = static_cast<std::ptrdiff_t>(tensor.offset);
    const auto count = static_cast<std::ptrdiff_t>(tensor.count);
    const std::vector<float> a(some.gradients.begin() + first, some.gradients.begin() + first + count);
    const std::vector<float> b(all.gradients.begin() + first, all.gradients.begin() + first + count);
    if (!is_behind(tensor.name)) {
      // Where a token has two rows, the two are added in another order on the way to it.
      if (config.head == HeadType::pretraining) {
        const std::vector<double> expected(b.begin(), b.end());
        EXPECT_LT(relative_error(a.data(), expected, 1e-3), 1e-4) << tensor.name;
      } else {
        EXPECT_EQ(a, b) << tensor.name;
      }
      continue;
    }
    ++behind;
    const std::vector<double> expected(b.begin(), b.end());
    EXPECT_LT(relative_error(a.data(), expected, 1e-4), 1e-5) << tensor.name;
    EXPECT_TRUE(std::any_of(a.begin(), a.end(), [](float value) { return value != 0.0f; })) << tensor.name;
  }
  EXPECT_GE(behind, 8u);
}

TEST_P(HeadRows, NumberOfThreadsDoesNotChangeAnyBit) {
  const Batch batch = random_batch(config, head_row_lengths, 34);
  std::vector<std::vector<float>> gradients;
  for (const int threads : {1, 3}) {
    kernels::set_thread_count(threads);
    gradients.push_back(outcome(batch, {.training = true, .head_rows = true}).gradients);
  }
  kernels::set_thread_count(0);
  EXPECT_EQ(gradients[0], gradients[1]);
}

TEST_P(HeadRows, TheLastLayerTakesLessMemory) {
  const BatchLimits limits{1280, 5, 200, 256};
  const auto bytes = [&](bool head_rows) {
    std::size_t sum = 0;
    for (const MemoryRow& row :
         plan_model_memory(config, limits, {.training = true, .head_rows = head_rows}, *backend))
      sum += row.bytes;
    return static_cast<std::int64_t>(sum);
  };
  const std::int64_t rows = config.head == HeadType::classification ? 5
                            : config.head == HeadType::masked_lm    ? 200
                                                                    : 205;
  // Four of C (sums, norms and the output), F before gelu, and the statistics of two norms; R and 2 x [R, C]
  // are the rows' own.
  const std::int64_t floats =
      (limits.tokens - rows) * (4 * config.hidden_size + config.intermediate_size + 4) -
      rows * (1 + 2 * config.hidden_size);
  EXPECT_NEAR(static_cast<double>(bytes(false) - bytes(true)), static_cast<double>(4 * floats), 12 * 256);
}

TEST_P(HeadRows, TheStateOfTheLastLayerIsThoseRows) {
  const Batch batch = random_batch(config, head_row_lengths, 35);
  const auto states = [&](bool head_rows) {
    const auto model =
        make_model(*backend, config, batch, {.head_rows = head_rows}, random_parameters(config, 36));
    std::vector<std::vector<float>> got;
    model->forward(batch, {.hidden_state = [&](std::int64_t, const std::vector<float>& values) {
                     got.push_back(values);
                   }});
    if (head_rows) {
      EXPECT_THROW((void)model->last_hidden_state(), Error);
    } else {
      EXPECT_NO_THROW((void)model->last_hidden_state());
    }
    return got;
  };
  const auto some = states(true), all = states(false);
  ASSERT_EQ(some.size(), all.size());
  for (std::size_t i = 0; i + 1 < all.size(); ++i) EXPECT_EQ(some[i], all[i]) << i;
  std::vector<std::int64_t> rows;
  if (config.has_mlm()) rows.assign(batch.masked_rows.begin(), batch.masked_rows.end());
  if (config.head != HeadType::masked_lm)
    rows.insert(rows.end(), batch.token_offsets.begin(), batch.token_offsets.end() - 1);
  std::vector<float> expected;
  for (const std::int64_t row : rows) {
    const auto from = all.back().begin() + row * config.hidden_size;
    expected.insert(expected.end(), from, from + config.hidden_size);
  }
  EXPECT_EQ(some.back(), expected);
}

INSTANTIATE_TEST_SUITE_P(All, HeadRows,
                         ::testing::Values(RowsCase{NormType::postnorm, HeadType::pretraining},
                                           RowsCase{NormType::postnorm, HeadType::masked_lm},
                                           RowsCase{NormType::postnorm, HeadType::classification},
                                           RowsCase{NormType::prenorm, HeadType::pretraining},
                                           RowsCase{NormType::prenorm, HeadType::masked_lm},
                                           RowsCase{NormType::prenorm, HeadType::classification}),
                         name_of_case);

TEST(HeadRowsOf, AHeadThatReadsAllTokensGetsThem) {
  const auto backend = kernels::make_cpu_backend();
  const ModelConfig config = rows_config(NormType::postnorm, HeadType::question_answering);
  const Batch batch = random_batch(config, head_row_lengths, 37);
  const auto model = make_model(*backend, config, batch, {.head_rows = true}, random_parameters(config, 38));
  model->forward(batch, {});
  EXPECT_EQ(model->last_hidden_state().size(),
            batch.ids.size() * static_cast<std::size_t>(config.hidden_size));
}

TEST(HeadRowsOf, ABatchWithoutMaskedTokensHasNoLossAndNoGradient) {
  const auto backend = kernels::make_cpu_backend();
  const ModelConfig config = rows_config(NormType::postnorm, HeadType::masked_lm);
  const Batch with = random_batch(config, head_row_lengths, 39);
  Batch batch = with;
  batch.masked_rows.clear();
  batch.masked_labels.clear();
  const auto model = make_model(*backend, config, with, {.training = true, .head_rows = true},
                                random_parameters(config, 40));
  const ForwardResult result =
      model->forward(batch, {.training = true, .dropout_seed = 9, .hidden_state = {}});
  EXPECT_EQ(result[Loss::mlm].count, 0);
  model->backward(mean_scale(result));
  for (const float value : model->host_gradients()) ASSERT_EQ(value, 0.0f);
}

}  // namespace
}  // namespace bigbird
