// Batches made ahead on another thread: the same ones, each once, and what goes wrong there comes back.
#include <gtest/gtest.h>

#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "lib/training/update.h"

namespace bigbird {
namespace {

// As many batches as the step's number says.
class Maker {
 public:
  std::vector<Batch> make(std::uint64_t step) {
    const std::lock_guard<std::mutex> lock(mutex_);
    made_.push_back(step);
    threads_.push_back(std::this_thread::get_id());
    if (step == bad_) throw std::runtime_error("no such shard");
    return std::vector<Batch>(static_cast<std::size_t>(step));
  }
  BatchPrefetcher::Make function() {
    return [this](std::uint64_t step) { return make(step); };
  }

  std::mutex mutex_;
  std::vector<std::uint64_t> made_;
  std::vector<std::thread::id> threads_;
  std::uint64_t bad_ = 1000;
};

TEST(BatchPrefetcher, GivesTheBatchesOfTheStepEachMadeOnce) {
  for (const bool ahead : {false, true}) {
    Maker maker;
    {
      BatchPrefetcher batches(maker.function(), 8, ahead);
      for (std::uint64_t step = 3; step < 8; ++step) EXPECT_EQ(batches.take(step).size(), step);
    }
    EXPECT_EQ(maker.made_, (std::vector<std::uint64_t>{3, 4, 5, 6, 7}));
    EXPECT_EQ(maker.threads_.front(), std::this_thread::get_id());
    EXPECT_EQ(maker.threads_.back() == std::this_thread::get_id(), !ahead);
  }
}

TEST(BatchPrefetcher, WhatWasThrownAheadIsThrownAtItsStep) {
  Maker maker;
  maker.bad_ = 5;
  BatchPrefetcher batches(maker.function(), 10, true);
  EXPECT_EQ(batches.take(4).size(), 4u);
  EXPECT_THROW(batches.take(5), std::runtime_error);
}

TEST(BatchPrefetcher, ARunThatEndsEarlyWaitsForWhatIsBeingMade) {
  Maker maker;
  {
    BatchPrefetcher batches(maker.function(), 10, true);
    batches.take(0);
  }
  EXPECT_EQ(maker.made_, (std::vector<std::uint64_t>{0, 1}));
}

}  // namespace
}  // namespace bigbird
