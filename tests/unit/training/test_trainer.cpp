// What RUN/final is. The loop on losses whose means are over more than sequences: however an update is cut, a
// multi-label loss is over sequences times labels, positives weighted, and one of answers in parts over all
// groups of tokens.
#include "lib/model/network/model.h"
#include "lib/training/trainer.h"

#include <cmath>

#include "lib/core/rng.h"
#include "lib/io/tables/tsv.h"
#include "lib/io/weights/safetensors.h"
#include "lib/model_folder/checkpoint.h"
#include "tests/unit/training/training_fixture.h"

namespace bigbird {
namespace {

constexpr std::int64_t label_count = 7;

// Validation losses that are told, one after the other.
class ToldLosses : public OneBatch {
 public:
  ToldLosses(Batch batch, std::vector<double> losses)
      : OneBatch(std::move(batch)), losses_(std::move(losses)) {}
  std::optional<LossSums> validate(Model&, kernels::Ranks&) const override {
    LossSums sums;
    sums[LossMean::sequence].sum = losses_.at(told_++);
    sums[LossMean::sequence].count = 1;
    return sums;
  }

 private:
  std::vector<double> losses_;
  mutable std::size_t told_ = 0;
};

// Runs of one update a validation, over one batch.
class FinalOfARun : public TrainingTest {
 protected:
  FinalOfARun() {
    config_.head = HeadType::classification;
    config_.num_labels = 2;
    options_.schedule = {ScheduleForm::huggingface, 1e-2, 0, 20};
    options_.eval_every = 1;
    options_.keep_last = 1;
    options_.task_name = "told";
    options_.columns = {false, "class", false};
    options_.final_is_best = true;
  }

  // Goes on where the run is.
  TrainingSummary go_on(const std::string& name, std::uint64_t steps, std::vector<double> losses) {
    Batch batch;
    batch.append({5, 6, 7, 8, 9}, {}, config_.block_size, 0);
    batch.sequence_labels = {1};
    Model model(*backend_, config_, {128, 1, 0, 128}, {true, false});
    Optimizer optimizer(*backend_, model.layout(), {});
    const RunFolder run(path(name), RunStart::resume);
    const auto [checkpoint, state] = resumption(run, {}, *backend_);
    if (checkpoint.empty()) {
      model.set_parameters(initial_parameters(model.layout(), config_, 1));
    } else {
      load_weights(checkpoint, model);
    }
    std::optional<WeightAverage> average;
    if (decay_ > 0) average.emplace(*backend_, model, decay_);
    if (!checkpoint.empty()) load_training_state(checkpoint, model, optimizer, average.has_value());
    options_.steps = steps;
    return train(model, optimizer, ToldLosses(batch, std::move(losses)), run, options_, state,
                 average ? &*average : nullptr);
  }
  std::vector<float> weights(const std::string& folder) const {
    return load_model(path(folder), HeadType::classification, 1, 2).parameters;
  }
  std::vector<std::uint64_t> kept(const std::string& name) const {
    return RunFolder(path(name), RunStart::resume).checkpoints();
  }

  ModelConfig config_ = tiny_config();
  // The weights that a run with an average goes on with.
  std::vector<float> trained(const std::string& checkpoint) const {
    const SafetensorsFile file(path(checkpoint + "/optimizer.safetensors"));
    const ParameterLayout layout(config_);
    std::vector<float> all;
    for (const TensorSpec& tensor : layout.tensors()) {
      const std::vector<float> values = file.floats("trained." + tensor.name);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  double decay_ = 0;  // of a moving average of the weights; 0: none
  TrainerOptions options_;
};

TEST_F(FinalOfARun, IsTheStateOfLowestValidationLossWhichIsSavedWhenItIsSeen) {
  const TrainingSummary summary = go_on("run", 5, {3, 1, 2, 1, 4});
  EXPECT_EQ(summary.final_step, 2u);  // of two equals the earlier one
  EXPECT_EQ(summary.final_valid_loss, 1.0);
  EXPECT_EQ(summary.steps, 5u);
  EXPECT_EQ(kept("run"), (std::vector<std::uint64_t>{2, 5}));
  EXPECT_EQ(weights("run/final"), weights("run/checkpoint-2"));
  EXPECT_NE(weights("run/final"), weights("run/checkpoint-5"));
}

TEST_F(FinalOfARun, IsTheLastWhereThatIsTheBestOrAskedForOrNothingIsANumber) {
  EXPECT_EQ(go_on("falls", 3, {3, 2, 1}).final_step, 3u);
  EXPECT_EQ(weights("falls/final"), weights("falls/checkpoint-3"));
  const double nan = std::nan("");
  const TrainingSummary none = go_on("none", 3, {nan, nan, nan});
  EXPECT_EQ(none.final_step, 3u);
  EXPECT_FALSE(none.final_valid_loss.has_value());
  EXPECT_EQ(go_on("some", 3, {nan, 5, nan}).final_step, 2u);
  options_.final_is_best = false;
  const TrainingSummary last = go_on("last", 3, {1, 2, 3});
  EXPECT_EQ(last.final_step, 3u);
  EXPECT_FALSE(last.final_valid_loss.has_value());
  EXPECT_EQ(kept("last"), (std::vector<std::uint64_t>{3}));
  EXPECT_EQ(weights("last/final"), weights("last/checkpoint-3"));
}

TEST_F(FinalOfARun, EndsARunThatGetsNoBetterForLong) {
  options_.patience = 2;
  const TrainingSummary summary = go_on("run", 20, {3, 2, 4, 1, 5, 6, 0});
  EXPECT_EQ(summary.steps, 6u);
  EXPECT_EQ(summary.final_step, 4u);
  EXPECT_EQ(kept("run"), (std::vector<std::uint64_t>{4, 6}));
  EXPECT_EQ(weights("run/final"), weights("run/checkpoint-4"));
  // It stays ended when it is gone on with, and waits anew with more patience.
  EXPECT_EQ(go_on("run", 20, {}).steps, 6u);
  options_.patience = 3;
  const TrainingSummary later = go_on("run", 20, {7});
  EXPECT_EQ(later.steps, 7u);
  EXPECT_EQ(later.final_step, 4u);
  // In the last step there is nothing left to end.
  EXPECT_EQ(go_on("whole", 4, {1, 2, 3, 4}).steps, 4u);
}

// The best state may lie in an earlier part of the run.
TEST_F(FinalOfARun, IsTheSameOfARunThatWasStoppedAndWentOn) {
  go_on("whole", 6, {3, 1, 2, 4, 1.5, 2});
  EXPECT_EQ(go_on("parts", 4, {3, 1, 2, 4}).final_step, 2u);
  EXPECT_EQ(go_on("parts", 6, {1.5, 2}).final_step, 2u);
  EXPECT_EQ(weights("parts/final"), weights("whole/final"));
  EXPECT_EQ(weights("parts/checkpoint-6"), weights("whole/checkpoint-6"));
  EXPECT_EQ(kept("parts"), (std::vector<std::uint64_t>{2, 6}));
}

// The plain loop over the weights that lie beside the moments, from what the same run without an average has.
TEST_F(FinalOfARun, IsTheMovingAverageWhereOneIsKept) {
  options_.keep_last = 0;
  go_on("plain", 6, {6, 5, 4, 3, 2, 1});
  decay_ = 0.3;
  const TrainingSummary summary = go_on("run", 6, {6, 5, 4, 3, 2, 7});
  EXPECT_EQ(summary.final_step, 5u);
  const ParameterLayout layout(config_);
  const std::vector<float> start = initial_parameters(layout, config_, 1);
  std::vector<double> expected(start.begin(), start.end());
  for (int t = 1; t <= 6; ++t) {
    const std::string checkpoint = "/checkpoint-" + std::to_string(t);
    const std::vector<float> weights_now = trained("run" + checkpoint);
    EXPECT_EQ(weights_now, weights("plain" + checkpoint)) << "training does not see the average";
    const double decay = std::min(0.3, (1.0 + t) / (10.0 + t));
    for (std::size_t i = 0; i < expected.size(); ++i)
      expected[i] = decay * expected[i] + (1 - decay) * static_cast<double>(weights_now[i]);
    const std::vector<float> average = weights("run" + checkpoint);
    ASSERT_EQ(average.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(average[i]), expected[i], 1e-6 * (1 + std::abs(expected[i]))) << t;
    }
    EXPECT_NE(average, weights_now);
  }
  EXPECT_EQ(weights("run/final"), weights("run/checkpoint-5"));

  // Stopped and gone on with: the same bytes. Where the last state is kept, that is the average too.
  go_on("parts", 3, {6, 5, 4});
  go_on("parts", 6, {3, 2, 7});
  EXPECT_EQ(weights("parts/checkpoint-6"), weights("run/checkpoint-6"));
  EXPECT_EQ(trained("parts/checkpoint-6"), trained("run/checkpoint-6"));
  EXPECT_EQ(weights("parts/final"), weights("run/final"));
  options_.final_is_best = false;
  go_on("last", 6, {6, 5, 4, 3, 2, 7});
  EXPECT_EQ(weights("last/final"), weights("run/checkpoint-6"));
}

TEST(WeightAverage, HoldsOnLessInTheFirstUpdates) {
  EXPECT_DOUBLE_EQ(average_decay_at(0.99, 1), 2.0 / 11.0);
  EXPECT_DOUBLE_EQ(average_decay_at(0.99, 100), 101.0 / 110.0);
  EXPECT_DOUBLE_EQ(average_decay_at(0.99, 1000), 0.99);
}

// Five sequences an update, in micro-batches of `most`.
class LabelledSequences : public WholeUpdates {
 public:
  using WholeUpdates::batches;
  LabelledSequences(const ModelConfig& config, std::int64_t most) : config_(config), most_(most) {}
  std::vector<Batch> batches(std::uint64_t step) const override {
    std::vector<Batch> parts;
    for (std::int64_t s = 0; s < 5; ++s) {
      if (s % most_ == 0) parts.emplace_back();
      CounterRng rng(3, Purpose::test, step * 5 + static_cast<std::uint64_t>(s));
      std::vector<std::int32_t> ids(static_cast<std::size_t>(20 + s));
      for (std::int32_t& id : ids) id = static_cast<std::int32_t>(5 + rng.below(21));
      parts.back().append(ids, {}, config_.block_size, 0);
      for (std::int64_t k = 0; k < label_count; ++k) {
        parts.back().sequence_targets.push_back(rng.below(3) == 0 ? 1.0f : 0.0f);
      }
    }
    return parts;
  }

 private:
  const ModelConfig& config_;
  std::int64_t most_;
};

class MultiLabelTraining : public TrainingTest {
 protected:
  static ModelConfig config(double positive_weight) {
    ModelConfig config = tiny_config();
    config.head = HeadType::classification;
    config.problem_type = ProblemType::multi_label;
    config.num_labels = label_count;
    config.positive_weight = positive_weight;
    config.hidden_dropout_prob = 0.0;
    config.attention_probs_dropout_prob = 0.0;
    return config;
  }

  // Three updates; the rows of metrics.tsv, column "loss" and "grad_norm" of each.
  std::vector<double> run(const std::string& name, const ModelConfig& config, std::int64_t most) {
    Model model(*backend_, config, {5 * 128, 5, 0, 128}, {true, false});
    model.set_parameters(initial_parameters(model.layout(), config, 1));
    Optimizer optimizer(*backend_, model.layout(), {});
    TrainerOptions options;
    options.steps = 3;
    options.schedule = {ScheduleForm::huggingface, 1e-3, 0, 4};
    options.task_name = "labels";
    options.columns = {false, "labels", false};
    train(model, optimizer, LabelledSequences(config, most), RunFolder(path(name), RunStart::fresh), options,
          {});
    std::vector<double> values;
    TsvReader rows(path(name) + "/metrics.tsv");
    EXPECT_FALSE(rows.has_column("labels_accuracy"));
    std::vector<std::string_view> fields;
    while (rows.next(fields)) {
      for (const char* column : {"loss", "grad_norm"}) {
        values.push_back(parse_number(fields[rows.column(column)], rows.where(), column));
      }
    }
    return values;
  }
};

TEST_F(MultiLabelTraining, CuttingTheUpdateChangesRoundingOnly) {
  const ModelConfig model = config(8.0);
  const std::vector<double> whole = run("whole", model, 5), cut = run("cut", model, 2);
  ASSERT_EQ(whole.size(), 6u);
  ASSERT_EQ(cut.size(), whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_GT(whole[i], 0.0);
    // AdamW divides by small moments: rounding grows from update to update.
    EXPECT_NEAR(cut[i], whole[i], (i < 2 ? 1e-5 : 1e-3) * whole[i]) << i;
  }
}

// At the start every logit is near 0, where each label costs ln 2 and each positive `weight` times that.
TEST_F(MultiLabelTraining, PositivesWeighAsAsked) {
  double positives = 0.0;
  for (const Batch& batch : LabelledSequences(config(1.0), 5).batches(0)) {
    for (const float target : batch.sequence_targets) positives += static_cast<double>(target);
  }
  const double share = positives / (5.0 * static_cast<double>(label_count));
  EXPECT_NEAR(run("plain", config(1.0), 5)[0], std::log(2.0), 0.05);
  EXPECT_NEAR(run("weighted", config(8.0), 5)[0], std::log(2.0) * (1.0 + 7.0 * share), 0.15);
}

// Five sequences an update, in micro-batches of `most`, with answers in parts: groups without a right row,
// types that are not known.
class AnswersInParts : public WholeUpdates {
 public:
  using WholeUpdates::batches;
  AnswersInParts(const ModelConfig& config, std::int64_t most) : config_(config), most_(most) {}
  std::vector<Batch> batches(std::uint64_t step) const override {
    std::vector<Batch> parts;
    for (std::int64_t s = 0; s < 5; ++s) {
      if (s % most_ == 0) {
        parts.emplace_back();
        parts.back().token_targets.resize(config_.token_scores.size());
      }
      append(parts.back(), s, step);
    }
    return parts;
  }

 private:
  void append(Batch& batch, std::int64_t s, std::uint64_t step) const {
    CounterRng rng(4, Purpose::test, step * 5 + static_cast<std::uint64_t>(s));
    std::vector<std::int32_t> ids(static_cast<std::size_t>(20 + s));
    for (std::int32_t& id : ids) id = static_cast<std::int32_t>(5 + rng.below(21));
    const std::int64_t first = batch.tokens();
    batch.append(ids, {}, config_.block_size, 0);
    for (TokenTargets& targets : batch.token_targets) {
      targets.open_group();
      for (std::int64_t i = 0; i < 20 + s; ++i) targets.add(first + i, s != 3 && rng.below(6) == 0);
    }
    batch.sequence_labels.push_back(s == 1 ? ignored_label : static_cast<std::int32_t>(rng.below(3)));
  }

  const ModelConfig& config_;
  std::int64_t most_;
};

class AnswersInPartsTraining : public TrainingTest {
 protected:
  // "loss" and "grad_norm" of three updates.
  std::vector<double> run(const std::string& name, std::int64_t most) {
    ModelConfig config = tiny_config();
    config.head = HeadType::structured_answers;
    config.token_scores = {{"start", true}, {"sentence", false}, {"title", false}, {"end", true}};
    config.label_names = {"span", "yes", "no"};
    config.num_labels = 3;
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0;
    Model model(*backend_, config, {5 * 128, 5, 0, 128}, {true, false});
    model.set_parameters(initial_parameters(model.layout(), config, 1));
    Optimizer optimizer(*backend_, model.layout(), {});
    TrainerOptions options;
    options.steps = 3;
    options.schedule = {ScheduleForm::huggingface, 1e-3, 0, 4};
    options.task_name = "answers";
    options.columns = {false, "answer", false};
    train(model, optimizer, AnswersInParts(config, most), RunFolder(path(name), RunStart::fresh), options,
          {});
    std::vector<double> values;
    TsvReader rows(path(name) + "/metrics.tsv");
    std::vector<std::string_view> fields;
    while (rows.next(fields)) {
      for (const char* column : {"loss", "grad_norm"}) {
        values.push_back(parse_number(fields[rows.column(column)], rows.where(), column));
      }
    }
    return values;
  }
};

TEST_F(AnswersInPartsTraining, CuttingTheUpdateChangesRoundingOnly) {
  const std::vector<double> whole = run("whole", 5), cut = run("cut", 2);
  ASSERT_EQ(whole.size(), 6u);
  ASSERT_EQ(cut.size(), whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_GT(whole[i], 0.0);
    EXPECT_NEAR(cut[i], whole[i], (i < 2 ? 1e-5 : 1e-3) * whole[i]) << i;
  }
  // At the start every logit is near 0: 2 scores of 20 to 24 tokens, each at ln 2.
  EXPECT_GT(whole[0], 2 * 22 * std::log(2.0));
}

}  // namespace
}  // namespace bigbird
