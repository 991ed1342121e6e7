// A model with a stem against the reference in double, and what must not change what it computes: the batch
// around a sequence, padding, the rows that the head reads.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "lib/core/error.h"
#include "lib/model/network/model_operations.h"
#include "lib/model/network/stem.h"
#include "lib/model/network/validate_config.h"
#include "reference/losses.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

constexpr double stem_tolerance = 1e-5;

// Rows of 3 tokens, blocks of 4 rows.
ModelConfig stem_config(HeadType head) {
  ModelConfig config = tiny_config();
  add_stem(config, 3);
  config.block_size = 12;
  config.max_position_embeddings = 144;
  config.head = head;
  config.num_labels = 3;
  config.problem_type = ProblemType::multi_label;
  validate(config, "a model with a stem");
  return config;
}

std::unique_ptr<kernels::Backend> cpu() {
  return kernels::make_cpu_backend();
}

// Lengths of whole rows and blocks and of others; 120 tokens are 10 blocks, whose attention is sparse.
const std::vector<std::int64_t> stem_lengths{12, 120, 7, 109, 1};

TEST(Stem, PretrainingAgreesWithTheReferenceInStatesLogitsLossesAndGradients) {
  for (const bool checkpoint : {false, true}) {
    const ModelConfig config = stem_config(HeadType::pretraining);
    const auto backend = cpu();
    const Batch batch = random_batch(config, stem_lengths, 3);
    const std::vector<float> parameters = random_parameters(config, 4);
    const auto model =
        make_model(*backend, config, batch, {.training = true, .grad_checkpoint = checkpoint}, parameters);
    reference::PretrainingLabels labels;
    labels.masked.assign(batch.ids.size(), reference::ignored_label);
    for (std::size_t i = 0; i < batch.masked_rows.size(); ++i)
      labels.masked[static_cast<std::size_t>(batch.masked_rows[i])] = batch.masked_labels[i];
    labels.next_sentence.assign(batch.sequence_labels.begin(), batch.sequence_labels.end());
    const reference::PretrainingResult expected =
        reference::pretraining(reference_config(config), reference_parameters(config, parameters),
                               reference_sequences(config, batch), labels);
    const ForwardResult result = model->forward(batch, {});

    const std::vector<float> hidden = model->last_hidden_state();
    ASSERT_EQ(hidden.size(), batch.ids.size() * static_cast<std::size_t>(config.hidden_size));
    std::vector<double> of_tokens;  // each as its row
    const auto width = static_cast<std::size_t>(config.hidden_size);
    for (std::size_t token = 0; token < batch.ids.size(); ++token) {
      const double* const row = expected.last_hidden_state.values.data() + token / 3 * width;
      of_tokens.insert(of_tokens.end(), row, row + width);
    }
    EXPECT_LT(relative_error(hidden.data(), of_tokens), stem_tolerance);
    EXPECT_LT(relative_error(model->sequence_logits().data(), expected.relationship_logits.values),
              stem_tolerance);
    std::vector<double> logits;
    const auto vocabulary = static_cast<std::size_t>(config.vocab_size);
    for (const std::int32_t row : batch.masked_rows) {
      const double* const from =
          expected.prediction_logits.values.data() + static_cast<std::size_t>(row) * vocabulary;
      logits.insert(logits.end(), from, from + vocabulary);
    }
    const std::vector<float> got = model->masked_logits();
    ASSERT_EQ(got.size(), logits.size());
    EXPECT_LT(relative_error(got.data(), logits), stem_tolerance);
    const LossScale scale = mean_scale(result);
    EXPECT_NEAR(scaled_loss(result, scale), expected.loss, stem_tolerance * expected.loss);
    model->backward(scale);
    expect_gradients(*model, expected.gradients);
  }
}

TEST(Stem, LabelsOfSequencesAgreeWithTheReference) {
  const ModelConfig config = stem_config(HeadType::classification);
  const auto backend = cpu();
  const Batch batch = random_batch(config, stem_lengths, 5);
  const std::vector<float> parameters = random_parameters(config, 6);
  for (const bool head_rows : {false, true}) {
    const auto model =
        make_model(*backend, config, batch, {.training = true, .head_rows = head_rows}, parameters);
    reference::ClassificationLabels labels;
    labels.kind = reference::ClassificationLoss::binary_cross_entropy;
    labels.targets = reference::Matrix(stem_lengths.size(), 3);
    std::copy(batch.sequence_targets.begin(), batch.sequence_targets.end(), labels.targets.values.begin());
    const auto expected =
        reference::classification(reference_config(config), reference_parameters(config, parameters),
                                  reference_sequences(config, batch), labels);
    const ForwardResult result = model->forward(batch, {});
    EXPECT_LT(relative_error(model->sequence_logits().data(), expected.logits.values), stem_tolerance);
    model->backward(mean_scale(result));
    expect_gradients(*model, expected.gradients);
  }
}

TEST(Stem, InferenceIsTheSameBitsWhateverStandsAroundASequence) {
  const ModelConfig config = stem_config(HeadType::masked_lm);
  const auto backend = cpu();
  const std::vector<float> parameters = random_parameters(config, 7);
  const Batch all = random_batch(config, stem_lengths, 8);
  const auto together = make_model(*backend, config, all, {}, parameters);
  together->forward(all, {});
  const std::vector<float> logits = together->masked_logits();
  std::size_t first = 0;
  for (const std::int64_t length : stem_lengths) {
    const Batch one = random_batch(config, {length}, 8);
    const auto alone = make_model(*backend, config, one, {}, parameters);
    EXPECT_TRUE(alone->wants_whole_blocks());
    alone->forward(one, {});
    const std::vector<float> expected = alone->masked_logits();
    ASSERT_LE(first + expected.size(), logits.size());
    EXPECT_TRUE(
        std::equal(expected.begin(), expected.end(), logits.begin() + static_cast<std::ptrdiff_t>(first)))
        << length;
    first += expected.size();
  }
  EXPECT_EQ(first, logits.size());
}

TEST(Stem, ARowReadsItsOwnTokensAndThoseThatItsFiltersReach) {
  const ModelConfig config = stem_config(HeadType::encoder);
  const auto backend = cpu();
  Batch batch = random_batch(config, {24}, 9);
  const auto model = make_model(*backend, config, batch, {}, random_parameters(config, 10));
  const auto embedded = [&] {
    std::vector<float> states;
    ForwardOptions options;
    options.hidden_state = [&](std::int64_t layer, const std::vector<float>& values) {
      if (layer == 0) states = values;
    };
    model->forward(batch, options);
    return states;
  };
  const std::vector<float> before = embedded();
  batch.ids[13] = batch.ids[13] == 5 ? 6 : 5;  // of row 4: tokens 12 to 14
  const std::vector<float> after = embedded();
  ASSERT_EQ(before.size(), static_cast<std::size_t>(24 * config.hidden_size));
  for (std::int64_t token = 0; token < 24; ++token) {
    const auto at = static_cast<std::ptrdiff_t>(token * config.hidden_size);
    const bool same =
        std::equal(before.begin() + at, before.begin() + at + config.hidden_size, after.begin() + at);
    // Filters of 5 reach two tokens: 11 to 15, in rows 3 to 5.
    EXPECT_EQ(same, token < 9 || token >= 18) << token;
  }
}

TEST(Stem, TheTrunkHasAsManyBlocksAndTheOperationsOfItsRows) {
  const ModelConfig config = stem_config(HeadType::masked_lm);
  const ModelConfig trunk = trunk_config(config);
  EXPECT_EQ(trunk.block_size, 4);
  EXPECT_EQ(trunk.max_position_embeddings, 48);
  const Batch batch = random_batch(config, {120}, 11);
  const Batch rows = trunk_batch(config, batch);
  EXPECT_EQ(rows.tokens(), 40);
  EXPECT_EQ(rows.lengths, std::vector<std::int64_t>{40});
  EXPECT_EQ(rows.masked_rows, batch.masked_rows);
  const double linear = linear_operations_of_a_row(config);
  EXPECT_DOUBLE_EQ(linear_operations_of_a_token(config), linear / 3);
  // Of every token the products over its filters, and of each row those that spread it.
  const double width = static_cast<double>(config.hidden_size);
  const double stem = 120.0 * 2.0 * width * (12.0 + width);
  ModelConfig plain = trunk;
  plain.stem = {};
  Batch of_rows = rows;
  EXPECT_DOUBLE_EQ(ModelOperations(config).forward(batch), ModelOperations(plain).forward(of_rows) + stem);
}

TEST(Stem, WhatItCannotStandBeforeIsRefused) {
  const auto refused = [](const auto& change, const std::string& words) {
    ModelConfig config = stem_config(HeadType::masked_lm);
    change(config);
    try {
      validate(config, "config.json");
      ADD_FAILURE() << words;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      EXPECT_NE(error.message().find(words), std::string::npos) << error.message();
    }
  };
  refused([](ModelConfig& c) { c.vocab_size = 65; }, "vocabulary of 65 pieces");
  refused([](ModelConfig& c) { c.stem.kernel = 6; }, "kernel = 6 of the stem is even");
  refused([](ModelConfig& c) { c.stem.channels = 0; }, "channels = 0 of the stem");
  refused([](ModelConfig& c) { c.stem.stride = 5; }, "multiple of the stem's stride 5");
  refused([](ModelConfig& c) { c.type_vocab_size = 2; }, "type_vocab_size 2 with a stem");
  refused([](ModelConfig& c) { c.attention = AttentionPattern::longformer; }, "attention longformer");
  refused([](ModelConfig& c) { c.head = HeadType::question_answering; }, "head question-answering");
  refused(
      [](ModelConfig& c) {
        c.position_type = PositionType::absolute;
        c.rotary_dim = 0;
      },
      "table of positions");
}

}  // namespace
}  // namespace bigbird
