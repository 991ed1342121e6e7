// What labels of pairs have in attention's backward pass (pairs.h): their rows as a tile, the sums of those
// of many keys, and their share of the gradient of q.
#pragma once

#include "kernels/cuda/attention/pairs.h"
#include "kernels/cuda/attention/tiles.cuh"

namespace bigbird::kernels::cuda {

// The rows of 16 labels of a head in shared memory, in the type of the queries; zeros behind the last label,
// and behind the columns of a head.
template <class Element, int depth>
struct LabelRows {
  using Tile = cuda::Tile<Element, 16, depth>;

  template <int threads>
  BIGBIRD_DEVICE static void load(Thread& thread, const PairView& pairs, int head, int first,
                                  Shared<Element> to) {
#pragma unroll 4
    for (int i = thread.index(); i < 16 * depth; i += threads) {
      const int label = first + i / depth, column = i % depth;
      const bool there = label < pairs.labels && column < pairs.columns;
      const Index at = (Index{label} * pairs.heads + head) * pairs.columns + column;
      to[Tile::Layout::at(i / depth, column)] = to_element<Element>(there ? pairs.weight[at] : 0.0f);
    }
  }
};

// Of one row: what wide labels got, to its place in w. The first two are one where no distance is told apart,
// and of labels behind.
BIGBIRD_DEVICE void put_wide_labels(const PairView& pairs, const float (&wide)[wide_labels], float* row) {
  const bool one = !pairs.by_links && (pairs.behind || pairs.most == 0);
  row[pairs.wide_label(0)] = one ? wide[0] + wide[1] : wide[0];
  if (!one) row[pairs.wide_label(1)] = wide[1];
  if (!pairs.by_links && pairs.query_parts != nullptr) row[pairs.wide_label(2)] = wide[2];
}

// What the lanes of a row have of wide labels, added up: to `received`, w of the warp's first row, or, with a
// slot, to `partial` of it, [wide labels][tile_rows]. Rows from `valid` on are padding.
BIGBIRD_DEVICE void write_wide_labels(Thread& thread, const PairView& pairs, float (&wide)[2][wide_labels],
                                      int valid, float* received, float* partial, int tile_rows) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = (thread.lane() >> 2) + half * 8;
#pragma unroll
    for (int i = 0; i < wide_labels; ++i) wide[half][i] = row_sum(thread, wide[half][i]);
    if ((thread.lane() & 3) != 0 || row >= valid) continue;
    if (partial == nullptr) {
      put_wide_labels(pairs, wide[half], received + Index{row} * pairs.labels);
    } else {
#pragma unroll
      for (int i = 0; i < wide_labels; ++i) partial[i * tile_rows + row] = wide[half][i];
    }
  }
}

// The same of a cut tile, out of its slots in ascending order.
template <int threads>
BIGBIRD_DEVICE void sum_wide_labels(Thread& thread, const PairView& pairs, const CutTile& cut,
                                    Index first_slot, int tile_rows, int valid, Index first_row) {
  for (int row = thread.index(); row < valid; row += threads) {
    float wide[wide_labels] = {};
    for (int slot = 0; slot < cut.slots; ++slot) {
      const float* const partial = pairs.partial_labels + (first_slot + slot) * wide_labels * tile_rows + row;
#pragma unroll
      for (int i = 0; i < wide_labels; ++i) wide[i] += partial[i * tile_rows];
    }
    put_wide_labels(pairs, wide,
                    pairs.received + (cut.head * pairs.queries + first_row + row) * pairs.labels);
  }
}

// sums += scale w weight, of four columns of a row.
BIGBIRD_DEVICE void add_label_rows(const PairView& pairs, int head, Index row, int column, float scale,
                                   float (&sums)[4]) {
  const float* const received = pairs.received + (head * pairs.queries + row) * pairs.labels;
  float products[4] = {};
  for (int label = 0; label < pairs.labels; ++label) {
    const float* const weight = pairs.weight + (Index{label} * pairs.heads + head) * pairs.columns + column;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (column + j < pairs.columns) products[j] = fmaf(received[label], weight[j], products[j]);
    }
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) sums[j] = fmaf(scale, products[j], sums[j]);
}

// w of a warp's 16 rows and of 16 labels from `first` on, as a left operand (TileProducts).
BIGBIRD_DEVICE void load_label_weights(Thread& thread, const PairView& pairs, const float* received,
                                       int first, float (&weights)[2][4]) {
#pragma unroll
  for (int n = 0; n < 2; ++n) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int label = first + n * 8 + (thread.lane() & 3) * 2 + (j & 1);
      const Index row = (thread.lane() >> 2) + 4 * (j & 2);
      weights[n][j] = label < pairs.labels ? received[row * pairs.labels + label] : 0.0f;
    }
  }
}

}  // namespace bigbird::kernels::cuda
