// Which tokens of a Longformer's sequences are global: by number, by the question, by the task of its head.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lib/core/error.h"
#include "lib/model/network/attention_windowed.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

constexpr std::int32_t separator_id = 5;

ModelConfig globals_config(HeadType head) {
  ModelConfig config = tiny_config();
  config.attention = AttentionPattern::longformer;
  config.attention_options.longformer.windows = {6};
  config.sep_token_id = separator_id;
  config.head = head;
  config.head_form = HeadForm::roberta;
  if (head == HeadType::structured_answers) add_answer_scores(config);
  return config;
}

// Sequences without a separator but where it is said; 0: none.
Batch batch_with_separators(const ModelConfig& config, const std::vector<std::int64_t>& lengths,
                            const std::vector<std::int64_t>& separators) {
  Batch batch = random_batch(config, lengths, 3);
  std::replace(batch.ids.begin(), batch.ids.end(), separator_id, separator_id + 1);
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    if (separators[s] > 0)
      batch.ids[static_cast<std::size_t>(batch.token_offsets[s] + separators[s])] = separator_id;
  }
  return batch;
}

const AttentionOption& global_option() {
  const auto& options = system_of(AttentionPattern::longformer).options;
  return *std::find_if(options.begin(), options.end(),
                       [](const AttentionOption& option) { return option.flag() == "--global"; });
}

TEST(Longformer, GlobalTokensAreThoseOfTheTask) {
  struct Case {
    HeadType head;
    std::int64_t first;
    bool question;
  };
  for (const Case& one :
       {Case{HeadType::encoder, 0, false}, Case{HeadType::masked_lm, 0, false},
        Case{HeadType::pretraining, 0, false}, Case{HeadType::classification, 1, false},
        Case{HeadType::question_answering, 0, true}, Case{HeadType::structured_answers, 0, true}}) {
    ModelConfig config = globals_config(one.head);
    const auto expect = [&](const char* typed, std::int64_t first, bool question) {
      global_option().parse(config.attention_options, typed, "--global");
      EXPECT_EQ(global_option().shown(config), typed);
      EXPECT_EQ(longformer_globals(config).first, first) << typed << ' ' << name_of(one.head);
      EXPECT_EQ(longformer_globals(config).question, question) << typed << ' ' << name_of(one.head);
    };
    EXPECT_EQ(global_option().shown(config), global_option().otherwise);
    expect("first:7", 7, false);
    expect("none", 0, false);
    expect("question", 0, true);
    expect("task", one.first, one.question);
  }
  AttentionOptions options;
  for (const char* bad : {"", "all", "first:0", "first:-1", "first:", "question:2"})
    EXPECT_THROW(global_option().parse(options, bad, "--global"), Error) << bad;
}

TEST(Longformer, AQuestionEndsBeforeItsSeparator) {
  const ModelConfig config = globals_config(HeadType::question_answering);
  // A second separator is of the text; without any, and at the first token, the first token alone is global.
  Batch batch = batch_with_separators(config, {20, 9, 30, 12}, {4, 8, 0, 1});
  batch.ids[10] = separator_id;
  batch.ids[static_cast<std::size_t>(batch.token_offsets[3])] = separator_id;
  const std::vector<std::int64_t> expected = {4, 8, 1, 1};
  for (std::size_t s = 0; s < expected.size(); ++s) {
    std::vector<std::int64_t> first(static_cast<std::size_t>(expected[s]));
    std::iota(first.begin(), first.end(), std::int64_t{0});
    EXPECT_EQ(global_tokens(config, batch, s), first) << s;
  }
}

struct Logits {
  std::vector<float> start, end, gradients;
};
Logits logits_of(const ModelConfig& config, const Batch& batch, const std::vector<float>& parameters) {
  const auto backend = kernels::make_cpu_backend();
  const auto model = make_model(*backend, config, batch, {.training = true}, parameters);
  const ForwardResult forward = model->forward(batch, {});
  Logits logits{model->start_logits(), model->end_logits(), {}};
  model->backward(mean_scale(forward));
  logits.gradients = model->host_gradients();
  return logits;
}

TEST(Longformer, AQuestionIsAsManyFirstTokens) {
  const ModelConfig by_question = globals_config(HeadType::question_answering);
  ModelConfig by_number = by_question;
  by_number.attention_options.longformer.global_first = 7;
  const std::vector<float> parameters = random_parameters(by_question, 4);
  const Batch batch = batch_with_separators(by_question, {40}, {7});
  const Logits question = logits_of(by_question, batch, parameters);
  const Logits number = logits_of(by_number, batch, parameters);
  EXPECT_EQ(question.start, number.start);
  EXPECT_EQ(question.gradients, number.gradients);
  // Another question, other numbers.
  const Logits longer = logits_of(by_question, batch_with_separators(by_question, {40}, {9}), parameters);
  EXPECT_NE(question.start, longer.start);
}

TEST(Longformer, QuestionsOfABatchAreEachItsOwn) {
  const ModelConfig config = globals_config(HeadType::question_answering);
  const std::vector<float> parameters = random_parameters(config, 4);
  const std::vector<std::int64_t> lengths = {40, 23, 31}, separators = {7, 0, 25};
  const Batch all = batch_with_separators(config, lengths, separators);
  const Logits together = logits_of(config, all, parameters);
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    const auto first = static_cast<std::ptrdiff_t>(all.token_offsets[s]);
    Batch one;
    one.append({all.ids.begin() + first, all.ids.begin() + first + lengths[s]},
               {all.types.begin() + first, all.types.begin() + first + lengths[s]}, config.block_size, 0);
    one.start_positions = {all.start_positions[s]};
    one.end_positions = {all.end_positions[s]};
    const Logits alone = logits_of(config, one, parameters);
    EXPECT_TRUE(
        std::equal(alone.start.begin(), alone.start.begin() + lengths[s], together.start.begin() + first))
        << s;
  }
}

TEST(Longformer, GlobalTokensThatABatchNamesTakeThePlaceOfTheRules) {
  const ModelConfig config = globals_config(HeadType::question_answering);
  const std::vector<float> parameters = random_parameters(config, 4);
  Batch batch = batch_with_separators(config, {40, 23}, {7, 4});
  const Logits by_rule = logits_of(config, batch, parameters);
  batch.global_rows = {0, 1, 2, 3, 4, 5, 6, 40, 41, 42, 43};
  EXPECT_EQ(by_rule.start, logits_of(config, batch, parameters).start);
  batch.global_rows = {9, 41, 45};
  EXPECT_EQ(global_tokens(config, batch, 1), (std::vector<std::int64_t>{1, 5}));
  EXPECT_NE(by_rule.start, logits_of(config, batch, parameters).start);
  for (const std::vector<std::int32_t>& bad : {std::vector<std::int32_t>{9, 3}, {40 + 23}, {-1}, {3, 3}}) {
    batch.global_rows = bad;
    EXPECT_THROW(logits_of(config, batch, parameters), Error);
  }
}

// tanh is derived from what it gave, not from what dropout left of it.
TEST(Longformer, TheHeadForClassesIsDerivedThroughItsDropout) {
  ModelConfig config = globals_config(HeadType::classification);
  config.num_labels = 3;
  config.classifier_dropout = 0.5;
  const std::vector<float> parameters = random_parameters(config, 4);
  const Batch batch = random_batch(config, {40, 17, 9, 30}, 3);
  const auto backend = kernels::make_cpu_backend();
  const auto model = make_model(*backend, config, batch, {.training = true}, parameters);
  ForwardOptions options;
  options.training = true;
  options.dropout_seed = 7;
  const TensorSpec& weight = *model->layout().find("classifier.dense.weight");
  const auto loss_at = [&](float step) {
    std::vector<float> moved = parameters;
    for (std::int64_t i = 0; i < weight.count; ++i)
      moved[static_cast<std::size_t>(weight.offset + i)] += step * (i % 3 == 0 ? 1.0f : -0.5f);
    model->set_parameters(moved);
    const ForwardResult forward = model->forward(batch, options);
    return scaled_loss(forward, mean_scale(forward));
  };
  constexpr float step = 1e-2f;
  const double expected = (loss_at(step) - loss_at(-step)) / (2.0 * static_cast<double>(step));
  model->set_parameters(parameters);
  model->zero_gradients();
  model->backward(mean_scale(model->forward(batch, options)));
  const std::vector<float> gradients = model->host_gradients();
  double along = 0;
  for (std::int64_t i = 0; i < weight.count; ++i)
    along += static_cast<double>(gradients[static_cast<std::size_t>(weight.offset + i)]) *
             (i % 3 == 0 ? 1.0 : -0.5);
  EXPECT_GT(std::abs(expected), 1e-2);
  EXPECT_NEAR(along, expected, 1e-2 * std::abs(expected));
}

TEST(Longformer, AModelWithOneTokenTypeReadsNone) {
  ModelConfig config = globals_config(HeadType::question_answering);
  const Batch batch = random_batch(config, {40, 17}, 3);  // of two types
  config.type_vocab_size = 1;
  Batch without = batch;
  std::fill(without.types.begin(), without.types.end(), 0);
  ASSERT_NE(batch.types, without.types);
  const std::vector<float> parameters = random_parameters(config, 4);
  EXPECT_EQ(logits_of(config, batch, parameters).start, logits_of(config, without, parameters).start);
}

}  // namespace
}  // namespace bigbird
