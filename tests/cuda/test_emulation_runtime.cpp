// The emulated runtime: streams in both of their orders, memory, recordings, and what it refuses.
#include <cmath>

#include "kernels/cuda/gemm.h"
#include "tests/cuda/emulation_test.h"

namespace bigbird::kernels::cuda::testing {
namespace {

class EmulatedRuntime : public EmulationTest {
 protected:
  void SetUp() override {
    emulation::options().lazy_streams = false;
    EmulationTest::SetUp();
  }
};

// One number through pinned memory on stream `first`, doubled on stream `second`, which waits or not.
float through_two_streams(Stream first, Stream second, bool waits) {
  void* pinned = allocate_pinned(sizeof(float));
  *static_cast<float*>(pinned) = 21.0f;
  void* device = allocate_device(sizeof(float));
  const Event arrived = make_event();
  copy_to_device(device, pinned, sizeof(float), first);
  record(arrived, first);
  if (waits) wait(second, arrived);
  run_threads<32>({.blocks = 1}, second, [x = static_cast<float*>(device)](Thread& thread) {
    if (thread.index() == 0) *x *= 2.0f;
  });
  copy_to_host(pinned, device, sizeof(float), second);
  synchronize(second);
  const float result = *static_cast<float*>(pinned);
  destroy(arrived);
  release_device(device);
  release_pinned(pinned);
  return result;
}

TEST_F(EmulatedRuntime, LazyStreamsShowAMissingWait) {
  const Stream other = make_stream();
  EXPECT_EQ(through_two_streams(other, stream(), true), 42.0f);
  EXPECT_EQ(through_two_streams(other, stream(), false), 42.0f);  // by luck: work runs as it is given
  emulation::options().lazy_streams = true;
  EXPECT_EQ(through_two_streams(other, stream(), true), 42.0f);
  EXPECT_TRUE(std::isnan(through_two_streams(other, stream(), false)));
  destroy(other);
}

TEST_F(EmulatedRuntime, LazyWorkReportsWhatIsWrongWhenSomebodyWaits) {
  emulation::options().lazy_streams = true;
  run_threads<32>({.blocks = 1}, stream(), [](Thread& thread) { thread.shuffle(1, 77); });
  EXPECT_COMPLAINT(synchronize(stream()), "shuffle from lane 77");
  EXPECT_EQ(complaint([&] { synchronize(stream()); }), "");
}

TEST_F(EmulatedRuntime, FreshMemoryIsNotANumber) {
  void* device = allocate_device(64);
  void* pinned = allocate_pinned(64);
  std::memset(pinned, 0, 64);
  copy_to_host(pinned, device, 64, stream());
  synchronize(stream());
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(std::isnan(static_cast<float*>(pinned)[i]));
  release_pinned(pinned);
  release_device(device);
}

TEST_F(EmulatedRuntime, CopiesOfMemoryThatIsNotPinnedAreRefused) {
  const DeviceBuffer<float> device(4, stream());
  float plain[4] = {};
  EXPECT_COMPLAINT(copy_to_device(device.data(), plain, sizeof plain, stream()), "memory that is not pinned");
  EXPECT_COMPLAINT(copy_to_host(plain, device.data(), sizeof plain, stream()), "memory that is not pinned");
  EXPECT_COMPLAINT(fill_zero(device.data(), 20, stream()), "memory that is not the device's, 20 bytes");
  EXPECT_COMPLAINT(copy_on_device(device.data(), plain, 4, stream()), "memory that is not the device's");
}

TEST_F(EmulatedRuntime, MemoryEnds) {
  const std::size_t free = free_device_memory();
  emulation::options().memory -= free - 1000;
  EXPECT_EQ(free_device_memory(), 1000u);
  void* half = allocate_device(600);
  try {
    allocate_device(600);
    FAIL() << "600 of 400 bytes";
  } catch (const OutOfDeviceMemory& error) {
    EXPECT_EQ(error.asked, 600u);
    EXPECT_EQ(error.free, 400u);
  }
  release_device(half);
  EXPECT_EQ(free_device_memory(), 1000u);
}

TEST_F(EmulatedRuntime, RecordedWorkRunsWhenItIsPlayed) {
  const DeviceBuffer<float> x(std::vector<float>(1, 1.0f), stream());
  begin_recording(stream());
  run_threads<32>({.blocks = 1}, stream(), [to = x.data()](Thread& thread) {
    if (thread.index() == 0) *to *= 3.0f;
  });
  EXPECT_THROW(synchronize(stream()), CudaError);
  EXPECT_THROW(allocate_device(16), CudaError);
  const Graph graph = end_recording(stream());
  EXPECT_EQ(x.download()[0], 1.0f);
  run(graph, stream());
  run(graph, stream());
  EXPECT_EQ(x.download()[0], 9.0f);
  destroy(graph);
}

TEST_F(EmulatedRuntime, ProductsAreCheckedBeforeTheyRun) {
  const DeviceBuffer<float> a(6, stream());
  const DeviceBuffer<float> d(4, stream());
  const DeviceBuffer<std::byte> workspace(4096, stream());
  const std::unique_ptr<GemmLibrary> library = make_gemm_library();
  Gemm gemm;
  gemm.m = gemm.n = 2;
  gemm.k = 3;
  gemm.a = {ConstValues(a.data()), 3};
  gemm.b = {ConstValues(a.data()), 2};
  gemm.d = {Values(d.data()), 2};
  EXPECT_COMPLAINT(library->run(gemm, stream()), "no workspace");
  library->use_workspace(workspace.data());
  EXPECT_EQ(complaint([&] { library->run(gemm, stream()); }), "");
  gemm.a.stride = 4;
  EXPECT_COMPLAINT(library->run(gemm, stream()), "an operand is outside of device memory");
  gemm.a.stride = 2;
  EXPECT_COMPLAINT(library->run(gemm, stream()), "an operand's stride is less than its columns");
  gemm.a.stride = 3;
  gemm.d.stride = 3;
  EXPECT_COMPLAINT(library->run(gemm, stream()), "the result is outside of device memory");
}

}  // namespace
}  // namespace bigbird::kernels::cuda::testing
