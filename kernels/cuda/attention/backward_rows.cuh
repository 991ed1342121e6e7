// What stands around the two passes of attention's backward (backward.cuh): the matrices they
// share, the sum of dout * out of every row before them, and the sums of cut lists and of atomic additions
// behind them.
#pragma once

#include <cmath>

#include "kernels/cuda/attention/labels.cuh"
#include "kernels/cuda/attention/tiles.cuh"

namespace bigbird::kernels::cuda {

template <class Element>
struct BackwardMatrices {
  const Element *q, *k, *v, *dout;
  Element *dq, *dk, *dv;
  std::int32_t q_stride, k_stride, v_stride, dout_stride;
  Index dq_stride, dk_stride, dv_stride;
  const float* log_sum_exp;      // [H, T]; +infinity for rows that see nothing
  const float* output_products;  // [H, T] sum of dout * out; 0 for rows that see nothing
  float* partial_rows;           // [slots][rows][D]
  float* partial_keys;           // [slots][2][rows][D]
  float* query_gradients;        // [T, C], for keys_adding_queries
  Index tokens;                  // T
  Index width;                   // C
  float scale;
  float score_scale;  // in powers of two
  bool exact;         // TileProducts
  bool causal;        // AttentionBatch
  ProbabilityDropout drop;
  float kept_factor;  // of dropout
};

// The sum of dout * out of every row: [H, T], H T below 2^31. 16 bytes of out and dout for each thread; the
// threads of a row add up in a butterfly.
template <class Element, int depth>
struct AttentionOutputProducts {
  static constexpr int threads = 256;
  static constexpr int blocks_per_sm = 4;
  static constexpr int chunk = 16 / static_cast<int>(sizeof(Element));
  static constexpr int lanes = depth / chunk;  // that share a row of a head
  static constexpr int rows = threads / lanes;

  const Element *out, *dout;
  Index out_stride, dout_stride;
  const float* log_sum_exp;
  float* products;
  Index tokens;
  int heads;
  int count;  // tokens * heads

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const int i = thread.block() * rows + thread.index() / lanes;
    const bool inside = i < count;
    const int row = inside ? i / heads : 0, head = inside ? i - row * heads : 0;
    const Index column = head * depth + thread.index() % lanes * chunk;
    const bool sees = inside && log_sum_exp[head * tokens + row] < INFINITY;
    float sum = 0.0f;
    if (sees) {
      const Pack<Element, chunk> a = load<chunk>(out + row * out_stride + column);
      const Pack<Element, chunk> b = load<chunk>(dout + row * dout_stride + column);
#pragma unroll
      for (int j = 0; j < chunk; ++j) sum += to_float(a[j]) * to_float(b[j]);
    }
#pragma unroll
    for (int mask = lanes / 2; mask > 0; mask /= 2) sum += thread.shuffle_xor(sum, mask);
    if (inside && thread.index() % lanes == 0) products[head * tokens + row] = sum;
  }
};

// Adds up the slots of a tile whose list was cut, in ascending order. With keys, block_y() 0 takes dk and 1
// takes dv. Paired queries get their share of the labels' rows, too.
template <class Element, int depth, int rows, bool keys, bool paired>
struct AttentionBackwardSum : PairMember<paired> {
  static_assert(!keys || !paired);
  static constexpr int threads = 256;
  static constexpr int blocks_per_sm = 4;

  AttentionView view;
  BackwardMatrices<Element> of;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    constexpr int parts = keys ? 2 : 1;
    const std::int32_t* const counters = keys ? view.key_cuts : view.query_cuts;
    const int s = find_sequence(counters, view.count, thread.block());
    const AttentionSequence& sequence = view.sequences[s];
    const CutTile cut = (keys ? sequence.by_key : sequence.by_query).cuts[thread.block() - counters[s]];
    const int valid = rows_below(keys ? sequence.length : sequence.query_length, cut.tile, rows);
    const Index first_slot = (keys ? sequence.first_key_slot : sequence.first_query_slot) + cut.first_slot;
    const int part = thread.block_y();
    const float* const partial =
        (keys ? of.partial_keys : of.partial_rows) + (first_slot * parts + part) * rows * depth;
    Element* const to = keys ? (part == 0 ? of.dk : of.dv) : of.dq;
    const Index stride = keys ? (part == 0 ? of.dk_stride : of.dv_stride) : of.dq_stride;
    const Index first_row = (keys ? sequence.first_key_row : sequence.first_row) + Index{cut.tile} * rows;
    if constexpr (paired) {
      if (this->pairs.terms != nullptr) {
        sum_wide_labels<threads>(thread, this->pairs, cut, first_slot, rows, valid, first_row);
        thread.barrier();
      }
    }
    for (int i = thread.index() * 4; i < rows * depth; i += threads * 4) {
      float sums[4] = {};
      if (i / depth < valid) {
        for (int slot = 0; slot < cut.slots; ++slot) {
          const Pack<float, 4> some = load<4>(partial + Index{slot} * parts * rows * depth + i);
#pragma unroll
          for (int j = 0; j < 4; ++j) sums[j] += some[j];
        }
        if constexpr (paired) {
          if (this->pairs.terms != nullptr)
            add_label_rows(this->pairs, cut.head, first_row + i / depth, i % depth, of.scale, sums);
        }
      }
      Pack<Element, 4> result;
#pragma unroll
      for (int j = 0; j < 4; ++j) result[j] = to_element<Element>(sums[j]);
      store(to + (first_row + i / depth) * stride + cut.head * depth + i % depth, result);
    }
  }
};

// dq = query_gradients, [T, C]; four neighbours for each thread.
template <class Element>
struct AttentionQueryGradients {
  static constexpr int threads = 256;
  static constexpr int blocks_per_sm = 4;

  const float* gradients;
  Element* dq;
  Index stride;
  unsigned pieces;  // of 4 neighbours
  unsigned pieces_of_row;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const unsigned i =
        static_cast<unsigned>(thread.block()) * threads + static_cast<unsigned>(thread.index());
    if (i >= pieces) return;
    const unsigned row = i / pieces_of_row, column = (i - row * pieces_of_row) * 4;
    const Pack<float, 4> some = load<4>(gradients + Index{i} * 4);
    Pack<Element, 4> result;
#pragma unroll
    for (int j = 0; j < 4; ++j) result[j] = to_element<Element>(some[j]);
    store(dq + row * stride + column, result);
  }
};

}  // namespace bigbird::kernels::cuda
