// The emulated device: what its operations compute, against their definitions.
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/emulation/emulation.h"
#include "tests/cuda/cuda_test.h"

namespace bigbird::kernels::cuda::testing {
namespace {

class Emulation : public CudaTest {};

struct Scale {
  static constexpr int threads = 64;
  static constexpr int blocks_per_sm = 1;
  float* x;
  Index count;
  float factor;
  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index i = Index{thread.block()} * threads + thread.index();
    if (i < count) x[i] *= factor;
  }
};

TEST_F(Emulation, EveryThreadOfEveryBlockRunsOnce) {
  std::vector<float> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const DeviceBuffer<float> x(values, stream());
  launch(Scale{x.data(), x.size(), 2.0f}, {.blocks = blocks_for(x.size(), Scale::threads)}, stream());
  const std::vector<float> doubled = x.download();
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(doubled[i], 2.0f * values[i]) << i;
}

// Sum of a block through warps and shared memory.
struct BlockSum {
  static constexpr int threads = 128;
  static constexpr int blocks_per_sm = 1;
  const float* x;
  float* sums;
  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    auto parts = thread.shared<float>(0, threads / 32);
    const float sum = warp_sum(thread, x[Index{thread.block()} * threads + thread.index()]);
    if (thread.lane() == 0) parts[thread.warp()] = sum;
    thread.barrier();
    if (thread.index() == 0) {
      float all = 0;
      for (int i = 0; i < threads / 32; ++i) all += parts[i];
      sums[thread.block()] = all;
    }
  }
};

TEST_F(Emulation, ThreadsMeetInWarpsAndBlocks) {
  std::vector<float> values(512);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const DeviceBuffer<float> x(values, stream());
  const DeviceBuffer<float> sums(4, stream());
  launch(BlockSum{x.data(), sums.data()}, {.blocks = 4, .shared_bytes = 16}, stream());
  EXPECT_EQ(sums.download(), (std::vector<float>{8128, 24512, 40896, 57280}));
}

}  // namespace
}  // namespace bigbird::kernels::cuda::testing
