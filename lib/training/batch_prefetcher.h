// lib/training holds one training run, whatever it trains: options, batches, optimizer, schedule, the loop,
// run folders, validation, ranks. Tasks come in by TrainingTask; none of them is known here.
//
// Makes the batches of the next update while the device works on those of this one.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <utility>
#include <vector>

#include "lib/model/network/batch.h"

namespace bigbird {

class BatchPrefetcher {
 public:
  using Make = std::function<std::vector<Batch>(std::uint64_t)>;
  // make(step) for any step below `steps`; called on another thread when `ahead`, never twice at a time.
  BatchPrefetcher(Make make, std::uint64_t steps, bool ahead)
      : make_(std::move(make)), steps_(steps), ahead_(ahead) {}

  // make(step), or what it threw. Steps are asked for in order.
  std::vector<Batch> take(std::uint64_t step);

 private:
  Make make_;
  std::uint64_t steps_;
  bool ahead_;
  std::uint64_t next_step_ = 0;
  std::future<std::vector<Batch>> next_;  // of next_step_; its destructor waits
};

}  // namespace bigbird
