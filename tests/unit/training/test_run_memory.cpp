// The batch that the memory decides: the largest that fits, kept by the run that it was chosen for.
#include <gtest/gtest.h>

#include "lib/training/training_run.h"
#include "tests/unit/training/training_fixture.h"

namespace bigbird {
namespace {

class RunMemory : public TrainingTest {
 protected:
  RunMemory() {
    description_.config = tiny_config();
    description_.config.hidden_size = 128;
    description_.config.intermediate_size = 512;
    description_.config.max_position_embeddings = 512;
    description_.samples = 100000;
    description_.length = 512;
    description_.limits = [](std::int64_t sequences, std::int64_t length) {
      return BatchLimits{sequences * length, sequences, sequences * length / 8, length};
    };
    options_.run = path("run");
    options_.batch = chosen_by_memory;
    options_.steps = 10;
  }

  // Bytes that count against the limit, of a run with this batch.
  std::size_t bytes_of(std::uint64_t batch, std::uint64_t accumulate) const {
    RunOptions options = options_;
    options.batch = batch;
    options.accumulate = accumulate;
    const TrainingMemory memory = plan_run_memory(description_, options, *backend_).memory;
    return memory.places.back().total - memory.places.back().reclaimable;
  }
  // Between two batches, so that pages which come and go do not matter.
  void limit_between(std::size_t fits, std::size_t too_much) {
    ASSERT_LT(fits + (4u << 20), too_much);
    options_.memory_limit = (fits + too_much) / 2;
  }
  RunOptions chosen() {
    RunOptions options = options_;
    choose_batch(options, description_, *backend_);
    return options;
  }

  TaskDescription description_;
  RunOptions options_ = pretraining_defaults();
};

TEST_F(RunMemory, AnAutomaticBatchIsTheLargestThatFits) {
  for (const auto& [fits, next] : {std::pair(1, 2), {4, 8}, {8, 16}, {24, 32}, {40, 48}}) {
    const auto batch = static_cast<std::uint64_t>(fits);
    limit_between(bytes_of(batch, 1), bytes_of(static_cast<std::uint64_t>(next), 1));
    EXPECT_EQ(chosen().batch, batch);
    EXPECT_EQ(chosen().accumulate, 1u);
  }
}

TEST_F(RunMemory, InPartsItIsTheLargestMicroBatchThatFits) {
  options_.accumulate = 3;
  limit_between(bytes_of(48, 3), bytes_of(72, 3));
  EXPECT_EQ(chosen().batch, 48u);
  EXPECT_EQ(chosen().accumulate, 3u);
}

TEST_F(RunMemory, AnEpochAndAThousandAreTheMost) {
  options_.memory_limit = std::size_t{1} << 50;
  EXPECT_EQ(chosen().batch, most_automatic_batch);
  description_.samples = 30;
  EXPECT_EQ(chosen().batch, 24u);
  options_.accumulate = 2;
  EXPECT_EQ(chosen().batch, 16u) << "two micro-batches of 8";
  description_.samples = 1;
  EXPECT_EQ(chosen().batch, 2u);
}

TEST_F(RunMemory, AutomaticPartsAreTheFewestThatFitAndDivideTheBatch) {
  options_.batch = 60;
  options_.accumulate = chosen_by_memory;
  // 20 sequences at a time fit, 30 do not; of the parts that are none of a divisor nothing is made.
  limit_between(bytes_of(60, 3), bytes_of(60, 2));
  EXPECT_EQ(chosen().accumulate, 3u);
  EXPECT_EQ(chosen().batch, 60u);
  options_.memory_limit = std::size_t{1} << 50;
  EXPECT_EQ(chosen().accumulate, 1u);
  options_.memory_limit = 1;  // refused when the run begins, with what would fit
  EXPECT_EQ(chosen().accumulate, 60u);
}

TEST_F(RunMemory, WhatIsGivenStays) {
  options_.batch = 1 << 20;
  options_.memory_limit = 1;
  EXPECT_EQ(chosen().batch, 1u << 20);
  EXPECT_EQ(chosen().accumulate, 1u);
}

TEST_F(RunMemory, BothAtOnceAreRefused) {
  options_.accumulate = chosen_by_memory;
  try {
    check_options(options_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(error.message().find("`accumulate` auto"), std::string::npos) << error.message();
  }
}

TEST_F(RunMemory, ARunKeepsTheBatchThatWasChosenForIt) {
  PretrainOptions asked = options("kept");
  asked.batch = chosen_by_memory;
  asked.steps = 2;
  asked.save_every = 1;
  std::uint64_t told = 0;
  asked.batch_chosen = [&](RunOptions& chosen) {
    told = chosen.batch;
    chosen.config_toml = "batch = " + std::to_string(chosen.batch) + "\n";
  };
  pretrain(asked, *backend_);
  ASSERT_GT(told, 1u);
  EXPECT_EQ(read_train_state(path("kept") + "/checkpoint-2").options.at("batch"), std::to_string(told));
  EXPECT_EQ(testing::read_text(path("kept") + "/config.toml"), "batch = " + std::to_string(told) + "\n");
  PretrainOptions given = options("given");
  given.batch = told;
  given.steps = 2;
  pretrain(given, *backend_);
  EXPECT_EQ(tensors(path("kept") + "/final/model.safetensors"),
            tensors(path("given") + "/final/model.safetensors"))
      << "how a number was found is not a part of the run";

  // On a machine that would choose another one.
  std::filesystem::remove_all(path("kept") + "/checkpoint-2");
  asked.start = RunStart::resume;
  asked.accumulate = 1;
  asked.memory_limit = std::size_t{1} << 50;
  RunOptions again = asked;
  description_.samples = 3;
  again.run = path("kept");
  choose_batch(again, description_, *backend_);
  EXPECT_EQ(again.batch, told);
  pretrain(asked, *backend_);
  EXPECT_EQ(tensors(path("kept") + "/final/model.safetensors"),
            tensors(path("given") + "/final/model.safetensors"));
}

}  // namespace
}  // namespace bigbird
