// The CUDA backend on an emulated device that is set up to be unkind: memory that runs out, and streams that
// begin their work as late as they may, so that an order that nobody asked for does not happen.
#include "kernels/cuda/emulation/emulation.h"
#include "tests/cuda/backend_test.h"

namespace bigbird::kernels::cuda::testing {

class UnkindDevice : public ::testing::Test {
 protected:
  void TearDown() override { emulation::options() = before_; }
  const emulation::Options before_ = emulation::options();
};

TEST_F(UnkindDevice, TheArenaThatDoesNotFitSaysWhatThereWas) {
  emulation::options().memory = std::size_t{64} << 20;
  CudaBackend backend({});
  const std::size_t free = backend.free_memory();
  EXPECT_LT(free, emulation::options().memory - Transfers::device_bytes);
  try {
    backend.reserve(free + 256);
    FAIL() << "more than there is";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.asked(), free + 256);
    EXPECT_EQ(error.free(), free);
  }
  EXPECT_NO_THROW(backend.reserve(free / 2));
}

TEST_F(UnkindDevice, ABackendThatDoesNotFitIsNotMade) {
  emulation::options().memory = Transfers::device_bytes / 2;
  EXPECT_THROW(make_cuda_backend({}), OutOfMemory);
}

TEST_F(UnkindDevice, ScratchThatDoesNotFitLeavesTheBackendInUse) {
  emulation::options().memory = std::size_t{64} << 20;
  CudaBackend backend({});
  AttentionLimits limits;
  limits.sequences = 1;
  limits.tokens = limits.longest = 1 << 22;
  limits.heads = 2;
  limits.head_size = 32;
  limits.block_size = 64;
  EXPECT_THROW(backend.reserve_scratch(limits), OutOfMemory);
  Side side(backend);
  const Values x = side.values({1.0f, 2.0f});
  const Values y = side.unset(1);
  backend.linear_forward(x, {side.parameters({3.0f, 4.0f}), nullptr, 2, 1}, y, 1);
  EXPECT_EQ(side.read(y, 1), Floats{11.0f});
}

TEST_F(UnkindDevice, WorkThatStartsLateStillReadsWhatWasUploaded) {
  emulation::options().lazy_streams = true;
  CudaBackend backend({0, Precision::fp32, true});
  Side side(backend);
  constexpr Index count = 3 * static_cast<Index>(Transfers::slot_bytes / sizeof(float)) / 2;
  const Values total = side.values(Floats(static_cast<std::size_t>(count), 0.0f));
  const Values step = side.unset(count);
  Floats host(static_cast<std::size_t>(count));
  float expected = 0.0f;
  for (int round = 1; round <= 100; ++round) {  // three times round the ring
    std::fill(host.begin(), host.end(), static_cast<float>(round));
    backend.upload(step.data(), host.data(), host.size() * sizeof(float));
    std::fill(host.begin(), host.end(), -1.0f);
    backend.add(step, total, count);
    expected += static_cast<float>(round);
  }
  EXPECT_EQ(side.read(total, count), Floats(static_cast<std::size_t>(count), expected));
}

TEST_F(UnkindDevice, MarksTellWhatEachPieceOfWorkTakes) {
  emulation::options().lazy_streams = true;
  emulation::options().fake_clock = true;
  CudaBackend backend({0, Precision::fp32, true});
  Side side(backend);
  const Values x = side.values(Floats(48, 1.0f)), y = side.unset(2);
  const float* const weight = side.parameters(Floats(48, 0.5f));
  const std::unique_ptr<TimeMarks> marks = backend.make_time_marks();
  EXPECT_TRUE(marks->take_milliseconds().empty());
  for (int round = 0; round < 2; ++round) {
    marks->add();
    backend.linear_forward(x, {weight, nullptr, 48, 1}, y, 1);
    marks->add();
    backend.add(x, x, 48);
    marks->add();
    for (int i = 0; i < 2; ++i) backend.linear_forward(x, {weight, nullptr, 24, 1}, y, 1);
    marks->add();
    const std::vector<double> times = marks->take_milliseconds();
    ASSERT_EQ(times.size(), 3u);
    EXPECT_NEAR(times[0], 6.8, 1e-4);  // 100 microseconds for each number that is summed, and 2,000
    EXPECT_EQ(times[1], 0.0);
    EXPECT_NEAR(times[2], 2 * 4.4, 1e-4);
  }
}

TEST_F(UnkindDevice, RecordingsRunLateToo) {
  emulation::options().lazy_streams = true;
  CudaBackend backend({0, Precision::fp32, true});
  Side side(backend);
  const Values total = side.values({0.0f});
  const Values step = side.unset(1);
  for (int round = 1; round <= 6; ++round) {
    const auto value = static_cast<float>(round);
    backend.upload(step.data(), &value, sizeof value);
    backend.replay(1, [&] { backend.add(step, total, 1); });
  }
  EXPECT_EQ(side.read(total, 1), Floats{21.0f});
}

TEST_F(UnkindDevice, WorkThatCannotBecomeAGraphRunsAsItIs) {
  emulation::options().refuse_graphs = true;
  CudaBackend backend({0, Precision::fp32, true});
  Side side(backend);
  const Values total = side.values({0.0f});
  const Values step = side.unset(1);
  int calls = 0;
  for (int round = 1; round <= 6; ++round) {
    const auto value = static_cast<float>(round);
    backend.upload(step.data(), &value, sizeof value);
    backend.replay(1, [&] {
      ++calls;
      backend.add(step, total, 1);
    });
  }
  EXPECT_EQ(side.read(total, 1), Floats{21.0f});
  EXPECT_EQ(backend.replays(), 0u);
  EXPECT_EQ(calls, 7) << "the second time once more, to be recorded";
}

}  // namespace bigbird::kernels::cuda::testing
