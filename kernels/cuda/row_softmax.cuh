// The softmax of a row as its numbers come, shared by the losses and by what is chosen from a row.
#pragma once

#include <math.h>

#include "kernels/cuda/elements.cuh"

namespace bigbird::kernels::cuda {

// The maximum of some numbers, the lowest place that has it, and the sum of exp(x - maximum) over them
// (Milakov and Gimelshein 2018).
struct RowSoftmax {
  static constexpr std::int32_t nowhere = 0x7fffffff;
  float maximum = -INFINITY;
  std::int32_t place = nowhere;
  float sum = 0.0f;

  // Numbers of neighbouring places, from `at` on.
  template <int N>
  BIGBIRD_DEVICE void take(const float (&values)[N], int at) {
    float top = maximum;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (values[i] > top) {
        top = values[i];
        place = at + i;
      }
    }
    if (top > maximum) {
      sum *= expf(maximum - top);
      maximum = top;
    }
#pragma unroll
    for (int i = 0; i < N; ++i) {
      // Not -infinity minus itself; a number that is none gets through to the sum.
      if (values[i] != -INFINITY) sum += expf(values[i] - maximum);
    }
  }

  BIGBIRD_DEVICE void join(const RowSoftmax& other) {
    const float top = fmaxf(maximum, other.maximum);
    // -infinity minus itself would be no number.
    if (top == -INFINITY) {
      sum += other.sum;
    } else {
      sum = sum * expf(maximum - top) + other.sum * expf(other.maximum - top);
    }
    if (other.maximum > maximum || (other.maximum == maximum && other.place < place)) place = other.place;
    maximum = top;
  }

  // Of the whole block, in every thread. Shared memory: shared_bytes(warps), from byte 0 on.
  static constexpr std::size_t shared_bytes(int warps) {
    return 3 * sizeof(float) * static_cast<std::size_t>(warps);
  }
  template <int warps>
  BIGBIRD_DEVICE void join_block(Thread& thread) {
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) {
      join({thread.shuffle_xor(maximum, mask), thread.shuffle_xor(place, mask),
            thread.shuffle_xor(sum, mask)});
    }
    const auto maxima = thread.shared<float>(0, warps);
    const auto sums = thread.shared<float>(warps * 4, warps);
    const auto places = thread.shared<std::int32_t>(warps * 8, warps);
    if (thread.lane() == 0) {
      maxima[thread.warp()] = maximum;
      sums[thread.warp()] = sum;
      places[thread.warp()] = place;
    }
    thread.barrier();
    *this = {maxima[0], places[0], sums[0]};
    for (int warp = 1; warp < warps; ++warp) join({maxima[warp], places[warp], sums[warp]});
  }
};

}  // namespace bigbird::kernels::cuda
