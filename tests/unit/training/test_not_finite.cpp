// Numbers that overflow: the weights stay as they were, the state is saved, and the place is named.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "lib/core/error.h"
#include "lib/model/network/model.h"
#include "lib/training/update.h"
#include "tests/unit/training/training_fixture.h"

namespace bigbird {
namespace {

namespace fs = std::filesystem;

class NotFinite : public TrainingTest {
 protected:
  NotFinite()
      : config_(tiny_config()),
        tokenizer_(load_tokenizer(path("tokenizer"))),
        shards_(path("train")),
        batches_(shards_, *tokenizer_, config_, {}, 128, 1),
        model_(*backend_, config_, batches_.limits(1), {true, false}),
        optimizer_(*backend_, model_.layout(), {}),
        parameters_(initial_parameters(model_.layout(), config_, 1)) {
    trainer_.steps = 5;
    trainer_.schedule = {ScheduleForm::google, 1e-3, 0, 5};
    trainer_.columns.sequence = "nsp";
    trainer_.debug_nan = true;
    trainer_.extras.tokenizer_folder = path("tokenizer");
  }

  void set(const std::string& tensor, float value) {
    const TensorSpec& spec = *model_.layout().find(tensor);
    std::fill_n(parameters_.begin() + spec.offset, spec.count, value);
  }
  // The Error of a run from the parameters as they are.
  Error failure() {
    model_.set_parameters(parameters_);
    try {
      train(model_, optimizer_, OneBatch(batches_.training_batch(0, 1)),
            RunFolder(path("run"), RunStart::fresh), trainer_, {});
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "nothing was thrown";
    return Error(ErrorKind::usage, "");
  }

  ModelConfig config_;
  std::unique_ptr<Tokenizer> tokenizer_;
  TokenShards shards_;
  PretrainingBatches batches_;
  Model model_;
  Optimizer optimizer_;
  std::vector<float> parameters_;
  TrainerOptions trainer_;
};

TEST_F(NotFinite, ALayerThatOverflowsIsNamedAndItsWeightsStay) {
  set("bert.encoder.layer.1.intermediate.dense.weight", 1e30f);
  set("bert.encoder.layer.1.output.dense.weight", 1e30f);
  const Error error = failure();
  EXPECT_EQ(error.kind(), ErrorKind::runtime);
  EXPECT_EQ(error.message(), "step 1: the loss is not finite, first in layer 2 of 2");
  EXPECT_EQ(model_.host_parameters(), parameters_);
  EXPECT_FALSE(fs::exists(path("run") + "/final"));
}

TEST_F(NotFinite, APoisonedWeightIsNamedBesideTheLayer) {
  parameters_[static_cast<std::size_t>(model_.layout().offset(
      "bert.encoder.layer.0.attention.self.key.bias"))] = std::numeric_limits<float>::quiet_NaN();
  const std::string message = failure().message();
  EXPECT_NE(message.find("first in layer 1 of 2"), std::string::npos) << message;
  EXPECT_NE(message.find("bert.encoder.layer.0.attention.self.key.bias (1 of 32 values)"), std::string::npos)
      << message;
}

TEST_F(NotFinite, AHeadThatOverflowsIsNamed) {
  set("cls.predictions.transform.LayerNorm.weight", 1e38f);
  set("cls.predictions.transform.LayerNorm.bias", 1e38f);
  set("bert.embeddings.word_embeddings.weight", 1e10f);
  const std::string message = failure().message();
  EXPECT_NE(message.find("first in the head"), std::string::npos) << message;
}

// The pooled vector is 0, so that the loss is log 2; but its gradient is half of 3e38, twice.
TEST_F(NotFinite, AGradientThatOverflowsIsNamedByItsTensor) {
  set("bert.pooler.weight", 0.0f);
  set("bert.pooler.bias", 0.0f);
  const TensorSpec& spec = *model_.layout().find("cls.seq_relationship.weight");
  for (std::int64_t i = 0; i < spec.count; ++i) {
    parameters_[static_cast<std::size_t>(spec.offset + i)] = i < spec.count / 2 ? 3e38f : -3e38f;
  }
  const Error error = failure();
  EXPECT_NE(
      error.message().find("step 1: the gradient is not finite, first in gradient of bert.pooler.weight ("),
      std::string::npos)
      << error.message();
  EXPECT_EQ(model_.host_parameters(), parameters_);
  const HostValues state = optimizer_.state_to_read();
  EXPECT_TRUE(std::all_of(state.values().begin(), state.values().end(), [](float x) { return x == 0.0f; }));
}

TEST_F(NotFinite, TheStateAfterTheLastWholeStepIsSavedBesideTheOthers) {
  trainer_.schedule.base = 1e30;
  trainer_.debug_nan = false;
  trainer_.keep_last = 1;
  const Error error = failure();
  EXPECT_NE(error.message().find("step 2: "), std::string::npos) << error.message();
  EXPECT_NE(error.message().find("checkpoint-1"), std::string::npos) << error.message();
  EXPECT_NE(error.hint().find("`debug_nan`"), std::string::npos) << error.hint();
  const TrainState state = read_train_state(path("run") + "/checkpoint-1");
  EXPECT_EQ(state.step, 1u);
  EXPECT_EQ(state.device, "cpu");
  EXPECT_EQ(state.precision, "fp32");
}

}  // namespace
}  // namespace bigbird
