// Sums of the emulated tensor cores: what is cut where sums are truncated, in a mma and in the products that
// stand for cuBLASLt's, and that nothing is cut otherwise.
#include <cmath>

#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/emulation/tensor_core.h"
#include "kernels/cuda/gemm.h"
#include "tests/cuda/emulation_test.h"

namespace bigbird::kernels::cuda::testing {
namespace {

// c + sum of a b, in the first of 8 columns.
float sum(float c, const std::vector<float>& a, const std::vector<float>& b) {
  float sums[8] = {c};
  std::vector<float> right(b.size() * 8, 0.0f);
  for (std::size_t k = 0; k < b.size(); ++k) right[k * 8] = b[k];
  emulation::add_truncated(sums, a.data(), right.data(), 8, b.size());
  return sums[0];
}

TEST(TruncatedSums, CutWhatLiesBelowTheLastBitOfTheLargest) {
  EXPECT_EQ(sum(1.0f, {1.0f, 2.0f}, {1.0f, 3.0f}), 8.0f);
  EXPECT_EQ(sum(0.0f, {0.0f}, {5.0f}), 0.0f);
  EXPECT_EQ(sum(1.0f, {0x1p-12f}, {0x1p-11f}), 1.0f + 0x1p-23f);  // the last bit of 1
  // Eight halves of it, which rounded one by one or added first would be four of it.
  const std::vector<float> halves(8, 0x1p-12f);
  EXPECT_EQ(sum(1.0f, halves, halves), 1.0f);
  EXPECT_EQ(sum(-1.0f, halves, {-0x1p-12f, -0x1p-12f}), -1.0f) << "towards zero, not downwards";
  // 1 - a little: the addend is cut, and nothing is left of it.
  EXPECT_EQ(sum(1.0f, {0x1p-12f}, {-0x1p-12f}), 1.0f);
  // The largest may be a product, before which c is cut.
  EXPECT_EQ(sum(1.75f, {0x1p12f}, {0x1p11f}), 0x1p23f + 1.0f);
}

TEST(TruncatedSums, CutTheSumOnceMore) {
  EXPECT_EQ(sum(0x1p24f - 1.0f, {1.0f, 1.0f}, {1.0f, 1.0f}), 0x1p24f);
  EXPECT_EQ(sum(0x1p24f - 1.0f, {1.0f, 1.0f, 1.0f, 1.0f}, {1.0f, 1.0f, 1.0f, 1.0f}), 0x1p24f + 2.0f);
  EXPECT_EQ(sum(1.0f - 0x1p24f, {1.0f, 1.0f}, {-1.0f, -3.0f}), -0x1p24f - 2.0f);
}

TEST(TruncatedSums, KeepTheSmallestAndWhatIsNotFinite) {
  EXPECT_EQ(sum(0.0f, {0x1p-70f}, {0x1p-79f}), 0x1p-149f);
  EXPECT_EQ(sum(0.0f, {HUGE_VALF}, {1.0f}), HUGE_VALF);
  EXPECT_EQ(sum(0.0f, {0x1p127f}, {4.0f}), HUGE_VALF);
  EXPECT_TRUE(std::isnan(sum(HUGE_VALF, {-HUGE_VALF}, {1.0f})));
  EXPECT_TRUE(std::isnan(sum(NAN, {1.0f}, {1.0f})));
}

class EmulatedSums : public EmulationTest {
 protected:
  // 1 + a row of 16 (bf16) or 8 (tf32) times 1.5 2^-24, by one mma.
  float one_and_small_ones(bool tf32) {
    const DeviceBuffer<float> out(1, stream());
    run_threads<32>({.blocks = 1}, stream(), [=, to = out.data()](Thread& thread) {
      const std::uint32_t left = tf32 ? bits_of(0x1.8p-12f) : pack_bf16(0x1.8p-12f, 0x1.8p-12f);
      const std::uint32_t right = tf32 ? bits_of(0x1p-12f) : pack_bf16(0x1p-12f, 0x1p-12f);
      const std::uint32_t a[4] = {left, left, left, left};
      const std::uint32_t b[2] = {right, right};
      float c[4] = {1.0f, 1.0f, 1.0f, 1.0f};
      if (tf32) {
        thread.mma_tf32(c, a, b);
      } else {
        thread.mma_bf16(c, a, b);
      }
      if (thread.lane() == 0) to[0] = c[3];
    });
    return out.download()[0];
  }
};

TEST_F(EmulatedSums, OfAMmaAreTruncatedWhereTheOptionSaysSo) {
  emulation::options().truncated_sums = false;  // each addition goes up
  EXPECT_EQ(one_and_small_ones(false), 1.0f + 0x1p-19f);
  EXPECT_EQ(one_and_small_ones(true), 1.0f + 0x1p-20f);
  emulation::options().truncated_sums = true;
  EXPECT_EQ(one_and_small_ones(false), 1.0f);
  EXPECT_EQ(one_and_small_ones(true), 1.0f);
}

TEST_F(EmulatedSums, OfProductsAreTruncatedOnTensorCoresAlone) {
  // A row of 1 and 16 of 2^-24: their sum comes through where sums are in double, and is cut where they are
  // truncated.
  const auto product = [&](auto element, bool tf32) {
    using T = decltype(element);
    std::vector<double> values(17, 0x1p-12);
    values[0] = 1.0;
    const DeviceBuffer<T> row(rounded<T>(values), stream());
    const DeviceBuffer<float> result(std::vector<float>{2.0f}, stream());
    const auto library = make_gemm_library({});
    const DevicePiece workspace(library->workspace_bytes());
    library->use_workspace(workspace.data());
    Gemm gemm;
    gemm.m = gemm.n = 1;
    gemm.k = 17;
    gemm.a = gemm.b = {static_cast<const T*>(row.data()), 17};
    gemm.transpose_b = true;
    gemm.d = {result.data(), 1};
    gemm.tf32 = tf32;
    gemm.accumulate = true;
    library->run(gemm, stream());
    return result.download()[0] - 2.0f;
  };
  for (const bool truncated : {false, true}) {
    emulation::options().truncated_sums = truncated;
    EXPECT_EQ(product(float{}, false), 1.0f + 0x1p-20f);
    EXPECT_EQ(product(float{}, true), truncated ? 1.0f : 1.0f + 0x1p-20f);
    EXPECT_EQ(product(bf16{}, false), truncated ? 1.0f : 1.0f + 0x1p-20f);
  }
}

}  // namespace
}  // namespace bigbird::kernels::cuda::testing
