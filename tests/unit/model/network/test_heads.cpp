// Heads and losses in fp32 against the reference in double, and what a head promises beside its numbers.
#include "lib/model/network/heads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <tuple>

#include "lib/core/error.h"
#include "reference/losses.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

constexpr double tolerance = 1e-5;
constexpr std::int64_t separator = 5;

// Short sequences (full attention) beside long ones.
const std::vector<std::int64_t> ragged{37, 9, 64, 1, 33};

ModelConfig head_config(HeadType head) {
  ModelConfig config = tiny_config();
  config.random_mode = RandomMode::hf_train;  // sparse from 8 blocks on
  config.head = head;
  config.num_labels = 3;
  config.sep_token_id = separator;
  if (head == HeadType::structured_answers) add_answer_scores(config);
  return config;
}

class Heads : public ::testing::Test {
 protected:
  std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();

  // Runs the batch, and backward with the scale of the mean.
  std::unique_ptr<Model> run(const ModelConfig& config, const Batch& batch,
                             const std::vector<float>& parameters, double expected_loss) {
    auto model = make_model(*backend, config, batch, {.training = true}, parameters);
    const ForwardResult result = model->forward(batch, {});
    const LossScale scale = mean_scale(result);
    EXPECT_NEAR(scaled_loss(result, scale), expected_loss, tolerance * expected_loss);
    return model;
  }
};

// Both columns of the reference against the two vectors of the model. Tokens of the question are 1e6 lower:
// they have no digits behind the point left in fp32.
void expect_spans(const Model& model, const reference::Matrix& expected) {
  const std::array<std::vector<float>, 2> actual{model.start_logits(), model.end_logits()};
  double largest = 0.0;
  for (const double value : expected.values) {
    if (value > -1e5) largest = std::max(largest, std::abs(value));
  }
  for (std::size_t row = 0; row < expected.rows; ++row) {
    for (std::size_t side = 0; side < 2; ++side) {
      const double value = expected(row, side);
      EXPECT_NEAR(static_cast<double>(actual[side][row]), value, value > -1e5 ? tolerance * largest : 0.1)
          << "row " << row << ", side " << side;
    }
  }
}

reference::QuestionLabels question_labels(const Batch& batch) {
  reference::QuestionLabels labels;
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    const std::int32_t* ids = batch.ids.data() + batch.token_offsets[s];
    const std::int64_t length = batch.given_length(s);
    labels.question_lengths.push_back(static_cast<std::size_t>(question_length(ids, length, separator)));
    labels.competing.push_back(static_cast<std::size_t>(length));
  }
  labels.starts.assign(batch.start_positions.begin(), batch.start_positions.end());
  labels.ends.assign(batch.end_positions.begin(), batch.end_positions.end());
  return labels;
}

TEST_F(Heads, MaskedTokensAloneAgreeWithTheReference) {
  const ModelConfig config = head_config(HeadType::masked_lm);
  const Batch batch = random_batch(config, ragged, 51);
  const std::vector<float> parameters = random_parameters(config, 52);
  std::vector<std::int64_t> labels(batch.ids.size(), reference::ignored_label);
  for (std::size_t i = 0; i < batch.masked_rows.size(); ++i) {
    labels[static_cast<std::size_t>(batch.masked_rows[i])] = batch.masked_labels[i];
  }
  reference::Parameters known = reference_parameters(config, parameters);
  const reference::MaskedResult expected =
      reference::masked_tokens(reference_config(config), known, reference_sequences(config, batch), labels);
  const auto model = run(config, batch, parameters, expected.loss);
  std::vector<double> rows;
  for (const std::int32_t row : batch.masked_rows) {
    for (std::size_t j = 0; j < 37; ++j) rows.push_back(expected.logits(static_cast<std::size_t>(row), j));
  }
  EXPECT_LT(relative_error(model->masked_logits().data(), rows), tolerance);
  model->backward(mean_scale(model->forward(batch, {})));
  expect_gradients(*model, expected.gradients);
}

TEST_F(Heads, TheEncoderAloneGivesStatesAndThePooledTokenAndHasNoLoss) {
  const ModelConfig config = head_config(HeadType::encoder);
  const Batch batch = random_batch(config, ragged, 53);
  const std::vector<float> parameters = random_parameters(config, 54);
  const reference::EncoderResult expected = reference::encoder(
      reference_config(config), reference_parameters(config, parameters), reference_sequences(config, batch));
  const auto model = make_model(*backend, config, batch, {.training = true}, parameters);
  const ForwardResult result = model->forward(batch, {});
  EXPECT_EQ(scaled_loss(result, mean_scale(result)), 0.0);
  EXPECT_LT(relative_error(model->last_hidden_state().data(), expected.last_hidden_state.values), tolerance);
  EXPECT_LT(relative_error(model->pooler_output().data(), expected.pooled.values), tolerance);
  EXPECT_THROW(model->backward({}), Error);
  EXPECT_THROW(model->sequence_logits(), Error);
  EXPECT_THROW(model->masked_logits(), Error);
  EXPECT_THROW(model->start_logits(), Error);
}

TEST_F(Heads, EveryLossOfClassificationAgreesWithTheReference) {
  for (const auto& [problem, kind, labels, weight] :
       {std::tuple{ProblemType::multi_label, reference::ClassificationLoss::binary_cross_entropy, 3, 1.0},
        std::tuple{ProblemType::multi_label, reference::ClassificationLoss::binary_cross_entropy, 3, 8.0},
        std::tuple{ProblemType::regression, reference::ClassificationLoss::mean_squared_error, 3, 1.0},
        std::tuple{ProblemType::regression, reference::ClassificationLoss::mean_squared_error, 1, 1.0}}) {
    ModelConfig config = head_config(HeadType::classification);
    config.num_labels = labels;
    config.problem_type = problem;
    config.positive_weight = weight;
    const Batch batch = random_batch(config, ragged, 55);
    const std::vector<float> parameters = random_parameters(config, 56);
    reference::ClassificationLabels targets;
    targets.kind = kind;
    targets.positive_weight = weight;
    targets.targets =
        reference::Matrix(ragged.size(), static_cast<std::size_t>(labels),
                          reference::Vector(batch.sequence_targets.begin(), batch.sequence_targets.end()));
    const reference::ClassificationResult expected =
        reference::classification(reference_config(config), reference_parameters(config, parameters),
                                  reference_sequences(config, batch), targets);
    const auto model = run(config, batch, parameters, expected.loss);
    EXPECT_LT(relative_error(model->sequence_logits().data(), expected.logits.values), tolerance);
    model->backward(mean_scale(model->forward(batch, {})));
    reference::Parameters gradients = expected.gradients;
    expect_gradients(*model, gradients);
  }
}

TEST_F(Heads, ClassesOfTokensAgreeWithTheReference) {
  const ModelConfig config = head_config(HeadType::token_classification);
  const std::vector<float> parameters = random_parameters(config, 60);
  for (const bool every_token : {false, true}) {
    Batch batch = random_batch(head_config(HeadType::encoder), ragged, 59);
    std::vector<std::size_t> rows;
    for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
      for (std::int64_t token = 0; token < batch.lengths[s]; token += every_token ? 1 : 3)
        rows.push_back(static_cast<std::size_t>(batch.token_offsets[s] + token));
    }
    std::vector<std::int64_t> classes;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!every_token) batch.output_spans.push_back({static_cast<std::int32_t>(rows[i]), 1});
      batch.sequence_labels.push_back(i % 7 == 3 ? ignored_label : static_cast<std::int32_t>(i * i % 3));
      classes.push_back(batch.sequence_labels.back());
    }
    const reference::ClassificationResult expected =
        reference::token_classification(reference_config(config), reference_parameters(config, parameters),
                                        reference_sequences(config, batch), rows, classes);
    const auto model = run(config, batch, parameters, expected.loss);
    EXPECT_LT(relative_error(model->sequence_logits().data(), expected.logits.values), tolerance);
    const ForwardResult result = model->forward(batch, {});
    EXPECT_EQ(result[Loss::sequence].count,
              std::count_if(classes.begin(), classes.end(),
                            [](std::int64_t label) { return label != ignored_label; }));
    model->backward(mean_scale(result));
    expect_gradients(*model, expected.gradients);
    batch.output_spans.push_back({static_cast<std::int32_t>(rows.front()), 2});
    EXPECT_THROW(model->forward(batch, {}), Error) << "two tokens have no class";
  }
}

TEST_F(Heads, AnswersOfRaggedSequencesAgreeWithTheReference) {
  const ModelConfig config = head_config(HeadType::question_answering);
  Batch batch = random_batch(config, ragged, 57);
  batch.ids[3] = separator;
  batch.start_positions[0] = 20;
  batch.start_positions[1] = ignored_label;
  const std::vector<float> parameters = random_parameters(config, 58);
  reference::QuestionLabels labels = question_labels(batch);
  // Answers that lie in a question cost 1e6 nats; the comparison is of the others.
  for (std::size_t s = 0; s < ragged.size(); ++s) {
    for (auto* positions : {&batch.start_positions, &batch.end_positions}) {
      const auto question = static_cast<std::int32_t>(labels.question_lengths[s]);
      if ((*positions)[s] > 0 && (*positions)[s] < question) (*positions)[s] = 0;
    }
  }
  labels = question_labels(batch);
  const reference::QuestionResult expected =
      reference::question_answering(reference_config(config), reference_parameters(config, parameters),
                                    reference_sequences(config, batch), labels);
  const auto model = run(config, batch, parameters, expected.loss);
  expect_spans(*model, expected.logits);
  model->backward(mean_scale(model->forward(batch, {})));
  expect_gradients(*model, expected.gradients);
}

// As transformers computes a padded (B, T) matrix: in full attention padding sees the keys, and it competes.
TEST_F(Heads, AnswersOfAMatrixWithPaddingAgreeWithTheReference) {
  const ModelConfig config = head_config(HeadType::question_answering);
  for (const std::int64_t tokens : {26, 61}) {  // full attention, sparse attention
    Batch batch = random_batch(config, {tokens, tokens}, 59);
    batch.lengths[1] = tokens - 9;
    batch.given_lengths = {tokens, tokens};
    for (std::size_t t = 0; t < batch.ids.size(); ++t) {
      if (batch.ids[t] == separator) batch.ids[t] = 6;
    }
    batch.ids[2] = separator;
    batch.start_positions = {12, 0};
    batch.end_positions = {15, static_cast<std::int32_t>(tokens) - 2};  // among the padding
    const std::vector<float> parameters = random_parameters(config, 60);
    reference::Sequences sequences = reference_sequences(config, batch);
    if (tokens > 28) sequences.query_lengths.clear();
    const reference::QuestionResult expected =
        reference::question_answering(reference_config(config), reference_parameters(config, parameters),
                                      sequences, question_labels(batch));
    const auto model = run(config, batch, parameters, expected.loss);
    expect_spans(*model, expected.logits);
    model->backward(mean_scale(model->forward(batch, {})));
    expect_gradients(*model, expected.gradients);
  }
}

const std::vector<TokenScore> start_and_end{{"start", true}, {"end", true}};

TEST_F(Heads, SeveralRightStartsAndEndsAgreeWithTheReference) {
  const ModelConfig config = head_config(HeadType::question_answering);
  Batch batch = random_batch(config, ragged, 67);
  batch.ids[3] = separator;
  batch.start_positions.clear();
  batch.end_positions.clear();
  batch.token_targets = random_targets(batch, start_and_end, 68);
  // One group over two sequences, as the windows of a document: their rows follow one another.
  batch.token_targets[0].group_offsets.erase(batch.token_targets[0].group_offsets.begin() + 1);
  // Answers in the question cost 1e6 nats, which leaves no digits for the others.
  const std::vector<std::size_t> questions = question_labels(batch).question_lengths;
  for (TokenTargets& side : batch.token_targets) {
    auto right = side.right.begin();  // of the real tokens of all sequences
    for (std::size_t s = 0; s < ragged.size(); right += ragged[s++])
      std::fill(right + 1, right + static_cast<std::ptrdiff_t>(questions[s]), std::uint8_t{0});
  }
  const std::vector<float> parameters = random_parameters(config, 69);
  const reference::QuestionResult expected = reference::question_answering(
      reference_config(config), reference_parameters(config, parameters), reference_sequences(config, batch),
      questions, reference_targets(start_and_end, batch.token_targets));
  const auto model = run(config, batch, parameters, expected.loss);
  expect_spans(*model, expected.logits);
  const ForwardResult result = model->forward(batch, {});
  EXPECT_EQ(result[Loss::start].count, batch.token_targets[0].answered_groups());
  EXPECT_LE(result[Loss::start].count, 4);
  EXPECT_GT(result[Loss::start].count, 1);
  model->backward(mean_scale(result));
  expect_gradients(*model, expected.gradients);
}

TEST_F(Heads, OneRightPositionInGroupsIsThePositionItself) {
  const ModelConfig config = head_config(HeadType::question_answering);
  const Batch batch = random_batch(config, ragged, 70);
  Batch grouped = batch;
  grouped.start_positions.clear();
  grouped.end_positions.clear();
  for (const auto* positions : {&batch.start_positions, &batch.end_positions}) {
    TokenTargets& side = grouped.token_targets.emplace_back();
    for (std::size_t s = 0; s < ragged.size(); ++s) {
      side.open_group();
      for (std::int64_t t = 0; t < ragged[s]; ++t) side.add(batch.token_offsets[s] + t, t == (*positions)[s]);
    }
  }
  const auto model = make_model(*backend, config, batch, {.training = true}, random_parameters(config, 71));
  const ForwardResult one = model->forward(batch, {}), group = model->forward(grouped, {});
  EXPECT_NEAR(group[Loss::start].sum, one[Loss::start].sum, 1e-5 * one[Loss::start].sum);
  EXPECT_NEAR(group[Loss::end].sum, one[Loss::end].sum, 1e-5 * one[Loss::end].sum);
  EXPECT_EQ(group[Loss::start].count, one[Loss::start].count);
}

TEST_F(Heads, AnswersInPartsAgreeWithTheReference) {
  for (const bool types : {true, false}) {
    ModelConfig config = head_config(HeadType::structured_answers);
    if (!types) {
      config.label_names.clear();
      config.num_labels = 0;
    }
    Batch batch = random_batch(head_config(HeadType::structured_answers), ragged, 72);
    batch.sequence_labels[2] = ignored_label;
    if (!types) batch.sequence_labels.clear();
    const std::vector<float> parameters = random_parameters(config, 73);
    const reference::StructuredLabels labels{reference_targets(config.token_scores, batch.token_targets),
                                             {batch.sequence_labels.begin(), batch.sequence_labels.end()}};
    const reference::StructuredResult expected =
        reference::structured_answers(reference_config(config), reference_parameters(config, parameters),
                                      reference_sequences(config, batch), labels);
    const auto model = run(config, batch, parameters, expected.loss);
    for (std::size_t score = 0; score < 3; ++score) {
      std::vector<double> column;
      for (std::size_t row = 0; row < expected.logits.rows; ++row)
        column.push_back(expected.logits(row, score));
      EXPECT_LT(relative_error(model->token_logits(score).data(), column), tolerance) << score;
    }
    EXPECT_THROW(model->token_logits(3), Error);
    if (types) {
      EXPECT_LT(relative_error(model->sequence_logits().data(), expected.type_logits.values), tolerance);
    } else {
      EXPECT_THROW(model->sequence_logits(), Error);
    }
    const ForwardResult result = model->forward(batch, {});
    EXPECT_EQ(result[Loss::sequence].count, types ? 4 : 0);
    EXPECT_EQ(result[Loss::mark].count, 5);
    EXPECT_LT(result[Loss::choice].count, 10);  // a group without a right row is not counted
    model->zero_gradients();
    model->backward(mean_scale(result));
    expect_gradients(*model, expected.gradients);
  }
}

// The same tokens of two inputs are added up before they compete, as WikiHop's candidates.
TEST_F(Heads, SumsOverInputsAgreeWithTheReference) {
  ModelConfig config = head_config(HeadType::structured_answers);
  Batch batch = random_batch(config, ragged, 83);
  TokenTargets& choice = batch.token_targets[0];
  ASSERT_TRUE(config.token_scores[0].softmax);
  choice = {};
  for (const std::size_t first : {0U, 2U}) {
    choice.open_group(first == 0 ? 2 : 1);
    for (std::size_t s = first; s < (first == 0 ? 2U : 3U); ++s) {
      for (std::int64_t t = 1; t < 8; ++t) choice.add(batch.token_offsets[s] + t, t == 3);
    }
  }
  EXPECT_EQ(choice.group_parts, (std::vector<std::int32_t>{2, 1}));
  const std::vector<float> parameters = random_parameters(config, 84);
  const reference::StructuredLabels labels{reference_targets(config.token_scores, batch.token_targets),
                                           {batch.sequence_labels.begin(), batch.sequence_labels.end()}};
  const reference::StructuredResult expected =
      reference::structured_answers(reference_config(config), reference_parameters(config, parameters),
                                    reference_sequences(config, batch), labels);
  const auto model = run(config, batch, parameters, expected.loss);
  model->zero_gradients();
  model->backward(mean_scale(model->forward(batch, {})));
  expect_gradients(*model, expected.gradients);
  // Another loss than that of all tokens of both inputs.
  const double of_sums = model->forward(batch, {})[Loss::choice].sum;
  choice.group_parts.clear();
  EXPECT_GT(std::abs(model->forward(batch, {})[Loss::choice].sum - of_sums), 1e-3);
}

// Micro-batches with the scale of all of them together have the gradient of the whole.
TEST_F(Heads, PartsOfABatchAddUpToTheWhole) {
  const ModelConfig config = head_config(HeadType::structured_answers);
  const std::vector<float> parameters = random_parameters(config, 74);
  const Batch whole = random_batch(config, ragged, 75);
  const Batch first = random_batch(config, {ragged[0], ragged[1]}, 75),
              rest = random_batch(config, {ragged[2], ragged[3], ragged[4]}, 75);
  const auto model = make_model(*backend, config, whole, {.training = true}, parameters);
  const LossScale scale = mean_scale(model->forward(whole, {}));
  model->backward(scale);
  const std::vector<float> expected = model->host_gradients();
  model->zero_gradients();
  for (const Batch* part : {&first, &rest}) {
    model->forward(*part, {});
    model->backward(scale);
  }
  const std::vector<double> wide(expected.begin(), expected.end());
  EXPECT_LT(relative_error(model->host_gradients().data(), wide), tolerance);
}

TEST_F(Heads, AnswersInPartsHaveNoLossWithoutTargets) {
  const ModelConfig config = head_config(HeadType::structured_answers);
  Batch batch = random_batch(config, ragged, 76);
  batch.token_targets.clear();
  batch.sequence_labels.clear();
  const auto model = make_model(*backend, config, batch, {.training = true}, random_parameters(config, 77));
  const ForwardResult result = model->forward(batch, {});
  EXPECT_EQ(scaled_loss(result, mean_scale(result)), 0.0);
  model->zero_gradients();
  model->backward({{1, 1, 1, 1, 1, 1}});
  for (const float gradient : model->host_gradients()) EXPECT_EQ(gradient, 0.0f);
}

TEST_F(Heads, TargetsOfTokensThatDoNotFitTheBatchAreRefused) {
  const ModelConfig config = head_config(HeadType::structured_answers);
  const Batch batch = random_batch(config, {33, 9}, 78);
  const auto model = make_model(*backend, config, batch, {}, random_parameters(config, 79));
  const auto refused = [&](const std::function<void(Batch&)>& damage) {
    Batch damaged = batch;
    damage(damaged);
    EXPECT_THROW(model->forward(damaged, {}), Error);
  };
  model->forward(batch, {});
  refused([](Batch& b) { b.token_targets.pop_back(); });
  refused([](Batch& b) { b.token_targets[0].rows[0] = -1; });
  refused([](Batch& b) { b.token_targets[0].rows[0] = static_cast<std::int32_t>(b.tokens()); });
  refused([](Batch& b) { b.token_targets[0].rows[0] = 33; });  // padding
  refused([](Batch& b) { b.token_targets[0].rows[0] = b.token_targets[0].rows[1]; });
  refused([](Batch& b) { b.token_targets[0].right[0] = 2; });
  refused([](Batch& b) { b.token_targets[0].right.pop_back(); });
  refused([](Batch& b) { b.token_targets[0].group_offsets.back() -= 1; });
  refused([](Batch& b) { b.token_targets[0].group_offsets.front() = 1; });
  refused([](Batch& b) { b.token_targets[0].group_offsets[1] = 50; });
  refused([](Batch& b) { b.token_targets[0].group_offsets.clear(); });
  refused([](Batch& b) { b.token_targets[0].open_group(); });  // more groups than sequences
  refused([](Batch& b) { b.token_targets[0].group_parts = {1}; });
  refused([](Batch& b) { b.token_targets[0].group_parts = {0, 1}; });
  refused([](Batch& b) { b.token_targets[0].group_parts = {2, 1}; });  // of 33 rows
  refused([](Batch& b) {                                               // parts that differ in what is right
    TokenTargets& targets = b.token_targets[0];
    std::fill(targets.right.begin(), targets.right.end(), std::uint8_t{0});
    targets.right[1] = 1;
    targets.group_parts = {3, 3};
  });
  refused([](Batch& b) {
    b.token_targets[2].group_parts = {
        1, b.token_targets[2].group_offsets[2] - b.token_targets[2].group_offsets[1]};
  });
  refused([](Batch& b) { b.start_positions = b.end_positions = {1, 1}; });
  refused([](Batch& b) { b.sequence_labels[0] = 3; });

  const ModelConfig questions = head_config(HeadType::question_answering);
  Batch positions = random_batch(questions, {33, 9}, 80);
  const auto other = make_model(*backend, questions, positions, {}, random_parameters(questions, 81));
  positions.token_targets = random_targets(positions, start_and_end, 82);
  EXPECT_THROW(other->forward(positions, {}), Error);  // beside positions
  positions.start_positions.clear();
  positions.end_positions.clear();
  other->forward(positions, {});
  positions.token_targets.pop_back();
  EXPECT_THROW(other->forward(positions, {}), Error);
}

TEST_F(Heads, PaddingOfARaggedBatchDoesNotChangeAnAnswer) {
  const ModelConfig config = head_config(HeadType::question_answering);
  const std::vector<float> parameters = random_parameters(config, 61);
  Batch batch = random_batch(config, {33}, 62);
  const auto model = make_model(*backend, config, batch, {.training = true}, parameters);
  const ForwardResult before = model->forward(batch, {});
  for (std::size_t t = 33; t < batch.ids.size(); ++t) batch.ids[t] = 9;
  const ForwardResult after = model->forward(batch, {});
  EXPECT_EQ(before[Loss::start].sum, after[Loss::start].sum);
  EXPECT_EQ(before[Loss::end].sum, after[Loss::end].sum);

  const ModelConfig in_parts = head_config(HeadType::structured_answers);
  Batch parts = random_batch(in_parts, {33}, 62);
  const auto other = make_model(*backend, in_parts, parts, {}, random_parameters(in_parts, 61));
  const ForwardResult first = other->forward(parts, {});
  const std::vector<float> logits = other->token_logits(0);
  for (std::size_t t = 33; t < parts.ids.size(); ++t) parts.ids[t] = 9;
  const ForwardResult second = other->forward(parts, {});
  EXPECT_GT(first[Loss::choice].sum, 0.0);
  EXPECT_EQ(first[Loss::choice].sum, second[Loss::choice].sum);
  EXPECT_EQ(first[Loss::mark].sum, second[Loss::mark].sum);
  EXPECT_EQ(first[Loss::sequence].sum, second[Loss::sequence].sum);
  EXPECT_TRUE(std::equal(logits.begin(), logits.begin() + 33, other->token_logits(0).begin()));
}

TEST_F(Heads, PositionsOutsideAndTargetsThatAreNotNumbersAreRefused) {
  const ModelConfig config = head_config(HeadType::question_answering);
  const Batch batch = random_batch(config, {33}, 63);
  const auto model = make_model(*backend, config, batch, {}, random_parameters(config, 64));
  Batch outside = batch;
  outside.start_positions[0] = 33;  // the first token of padding
  EXPECT_THROW(model->forward(outside, {}), Error);
  Batch one_side = batch;
  one_side.end_positions.clear();
  EXPECT_THROW(model->forward(one_side, {}), Error);
  Batch short_given = batch;
  short_given.given_lengths = {32};
  EXPECT_THROW(model->forward(short_given, {}), Error);

  ModelConfig regression = head_config(HeadType::classification);
  regression.problem_type = ProblemType::regression;
  Batch targets = random_batch(regression, {33}, 65);
  const auto other = make_model(*backend, regression, targets, {}, random_parameters(regression, 66));
  targets.sequence_targets[1] = std::nanf("");
  EXPECT_THROW(other->forward(targets, {}), Error);
}

TEST(QuestionLength, CountsUpToTheFirstSeparatorOrOne) {
  const std::vector<std::int32_t> ids{7, 8, 5, 9, 5};
  EXPECT_EQ(question_length(ids.data(), 5, 5), 3);
  EXPECT_EQ(question_length(ids.data(), 2, 5), 1);
  EXPECT_EQ(question_length(ids.data(), 5, 7), 1);
}

}  // namespace
}  // namespace bigbird
