// Which clone of the inner kernels runs, and the CPU as a device.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include "kernels/cpu/bf16.h"
#include "tests/kernels/kernel_test.h"

namespace bigbird::kernels {
namespace {

class LevelChoice : public ::testing::Test {
 protected:
  void TearDown() override {
    unsetenv("BIGBIRD_CPU_LEVEL");
    set_thread_count(0);
  }
};

TEST_F(LevelChoice, TheBestLevelOfTheMachineRunsAndTheDescriptionNamesIt) {
  set_thread_count(2);
  unsetenv("BIGBIRD_CPU_LEVEL");
  const std::string best = available_levels().front()->name;
  EXPECT_EQ(chosen_level().name, best);
  const std::string text = make_cpu_backend()->description();
  EXPECT_NE(text.find(best), std::string::npos) << text;
  EXPECT_NE(text.find("2 threads"), std::string::npos) << text;
  const bool amx = amx_kernels() != nullptr;
  EXPECT_EQ(text.find("AMX") != std::string::npos, amx) << text;
  EXPECT_EQ(text.find("own matrix product") != std::string::npos, !amx) << text;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  EXPECT_EQ(best, avx512 ? "x86-64-v4" : (avx2 ? "x86-64-v3" : "x86-64-v2"));
#endif
}

TEST_F(LevelChoice, TheEnvironmentVariablePicksALevel) {
  for (const Level* level : available_levels()) {
    setenv("BIGBIRD_CPU_LEVEL", level->name, 1);
    EXPECT_STREQ(chosen_level().name, level->name);
    EXPECT_NE(make_cpu_backend()->description().find(level->name), std::string::npos);
  }
  setenv("BIGBIRD_CPU_LEVEL", "no-such-level", 1);
  EXPECT_EQ(&chosen_level(), available_levels().front());
}

// tests/arm64.sh asks for them on an emulated processor that has them.
TEST_F(LevelChoice, Bf16InstructionsThatAreAskedForAreUsed) {
  const char* const asked = std::getenv("BIGBIRD_BF16");
  if (asked == nullptr || std::string(asked) != "instructions" || amx_kernels() != nullptr)
    GTEST_SKIP() << "SKIPPED: BIGBIRD_BF16=instructions is not set, or tiles go before";
  ASSERT_NE(bf16_kernels(), nullptr);
  const std::string text = make_cpu_backend(Precision::bf16)->description();
  EXPECT_NE(text.find(bf16_kernels()->name), std::string::npos) << text;
}

TEST_F(LevelChoice, LevelsAreDifferentCode) {
  const auto& levels = available_levels();
  for (std::size_t i = 1; i < levels.size(); ++i) {
    EXPECT_NE(levels[i]->gemm, levels[i - 1]->gemm);
    EXPECT_STRNE(levels[i]->name, levels[i - 1]->name);
  }
}

TEST_F(LevelChoice, MarksTellWhatPassesBetweenThem) {
  const auto backend = make_cpu_backend();
  const auto marks = backend->make_time_marks();
  for (int round = 0; round < 2; ++round) {
    for (const int milliseconds : {0, 0, 20}) {
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      marks->add();
    }
    const std::vector<double> times = marks->take_milliseconds();
    ASSERT_EQ(times.size(), 2u);
    EXPECT_GE(times[0], 0.0);
    EXPECT_LT(times[0], times[1]);
    EXPECT_GE(times[1], 20.0);
  }
}

TEST_F(LevelChoice, MemoryIsAlignedAndCopied) {
  const auto backend = make_cpu_backend();
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{9} << 20}) {
    void* memory = backend->allocate(bytes);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0u);
    backend->zero(memory, bytes);
    std::vector<char> host(bytes, 'x'), back(bytes, 'y');
    backend->upload(memory, host.data(), bytes);
    backend->download(back.data(), memory, bytes);
    EXPECT_EQ(host, back);
    backend->release(memory);
  }
}

}  // namespace
}  // namespace bigbird::kernels
