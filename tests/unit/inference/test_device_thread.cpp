// Batches that run on a thread of their own: order, errors, stops; whether a device is kept busy, by an
// emulated clock; and that scores are those without it.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "lib/inference/device_thread.h"

namespace bigbird {
namespace {

using namespace std::chrono_literals;

std::shared_ptr<DeviceThread> device_thread() {
  return std::make_shared<DeviceThread>([] {});
}

TEST(DevicePipeline, ResultsComeInOrderOnTheCallersThread) {
  std::vector<int> computed, delivered;
  BatchPipeline pipeline(device_thread(), 3);
  EXPECT_TRUE(pipeline.works_ahead());
  const auto caller = std::this_thread::get_id();
  for (int i = 0; i < 100; ++i) {
    pipeline.run(
        [&, i] {
          EXPECT_NE(std::this_thread::get_id(), caller);
          computed.push_back(i);
        },
        [&, i] {
          EXPECT_EQ(std::this_thread::get_id(), caller);
          delivered.push_back(i);
        });
    // What is delivered when depends on the calls alone.
    EXPECT_EQ(delivered.size(), static_cast<std::size_t>(std::max(0, i - 2)));
  }
  pipeline.finish();
  ASSERT_EQ(delivered.size(), 100u);
  EXPECT_TRUE(std::is_sorted(delivered.begin(), delivered.end()));
  EXPECT_EQ(computed, delivered);
}

TEST(DevicePipeline, WithoutAThreadEachIsComputedWhereItIsHandedOver) {
  std::vector<std::string> done;
  BatchPipeline pipeline(nullptr, 3);
  EXPECT_FALSE(pipeline.works_ahead());
  for (int i = 0; i < 2; ++i)
    pipeline.run([&] { done.emplace_back("computed"); }, [&] { done.emplace_back("delivered"); });
  EXPECT_EQ(done, (std::vector<std::string>{"computed", "delivered", "computed", "delivered"}));
}

TEST(DevicePipeline, AnErrorIsThrownInItsTurn) {
  std::vector<int> delivered;
  BatchPipeline pipeline(device_thread(), 2);
  const auto give = [&](int i) {
    pipeline.run(
        [i] {
          if (i == 3) throw std::runtime_error("batch 3");
        },
        [&, i] { delivered.push_back(i); });
  };
  for (int i = 0; i < 5; ++i) give(i);
  try {
    give(5);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "batch 3");
  }
  EXPECT_EQ(delivered, (std::vector<int>{0, 1, 2}));
}

TEST(DevicePipeline, WhatTheThreadCannotEnterIsSaid) {
  const auto thread = std::make_shared<DeviceThread>([] { throw std::runtime_error("no device"); });
  BatchPipeline pipeline(thread, 2);
  bool computed = false;
  pipeline.run([&] { computed = true; }, [] {});
  EXPECT_THROW(pipeline.finish(), std::runtime_error);
  EXPECT_FALSE(computed);
}

TEST(DevicePipeline, AStopWaitsForTheBatchThatRunsAndForNoOther) {
  std::atomic<int> computed = 0;
  std::promise<void> begun, gate;
  std::shared_future<void> open = gate.get_future().share();
  const auto thread = device_thread();
  std::thread opens;
  {
    BatchPipeline pipeline(thread, 8);
    for (int i = 0; i < 8; ++i) {
      pipeline.run(
          [&, i] {
            if (i == 0) begun.set_value();
            open.wait();
            ++computed;
          },
          [] { FAIL() << "nothing is delivered behind a stop"; });
    }
    begun.get_future().wait();
    opens = std::thread([&] {
      std::this_thread::sleep_for(20ms);  // the pipeline is being given up meanwhile
      gate.set_value();
    });
  }
  opens.join();
  EXPECT_EQ(computed, 1);
  // The thread goes on for others.
  BatchPipeline other(thread, 1);
  bool delivered = false;
  other.run([] {}, [&] { delivered = true; });
  other.finish();
  EXPECT_TRUE(delivered);
}

TEST(DevicePipeline, SeveralShareAThreadThatDoesOneThingAtATime) {
  const auto thread = device_thread();
  BatchPipeline one(thread, 4), two(thread, 4);
  std::atomic<int> at_once = 0;
  for (int i = 0; i < 50; ++i) {
    for (BatchPipeline* pipeline : {&one, &two}) {
      pipeline->run(
          [&] {
            EXPECT_EQ(at_once.fetch_add(1), 0);
            at_once.fetch_sub(1);
          },
          [] {});
    }
  }
  one.finish();
  two.finish();
}

// What scoring variants costs, in seconds: a chunk is read and its windows cut, 64 windows are tokenized at
// once, and batches of them go to the device.
struct Costs {
  double device_batch = 0;     // the device, for a batch
  double read_chunk = 0;       // one thread
  double cut_chunk = 0;        // of CPU, on all threads
  double tokenize_window = 0;  // of CPU, on all threads
  double deliver_batch = 0;    // one thread: effects from probabilities, and writing
  int threads = 2;
  int windows_of_chunk = 2000, windows_of_batch = 40, chunks = 20;
};

struct Emulated {
  double seconds = 0;
  double device_idle = 0;  // between its first batch and its last
  int waits = 0;           // of the device, for a batch
};

// The pipeline itself runs, on its threads; clocks are emulated: each thread's moves on by what its work
// costs, and to the other's where it waits for it.
Emulated emulate(const Costs& costs, const std::shared_ptr<DeviceThread>& thread, std::size_t most) {
  const int batches_of_chunk = costs.windows_of_chunk / costs.windows_of_batch;
  const auto batches = static_cast<std::size_t>(costs.chunks) * static_cast<std::size_t>(batches_of_chunk);
  std::vector<double> handed(batches + most, 0), done(batches, 0);
  double caller = 0, device = 0;
  Emulated result;
  const auto id = std::this_thread::get_id();
  BatchPipeline pipeline(thread, most);
  int tokenized = 0;
  for (std::size_t k = 0; k < batches; ++k) {
    const int in_chunk = static_cast<int>(k) % batches_of_chunk;
    if (in_chunk == 0) {
      caller += costs.read_chunk + costs.cut_chunk / costs.threads;
      tokenized = 0;
    }
    while (tokenized < (in_chunk + 1) * costs.windows_of_batch) {
      const int now = std::min(64, costs.windows_of_chunk - tokenized);
      caller += now * costs.tokenize_window / costs.threads;
      tokenized += now;
    }
    handed[k] = std::max(handed[k], caller);
    pipeline.run(
        [&, k] {
          if (std::this_thread::get_id() == id) device = std::max(device, caller);
          const double start = k == 0 ? handed[k] : std::max(device, handed[k]);
          if (k > 0 && (start > device || std::this_thread::get_id() == id)) {
            result.device_idle += start - done[k - 1];
            result.waits += start > done[k - 1] ? 1 : 0;
          }
          device = done[k] = start + costs.device_batch;
          if (std::this_thread::get_id() == id) caller = device;
        },
        [&, k] {
          caller = std::max(caller, done[k]) + costs.deliver_batch;
          handed[k + most] = caller;  // a batch that waited for this one to be delivered
        });
  }
  pipeline.finish();
  result.seconds = caller;
  return result;
}

// 2,000 variants a second, REF and ALT on one strand, in batches of 8,192 tokens. CPU times of a variant are
// what bench_preparing measured (tests/bench/README.md); effects and writing are taken to be 50 us.
Costs of_variants(double reading, double cutting, double tokenizing, int windows_of_batch) {
  constexpr double microsecond = 1e-6, variants_of_chunk = 1000, variants_a_second = 2000, delivering = 50;
  Costs costs;
  costs.windows_of_batch = windows_of_batch;
  const double variants_of_batch = windows_of_batch / 2.0;
  costs.device_batch = variants_of_batch / variants_a_second;
  costs.read_chunk = variants_of_chunk * reading * microsecond;
  costs.cut_chunk = variants_of_chunk * cutting * microsecond;
  costs.tokenize_window = tokenizing / 2 * microsecond;
  costs.deliver_batch = variants_of_batch * delivering * microsecond;
  return costs;
}
Costs of_1000_bases() {
  return of_variants(0.8, 3.8, 63.4, 50);
}
Costs of_8000_bases() {
  return of_variants(0.7, 22.5, 758.1, 5);
}

TEST(DevicePipeline, TwoThreadsKeepADeviceOf2000VariantsASecondBusy) {
  for (const Costs& costs : {of_1000_bases(), of_8000_bases()}) {
    const Emulated emulated = emulate(costs, device_thread(), 32);
    EXPECT_EQ(emulated.waits, 0) << emulated.device_idle << " s of " << emulated.seconds;
    const double device = costs.device_batch * costs.chunks * costs.windows_of_chunk / costs.windows_of_batch;
    // The device's own time; and what comes before the first batch and after the last.
    EXPECT_LT(emulated.seconds, 1.01 * device);
  }
}

TEST(DevicePipeline, WithoutAThreadTheDeviceWaitsForEveryBatch) {
  const Costs costs = of_8000_bases();
  const Emulated emulated = emulate(costs, nullptr, 32);
  EXPECT_EQ(emulated.waits, costs.chunks * costs.windows_of_chunk / costs.windows_of_batch - 1);
  EXPECT_GT(emulated.seconds, 1.8 * emulate(costs, device_thread(), 32).seconds);
}

// The emulation can tell: nothing keeps a device busy that is faster than what prepares its batches.
TEST(DevicePipeline, ADeviceThatIsFasterThanTheThreadsWaits) {
  Costs costs = of_1000_bases();
  costs.device_batch /= 100;
  const Emulated emulated = emulate(costs, device_thread(), 32);
  EXPECT_GT(emulated.device_idle, 0.5 * emulated.seconds);
}

// A short queue does not last while a chunk is read and its windows are cut.
TEST(DevicePipeline, ALongQueueCoversWhatAChunkTakesAtOnce) {
  Costs costs = of_1000_bases();
  costs.read_chunk = 5 * costs.device_batch;
  EXPECT_GT(emulate(costs, device_thread(), 2).waits, 0);
  EXPECT_EQ(emulate(costs, device_thread(), 32).waits, 0);
}

}  // namespace
}  // namespace bigbird
