// The sum over the threads of a block, in a fixed order.
#pragma once

#include "kernels/cuda/device.cuh"

namespace bigbird::kernels::cuda {

// In thread 0 alone; all threads of the block call it. Shared memory: a double for each warp, from byte `at`
// on, which nobody uses before the next barrier.
template <int threads>
BIGBIRD_DEVICE double block_sum(Thread& thread, double value, int at = 0) {
  constexpr int warps = threads / 32;
  value = warp_sum(thread, value);
  const auto sums = thread.shared<double>(at, warps);
  if (thread.lane() == 0) sums[thread.warp()] = value;
  thread.barrier();
  double total = 0.0;
  if (thread.index() == 0) {
    for (int warp = 0; warp < warps; ++warp) total += sums[warp];
  }
  return total;
}

}  // namespace bigbird::kernels::cuda
