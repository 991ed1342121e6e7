// What every form of attention's forward pass shares: the online softmax of a warp's query rows in powers of
// two, how their sums leave, and the sum of the slots of cut lists.
#pragma once

#include <cmath>

#include "kernels/cuda/attention/launch.h"
#include "kernels/cuda/attention/tiles.cuh"

namespace bigbird::kernels::cuda {

constexpr float ln_2 = 0.693147180559945309f;

template <class Element>
BIGBIRD_DEVICE void store_pair(Element* to, float first, float second) {
  store(to, Pack<Element, 2>{{to_element<Element>(first), to_element<Element>(second)}});
}

// Scores become minus infinity: those of keys from `valid` on, and of keys behind `last` for this lane's
// upper row, behind last + 8 for its lower one. Sums that start there stay there.
template <int rows>
BIGBIRD_DEVICE void mask_keys(Thread& thread, float (&scores)[rows / 8][4], int valid, int last) {
  const int first = (thread.lane() & 3) * 2;
#pragma unroll
  for (int n = 0; n < rows / 8; ++n) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int key = n * 8 + first + (i & 1);
      if (key >= valid || key > last + (i & 2) * 4) scores[n][i] = -INFINITY;
    }
  }
}

// What is summed up for 16 query rows, in this lane's fragments.
template <int width>
struct ForwardRows {
  float sums[width / 8][4] = {};
  float maximum[2] = {-INFINITY, -INFINITY};  // of the scores before the scale; upper and lower row
  float total[2] = {0.0f, 0.0f};              // of this lane's columns

  // Scores become weights relative to the new maximum, and what was summed so far is brought to it.
  template <int rows, bool paired>
  BIGBIRD_DEVICE void add_to_softmax(Thread& thread, float (&scores)[rows / 8][4], float exponent_scale,
                                     float log2_count) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float shrink = weigh<rows, paired>(thread, scores, half, exponent_scale, log2_count);
      shrink_sums(half, shrink);
    }
  }
  // Its two steps, of the upper rows (half 0) or the lower ones: the weights, with the factor of the sums so
  // far, and that factor.
  template <int rows, bool paired>
  BIGBIRD_DEVICE float weigh(Thread& thread, float (&scores)[rows / 8][4], int half, float exponent_scale,
                             float log2_count) {
    float largest = maximum[half];
#pragma unroll
    for (int n = 0; n < rows / 8; ++n) {
      largest = fmaxf(largest, fmaxf(scores[n][2 * half], scores[n][2 * half + 1]));
    }
    largest = row_maximum(thread, largest);
    const float seen_maximum = largest;
    if (paired && largest == -INFINITY) largest = 0.0f;  // so that no difference of two is NaN
    const float shrink = exp2_fast((maximum[half] - largest) * exponent_scale);
    const float shift = log2_count - largest * exponent_scale;
    float sum = 0.0f;
#pragma unroll
    for (int n = 0; n < rows / 8; ++n) {
#pragma unroll
      for (int i = 2 * half; i < 2 * half + 2; ++i) {
        scores[n][i] = exp2_fast(fmaf(scores[n][i], exponent_scale, shift));
        sum += scores[n][i];
      }
    }
    total[half] = total[half] * shrink + sum;
    maximum[half] = seen_maximum;
    return shrink;
  }
  BIGBIRD_DEVICE void shrink_sums(int half, float shrink) {
#pragma unroll
    for (int n = 0; n < width / 8; ++n) {
      sums[n][2 * half] *= shrink;
      sums[n][2 * half + 1] *= shrink;
    }
  }
};

// Where results go. `row`, of a warp's rows in their tile, is the upper one of this lane.
template <class Element, int width, int rows>
struct ForwardOutputs {
  Element* out;
  Index out_stride;
  float* log_sum_exp;  // [H, T], may be null
  Index tokens;        // T
  float scale;
  float out_scale;  // 1 / (1 - p) of dropout
  float* partial_rows;
  float* partial_statistics;

  BIGBIRD_DEVICE void write(Thread& thread, const ForwardRows<width>& group, int row,
                            const AttentionWork& work) const {
    const Index first_row = work.own_row;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at = row + 8 * half;
      const bool seen = at < work.own_valid && group.total[half] != 0.0f;  // NaN goes through
      const float factor = out_scale / group.total[half];
      Element* const to = out + (first_row + at) * out_stride + work.head * width + (thread.lane() & 3) * 2;
#pragma unroll
      for (int n = 0; n < width / 8; ++n) {
        store_pair(to + n * 8, seen ? group.sums[n][2 * half] * factor : 0.0f,
                   seen ? group.sums[n][2 * half + 1] * factor : 0.0f);
      }
      if (log_sum_exp != nullptr && (thread.lane() & 3) == 0) {
        log_sum_exp[work.head * tokens + first_row + at] =
            seen ? fmaf(group.maximum[half], scale, log2_fast(group.total[half]) * ln_2) : INFINITY;
      }
    }
  }

  // A piece that saw no key leaves its rows unwritten: its sum of 0 says so.
  BIGBIRD_DEVICE void write_partial(Thread& thread, const ForwardRows<width>& group, int row,
                                    int slot) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at = row + 8 * half;
      if ((thread.lane() & 3) == 0) {
        partial_statistics[Index{slot} * 2 * rows + at] = group.maximum[half];
        partial_statistics[Index{slot} * 2 * rows + rows + at] = group.total[half];
      }
      if (group.total[half] == 0.0f) continue;
      float* const to = partial_rows + (Index{slot} * rows + at) * width + (thread.lane() & 3) * 2;
#pragma unroll
      for (int n = 0; n < width / 8; ++n) {
        store_pair(to + n * 8, group.sums[n][2 * half], group.sums[n][2 * half + 1]);
      }
    }
  }
};

template <class Element, int width, int rows>
ForwardOutputs<Element, width, rows> forward_outputs(const AttentionForwardArguments& a) {
  return {a.out.data.as<Element>(),           a.out.stride,   a.log_sum_exp,       a.tokens, a.scale,
          1.0f / (1.0f - a.drop_probability), a.partial_rows, a.partial_statistics};
}

// The slots of a cut tile, brought to their common maximum and added in ascending order. grid: (cuts, rows /
// 16), so that a block has 16 rows, and 8 threads one of them.
template <class ElementType, int width, int rows>
struct AttentionCombine {
  using Element = ElementType;
  static constexpr int threads = 128;
  static constexpr int blocks_per_sm = 4;
  static constexpr int columns = width / 8;  // of a thread

  AttentionView view;
  ForwardOutputs<Element, width, rows> of;
  std::int32_t wanted_tiles;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const int number = find_sequence(view.query_cuts, view.count, thread.block());
    const AttentionSequence& sequence = view.sequences[number];
    const CutTile cut = sequence.by_query.cuts[thread.block() - view.query_cuts[number]];
    if (cut.tile >= wanted_tiles) return;
    const int row = thread.block_y() * 16 + thread.index() / 8;
    const int column = thread.index() % 8 * columns;
    const bool asked = row < rows_below(sequence.query_length, cut.tile, rows);
    const Index first_slot = sequence.first_query_slot + cut.first_slot;
    const float* const statistics = of.partial_statistics + first_slot * 2 * rows + row;

    float largest = -INFINITY;
    for (int i = 0; asked && i < cut.slots; ++i) largest = fmaxf(largest, statistics[i * 2 * rows]);
    const float exponent_scale = of.scale * log2_e;
    float total = 0.0f;
    float sums[columns] = {};
    for (int i = 0; asked && i < cut.slots; ++i) {
      const float sum = statistics[i * 2 * rows + rows];
      if (sum == 0.0f) continue;
      const float weight = exp2_fast((statistics[i * 2 * rows] - largest) * exponent_scale);
      total = fmaf(sum, weight, total);
      const float* const from = of.partial_rows + ((first_slot + i) * rows + row) * width + column;
#pragma unroll
      for (int j = 0; j < columns; j += 4) {
        const Pack<float, 4> part = load<4>(from + j);
#pragma unroll
        for (int c = 0; c < 4; ++c) sums[j + c] = fmaf(part[c], weight, sums[j + c]);
      }
    }
    const bool seen = total != 0.0f;
    const float factor = of.out_scale / total;
    const Index at = sequence.first_row + Index{cut.tile} * rows + row;
    Element* const to = of.out + at * of.out_stride + cut.head * width + column;
#pragma unroll
    for (int j = 0; j < columns; j += 4) {
      Pack<Element, 4> part;
#pragma unroll
      for (int c = 0; c < 4; ++c) part[c] = to_element<Element>(seen ? sums[j + c] * factor : 0.0f);
      store(to + j, part);
    }
    if (of.log_sum_exp != nullptr && column == 0) {
      of.log_sum_exp[cut.head * of.tokens + at] =
          seen ? fmaf(largest, of.scale, log2_fast(total) * ln_2) : INFINITY;
    }
  }
};

template <class Element, int width, int rows>
void launch_attention_combine(const ForwardOutputs<Element, width, rows>& to,
                              const AttentionForwardArguments& a, Stream stream) {
  AttentionCombine<Element, width, rows> combine{};
  combine.view = a.view;
  combine.of = to;
  combine.wanted_tiles = a.wanted_tiles;
  launch(combine, {.blocks = a.cuts, .blocks_y = rows / 16}, stream);
}

}  // namespace bigbird::kernels::cuda
