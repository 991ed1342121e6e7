// What the driver takes of a device's memory beside the plan: its row in the plan, and the bound of what CUDA
// graphs may take. On the emulation both are invented numbers.
#include <algorithm>

#include "kernels/cuda/emulation/emulation.h"
#include "lib/core/error.h"
#include "lib/training/memory_plan.h"
#include "tests/cuda/backend_test.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird::kernels::cuda::testing {

class DriverMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    emulation::unload_kernels();
    emulation::options().kernel_bytes = 7 * mebibyte;
    emulation::options().graph_bytes = 2 * mebibyte;
    emulation::options().graph_allowance = 5 * mebibyte;
  }
  static constexpr std::size_t mebibyte = std::size_t{1} << 20;
  void TearDown() override { emulation::options() = before_; }
  const emulation::Options before_ = emulation::options();
};

TEST_F(DriverMemoryTest, OfTheKernelsIsMeasuredByTheBackendThatLoadsThem) {
  const CudaBackend first({});
  EXPECT_EQ(first.driver_memory().held, 7 * mebibyte);
  EXPECT_EQ(first.driver_memory().allowance, 5 * mebibyte);
  const CudaBackend second({});
  EXPECT_EQ(second.driver_memory().held, 0u) << "they are there already, and nothing of what is free";
}

TEST_F(DriverMemoryTest, HasARowInThePlanAndIsNotReservedAgain) {
  CudaBackend backend({.index = 0, .precision = Precision::fp32});
  ModelConfig config = bigbird::testing::tiny_config();
  config.head = HeadType::masked_lm;
  config.hidden_size = 64;
  config.block_size = 16;
  config.max_position_embeddings = 160;
  const Batch batch = bigbird::testing::random_batch(config, {32}, 1);
  const auto planned = [&](std::size_t limit) {
    MemoryBefore before;
    before.device_limit = limit;
    return plan_training_memory(config, bigbird::testing::limits_of(batch), {.training = true}, backend,
                                before);
  };
  const MemoryPlan plan = planned(std::size_t{1} << 30).places.front();
  ASSERT_FALSE(plan.rows.empty());
  EXPECT_EQ(plan.rows.back().what, "driver, modules, graphs");
  EXPECT_EQ(plan.rows.back().bytes, 12 * mebibyte);
  const std::vector<std::string> table = memory_table(plan);
  EXPECT_TRUE(std::any_of(table.begin(), table.end(), [](const std::string& line) {
    return line.find("driver, modules, graphs") != std::string::npos &&
           line.find("12.0 MiB") != std::string::npos;
  }));
  std::size_t others = 0;
  for (const MemoryRow& row : plan.rows) others += row.bytes;
  EXPECT_EQ(plan.total, others);
  const TrainingMemory exact = planned(plan.total);
  EXPECT_TRUE(exact.places.front().fits());
  EXPECT_LE(exact.reserve + 12 * mebibyte, plan.total);
  try {
    require_memory(planned(plan.total - 1), {});
    FAIL() << "a byte less";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("passed by driver, modules, graphs (12.0 MiB)"),
              std::string::npos)
        << error.what();
  }
  MemoryPlan scored = plan_inference_memory({{"model", 100}}, backend, {{}, 0, "", 1 << 30}).places.front();
  EXPECT_EQ(scored.rows.back().bytes, 12 * mebibyte);
  EXPECT_EQ(scored.total, 12 * mebibyte + 100);
}

TEST_F(DriverMemoryTest, WhatTheKernelsHoldCountsAsMemoryAtHand) {
  emulation::options().memory = std::size_t{64} << 20;
  const std::size_t all = free_device_memory();
  const CudaBackend backend({});
  EXPECT_EQ(device_memory_at_hand(backend), all) << "what the backend and the driver hold is in the plan";
}

TEST_F(DriverMemoryTest, RecordingStopsWhereGraphsHaveTakenTheirShare) {
  std::vector<std::string> remarks;
  CudaOptions options{.index = 0, .precision = Precision::fp32};
  options.remark = [&](const std::string& line) { remarks.push_back(line); };
  CudaBackend backend(options);
  Side side(backend);
  const Values total = side.values({0.0f});
  const Values step = side.values({1.0f});
  int calls = 0;
  const auto run = [&](std::uint64_t key) {
    backend.replay(key, [&] {
      ++calls;
      backend.add(step, total, 1);
    });
  };
  for (int round = 0; round < 4; ++round) {
    for (std::uint64_t key = 0; key < 5; ++key) run(key);
  }
  EXPECT_EQ(side.read(total, 1), Floats{20.0f});
  EXPECT_EQ(backend.replays(), 6u) << "of three keys, in the third and the fourth round";
  EXPECT_EQ(calls, 3 * 2 + 2 * 4);
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(
      remarks[0],
      "CUDA graphs hold 6 MiB, and 5 MiB were planned for them: batches of new shapes run without, which "
      "takes longer");
}

TEST_F(DriverMemoryTest, WhatForgottenGraphsGaveBackIsThereForOthers) {
  const Stream stream = make_stream();
  {
    Recordings recordings(stream, 5 * mebibyte);
    const auto nothing = [] {};
    for (std::uint64_t key = 0; key < 4; ++key) {
      recordings.replay(key, nothing);
      recordings.replay(key, nothing);
    }
    EXPECT_EQ(recordings.bytes(), 6 * mebibyte) << "passed by the last that was made";
    recordings.clear();
    EXPECT_EQ(recordings.bytes(), 0u);
    recordings.replay(9, nothing);
    recordings.replay(9, nothing);
    EXPECT_EQ(recordings.bytes(), 2 * mebibyte);
    recordings.replay(9, nothing);
    EXPECT_EQ(recordings.replays(), 1u);
  }
  destroy(stream);
}

}  // namespace bigbird::kernels::cuda::testing
