// Sums over rows in two stages, both in an order fixed by the shape: every block sums its part of the rows,
// then the parts are added in order. What is summed is a source, so that gradients of biases and of LayerNorm
// share this.
//
// A source has `outputs` sums per column, and add<N>(row, column, sums) that adds what N neighbouring columns
// of a row give to sums[output][i].
#pragma once

#include "kernels/cuda/elements.cuh"

namespace bigbird::kernels::cuda {

// How many parts rows are cut into: enough blocks to fill a device, and some rows for each.
inline Index column_parts(Index rows, Index width) {
  const Index most = std::max<Index>(8, 1024 / blocks_for(width, 256));
  return std::min(most, blocks_for(rows, 64));
}

// partial[part, output, column]: eight warps of a block share out the rows of a part, lanes the columns.
template <class Source, int N>
struct SumParts {
  static constexpr int threads = 256;
  static constexpr int blocks_per_sm = 4;
  static constexpr int warps = threads / 32;
  static constexpr int columns = 32 * N;  // of a block
  static constexpr std::size_t shared_bytes = sizeof(float) * Source::outputs * warps * columns;
  Source source;
  float* partial;
  Index rows;
  Index width;
  Index rows_per_part;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index first = Index{thread.block_y()} * rows_per_part;
    const Index last = first + rows_per_part < rows ? first + rows_per_part : rows;
    const Index column = Index{thread.block()} * columns + thread.lane() * N;
    float sums[Source::outputs][N] = {};
    if (column < width) {
#pragma unroll 4
      for (Index row = first + thread.warp(); row < last; row += warps) {
        source.template add<N>(row, column, sums);
      }
    }
    const auto all = thread.shared<float>(0, Source::outputs * warps * columns);
#pragma unroll
    for (int output = 0; output < Source::outputs; ++output) {
#pragma unroll
      for (int i = 0; i < N; ++i) {
        all[((output * warps + thread.warp()) * N + i) * 32 + thread.lane()] = sums[output][i];
      }
    }
    thread.barrier();
    // One thread per column and output; cells of a lane lie 32 apart.
    for (int cell = thread.index(); cell < Source::outputs * columns; cell += threads) {
      const int output = cell / columns, place = cell % columns;
      const Index to = Index{thread.block()} * columns + place % 32 * N + place / 32;
      float sum = 0.0f;
#pragma unroll
      for (int warp = 0; warp < warps; ++warp) sum += all[(output * warps + warp) * columns + place];
      if (to < width) partial[(Index{thread.block_y()} * Source::outputs + output) * width + to] = sum;
    }
  }
};

// first[j] += the sum of partial[:, j] for j < width; second and third likewise from `width` and 2 width on.
struct FoldParts {
  static constexpr int threads = 512;
  static constexpr int blocks_per_sm = 2;
  static constexpr int warps = threads / 32;
  static constexpr std::size_t shared_bytes = sizeof(float) * threads;
  const float* partial;
  Index parts;
  Index stride;  // of a part: the sums that it holds
  Index width;
  float* first;
  float* second;
  float* third;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index column = Index{thread.block()} * 32 + thread.lane();
    float sum = 0.0f;
    if (column < stride) {
#pragma unroll 8
      for (Index part = thread.warp(); part < parts; part += warps) sum += partial[part * stride + column];
    }
    const auto all = thread.shared<float>(0, threads);
    all[thread.index()] = sum;
    thread.barrier();
    if (thread.warp() != 0 || column >= stride) return;
    float total = 0.0f;
#pragma unroll
    for (int warp = 0; warp < warps; ++warp) total += all[warp * 32 + thread.lane()];
    const bool before_third = column < 2 * width;
    float* const to = column < width ? first : (before_third ? second : third);
    to[column < width ? column : (before_third ? column - width : column - 2 * width)] += total;
  }
};

inline void fold_parts(const float* partial, Index parts, Index stride, Index width, float* first,
                       float* second, float* third, Stream stream) {
  launch(FoldParts{partial, parts, stride, width, first, second, third},
         {.blocks = parts == 0 ? 0 : blocks_for(stride, 32), .shared_bytes = FoldParts::shared_bytes},
         stream);
}

// Both stages; the workspace holds column_parts(rows, width) * outputs * width floats.
template <int N, class Source>
void sum_columns(const Source& source, Index rows, Index width, float* first, float* second, float* workspace,
                 Stream stream) {
  using Kernel = SumParts<Source, N>;
  if (rows == 0) return;
  const Index rows_per_part = blocks_for(rows, column_parts(rows, width));
  const Index parts = blocks_for(rows, rows_per_part);
  launch(
      Kernel{source, workspace, rows, width, rows_per_part},
      {.blocks = blocks_for(width, Kernel::columns), .blocks_y = parts, .shared_bytes = Kernel::shared_bytes},
      stream);
  fold_parts(workspace, parts, Source::outputs * width, width, first, second, nullptr, stream);
}

}  // namespace bigbird::kernels::cuda
