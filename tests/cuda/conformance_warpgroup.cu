// The probe of a warpgroup's products, of conformance.h: machine code of it is for sm_90a alone.
#include "kernels/cuda/attention/warpgroup.cuh"
#include "kernels/cuda/device.cuh"
#include "tests/cuda/conformance.h"

namespace bigbird::kernels::cuda::testing {
namespace {

template <bool transposed>
struct Probe {
  using Tiles = WarpgroupTiles;
  using Matrix = Tiles::Matrix;
  static constexpr int threads = Tiles::threads;
  static constexpr int blocks_per_sm = 1;
  WarpgroupProbe form;
  const bf16 *a, *tile;
  float* c;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    if constexpr (warpgroup_products) {
      const Shared<bf16> left = Tiles::matrix(thread, 0), right = Tiles::matrix(thread, Matrix::bytes);
      Matrix::load<threads>(thread, left, a, 64, 64);
      Matrix::load<threads>(thread, right, tile, 64, 64);
      thread.commit_copies();
      Tiles::arrive<0>(thread);
      const std::uint64_t start = thread.matrix_descriptor(right) & 0x3fffu;
      const std::uint64_t descriptor = start | form.leading << 16 | form.stride << 32 | form.mode << 62;
      const std::uint64_t step = transposed ? matrix_rows : matrix_columns;
      WarpRows<bf16, 64> rows;
      rows.load_global(thread, a + thread.warp() * 16 * 64, 64);
      float sums[8][4] = {};
      if (form.a_in_registers) {
        thread.keep_registers(sums);
        thread.warpgroup_fence();
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          thread.template warpgroup_product<transposed>(
              sums, rows.part[i], descriptor + static_cast<std::uint64_t>(i) * step, true);
        }
        thread.warpgroup_commit();
        thread.template warpgroup_wait<0>();
      } else {
        const std::uint64_t of_left = thread.matrix_descriptor(left);
        thread.keep_registers(sums);
        thread.warpgroup_fence();
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          thread.template warpgroup_product<transposed>(
              sums, of_left + static_cast<std::uint64_t>(i) * matrix_columns,
              descriptor + static_cast<std::uint64_t>(i) * step, i > 0);
        }
        thread.warpgroup_commit();
        thread.template warpgroup_wait<0>();
      }
      thread.keep_registers(sums);
      const int row = thread.warp() * 16 + thread.lane() / 4, column = thread.lane() % 4 * 2;
#pragma unroll
      for (int n = 0; n < 8; ++n) {
#pragma unroll
        for (int i = 0; i < 4; ++i) c[(row + i / 2 * 8) * 64 + n * 8 + column + i % 2] = sums[n][i];
      }
    }
  }
};

template <bool transposed>
void start(const WarpgroupProbe& probe, const bf16* a, const bf16* tile, float* c, Stream stream) {
  launch(Probe<transposed>{probe, a, tile, c},
         {.blocks = 1, .shared_bytes = 2 * WarpgroupTiles::Matrix::bytes}, stream);
}

}  // namespace

void probe_warpgroup(const WarpgroupProbe& probe, const bf16* a, const bf16* tile, float* c, Stream stream) {
  if (probe.transposed) {
    start<true>(probe, a, tile, c, stream);
  } else {
    start<false>(probe, a, tile, c, stream);
  }
}

}  // namespace bigbird::kernels::cuda::testing
