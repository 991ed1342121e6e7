// What stands around the two passes of attention's backward (backward.cuh): the matrices they
// share, the sum of dout * out of every row before them, and the sums of cut lists and of atomic additions
// behind them.
#pragma once

#include <cmath>

#include "kernels/cuda/attention/labels.cuh"
#include "kernels/cuda/attention/launch.h"
#include "kernels/cuda/attention/tiles.cuh"

namespace bigbird::kernels::cuda {

// Whose gradients a block leaves.
struct GradientPlace {
  int own_row;    // the first of the tile, of the batch
  int own_valid;  // rows of it that are not padding
  int head;
  int slot;  // -1: the sums are whole
};

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

  // Of a warp's 16 rows from `first` of the tile on: dk and dv, or dq.
  template <int rows, int fragments>
  BIGBIRD_DEVICE void write_keys(Thread& thread, const GradientPlace& place, int first,
                                 const float (&k_sums)[fragments][4],
                                 const float (&v_sums)[fragments][4]) const {
    write<rows>(thread, place, first, k_sums, scale, dk, dk_stride, partial_keys, 2, 0);
    write<rows>(thread, place, first, v_sums, 1.0f, dv, dv_stride, partial_keys, 2, 1);
  }
  template <int rows, int fragments>
  BIGBIRD_DEVICE void write_queries(Thread& thread, const GradientPlace& place, int first,
                                    const float (&sums)[fragments][4]) const {
    write<rows>(thread, place, first, sums, scale, dq, dq_stride, partial_rows, 1, 0);
  }

 private:
  // To the matrix when the sums are whole, zeros in the rows of padding; else to their slot.
  template <int rows, int fragments>
  BIGBIRD_DEVICE static void write(Thread& thread, const GradientPlace& at, int first,
                                   const float (&sums)[fragments][4], float factor, Element* to, Index stride,
                                   float* partial, int parts, int part) {
    constexpr int depth = fragments * 8;
    const int column = thread.lane() % 4 * 2;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first + thread.lane() / 4 + half * 8;
      const bool valid = row < at.own_valid;
      if (at.slot >= 0) {
        float* const slot = partial + (Index{at.slot * parts + part} * rows + row) * depth + column;
#pragma unroll
        for (int n = 0; n < fragments; ++n) {
          const Pack<float, 2> pair = {{sums[n][half * 2] * factor, sums[n][half * 2 + 1] * factor}};
          store(slot + n * 8, pair);
        }
      } else {
        Element* const place = to + (at.own_row + row) * stride + at.head * depth + column;
#pragma unroll
        for (int n = 0; n < fragments; ++n) {
          const Pack<Element, 2> pair = {
              {to_element<Element>(valid ? sums[n][half * 2] * factor : 0.0f),
               to_element<Element>(valid ? sums[n][half * 2 + 1] * factor : 0.0f)}};
          store(place + n * 8, pair);
        }
      }
    }
  }
};

template <class Element>
BackwardMatrices<Element> backward_matrices(const AttentionBackwardArguments& a, Index depth) {
  BackwardMatrices<Element> of{};
  of.q = a.q.data.as<Element>();
  of.k = a.k.data.as<Element>();
  of.v = a.v.data.as<Element>();
  of.dout = a.dout.data.as<Element>();
  of.dq = a.dq.data.as<Element>();
  of.dk = a.dk.data.as<Element>();
  of.dv = a.dv.data.as<Element>();
  of.q_stride = static_cast<std::int32_t>(a.q.stride);
  of.k_stride = static_cast<std::int32_t>(a.k.stride);
  of.v_stride = static_cast<std::int32_t>(a.v.stride);
  of.dout_stride = static_cast<std::int32_t>(a.dout.stride);
  of.dq_stride = a.dq.stride;
  of.dk_stride = a.dk.stride;
  of.dv_stride = a.dv.stride;
  of.log_sum_exp = a.log_sum_exp;
  of.output_products = a.output_products;
  of.partial_rows = a.partial_rows;
  of.partial_keys = a.partial_keys;
  of.query_gradients = a.query_gradients;
  of.tokens = a.tokens;
  of.width = a.heads * depth;
  of.scale = a.scale;
  of.score_scale = a.scale * log2_e;
  of.exact = a.exact;
  of.causal = a.causal;
  of.drop = {a.dropout_seed, a.dropout_site, a.tokens, a.keys, first_kept_word(a.drop_probability)};
  of.kept_factor = 1.0f / (1.0f - a.drop_probability);
  return of;
}

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

// Before the passes, output_products; after them, the sums of cut lists of queries, and of keys.
template <class Element, int depth>
void launch_output_products(const AttentionBackwardArguments& a, Stream stream) {
  using OutputProducts = AttentionOutputProducts<Element, depth>;
  launch(OutputProducts{a.out.data.as<Element>(), a.dout.data.as<Element>(), a.out.stride, a.dout.stride,
                        a.log_sum_exp, a.output_products, a.tokens, static_cast<int>(a.heads),
                        static_cast<int>(a.tokens * a.heads)},
         {.blocks = blocks_for(a.tokens * a.heads, OutputProducts::rows)}, stream);
}
template <int depth, int rows, bool paired, class Element>
void launch_query_sums(const BackwardMatrices<Element>& of, const AttentionBackwardArguments& a,
                       Stream stream) {
  AttentionBackwardSum<Element, depth, rows, false, paired> sum{};
  sum.view = a.view;
  sum.of = of;
  if constexpr (paired) sum.pairs = a.pairs;
  launch(sum, {.blocks = a.query_cuts}, stream);
}
template <int depth, int rows, class Element>
void launch_key_sums(const BackwardMatrices<Element>& of, const AttentionBackwardArguments& a,
                     Stream stream) {
  AttentionBackwardSum<Element, depth, rows, true, false> sum{};
  sum.view = a.view;
  sum.of = of;
  launch(sum, {.blocks = a.key_cuts, .blocks_y = 2}, stream);
}

}  // namespace bigbird::kernels::cuda
