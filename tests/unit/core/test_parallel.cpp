// Threads: every task once, results independent of the number of threads, exceptions carried over, nesting.
#include "kernels/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace bigbird {
namespace {

// Puts the number of threads back at the end of a test.
class ThreadCount {
 public:
  explicit ThreadCount(int count) { kernels::set_thread_count(count); }
  ~ThreadCount() { kernels::set_thread_count(0); }
};

TEST(ParallelFor, RunsEveryTaskOnceOnWorkersThatExist) {
  for (const int threads : {1, 2, 3, 8}) {
    const ThreadCount setting(threads);
    EXPECT_EQ(kernels::thread_count(), threads);
    for (const std::size_t tasks : {0u, 1u, 2u, 7u, 1000u}) {
      std::vector<int> runs(tasks, 0);
      std::atomic<int> wrong_workers{0};
      kernels::parallel_for_worker(tasks, [&](std::size_t task, int worker) {
        ++runs[task];
        if (worker < 0 || worker >= threads) ++wrong_workers;
      });
      EXPECT_EQ(runs, std::vector<int>(tasks, 1));
      EXPECT_EQ(wrong_workers, 0);
    }
  }
}

TEST(ParallelFor, AFixedPartitionGivesTheSameBitsForAnyNumberOfThreads) {
  const auto sum_of = [](int threads) {
    const ThreadCount setting(threads);
    std::vector<float> parts(64, 0.0f);
    kernels::parallel_for(parts.size(), [&](std::size_t part) {
      for (std::size_t i = 0; i < 1000; ++i) parts[part] += 1.0f / static_cast<float>(part * 1000 + i + 1);
    });
    float total = 0;
    for (const float part : parts) total += part;
    return total;
  };
  const float one = sum_of(1);
  for (const int threads : {2, 3, 5}) EXPECT_EQ(sum_of(threads), one);
}

TEST(ParallelFor, TheFirstExceptionComesOutAndTheRestStops) {
  for (const int threads : {1, 4}) {
    const ThreadCount setting(threads);
    std::atomic<std::size_t> ran{0};
    try {
      // The others take their time: on a busy machine they could all be done before the one that throws has
      // its turn.
      kernels::parallel_for(20000, [&](std::size_t task) {
        ++ran;
        if (task == 10) throw std::runtime_error("task 10");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      });
      FAIL() << "the exception was lost";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "task 10");
    }
    EXPECT_LT(ran, 20000u);
    std::atomic<int> after{0};
    kernels::parallel_for(50, [&](std::size_t) { ++after; });
    EXPECT_EQ(after, 50) << "later loops must work";
  }
}

TEST(ParallelFor, Nests) {
  const ThreadCount setting(3);
  std::vector<int> counts(20, 0);
  kernels::parallel_for(counts.size(), [&](std::size_t outer) {
    std::atomic<int> inner{0};
    kernels::parallel_for(10, [&](std::size_t) { ++inner; });
    counts[outer] = inner;
  });
  EXPECT_EQ(counts, std::vector<int>(20, 10));
}

TEST(ParallelFor, ZeroMeansAllCores) {
  kernels::set_thread_count(0);
  EXPECT_GE(kernels::thread_count(), 1);
}

}  // namespace
}  // namespace bigbird
