// Whole runs from RunOptions to RUN/final against a plain loop in double: thirty updates with both optimizers
// and both schedules, with warm-up, weight decay and clipping, in one part and in four.
#include "lib/training/training_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "lib/core/error.h"
#include "lib/io/tables/tsv.h"
#include "lib/model_folder/checkpoint.h"
#include "reference/losses.h"
#include "reference/optimizer.h"
#include "tests/support/support.h"
#include "tests/unit/model/network/model_fixture.h"
#include "tests/unit/training/whole_updates.h"

namespace bigbird {
namespace {

constexpr std::int64_t steps = 30;

// Four sequences an update, other ones in every update. Their numbers of masked tokens differ, so that a mean
// over micro-batches is not the mean over the update.
const std::vector<std::int64_t> lengths = {9, 30, 5, 14};

std::uint64_t seed_of(std::uint64_t step) {
  return 100 + step;
}

class RandomSequences : public WholeUpdates {
 public:
  using WholeUpdates::batches;
  RandomSequences(const RunOptions& options, const ModelConfig& config)
      : options_(options), config_(config) {}
  std::vector<Batch> batches(std::uint64_t step) const override {
    std::vector<Batch> parts;
    const auto most = static_cast<std::size_t>(micro_batch(options_));
    for (std::size_t begin = 0; begin < lengths.size(); begin += most) {
      const auto first = lengths.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto count = static_cast<std::ptrdiff_t>(std::min(most, lengths.size() - begin));
      parts.push_back(testing::random_batch(config_, {first, first + count}, seed_of(step)));
    }
    return parts;
  }

 private:
  const RunOptions& options_;
  const ModelConfig& config_;
};

// What a row of metrics.tsv says.
struct Row {
  double loss = 0, masked = 0, masked_accuracy = 0, sequence = 0, sequence_accuracy = 0, rate = 0, norm = 0;
};

// The share of rows with a label whose largest logit is that of the label.
double accuracy(const reference::Matrix& logits, const std::vector<std::int64_t>& labels) {
  double correct = 0, all = 0;
  for (std::size_t row = 0; row < logits.rows; ++row) {
    if (labels[row] == reference::ignored_label) continue;
    const auto begin = logits.values.begin() + static_cast<std::ptrdiff_t>(row * logits.columns);
    const auto end = begin + static_cast<std::ptrdiff_t>(logits.columns);
    correct += std::max_element(begin, end) - begin == labels[row] ? 1 : 0;
    all += 1;
  }
  return correct / all;
}

// Decay is for matrices and tables, by their names.
bool decays(const std::string& tensor) {
  return !tensor.ends_with(".bias") && tensor.find("LayerNorm") == std::string::npos;
}

// The run written plainly; changes the parameters.
std::vector<Row> plain_run(const RunOptions& options, const ModelConfig& config,
                           reference::Parameters& parameters) {
  const bool google = options.optimizer.variant == OptimizerVariant::google;
  std::map<std::string, reference::AdamWState> states;
  std::vector<Row> rows;
  for (std::int64_t step = 0; step < steps; ++step) {
    const Batch batch = testing::random_batch(config, lengths, seed_of(static_cast<std::uint64_t>(step)));
    reference::PretrainingLabels labels;
    labels.masked.assign(batch.ids.size(), reference::ignored_label);
    for (std::size_t i = 0; i < batch.masked_rows.size(); ++i) {
      labels.masked[static_cast<std::size_t>(batch.masked_rows[i])] = batch.masked_labels[i];
    }
    labels.next_sentence.assign(batch.sequence_labels.begin(), batch.sequence_labels.end());
    const reference::PretrainingResult result = reference::pretraining(
        testing::reference_config(config), parameters, testing::reference_sequences(config, batch), labels);
    double squares = 0;
    for (const auto& entry : result.gradients) {
      for (const double g : entry.second) squares += g * g;
    }
    Row& row = rows.emplace_back();
    row.loss = result.masked_loss + result.next_sentence_loss;
    row.masked = result.masked_loss;
    row.masked_accuracy = accuracy(result.prediction_logits, labels.masked);
    row.sequence = result.next_sentence_loss;
    row.sequence_accuracy = accuracy(result.relationship_logits, labels.next_sentence);
    row.rate = reference::learning_rate(options.schedule == ScheduleForm::google
                                            ? reference::ScheduleVariant::google
                                            : reference::ScheduleVariant::hugging_face,
                                        2e-3, step, 6, steps);
    row.norm = std::sqrt(squares);
    const double scale = row.norm > options.optimizer.clip_norm ? options.optimizer.clip_norm / row.norm : 1;
    for (auto& [name, values] : parameters) {
      reference::Vector gradient = result.gradients.at(name);
      for (double& g : gradient) g *= scale;
      const reference::AdamWOptions plain{
          google ? reference::AdamWVariant::google : reference::AdamWVariant::torch, 0.85, 0.97, 1e-4,
          decays(name) ? 0.3 : 0.0};
      reference::adamw_update(plain, row.rate, gradient, values, states[name]);
    }
  }
  return rows;
}

// Of a table, by the name of the column.
std::vector<Row> read_rows(const std::string& file) {
  TsvReader table(file);
  std::vector<Row> rows;
  std::vector<std::string_view> fields;
  while (table.next(fields)) {
    EXPECT_EQ(fields[0], std::to_string(rows.size() + 1));
    Row& row = rows.emplace_back();
    for (const auto& [column, value] :
         std::vector<std::pair<const char*, double*>>{{"loss", &row.loss},
                                                      {"mlm_loss", &row.masked},
                                                      {"mlm_accuracy", &row.masked_accuracy},
                                                      {"nsp_loss", &row.sequence},
                                                      {"nsp_accuracy", &row.sequence_accuracy},
                                                      {"lr", &row.rate},
                                                      {"grad_norm", &row.norm}}) {
      *value = parse_number(fields[table.column(column)], file, column);
    }
  }
  return rows;
}

class RunAgainstReference
    : public ::testing::TestWithParam<std::tuple<OptimizerVariant, ScheduleForm, std::uint64_t>> {
 protected:
  RunAgainstReference() {
    config_.hidden_dropout_prob = 0.4;  // the option says otherwise
    options_.run = (folder_ / "run").string();
    std::tie(options_.optimizer.variant, options_.schedule, options_.accumulate) = GetParam();
    options_.batch = 4;
    options_.steps = steps;
    options_.learning_rate = 2e-3;
    options_.warmup = 6;
    options_.dropout = 0;
    options_.optimizer.beta1 = 0.85;
    options_.optimizer.beta2 = 0.97;
    // Larger than rounding: with the usual one, a gradient of zero moves a weight by its rounding alone.
    options_.optimizer.epsilon = 1e-4;
    options_.optimizer.weight_decay = 0.3;
    options_.optimizer.clip_norm = 4.2;  // some updates are clipped, some are not
  }

  TaskDescription description() const {
    TaskDescription task;
    task.name = "random sequences";
    task.columns.sequence = "nsp";
    task.config = config_;
    task.initial_parameters = [this] { return testing::random_parameters(config_, 5); };
    task.samples = 1000;
    task.limits = [](std::int64_t sequences, std::int64_t length) {
      return BatchLimits{sequences * length, sequences, sequences * length, length};
    };
    task.length = 32;
    return task;
  }

  testing::TemporaryFolder folder_;
  ModelConfig config_ = testing::tiny_config();
  RunOptions options_;
  std::unique_ptr<kernels::Backend> backend_ = kernels::make_cpu_backend();
};

TEST_P(RunAgainstReference, ThirtyUpdatesTakeTheStepsOfThePlainLoop) {
  const RandomSequences task(options_, config_);
  ASSERT_EQ(task.batches(0).size(), options_.accumulate);
  run_training(task, description(), options_, *backend_);

  const std::vector<float> start = testing::random_parameters(config_, 5);
  reference::Parameters expected = testing::reference_parameters(config_, start);
  const std::vector<Row> plain = plain_run(options_, config_, expected);
  const std::vector<Row> rows = read_rows(options_.run + "/metrics.tsv");
  ASSERT_EQ(rows.size(), plain.size());
  std::size_t clipped = 0;
  double masked_accuracy = 0, sequence_accuracy = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_NEAR(rows[i].loss, plain[i].loss, 1e-5 * plain[i].loss) << "update " << i + 1;
    EXPECT_NEAR(rows[i].masked, plain[i].masked, 1e-5 * plain[i].masked) << "update " << i + 1;
    EXPECT_NEAR(rows[i].sequence, plain[i].sequence, 2e-5 * plain[i].sequence) << "update " << i + 1;
    EXPECT_NEAR(rows[i].norm, plain[i].norm, 2e-5 * plain[i].norm) << "update " << i + 1;
    EXPECT_NEAR(rows[i].rate, plain[i].rate, 1e-6 * plain[i].rate) << "update " << i + 1;
    EXPECT_NEAR(rows[i].masked_accuracy, plain[i].masked_accuracy, 1e-6) << "update " << i + 1;
    EXPECT_NEAR(rows[i].sequence_accuracy, plain[i].sequence_accuracy, 1e-6) << "update " << i + 1;
    clipped += plain[i].norm > options_.optimizer.clip_norm ? 1u : 0u;
    masked_accuracy += plain[i].masked_accuracy / steps;
    sequence_accuracy += plain[i].sequence_accuracy / steps;
  }
  // The run holds what it is to show.
  EXPECT_GT(clipped, 4u);
  EXPECT_LT(clipped, 26u);
  EXPECT_GT(masked_accuracy, 0.0);
  EXPECT_GT(sequence_accuracy, 0.1);
  EXPECT_LT(sequence_accuracy, 0.9);

  const LoadedModel model = load_model(options_.run + "/final", HeadType::pretraining, 1);
  EXPECT_EQ(model.config.hidden_dropout_prob, 0.0);
  double worst = 0;
  const ParameterLayout layout(config_);
  for (const TensorSpec& tensor : layout.tensors()) {
    double difference = 0, way = 0;
    for (std::int64_t i = 0; i < tensor.count; ++i) {
      const auto at = static_cast<std::size_t>(tensor.offset + i);
      const double value = expected.at(tensor.name)[static_cast<std::size_t>(i)];
      difference = std::max(difference, std::abs(static_cast<double>(model.parameters[at]) - value));
      way = std::max(way, std::abs(value - static_cast<double>(start[at])));
    }
    // A key bias has no gradient (it shifts all scores of a query alike): rounding alone moves it.
    if (tensor.name.ends_with("key.bias")) continue;
    EXPECT_GT(way, 1e-4) << tensor.name;
    EXPECT_LT(difference, 2e-6) << tensor.name;
    worst = std::max(worst, difference);
  }
  RecordProperty("largest_difference", std::to_string(worst * 1e6) + "e-6");
}

INSTANTIATE_TEST_SUITE_P(
    All, RunAgainstReference,
    ::testing::Combine(::testing::Values(OptimizerVariant::google, OptimizerVariant::torch),
                       ::testing::Values(ScheduleForm::google, ScheduleForm::huggingface),
                       ::testing::Values(std::uint64_t{1}, std::uint64_t{4})),
    [](const auto& instance) {
      return name_of(std::get<0>(instance.param)) + "_" + name_of(std::get<1>(instance.param)) + "_in_" +
             std::to_string(std::get<2>(instance.param));
    });

// ---- Options

TEST(RunOptions, DefaultsOfPretrainingAndOfFineTuning) {
  for (const RunOptions& standard : {pretraining_defaults(), finetuning_defaults()}) {
    EXPECT_NO_THROW(check_options(standard));
    EXPECT_EQ(standard.optimizer.variant, OptimizerVariant::torch);
    EXPECT_EQ(standard.schedule, ScheduleForm::huggingface);
    EXPECT_TRUE(standard.rate_by_width);
  }
  EXPECT_EQ(schedule_of(pretraining_defaults(), 7).total, 5000u);
  EXPECT_EQ(schedule_of(pretraining_defaults(), 7).warmup, 500u);
  // Ten validations in a run of any length, and one in the shortest.
  EXPECT_EQ(steps_between_validations(pretraining_defaults(), 1000), 500u);
  EXPECT_EQ(steps_between_validations(finetuning_defaults(), 1000), 10u);  // of 94
  EXPECT_EQ(steps_between_validations(finetuning_defaults(), 3), 1u);

  const RunOptions pretraining = pretraining_defaults(Recipe::paper),
                   finetuning = finetuning_defaults(Recipe::paper);
  EXPECT_NO_THROW(check_options(pretraining));
  EXPECT_NO_THROW(check_options(finetuning));
  for (const RunOptions& paper : {pretraining, finetuning}) {
    EXPECT_EQ(paper.optimizer.variant, OptimizerVariant::google);
    EXPECT_EQ(paper.schedule, ScheduleForm::google);
    EXPECT_EQ(paper.optimizer.clip_norm, 0);
    EXPECT_EQ(rate_of_width(paper, 128), 1e-4);
  }
  EXPECT_EQ(schedule_of(pretraining, 7).total, 1000000u);
  EXPECT_EQ(schedule_of(pretraining, 7).warmup, 10000u);
  EXPECT_EQ(schedule_of(finetuning, 1000).total, 94u);  // 3 epochs of 31.25 steps
  EXPECT_EQ(schedule_of(finetuning, 1000).warmup, 9u);
  EXPECT_EQ(steps_between_validations(pretraining, 1000), 1000u);
  EXPECT_EQ(steps_between_validations(finetuning, 1000), 31u);
  EXPECT_EQ(steps_between_validations(finetuning, 3), 1u);
  RunOptions never = pretraining;
  never.eval_every = 0;
  EXPECT_EQ(steps_between_validations(never, 1000), 0u);
}

TEST(RunOptions, NarrowModelsLearnAtHigherRates) {
  RunOptions options = finetuning_defaults();
  EXPECT_EQ(rate_of_width(options, 768), 5e-5);
  EXPECT_EQ(rate_of_width(options, 1024), 3.75e-5);
  EXPECT_EQ(rate_of_width(options, 128), 3e-4);
  EXPECT_EQ(rate_of_width(options, 16), 3e-4);
  EXPECT_EQ(rate_of_width(pretraining_defaults(), 256), 4.5e-4);
  options.rate_by_width = false;
  EXPECT_EQ(rate_of_width(options, 128), options.learning_rate);
}

TEST(RunOptions, MicroBatchesAreOfEqualSizeButTheLast) {
  RunOptions options = finetuning_defaults();
  for (const auto& [batch, accumulate, expected] : std::vector<std::tuple<std::uint64_t, std::uint64_t, int>>{
           {4, 1, 4}, {4, 3, 2}, {5, 2, 3}, {4, 4, 1}, {7, 3, 3}}) {
    options.batch = batch;
    options.accumulate = accumulate;
    EXPECT_EQ(micro_batch(options), expected) << batch << " " << accumulate;
  }
}

TEST(RunOptions, WhatIsOutOfRangeIsNamedByItsField) {
  const auto message = [](const std::function<void(RunOptions&)>& change) -> std::string {
    RunOptions options = finetuning_defaults();
    change(options);
    try {
      check_options(options);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_EQ((error.message() + error.hint()).find("--"), std::string::npos) << error.hint();
      return error.message();
    }
    return "nothing was thrown";
  };
  EXPECT_EQ(message([](RunOptions& o) { o.batch = 0; }), "`batch` 0: must be at least 1");
  EXPECT_EQ(message([](RunOptions& o) { o.accumulate = 33; }),
            "`accumulate` 33: must be between 1 and the batch of 32 sequences");
  EXPECT_EQ(message([](RunOptions& o) { o.accumulate = 0; }),
            "`accumulate` 0: must be between 1 and the batch of 32 sequences");
  EXPECT_EQ(message([](RunOptions& o) { o.epochs = 0; }), "`steps` 0 and `epochs` 0: the run has no update");
  EXPECT_EQ(message([](RunOptions& o) { o.epochs = -1; }), "`epochs` -1: must be above 0");
  EXPECT_EQ(message([](RunOptions& o) { o.learning_rate = 1; }),
            "`learning_rate` 1: must be between 0 and 1");
  EXPECT_EQ(message([](RunOptions& o) { o.dropout = 1; }), "`dropout` 1: must be between 0 and 1");
  EXPECT_EQ(message([](RunOptions& o) { o.average_decay = 1; }),
            "`average_decay` 1: must be between 0 and 1");
  EXPECT_EQ(message([](RunOptions& o) { o.optimizer.beta1 = 1; }), "`beta1` 1: must be between 0 and 1");
  EXPECT_EQ(message([](RunOptions& o) { o.optimizer.beta2 = -1; }), "`beta2` -1: must be between 0 and 1");
  EXPECT_EQ(message([](RunOptions& o) { o.optimizer.epsilon = -1; }), "`epsilon` -1: must not be negative");
  EXPECT_EQ(message([](RunOptions& o) { o.optimizer.weight_decay = -1; }),
            "`weight_decay` -1: must not be negative");
  EXPECT_EQ(message([](RunOptions& o) { o.optimizer.clip_norm = -1; }),
            "`clip_norm` -1: must not be negative");
  EXPECT_EQ(message([](RunOptions& o) { o.steps = 5, o.warmup = 6; }),
            "`warmup` 6: longer than the 5 steps of the run");
}

}  // namespace
}  // namespace bigbird
