// Tasks of tests that make all micro-batches of an update together.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/training/training_task.h"

namespace bigbird {

// A task that makes its updates whole, all of as many micro-batches.
class WholeUpdates : public TrainingTask {
 public:
  virtual std::vector<Batch> batches(std::uint64_t step) const = 0;
  kernels::Index slots() const override { return static_cast<kernels::Index>(batches(0).size()); }
  std::vector<Batch> batches(std::uint64_t step, kernels::IndexRange slots) const override {
    const std::vector<Batch> all = batches(step);
    return {all.begin() + slots.first, all.begin() + slots.end()};
  }
};

}  // namespace bigbird
