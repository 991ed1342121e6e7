// What a warpgroup's products do on this device, against the PTX ISA ("Matrix descriptor",
// "wgmma.mma_async"): by identities and numbered tiles. Where a device disagrees, the test looks for the
// descriptor that would have been right, and prints it: the one call that finds a misreading also finds its
// repair.
#include <sstream>

#include "kernels/cuda/attention/attention.h"
#include "tests/cuda/conformance.h"
#include "tests/cuda/cuda_test.h"

namespace bigbird::kernels::cuda::testing {
namespace {

class ConformanceOfWarpgroups : public CudaTest {
 protected:
  static constexpr std::size_t size = 64;
  using Numbers = std::vector<double>;

  static Numbers numbered(std::size_t factor) {
    Numbers numbers(size * size);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<double>((i * factor + i / size * 11) % 251);
    return numbers;
  }
  static Numbers identity() {
    Numbers numbers(size * size);
    for (std::size_t i = 0; i < size; ++i) numbers[i * size + i] = 1.0;
    return numbers;
  }

  static Numbers product(const Numbers& a, const Numbers& tile, bool transposed) {
    Numbers c(size * size);
    for (std::size_t row = 0; row < size; ++row) {
      for (std::size_t column = 0; column < size; ++column) {
        for (std::size_t k = 0; k < size; ++k)
          c[row * size + column] +=
              a[row * size + k] * tile[transposed ? k * size + column : column * size + k];
      }
    }
    return c;
  }

  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped()) return;
    std::string why;
    const DeviceInfo device = find_devices(why).front();
    const std::string refusal = warpgroup_refusal(device);
    if (device.name != "emulated device" && !refusal.empty()) GTEST_SKIP() << "SKIPPED: " << refusal;
  }

  Numbers run(const WarpgroupProbe& probe, const Numbers& a, const Numbers& tile) const {
    const DeviceBuffer<bf16> left(rounded<bf16>(a), stream()), right(rounded<bf16>(tile), stream());
    const DeviceBuffer<float> c(static_cast<Index>(size * size), stream());
    probe_warpgroup(probe, left.data(), right.data(), c.data(), stream());
    return widened(c.download());
  }

  // The descriptors that give what `expected` says; "none" where there is no such.
  std::string right_ones(WarpgroupProbe probe, const Numbers& a, const Numbers& tile,
                         const Numbers& expected) {
    std::ostringstream found;
    for (const bool transposed : {false, true}) {
      for (std::uint64_t mode = 0; mode < 4; ++mode) {
        for (const std::uint64_t stride : {64u, 8u, 16u, 32u, 128u, 512u, 1u, 0u}) {
          for (const std::uint64_t leading : {1u, 0u, 8u, 16u, 32u, 64u, 128u, 512u}) {
            probe.transposed = transposed;
            probe.mode = mode;
            probe.stride = stride;
            probe.leading = leading;
            if (run(probe, a, tile) != expected) continue;
            found << " mode " << mode << ", stride " << stride << ", leading " << leading
                  << (transposed ? ", transposed;" : ";");
          }
        }
      }
    }
    return found.str().empty() ? " none" : found.str();
  }

  void check(bool a_in_registers, bool transposed) {
    WarpgroupProbe probe;
    probe.a_in_registers = a_in_registers;
    probe.transposed = transposed;
    for (const auto& [a, tile] :
         std::vector<std::pair<Numbers, Numbers>>{{identity(), numbered(37)}, {numbered(53), identity()}}) {
      const Numbers expected = product(a, tile, transposed);
      if (run(probe, a, tile) == expected) continue;
      ADD_FAILURE() << (a_in_registers ? "left operand in registers" : "left operand in shared memory")
                    << (transposed ? ", transposed" : "")
                    << ": wrong by the descriptor of device.cuh. Right ones:"
                    << right_ones(probe, a, tile, expected);
      return;
    }
  }
};

TEST_F(ConformanceOfWarpgroups, ScoresFromSharedMemory) {
  check(false, false);
}
TEST_F(ConformanceOfWarpgroups, ScoresFromRegisters) {
  check(true, false);
}
TEST_F(ConformanceOfWarpgroups, WeightedSumsFromSharedMemory) {
  check(false, true);
}
TEST_F(ConformanceOfWarpgroups, WeightedSumsFromRegisters) {
  check(true, true);
}

}  // namespace
}  // namespace bigbird::kernels::cuda::testing
