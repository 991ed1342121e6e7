// Attention's tiles of 64 rows and 64 columns of bf16 as a warpgroup multiplies them (wgmma, sm_90a): what
// TileProducts is for warps. Both operands stay in shared memory, or the left one comes from registers; a
// warp keeps 16 rows of the result, in the same fragments and summed in the same order.
//
// Products are on their way until warpgroup_wait(). What ptxas cannot keep apart it puts one after another
// (its remarks C7508 to C7514, which fail the build): no branch lies between a product and its wait.
#pragma once

#include "kernels/cuda/attention/tiles.cuh"

namespace bigbird::kernels::cuda {

struct WarpgroupTiles {
  static constexpr int threads = 128;
  static constexpr int rows = 64;
  using Matrix = Tile<bf16, rows, 64>;  // 8 KiB; begins at a multiple of 1,024 bytes
  using Fragments = float[rows / 8][4];
  using Left = std::uint32_t[rows / 16][4];

  // c = a tile^T, of descriptors; a group of its own.
  BIGBIRD_DEVICE static void scores(Thread& thread, Fragments& c, std::uint64_t a, std::uint64_t tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      thread.template warpgroup_product<false>(c, a + static_cast<std::uint64_t>(i) * matrix_columns,
                                               tile + static_cast<std::uint64_t>(i) * matrix_columns, i > 0);
    }
    thread.warpgroup_commit();
  }
  // c += p tile; likewise.
  BIGBIRD_DEVICE static void weighted_sum(Thread& thread, Fragments& c, const Left& p, std::uint64_t tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      thread.template warpgroup_product<true>(c, p[i], tile + static_cast<std::uint64_t>(i) * matrix_rows,
                                              true);
    }
    thread.warpgroup_commit();
  }
  BIGBIRD_DEVICE static void pack(const Fragments& p, Left& part) {
    TileProducts<bf16, rows, 64>::pack(p, part);
  }

  // Of the block: copies have come and are seen by products. Everybody is here after it.
  template <int later>
  BIGBIRD_DEVICE static void arrive(Thread& thread) {
    thread.template wait_copies<later>();
    thread.fence_copies();
    thread.barrier();
  }
  BIGBIRD_DEVICE static Shared<bf16> matrix(Thread& thread, int offset) {
    return thread.template shared<bf16>(offset, Matrix::elements);
  }
};

}  // namespace bigbird::kernels::cuda
