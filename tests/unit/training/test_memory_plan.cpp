// The memory table and the refusal; and memory as the system tells it.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>
#include <vector>

#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/training/memory_plan.h"
#include "tests/support/sanitizer.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

TrainingMemory memory_of(std::size_t bytes, std::size_t limit) {
  MemoryPlan plan;
  plan.where = "memory";
  plan.rows = {
      {"parameters", 20}, {"activations of 2 layers", bytes - 40}, {"heads", 10}, {"mapped files", 10}};
  plan.total = bytes;
  plan.reclaimable = 10;
  plan.limit = limit;
  return {{plan}, 0};
}

SmallerRun smaller(const std::string& options, std::size_t bytes) {
  return {options, [=] { return memory_of(bytes, 500); }};
}

TEST(MemoryPlan, TheErrorNamesTheRowOverTheLimitAndTheLargestFittingRunOfEveryGroup) {
  try {
    require_memory(memory_of(1000, 500), {{smaller("--accumulate 2", 700), smaller("--accumulate 4", 400),
                                           smaller("--accumulate 8", 300)},
                                          {smaller("--grad-checkpoint", 600)},
                                          {smaller("--length 64", 510)}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
    EXPECT_NE(error.message().find("passed by activations of 2 layers"), std::string::npos)
        << error.message();
    EXPECT_EQ(error.hint(), "would fit: --accumulate 4, or --length 64");
  }
}

TEST(MemoryPlan, WhatTheSystemCanTakeBackDoesNotCount) {
  EXPECT_NO_THROW(require_memory(memory_of(510, 500), {}));
  EXPECT_THROW(require_memory(memory_of(511, 500), {}), Error);
  EXPECT_NO_THROW(require_memory(memory_of(511, 0), {}));
}

TEST(MemoryPlan, NothingThatFitsIsSaid) {
  try {
    require_memory(memory_of(1000, 500), {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.hint().find("smaller model"), std::string::npos);
  }
}

TEST(MemoryPlan, ADeviceWithLessThanItSaidIsRefusedInTheSameWords) {
  TrainingMemory memory = memory_of(1000, 2000);
  memory.places.push_back({"memory", {{"program", 10}}, 10, 0, 0});
  const auto device_of = [](std::size_t bytes) {
    TrainingMemory candidate = memory_of(bytes, 2000);
    candidate.places.push_back({"memory", {{"program", 10}}, 10, 0, 0});
    return candidate;
  };
  const SmallerRuns runs = {{{"--accumulate 2", [&] { return device_of(950); }},
                             {"--accumulate 4", [&] { return device_of(880); }}}};
  const auto backend = kernels::make_cpu_backend();
  try {
    run_in_memory(*backend, memory, runs,
                  [] { throw kernels::OutOfMemory("cuda:0 has 200 of 300 bytes", 300, 200); });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
    EXPECT_NE(error.message().find("cuda:0 has 200 of 300 bytes"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("activations of 2 layers"), std::string::npos) << error.message();
    EXPECT_EQ(error.hint(), "would fit: --accumulate 4");
  }
}

TEST(MemoryPlan, BytesAreShownInUnits) {
  EXPECT_EQ(format_bytes(3u << 20), "3.0 MiB");
  EXPECT_EQ(format_bytes(std::size_t{5} << 29), "2.50 GiB");
}

TEST(MemoryPlan, RowsEndWithTheTypesOfTheirNumbers) {
  MemoryPlan plan = memory_of(1000, 0).places.front();
  plan.rows[0].fp32_bytes = 20;
  plan.rows[1].bf16_bytes = 900;
  plan.rows[1].fp32_bytes = 60;
  const std::vector<std::string> lines = memory_table(plan);
  EXPECT_TRUE(lines[1].ends_with("0.0 MiB  fp32")) << lines[1];
  EXPECT_TRUE(lines[2].ends_with("0.0 MiB  bf16, fp32")) << lines[2];
  EXPECT_TRUE(lines[3].ends_with("0.0 MiB")) << lines[3];
  const std::string tsv = memory_tsv({{plan}, 0}, 700);
  EXPECT_TRUE(
      tsv.starts_with("where\tpart\tbytes\tnumbers\nmemory\tparameters\t20\tfp32\n"
                      "memory\tactivations of 2 layers\t960\tbf16, fp32\nmemory\theads\t10\tNA\n"))
      << tsv;
}

TEST(MemoryPlan, TheOptimizerHasItsOwnRow) {
  const auto backend = kernels::make_cpu_backend();
  ModelConfig config;
  config.vocab_size = 100;
  config.hidden_size = 64;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 2;
  config.intermediate_size = 128;
  config.max_position_embeddings = 128;
  const ParameterLayout layout(config);
  const BatchLimits limits{128, 1, 20, 128};
  const auto bytes_of = [&](OptimizerVariant variant, const std::string& what) {
    std::size_t bytes = 0;
    const TrainingMemory memory =
        plan_training_memory(config, limits, {.training = true}, *backend, {}, true, variant);
    for (const MemoryRow& row : memory.places.back().rows) bytes += row.what == what ? row.bytes : 0;
    return bytes;
  };
  const auto arena = static_cast<std::size_t>(layout.count()) * sizeof(float);
  const std::size_t moments = bytes_of(OptimizerVariant::torch, "moments of AdamW (2)");
  EXPECT_GE(moments, 2 * arena);
  EXPECT_LE(moments, 2 * arena + 512);
  EXPECT_EQ(bytes_of(OptimizerVariant::lamb, "moments of LAMB (2)"), moments);
  EXPECT_EQ(bytes_of(OptimizerVariant::lamb, "moments of AdamW (2)"), 0u);
  EXPECT_EQ(bytes_of(OptimizerVariant::adafactor, "moments of AdamW (2)"), 0u);
  const std::size_t state = bytes_of(OptimizerVariant::adafactor, "state of Adafactor");
  EXPECT_EQ(state, optimizer_memory(layout, OptimizerVariant::adafactor, *backend).bytes());
  EXPECT_GT(state, 0u);
  EXPECT_LT(state, arena / 4);
  for (const OptimizerVariant variant : {OptimizerVariant::google, OptimizerVariant::adafactor})
    EXPECT_EQ(bytes_of(variant, "host copies while a checkpoint is written"), arena) << "the average";
}

// A limit of the process, for as long as the object lives.
class LimitHere {
 public:
  LimitHere(decltype(RLIMIT_DATA) resource, std::size_t bytes) : resource_(resource) {
    getrlimit(resource_, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    EXPECT_EQ(setrlimit(resource_, &limit), 0);
  }
  ~LimitHere() { setrlimit(resource_, &before_); }
  LimitHere(const LimitHere&) = delete;
  LimitHere& operator=(const LimitHere&) = delete;

 private:
  decltype(RLIMIT_DATA) resource_;
  rlimit before_{};
};

TEST(ProcessMemory, LimitsOfTheProcessCount) {
  if (testing::under_sanitizer) GTEST_SKIP() << "sanitizers take address space of their own";
  if (process_limit()) GTEST_SKIP() << "SKIPPED: this process is limited already: " << process_limit()->name;
  constexpr std::size_t large = std::size_t{1} << 40, small = std::size_t{3} << 30;
  const auto backend = kernels::make_cpu_backend();
  const kernels::Index threads = kernels::thread_count();
  kernels::set_thread_count(1);
  EXPECT_EQ(memory_before(*backend, 0).limit_name, "");
  {
    const LimitHere data(RLIMIT_DATA, small), space(RLIMIT_AS, large);
    const auto limit = process_limit();
    ASSERT_TRUE(limit.has_value());
    EXPECT_EQ(limit->name, "ulimit -d 3145728");
    EXPECT_LT(limit->room, small);
    EXPECT_GT(limit->room, small / 2);
    EXPECT_NE(memory_hint().find("(ulimit -d 3145728)"), std::string::npos);
    // The user's own limit counts where it is lower, and cannot raise the process's.
    EXPECT_EQ(memory_before(*backend, 1000).process_limit, 1000u);
    EXPECT_EQ(memory_before(*backend, 1000).limit_name, "");
    const MemoryBefore before = memory_before(*backend, large);
    EXPECT_EQ(before.limit_name, "ulimit -d 3145728");
    EXPECT_LT(before.process_limit, small + before.resident.anonymous);
    const auto error = testing::error_of([&] {
      require_memory(plan_inference_memory({{"parameters", 2 * small}}, *backend, before), {});
    });
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->kind(), ErrorKind::environment);
    EXPECT_NE(error->message().find("GiB (ulimit -d 3145728), passed by parameters"), std::string::npos)
        << error->message();
    EXPECT_NE(error->hint().find("raise the limit of the process"), std::string::npos);

    // Stacks of threads that are still to come are no room.
    kernels::set_thread_count(65);
    EXPECT_LT(memory_before(*backend, large).process_limit + 64 * (std::size_t{1} << 20),
              before.process_limit);
  }
  const LimitHere space(RLIMIT_AS, large);
  EXPECT_EQ(process_limit()->name, "ulimit -v 1073741824");
  kernels::set_thread_count(static_cast<int>(threads));
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
