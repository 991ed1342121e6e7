// The classifier's batches and its validation: what is correct, counted answer by answer.
#include "lib/model/network/model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "kernels/backend.h"
#include "lib/core/rng.h"
#include "lib/finetuning/finetuning.h"
#include "lib/model_folder/checkpoint.h"
#include "tests/support/support.h"
#include "tests/support/tiny_classifier.h"

namespace bigbird {
namespace {

class WindowClassifier : public ::testing::Test {
 protected:
  WindowClassifier() {
    testing::TinyClassifier shape;
    shape.problem = ProblemType::single_label;
    shape.labels = 3;
    testing::write_tiny_classifier(folder_ / "model", shape);
    loaded_ = load_model((folder_ / "model").string(), LoadOptions{});
    CounterRng rng(1, Purpose::test, 0);
    for (int i = 0; i < 40; ++i) {
      ClassifiedSequence& sequence = sequences_.emplace_back();
      for (std::int64_t t = rng.between(4, 60); t > 0; --t) {
        sequence.ids.push_back(static_cast<std::int32_t>(rng.between(5, 25)));
      }
      sequence.label = static_cast<std::int32_t>(rng.below(3));
    }
    options_.batch = 7;
    options_.accumulate = 3;  // 3 + 3 + 1
  }

  testing::TemporaryFolder folder_;
  LoadedModel loaded_;
  std::vector<ClassifiedSequence> sequences_;
  const std::vector<ClassifiedSequence> none_;
  RunOptions options_;
  std::unique_ptr<kernels::Backend> backend_ = kernels::make_cpu_backend();
};

TEST_F(WindowClassifier, ValidationCountsTheClassesThatAreRight) {
  Model model(*backend_, loaded_.config, padded_limits(loaded_.config, 3), {});
  model.set_parameters(loaded_.parameters);
  std::int64_t correct = 0;
  std::set<std::ptrdiff_t> answers;
  for (const ClassifiedSequence& sequence : sequences_) {
    Batch one;
    one.append(sequence.ids, {}, loaded_.config.block_size, 0, loaded_.config.input_length);
    model.forward(one, {});
    const std::vector<float> logits = model.sequence_logits();
    const std::ptrdiff_t answer = std::max_element(logits.begin(), logits.end()) - logits.begin();
    correct += answer == sequence.label ? 1 : 0;
    answers.insert(answer);
  }
  const SampleTask task = classification_task(options_, loaded_.config, none_, sequences_);
  const std::optional<LossSums> sums = task.validate(model, kernels::this_process());
  ASSERT_TRUE(sums.has_value());
  EXPECT_EQ((*sums)[LossMean::sequence].count, 40);
  EXPECT_EQ((*sums)[LossMean::sequence].correct, correct);
  EXPECT_EQ((*sums)[LossMean::mlm].count, 0);
  EXPECT_GT(correct, 0);
  EXPECT_LT(correct, 40);
  EXPECT_GT(answers.size(), 1u);
  EXPECT_FALSE(classification_task(options_, loaded_.config, sequences_, none_)
                   .validate(model, kernels::this_process())
                   .has_value());
}

TEST_F(WindowClassifier, BatchesAreTheDrawsOfTheUpdateInParts) {
  const SampleTask task = classification_task(options_, loaded_.config, sequences_, none_);
  for (const std::uint64_t step : {0u, 5u, 6u}) {
    const std::vector<Batch> parts = task.whole_update(step);
    ASSERT_EQ(parts.size(), 3u);
    const std::vector<Draw> draws = draws_of_run(options_.seed, 40, step * 7, 7);
    std::size_t draw = 0;
    for (const Batch& part : parts) {
      EXPECT_EQ(part.sequences(), draw < 6 ? 3 : 1);
      ASSERT_EQ(part.sequence_labels.size(), part.lengths.size());
      for (std::size_t s = 0; s < part.lengths.size(); ++s, ++draw) {
        const ClassifiedSequence& expected = sequences_[static_cast<std::size_t>(draws[draw].sample)];
        const auto first = part.ids.begin() + part.token_offsets[s];
        EXPECT_EQ(std::vector<std::int32_t>(first, first + part.lengths[s]), expected.ids);
        EXPECT_EQ(part.sequence_labels[s], expected.label);
        EXPECT_EQ(part.token_offsets[s + 1] - part.token_offsets[s], loaded_.config.input_length);
      }
    }
    EXPECT_EQ(draw, 7u);
  }
}

// Six updates of seven draws: the last two are of the second epoch.
TEST_F(WindowClassifier, ADrawMayBeRemadeInItsPlace) {
  const SampleTask task = classification_task(
      options_, loaded_.config, sequences_, none_, [](const Draw& draw) -> std::optional<ClassifiedSequence> {
        if (draw.sample % 2 == 0) return std::nullopt;
        return ClassifiedSequence{std::vector<std::int32_t>(3 + draw.number, 7), {}, 2, {}};
      });
  std::uint64_t number = 0, remade = 0;
  for (std::uint64_t step = 0; step < 6; ++step) {
    const std::vector<Draw> draws = draws_of_run(options_.seed, 40, step * 7, 7);
    for (const Batch& part : task.whole_update(step)) {
      for (std::size_t s = 0; s < part.lengths.size(); ++s, ++number) {
        const Draw& draw = draws[static_cast<std::size_t>(number % 7)];
        EXPECT_EQ(draw.number, number);
        const bool odd = draw.sample % 2 == 1;
        const ClassifiedSequence& kept = sequences_[static_cast<std::size_t>(draw.sample)];
        EXPECT_EQ(part.lengths[s],
                  odd ? static_cast<std::int64_t>(3 + number) : static_cast<std::int64_t>(kept.ids.size()));
        EXPECT_EQ(part.sequence_labels[s], odd ? 2 : kept.label);
        remade += odd ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(number, 42u);
  EXPECT_GT(remade, 15u);
}

}  // namespace
}  // namespace bigbird
