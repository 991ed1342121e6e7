// What must hold of BigBird-ETC without any oracle: what it is when it degenerates, packed examples,
// paragraphs in another order, bf16, and the loss of predicted sentences.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lib/core/rng.h"
#include "lib/model/network/contrast.h"
#include "lib/model/network/validate_config.h"
#include "lib/model/plans/patterns.h"
#include "lib/model_folder/etc_lift.h"
#include "reference/finite_difference.h"
#include "reference/two_inputs.h"
#include "tests/support/sanitizer.h"
#include "tests/unit/model/network/model_fixture.h"
#include "tests/unit/model/network/two_inputs_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

using Rows = std::vector<float>;

// Rows [first, first + count) of a matrix of `width` columns.
Rows rows_at(const Rows& all, std::int64_t first, std::int64_t count, std::int64_t width) {
  return {all.begin() + first * width, all.begin() + (first + count) * width};
}

struct Hidden {
  Rows longs, globals;
};
Hidden hidden_of(const ModelConfig& config, const Batch& batch, const std::vector<float>& parameters,
                 kernels::Precision precision = kernels::Precision::fp32) {
  const std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend(precision);
  const std::unique_ptr<Model> model = make_model(*backend, config, batch, {}, parameters);
  model->forward(batch, {});
  return {model->last_hidden_state(), model->global_hidden_state()};
}

void expect_near(const Rows& actual, const Rows& expected, double most) {
  ASSERT_EQ(actual.size(), expected.size());
  double largest = 0;
  for (std::size_t i = 0; i < actual.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(actual[i]) - static_cast<double>(expected[i])));
  EXPECT_LT(largest, most);
}

// Check 5: one set of projections, a window over all, no labels, equal LayerNorms: full attention without
// positions over [global, long].
TEST(Etc, Check5WithEverythingSharedItIsFullAttention) {
  ModelConfig config = two_inputs_config(2 | 4);
  config.head = HeadType::masked_lm;
  config.token_scores.clear();
  config.num_labels = 2;
  EtcOptions& options = config.attention_options.etc;
  options.distance = options.labels = 0;
  options.radius = 1000;
  ModelConfig full = config;
  full.attention = AttentionPattern::full;
  full.attention_options = {};
  full.position_type = PositionType::absolute;  // of zeros
  validate(config, "two inputs");
  validate(full, "full attention");
  const ParameterLayout layout(config), of_full(full);
  std::vector<float> values(static_cast<std::size_t>(layout.count())), of_one = random_parameters(full, 7);
  const TensorSpec& positions = *of_full.find("bert.embeddings.position_embeddings.weight");
  std::fill_n(of_one.begin() + positions.offset, positions.count, 0.0f);
  for (const TensorSpec& spec : layout.tensors()) {
    const TensorSpec* from = of_full.find(etc_source(spec.name));
    ASSERT_NE(from, nullptr) << spec.name;
    std::copy_n(of_one.begin() + from->offset, from->count, values.begin() + spec.offset);
  }
  const TwoInputs inputs = random_inputs(config, 23, 6, {}, 3);
  Batch two, one;
  two.append(inputs, config.block_size, 0);
  std::vector<std::int32_t> ids = inputs.global_ids, types = inputs.global_types;
  ids.insert(ids.end(), inputs.ids.begin(), inputs.ids.end());
  types.insert(types.end(), inputs.types.begin(), inputs.types.end());
  one.append(ids, types, config.block_size, 0);
  const Hidden found = hidden_of(config, two, values);
  const std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();
  const std::unique_ptr<Model> model = make_model(*backend, full, one, {}, of_one);
  model->forward(one, {});
  const Rows expected = model->last_hidden_state();
  const std::int64_t width = config.hidden_size;
  expect_near(rows_at(found.globals, 0, 6, width), rows_at(expected, 0, 6, width), 5e-6);
  expect_near(rows_at(found.longs, 0, 23, width), rows_at(expected, 6, 23, width), 5e-6);
}

// Check 9: examples that share a sequence are as each alone.
TEST(Etc, Check9PackedExamplesAreAsEachAlone) {
  const ModelConfig config = two_inputs_config(0);
  const std::vector<float> parameters = random_parameters(config, 4);
  const std::vector<std::pair<std::int64_t, std::int64_t>> sizes{{13, 3}, {7, 1}, {20, 5}};
  TwoInputs packed;
  std::vector<std::uint8_t> marks, global_marks;
  std::vector<TwoInputs> alone;
  for (const auto& [longs, globals] : sizes) {
    const TwoInputs one = random_inputs(config, longs, globals, {}, 6);
    const auto first = static_cast<std::int32_t>(packed.global_ids.size());
    const auto add = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    add(packed.ids, one.ids);
    add(packed.types, one.types);
    add(packed.global_ids, one.global_ids);
    add(packed.global_types, one.global_types);
    for (std::size_t column = 0; column < global_links; ++column) {
      for (const std::int32_t link : one.links[column])
        packed.links[column].push_back(link < 0 ? -1 : link + first);
    }
    marks.resize(packed.ids.size(), 0);
    global_marks.resize(packed.global_ids.size(), 0);
    marks.back() = global_marks.back() = 1;
    alone.push_back(one);
  }
  packed.examples = numbers_of_marks(marks);
  packed.global_examples = numbers_of_marks(global_marks);
  EXPECT_EQ(packed.examples.front(), 3);
  EXPECT_EQ(packed.examples.back(), 1);
  for (const bool hard : {false, true}) {
    ModelConfig masked = config;
    masked.attention_options.etc.hard_g2l = hard;
    Batch together;
    together.append(packed, config.block_size, 0);
    const Hidden all = hidden_of(masked, together, parameters);
    std::int64_t longs = 0, globals = 0;
    for (const TwoInputs& one : alone) {
      Batch batch;
      batch.append(one, config.block_size, 0);
      const Hidden expected = hidden_of(masked, batch, parameters);
      const auto count = static_cast<std::int64_t>(one.ids.size()),
                 global_count = static_cast<std::int64_t>(one.global_ids.size());
      expect_near(rows_at(all.longs, longs, count, config.hidden_size),
                  rows_at(expected.longs, 0, count, config.hidden_size), 5e-6);
      expect_near(rows_at(all.globals, globals, global_count, config.hidden_size),
                  rows_at(expected.globals, 0, global_count, config.hidden_size), 5e-6);
      longs += count;
      globals += global_count;
    }
  }
}

// Check 10: paragraphs in another order, long and global tokens together, give outputs in that order.
TEST(Etc, Check10ParagraphsInAnotherOrder) {
  const ModelConfig config = two_inputs_config(0);
  const std::vector<float> parameters = random_parameters(config, 4);
  const std::vector<std::pair<std::int64_t, std::int64_t>> sizes{{5, 1}, {13, 4}, {9, 3}, {11, 2}};
  std::vector<TwoInputs> paragraphs;
  for (const auto& [longs, globals] : sizes)
    paragraphs.push_back(random_inputs(config, longs, globals, {}, 6));
  const auto joined = [&](const std::vector<std::size_t>& order) {
    TwoInputs all;
    for (const std::size_t number : order) {
      const TwoInputs& one = paragraphs[number];
      const auto first = static_cast<std::int32_t>(all.global_ids.size());
      const auto add = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
      add(all.ids, one.ids);
      add(all.types, one.types);
      add(all.global_ids, one.global_ids);
      add(all.global_types, one.global_types);
      for (std::size_t column = 0; column < global_links; ++column) {
        for (const std::int32_t link : one.links[column])
          all.links[column].push_back(link < 0 ? -1 : link + first);
      }
      all.segments.resize(all.ids.size(), static_cast<std::int32_t>(number));
      all.parts.resize(all.global_ids.size(), static_cast<std::int32_t>(number));
    }
    Batch batch;
    batch.append(all, config.block_size, 0);
    return hidden_of(config, batch, parameters);
  };
  const Hidden before = joined({0, 1, 2, 3}), after = joined({0, 3, 1, 2});
  const auto part = [&](const Rows& rows, std::int64_t first, std::int64_t count) {
    return rows_at(rows, first, count, config.hidden_size);
  };
  expect_near(part(after.longs, 0, 5), part(before.longs, 0, 5), 5e-6);
  expect_near(part(after.longs, 5, 11), part(before.longs, 27, 11), 5e-6);
  expect_near(part(after.longs, 16, 13), part(before.longs, 5, 13), 5e-6);
  expect_near(part(after.globals, 1, 2), part(before.globals, 8, 2), 5e-6);
  expect_near(part(after.globals, 3, 4), part(before.globals, 1, 4), 5e-6);
}

// Check 11: which pairs meet, by what the model gives against the oracle's, over random numbers of all kinds.
TEST(Etc, Check11MasksOfRandomNumbers) {
  ModelConfig config = two_inputs_config(0);
  config.num_hidden_layers = 1;
  config.hidden_size = 6;
  config.intermediate_size = 4;
  config.attention_options.etc.distance = config.attention_options.etc.labels = 0;
  config.attention_options.etc.radius = 2;
  CounterRng random(17, Purpose::test, 1);
  for (int number = 0; number < (testing::under_sanitizer ? 200 : 1000); ++number) {
    SCOPED_TRACE(number);
    config.attention_options.etc.hard_g2l = random.below(2) == 0;
    config.attention_options.etc.hard_l2g = random.below(2) == 0;
    const Given given{random.below(4) != 0, random.below(2) == 0, random.below(2) == 0, random.below(2) == 0,
                      random.below(2) == 0};
    const TwoInputs inputs = random_inputs(config, random.between(1, 11), random.between(1, 4), given,
                                           static_cast<std::uint64_t>(number));
    const std::vector<float> parameters = random_parameters(config, 4);
    Batch batch;
    batch.append(inputs, config.block_size, 0);
    const Hidden found = hidden_of(config, batch, parameters);
    const reference::TwoInputsStates expected = reference::two_inputs_forward(
        reference_of(config), reference_parameters(config, parameters), reference_of(inputs));
    expect_states(found.longs, expected.longs.back(), 0, 5e-6, "long rows");
    expect_states(found.globals, expected.globals.back(), 0, 5e-6, "global rows");
    if (HasFailure()) return;
  }
}

// Check 13: bf16 products against fp32 in base width. (All 12 layers passed too, and took 13 s.)
TEST(Etc, Check13Bf16InBaseSize) {
  if (testing::under_sanitizer) GTEST_SKIP() << "seconds of products; smaller models are watched";
  ModelConfig config;
  config.vocab_size = 1000;
  config.num_hidden_layers = 3;
  config.head = HeadType::encoder;
  config.attention = AttentionPattern::etc;
  config.embedding_norm = EmbeddingNorm::before_dropout;
  config.position_type = PositionType::none;
  config.type_vocab_size = 16;
  const std::vector<float> parameters = initial_parameters(ParameterLayout(config), config, 3);
  Batch batch;
  batch.append(random_inputs(config, 120, 5, {}, 3), config.block_size, 0);
  const Hidden exact = hidden_of(config, batch, parameters);
  const Hidden rounded = hidden_of(config, batch, parameters, kernels::Precision::bf16);
  const auto error = [](const Rows& actual, const Rows& expected) {
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      difference += std::pow(static_cast<double>(actual[i] - expected[i]), 2);
      norm += std::pow(static_cast<double>(expected[i]), 2);
    }
    return std::sqrt(difference / norm);
  };
  EXPECT_LT(error(rounded.longs, exact.longs), 3e-2);
  EXPECT_LT(error(rounded.globals, exact.globals), 3e-2);
  EXPECT_GT(error(rounded.longs, exact.longs), 0.0);
}

TEST(Etc, Check16TheLossOfSentencesAndItsGradients) {
  std::vector<float> contexts{1, 0, 0.5f, -0.5f, 0, 1}, targets{0.8f, 0.1f, 0.2f, -0.9f, -0.3f, 0.7f};
  const Contrast made = contrast(contexts, targets, {0, 1, 2}, 2);
  EXPECT_EQ(made.loss.count, 3);
  // The vector is of decimal numbers, which floats round.
  EXPECT_NEAR(made.loss.sum / 3, 0.760602388982905, 1e-7);
  EXPECT_EQ(made.candidates, 9.0);
  EXPECT_EQ(made.loss.correct, 3);
  const auto differences = [&](std::vector<float>& variable, const std::vector<float>& gradient,
                               const std::vector<std::int32_t>& texts) {
    for (std::size_t i = 0; i < variable.size(); ++i) {
      const float before = variable[i], step = 0.0078125f;
      variable[i] = before + step;
      const double above = contrast(contexts, targets, texts, 2).loss.sum;
      variable[i] = before - step;
      const double below = contrast(contexts, targets, texts, 2).loss.sum;
      variable[i] = before;
      EXPECT_NEAR(static_cast<double>(gradient[i]), (above - below) / (2 * static_cast<double>(step)), 2e-5);
    }
  };
  for (const std::vector<std::int32_t>& texts : {std::vector<std::int32_t>{0, 1, 2}, {5, 7, 5}}) {
    const Contrast of = contrast(contexts, targets, texts, 2);
    differences(contexts, of.dcontexts, texts);
    differences(targets, of.dtargets, texts);
  }
  // Sentences of one text are not each other's wrong answers: by hand, of texts 5, 7, 5.
  const Contrast twice = contrast(contexts, targets, {5, 7, 5}, 2);
  EXPECT_EQ(twice.candidates, 7.0);
  const double s = 1 / std::sqrt(2.0);
  const double first = std::log(std::exp(0.8 * s) + std::exp(0.2 * s)) - 0.8 * s;
  const double third = std::log(std::exp(-0.9 * s) + std::exp(0.7 * s)) - 0.7 * s;
  const double second = std::log(std::exp(0.35 * s) + std::exp(0.55 * s) + std::exp(-0.5 * s)) - 0.55 * s;
  EXPECT_NEAR(twice.loss.sum, first + second + third, 1e-6);
  // Fewer than two texts: nothing to tell apart.
  const Contrast none = contrast(contexts, targets, {4, 4, 4}, 2);
  EXPECT_EQ(none.loss.count, 0);
  EXPECT_EQ(none.loss.sum, 0.0);
  EXPECT_EQ(none.dcontexts, std::vector<float>(6, 0.0f));
  EXPECT_EQ(contrast({}, {}, {}, 2).loss.count, 0);
}

// Check 21: random blocks, which no source has.
TEST(Etc, Check21RandomBlocksLieBeyondTheWindow) {
  for (const std::int64_t radius : {1, 4, 5, 8, 9}) {
    const auto lists = etc_random_rows(12, 3, 4, radius, 2, 1);
    EXPECT_EQ(lists, etc_random_rows(12, 3, 4, radius, 2, 1));
    EXPECT_NE(lists, etc_random_rows(12, 3, 4, radius, 2, 2));
    for (const auto& head : lists) {
      for (std::int64_t row = 0; row < 12; ++row) {
        const auto& blocks = head[static_cast<std::size_t>(row)];
        EXPECT_EQ(blocks.size(), 2u);
        EXPECT_NE(blocks[0], blocks[1]);
        for (const std::int64_t block : blocks) {
          for (std::int64_t i = 4 * row; i < 4 * row + 4; ++i) {
            for (std::int64_t j = 4 * block; j < 4 * block + 4; ++j) EXPECT_GT(std::abs(i - j), radius);
          }
        }
      }
    }
  }
  // Fewer where there are not enough: of 4 blocks the inner rows have one block beyond the next one, at most.
  const auto few = etc_random_rows(4, 1, 4, 4, 2, 0);
  EXPECT_EQ(few[0][0].size(), 2u);
  EXPECT_EQ(few[0][1], (std::vector<std::int32_t>{3}));
  EXPECT_EQ(few[0][2], (std::vector<std::int32_t>{0}));
  // What is drawn never changes: it is part of what a model means.
  const KeyLists drawn{{{5, 7}, {7, 5}, {0, 7}, {6, 0}, {6, 2}, {3, 7}, {3, 1}, {5, 4}},
                       {{5, 7}, {7, 5}, {6, 5}, {6, 0}, {1, 0}, {3, 7}, {3, 2}, {0, 2}}};
  EXPECT_EQ(etc_random_rows(8, 2, 4, 4, 2, 3), drawn);
}

TEST(Etc, Check21RandomBlocksAgainstTheReference) {
  for (const int form : {0, 2}) {
    ModelConfig config = two_inputs_config(form);
    config.num_random_blocks = 2;
    for (const Given& given : {Given{}, Given{.segments = true, .parts = true}, Given{.examples = true}})
      expect_agreement(config, given, {{61, 5}, {14, 3}, {3, 1}});
  }
}

}  // namespace
}  // namespace bigbird
