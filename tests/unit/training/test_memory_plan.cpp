// The memory table and the refusal; and memory as the system tells it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/training/memory_plan.h"

namespace bigbird {
namespace {

MemoryPlan plan_of(std::size_t bytes) {
  MemoryPlan plan;
  plan.rows = {{"model", bytes - 10}, {"mapped files", 10}};
  plan.total = bytes;
  plan.reclaimable = 10;
  return plan;
}

TEST(MemoryPlan, TheHintNamesTheLargestFittingRunOfEveryGroup) {
  const auto run = [](const std::string& options, std::size_t bytes) {
    return SmallerRun{options, [=] { return plan_of(bytes); }};
  };
  try {
    require_memory(plan_of(1000), 500,
                   {{run("--accumulate 2", 700), run("--accumulate 4", 400), run("--accumulate 8", 300)},
                    {run("--grad-checkpoint", 600)},
                    {run("--length 64", 510)}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
    EXPECT_EQ(error.hint(), "would fit: --accumulate 4, or --length 64");
  }
}

TEST(MemoryPlan, WhatTheSystemCanTakeBackDoesNotCount) {
  EXPECT_NO_THROW(require_memory(plan_of(510), 500, {}));
  EXPECT_THROW(require_memory(plan_of(511), 500, {}), Error);
  EXPECT_NO_THROW(require_memory(plan_of(511), 0, {}));
}

TEST(MemoryPlan, NothingThatFitsIsSaid) {
  try {
    require_memory(plan_of(1000), 500, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.hint().find("smaller model"), std::string::npos);
  }
}

TEST(MemoryPlan, BytesAreShownInUnits) {
  EXPECT_EQ(format_bytes(3u << 20), "3.0 MiB");
  EXPECT_EQ(format_bytes(std::size_t{5} << 29), "2.50 GiB");
}

TEST(ProcessMemory, IsReadFromTheSystem) {
  const ResidentMemory before = resident_memory();
  EXPECT_GT(before.anonymous, 100u << 10);
  EXPECT_GE(before.peak, before.anonymous);
  EXPECT_GT(available_memory(), 1u << 20);
  const std::vector<char> block(64u << 20, 1);
  EXPECT_GE(resident_memory().anonymous, before.anonymous + (60u << 20));
  EXPECT_EQ(block.back(), 1);
}

}  // namespace
}  // namespace bigbird
