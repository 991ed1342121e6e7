// Gradients of block-sparse attention (Dao et al. 2023, algorithm 2, over block lists): probabilities are
// recomputed from log-sum-exp, tile by tile.
//
// With P = exp(scores - log_sum_exp), dP = dout v^T and D = sum of dout * out per query row:
//   dv = P^T dout    dS = P * (dP - D)    dq = scale dS k    dk = scale dS^T q
// where P of dv, and dP, carry the factors of dropout, when there is any.
// Two passes have one form. A block of threads owns a tile: of keys (dk, dv) or of queries (dq); it walks
// over the tiles of its list, two products give P and dP with the owned rows on the left, and their fragments
// are at once the left operands of the sums. What is owned lies in rows, what is walked over in columns:
//   keys own:     P^T = exp(k q^T), dP^T = v dout^T;    dk += dS^T q, dv += P^T dout
//   queries own:  P = exp(q k^T), dP = dout v^T;        dq += dS k
//
// Work per pair of tiles, in products of 2 rows^2 D operations and, from L2, tiles of rows x D elements:
//   keys own                  4 products, 2 tiles
//   queries own               3 products, 2 tiles
//   keys own, adding to dq    5 products, 2 tiles, and rows x D additions of 4 bytes in L2
// So the two passes with a fixed order of sums do 7/5 of the products of the one with atomic additions. A
// decoder's attention always takes the two, and so does the paired form (pairs.cuh).
#pragma once

#include "kernels/cuda/attention/backward_rows.cuh"
#include "kernels/cuda/attention/labels.cuh"
#include "kernels/cuda/attention/launch.h"
#include "kernels/cuda/attention/pairs.cuh"
#include "kernels/cuda/attention/tiles.cuh"

namespace bigbird::kernels::cuda {

enum class BackwardPass { queries, keys, keys_adding_queries };

// Groups of 16 owned rows that a warp has. With two, what it reads of a walked tile serves twice the
// products, so that shared memory does not bound them; registers have to hold both. Those of 128 columns do
// not fit, nor do the sums of dq beside all others.
template <class Element, int depth, int rows, bool paired>
constexpr int backward_groups(BackwardPass pass) {
  const bool fit =
      !paired && sizeof(Element) == 2 && depth <= 64 && pass != BackwardPass::keys_adding_queries;
  return rows == 64 && fit ? 2 : 1;
}

// How many tiles of 64 rows an SM is to work on at a time: as many as registers allow without spills, of
// which `busy` are taken all the time. Dropout, and floats, need more beside them.
template <class Element, int rows, int groups>
constexpr int backward_tiles_per_sm(int busy, bool dropping) {
  if (groups == 2) return 4;
  if (dropping || busy > 96 || sizeof(Element) == 4) return 2;
  if (busy > 64 || rows == 16) return 3;
  return 4;
}

// Rows of the other side that are fetched at a time: the whole tile, if 99 KB can hold it beside the owned
// one.
template <class Element, int depth, int rows>
constexpr int backward_walked_rows() {
  if (sizeof(Element) == 4 && depth == 128) return 16;
  return rows;
}

template <class Element, int depth, int rows, BackwardPass pass, bool dropping, bool paired>
struct AttentionBackward : PairMember<paired> {
  static constexpr bool keys_own = pass != BackwardPass::queries;
  // Has no registers left for a decoder's attention: keys are of the queries' rows, and none is hidden.
  static constexpr bool adding = pass == BackwardPass::keys_adding_queries;
  static constexpr int groups = backward_groups<Element, depth, rows, paired>(pass);
  static constexpr int threads = rows / 16 / groups * 32;

  // Registers of a thread for each group: the sums, and both owned operands when there is room for them.
  static constexpr int sum_registers = (keys_own ? 2 : 1) * depth / 2;
  static constexpr int own_registers = depth * static_cast<int>(sizeof(Element)) / 4;
  static constexpr bool own_in_registers = sizeof(Element) == 2 && sum_registers + own_registers <= 128;
  static constexpr int busy_registers = sum_registers + (own_in_registers ? own_registers : 0);
  static constexpr int tiles_per_sm =
      paired ? (own_in_registers && depth <= 64 ? 3 : 2)
             : backward_tiles_per_sm<Element, rows, groups>(busy_registers, dropping);
  static constexpr int blocks_per_sm = tiles_per_sm * 64 / rows;
  static constexpr int walked_rows = backward_walked_rows<Element, depth, rows>();
  static constexpr int steps = rows / walked_rows;  // for each tile of the list
  // Columns that are worked on at a time.
  static constexpr int columns = walked_rows >= 32 && !own_in_registers ? 32 : 16;
  static_assert(groups == 1 || own_in_registers);
  // Whether an entry of the list is read before the copies that it asks for: where registers are left.
  static constexpr bool reads_ahead = groups == 2 ? !keys_own && !dropping : !adding;

  // Shared memory: two stages of what is walked over, so that the next rows come in under the products of
  // these; one stage where the owned operands take the place of the other.
  using Own = Tile<Element, rows, depth>;
  using Walked = Tile<Element, walked_rows, depth>;
  using Products = TileProducts<Element, columns, depth>;
  static constexpr int stages = own_in_registers ? 2 : 1;
  static constexpr int statistics_bytes = keys_own ? 2 * walked_rows * 4 : 0;
  static constexpr int stage_bytes = 2 * Walked::bytes + statistics_bytes;
  static constexpr int own_at = stages * stage_bytes;
  static constexpr int own_tiles = own_in_registers ? (adding ? 1 : 0) : 2;
  static constexpr int scores_at = own_at + own_tiles * Own::bytes;
  using Scores = TileLayout<float, walked_rows>;  // dS^T, for keys_adding_queries
  static constexpr int work_at = scores_at + (adding ? rows * Scores::stride * 4 : 0);
  static constexpr int shared_bytes = work_at + (groups == 2 ? 32 : 0);
  static_assert(shared_bytes <= 99 * 1024);

  AttentionView view;
  BackwardMatrices<Element> of;

  struct WalkedRows {
    int row;           // the first, of the batch
    int valid;         // that are not padding
    float log2_count;  // ListedTile
  };

  // What this block of threads works on.
  struct Work {
    const ListedTile* list;
    int count;
    int head;
    int own_tile;
    int own_valid;      // rows of the owned tile that are not padding
    int walked_length;  // rows of the sequence that are not padding, on the side walked over
    int slot;           // of the partial sums; -1: the sums are whole
    int first_row;      // of the sequence in the batch, on the side that owns
    int walked_first;   // on the side walked over, where that has other rows

    BIGBIRD_DEVICE int own_row() const { return first_row + own_tile * rows; }

    BIGBIRD_DEVICE ListedTile listed(int i) const { return list[i / steps]; }
    // The i-th rows to walk over, which are of that tile.
    BIGBIRD_DEVICE WalkedRows walked(const ListedTile& listed, int i) const {
      const int row = listed.tile * rows + i % steps * walked_rows;
      const int left = walked_length - row;
      return {(adding ? first_row : walked_first) + row,
              left < 0 ? 0 : (left < walked_rows ? left : walked_rows), listed.log2_count};
    }
  };

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    Work work = find(thread);
    if (work.own_valid == 0 && work.slot >= 0) return;  // the kernel that adds up the slots knows
    const int own_column = work.head * depth;

    const Element* const own_first = keys_own ? of.k + Index{work.own_row()} * of.k_stride + own_column
                                              : of.q + Index{work.own_row()} * of.q_stride + own_column;
    const Element* const own_second = keys_own
                                          ? of.v + Index{work.own_row()} * of.v_stride + own_column
                                          : of.dout + Index{work.own_row()} * of.dout_stride + own_column;
    const Index own_first_stride = keys_own ? of.k_stride : of.q_stride;
    const Index own_second_stride = keys_own ? of.v_stride : of.dout_stride;

    ListedTile next{};
    if (work.count > 0) {
      if constexpr (own_tiles >= 1) {
        Own::template load<threads>(thread, own_shared(thread, 0), own_first, own_first_stride,
                                    work.own_valid);
      }
      if constexpr (own_tiles >= 2) {
        Own::template load<threads>(thread, own_shared(thread, 1), own_second, own_second_stride,
                                    work.own_valid);
      }
      next = work.listed(0);
      fetch(thread, work, next, 0, 0);
      thread.commit_copies();
    }
    WarpRows<Element, depth> first[groups], second[groups];
    if constexpr (own_in_registers) {
#pragma unroll
      for (int g = 0; g < groups; ++g) {
        const Index row = first_of(thread, g);
        first[g].load_global(thread, own_first + row * own_first_stride, own_first_stride);
        second[g].load_global(thread, own_second + row * own_second_stride, own_second_stride);
      }
    }
    RowStatistics own_statistics[groups];
#pragma unroll
    for (int g = 0; g < groups; ++g) own_statistics[g] = load_statistics(thread, work, g);

    float first_sums[groups][depth / 8][4] = {};  // of dk or dq
    float second_sums[groups][keys_own ? depth / 8 : 1][4] = {};
    float wide[2][wide_labels] = {};  // of paired queries: what labels of many keys get
    if (groups == 2) keep(thread, work);
    for (int i = 0; i < work.count * steps; ++i) {
      const int stage = stages == 2 ? i & 1 : 0;
      const ListedTile current = reads_ahead ? next : work.listed(i);
      if (i + 1 < work.count * steps && reads_ahead)
        next = work.listed(i + 1);  // long before its copies start
      thread.template wait_copies<0>();
      thread.barrier();
      if (groups == 2) recall(thread, work);
      if (stages == 2 && i + 1 < work.count * steps) {
        fetch(thread, work, reads_ahead ? next : work.listed(i + 1), i + 1, stage ^ 1);
        thread.commit_copies();
      }
      const WalkedRows walked = work.walked(reads_ahead ? current : work.listed(i), i);
      const Shared<Element> walked_first = stage_shared(thread, stage, 0);
      const Shared<Element> walked_second = stage_shared(thread, stage, 1);
#pragma unroll 1
      for (int column = 0; column < walked_rows; column += columns) {
        const int from = column * Walked::Layout::stride;
        unsigned kept = 0;
        if constexpr (dropping) kept = find_kept(thread, work, walked, column);
        if constexpr (!own_in_registers) load_own(thread, 0, first);
        float scores[groups][columns / 8][4] = {};
        if constexpr (paired) fragment(thread, work, walked, column).begin(walked.valid - column, scores[0]);
        Products::scores(thread, scores, first, walked_first, of.exact, from);
        if constexpr (!own_in_registers) load_own(thread, 1, second);
        float gradients[groups][columns / 8][4] = {};
        Products::scores(thread, gradients, second, walked_second, of.exact, from);
#pragma unroll
        for (int g = 0; g < groups; ++g) {
          differentiate(thread, work, walked, stage, column, g, own_statistics[g], kept >> (g * columns / 2),
                        scores[g], gradients[g]);
        }
        if constexpr (paired && !keys_own) {
          if (this->pairs.terms != nullptr) {
            fragment(thread, work, walked, column)
                .receive(work.own_valid - first_of(thread, 0), gradients[0], wide);
          }
        }
        if constexpr (keys_own) {
          Products::weighted_sum(thread, second_sums, scores, walked_second, of.exact, from);
        }
        Products::weighted_sum(thread, first_sums, gradients, walked_first, of.exact, from);
        if constexpr (adding) keep_gradients(thread, work, column, gradients[0]);
      }
      if constexpr (adding) {
        thread.barrier();
        add_query_gradients(thread, work, walked);
      }
      if (stages == 1) {
        thread.barrier();
        if (i + 1 < work.count * steps) {
          fetch(thread, work, reads_ahead ? next : work.listed(i + 1), i + 1, 0);
          thread.commit_copies();
        }
      }
      if (groups == 2) recall(thread, work);
    }

    if constexpr (paired && !keys_own) finish_labels(thread, work, wide, first_sums[0]);
    const GradientPlace place{work.own_row(), work.own_valid, work.head, work.slot};
#pragma unroll
    for (int g = 0; g < groups; ++g) {
      const int row = first_of(thread, g);
      if constexpr (keys_own) {
        of.template write_keys<rows>(thread, place, row, first_sums[g], second_sums[g]);
      } else {
        of.template write_queries<rows>(thread, place, row, first_sums[g]);
      }
    }
  }

 private:
  // Of the two query rows of a thread, where queries own.
  struct RowStatistics {
    float shift[2];  // -log2 of the sum of exponentials
    float product[2];
  };

  // The first row of a group of this warp, in the owned tile.
  BIGBIRD_DEVICE static int first_of(Thread& thread, int g) {
    return (thread.warp() * groups + g) * 16;
  }

  BIGBIRD_DEVICE const AttentionWork& work_of(Thread& thread) const {
    return (keys_own ? view.key_work : view.query_work)[thread.block()];
  }

  BIGBIRD_DEVICE Work find(Thread& thread) const {
    const AttentionWork& item = work_of(thread);
    Work work;
    work.list = item.list;
    work.count = item.count;
    work.head = item.head;
    work.own_tile = item.own_tile;
    work.own_valid = item.own_valid;
    work.walked_length = item.walked_length;
    work.slot = item.slot;
    work.first_row = item.own_row - item.own_tile * rows;
    work.walked_first = item.walked_row;
    return work;
  }

  // With two groups no register is left for what is needed once a tile: it waits in shared memory.
  BIGBIRD_DEVICE static void keep(Thread& thread, const Work& work) {
    const Shared<int> to = thread.shared<int>(work_at, 8);
    if (thread.index() != 0) return;
    to.template store<4>(0, {{work.head, work.own_tile, work.first_row, work.walked_first}});
    to.template store<4>(4, {{work.walked_length, work.own_valid, work.slot, work.count}});
  }
  BIGBIRD_DEVICE void recall(Thread& thread, Work& work) const {
    if (!reads_ahead) work.list = work_of(thread).list;
    const Shared<int> from = thread.shared<int>(work_at, 8);
    const Pack<int, 4> first = from.template load<4>(0), second = from.template load<4>(4);
    work.head = first[0];
    work.own_tile = first[1];
    work.first_row = first[2];
    work.walked_first = first[3];
    work.walked_length = second[0];
    work.own_valid = second[1];
    work.slot = second[2];
    work.count = second[3];
  }

  BIGBIRD_DEVICE static void load_own(Thread& thread, int operand, WarpRows<Element, depth> (&to)[groups]) {
    static_assert(groups == 1);
    to[0].load_shared(thread, own_shared(thread, operand), first_of(thread, 0));
  }
  BIGBIRD_DEVICE static Shared<Element> own_shared(Thread& thread, int operand) {
    return thread.shared<Element>(own_at + operand * Own::bytes, Own::elements);
  }
  BIGBIRD_DEVICE static Shared<Element> stage_shared(Thread& thread, int stage, int operand) {
    return thread.shared<Element>(stage * stage_bytes + operand * Walked::bytes, Walked::elements);
  }
  // Of the query columns, where keys own: log_sum_exp, then D.
  BIGBIRD_DEVICE static Shared<float> stage_statistics(Thread& thread, int stage) {
    return thread.shared<float>(stage * stage_bytes + 2 * Walked::bytes, 2 * walked_rows);
  }

  // Starts the copies of the i-th rows to walk over; zeros in place of padding.
  BIGBIRD_DEVICE void fetch(Thread& thread, const Work& work, const ListedTile& listed, int i,
                            int stage) const {
    const WalkedRows walked = work.walked(listed, i);
    const int row = walked.row, valid = walked.valid;
    const int column = work.head * depth;
    if constexpr (keys_own) {
      Walked::template load<threads>(thread, stage_shared(thread, stage, 0), of.q + column, row, of.q_stride,
                                     valid);
      Walked::template load<threads>(thread, stage_shared(thread, stage, 1), of.dout + column, row,
                                     of.dout_stride, valid);
      const int index = groups == 2 ? thread.index_again() : thread.index();
      if (index < walked_rows / 2) {  // 4 numbers each
        const bool product = index >= walked_rows / 4;
        const float* const from =
            (product ? of.output_products : of.log_sum_exp) + work.head * of.tokens + row;
        thread.copy_async(stage_statistics(thread, stage), index * 4, from + index % (walked_rows / 4) * 4);
      }
    } else {
      Walked::template load<threads>(thread, stage_shared(thread, stage, 0), of.k + column, row, of.k_stride,
                                     valid);
      Walked::template load<threads>(thread, stage_shared(thread, stage, 1), of.v + column, row, of.v_stride,
                                     valid);
    }
  }

  BIGBIRD_DEVICE RowStatistics load_statistics(Thread& thread, const Work& work, int g) const {
    RowStatistics result = {};
    if constexpr (!keys_own) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const Index at =
            work.head * of.tokens + work.own_row() + first_of(thread, g) + thread.lane() / 4 + half * 8;
        result.shift[half] = -of.log_sum_exp[at] * log2_e;
        result.product[half] = of.output_products[at];
      }
    }
    return result;
  }

  // Which probabilities dropout keeps, for `columns` columns from `column` on: bit 4 (g columns / 8 + n) + j
  // is that of scores[g][n][j]. Before the scores are there, because it needs registers that they take.
  BIGBIRD_DEVICE unsigned find_kept(Thread& thread, Work work, const WalkedRows& walked, int column) const {
    static_assert(groups * columns / 2 <= 32);
    if (groups == 2) recall(thread, work);
    const std::uint64_t seed = *of.drop.seed;
    const Index own = work.own_row() + first_of(thread, 0), other = walked.row + column;
    const Index first = keys_own ? of.drop.own_transposed_call(thread, work.head, other, own)
                                 : of.drop.own_call(thread, work.head, own + thread.lane() / 4, other);
    unsigned kept = 0;
#pragma unroll
    for (int g = 0; g < groups; ++g) {
#pragma unroll
      for (int n = 0; n < columns / 8; ++n) {
        const Index element =
            first + (keys_own ? n * 8 : g * 16) * of.drop.keys + (keys_own ? g * 16 : n * 8);
        kept |= of.drop.four_kept(seed, element) << (4 * (g * columns / 8 + n));
      }
    }
    return keys_own ? of.drop.exchange_transposed(thread, kept) : of.drop.exchange(thread, kept);
  }

  // scores -> probabilities as they multiplied the values; gradients of the probabilities -> gradients of the
  // scores (dS), for `columns` columns from `column` on.
  BIGBIRD_DEVICE void differentiate(Thread& thread, const Work& work, const WalkedRows& walked, int stage,
                                    int column, int g, const RowStatistics& own, unsigned kept,
                                    float (&scores)[columns / 8][4],
                                    float (&gradients)[columns / 8][4]) const {
#pragma unroll
    for (int n = 0; n < columns / 8; ++n) {
      float shift[4], product[4];
      if constexpr (keys_own) {
        const Shared<float> statistics = stage_statistics(thread, stage);
        const int at = column + n * 8 + thread.lane() % 4 * 2;
        const Pack<float, 2> sums = statistics.template load<2>(at);
        const Pack<float, 2> products = statistics.template load<2>(walked_rows + at);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          shift[j] = walked.log2_count - sums[j % 2] * log2_e;
          product[j] = products[j % 2];
        }
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          shift[j] = walked.log2_count + own.shift[j / 2];
          product[j] = own.product[j / 2];
        }
      }
      float factor[4] = {1.0f, 1.0f, 1.0f, 1.0f};
      if constexpr (dropping) {
#pragma unroll
        for (int j = 0; j < 4; ++j) factor[j] = (kept >> (4 * n + j) & 1u) != 0 ? of.kept_factor : 0.0f;
      }
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float probability = exp2_fast(scores[n][j] * of.score_scale + shift[j]);
        gradients[n][j] = probability * (gradients[n][j] * factor[j] - product[j]);
        scores[n][j] = probability * factor[j];
      }
    }
    if constexpr (paired && keys_own) {
      const Shared<float> products = stage_statistics(thread, stage) + (walked_rows + column);
      const int at = thread.lane() % 4 * 2;
      fragment(thread, work, walked, column)
          .last_own([&](int n, int b) { return float{products[n * 8 + at + b]}; }, scores, gradients);
    }
    if constexpr (!adding && !paired) {
      const int ahead = walked.row + column - work.own_row();
      if (of.causal) hide_later_keys(thread, ahead, first_of(thread, g), scores, gradients);
    }
    // Where keys own, padded queries have log_sum_exp = +infinity, so that all of this is zero already.
    if (!keys_own && walked.valid < walked_rows) {
#pragma unroll
      for (int n = 0; n < columns / 8; ++n) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          if (column + n * 8 + thread.lane() % 4 * 2 + j % 2 >= walked.valid) gradients[n][j] = 0.0f;
        }
      }
    }
  }

  // The scores of this warp's rows and `columns` columns of what is walked over, from `column` on.
  BIGBIRD_DEVICE PairFragment<columns, keys_own> fragment(Thread& thread, const Work& work,
                                                          const WalkedRows& walked, int column) const {
    const int own = work.own_tile * rows + first_of(thread, 0),
              other = walked.row - work.walked_first + column;
    const int start = work_of(thread).query_start;  // read again: registers are scarce
    const PairPlace at{start + (keys_own ? other : own), keys_own ? own : other,
                       (keys_own ? work.walked_first : work.first_row) - start,
                       keys_own ? work.first_row : work.walked_first, work.head};
    return {thread, this->pairs, at};
  }

  // What the labels of this warp's queries got is brought together, and, where the list is whole, goes into
  // the gradient of q: sums += w weight. The first stage is free for the labels' rows.
  BIGBIRD_DEVICE void finish_labels(Thread& thread, const Work& work, float (&wide)[2][wide_labels],
                                    float (&sums)[depth / 8][4]) const {
    const PairView& term = this->pairs;
    if (term.terms == nullptr || work.own_valid == 0) return;
    const int first = first_of(thread, 0);
    const Index row = work.head * term.queries + work.own_row() + first;
    float* const partial =
        work.slot < 0 ? nullptr : term.partial_labels + Index{work.slot} * wide_labels * rows + first;
    write_wide_labels(thread, term, wide, work.own_valid - first, term.received + row * term.labels, partial,
                      rows);
    if (work.slot >= 0) return;
    using Rows = LabelRows<Element, depth>;
    static_assert(Rows::Tile::bytes <= own_at);
    const Shared<Element> labels = thread.shared<Element>(0, Rows::Tile::elements);
    for (int label = 0; label < term.labels; label += 16) {
      thread.barrier();  // what lanes wrote of w is there; nobody reads the stage, or the labels before
      Rows::template load<threads>(thread, term, work.head, label, labels);
      thread.barrier();
      float weights[2][4];
      load_label_weights(thread, term, term.received + row * term.labels, label, weights);
      TileProducts<Element, 16, depth>::weighted_sum(thread, sums, weights, labels, of.exact);
    }
  }

  // Zeros where a key stands behind its query. `ahead`: of the first walked row to the first owned one of the
  // tile; `first`: the first owned row of the group, in its tile.
  BIGBIRD_DEVICE static void hide_later_keys(Thread& thread, int ahead, int first,
                                             float (&scores)[columns / 8][4],
                                             float (&gradients)[columns / 8][4]) {
    if (ahead >= rows || ahead <= -rows) return;  // off the diagonal
    // Of the first number of this lane, how far its owned row stands behind the walked one.
    const int lane = thread.index_again() % 32;
    const int behind = first + lane / 4 - lane % 4 * 2 - ahead;
#pragma unroll
    for (int n = 0; n < columns / 8; ++n) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int walked = n * 8 + j % 2 - j / 2 * 8;
        if (keys_own ? behind > walked : behind < walked) scores[n][j] = gradients[n][j] = 0.0f;
      }
    }
  }

  // dS^T of this warp's keys goes to shared memory, so that warps can take queries instead.
  BIGBIRD_DEVICE void keep_gradients(Thread& thread, const Work& work, int column,
                                     const float (&gradients)[columns / 8][4]) const {
    const Shared<float> scores = thread.shared<float>(scores_at, rows * Scores::stride);
#pragma unroll
    for (int n = 0; n < columns / 8; ++n) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int key = thread.warp() * 16 + thread.lane() / 4 + half * 8;
        const bool valid = key < work.own_valid;
        const Pack<float, 2> pair = {
            {valid ? gradients[n][half * 2] : 0.0f, valid ? gradients[n][half * 2 + 1] : 0.0f}};
        scores.template store<2>(Scores::at(key, column + n * 8 + thread.lane() % 4 * 2), pair);
      }
    }
  }

  // query_gradients += scale dS k for the walked tile; 16 queries for each warp.
  BIGBIRD_DEVICE void add_query_gradients(Thread& thread, const Work& work, const WalkedRows& walked) const {
    if (thread.warp() * 16 >= walked_rows) return;
    const Shared<float> scores = thread.shared<float>(scores_at, rows * Scores::stride);
    const int query = thread.warp() * 16 + thread.lane() / 4;
    float sums[depth / 8][4] = {};
#pragma unroll 1
    for (int key = 0; key < rows; key += 16) {
      float weights[2][4];
#pragma unroll
      for (int n = 0; n < 2; ++n) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int at = key + n * 8 + thread.lane() % 4 * 2 + j % 2;
          weights[n][j] = scores[Scores::at(at, query + j / 2 * 8)];
        }
      }
      TileProducts<Element, 16, depth>::weighted_sum(
          thread, sums, weights, own_shared(thread, 0) + key * Own::Layout::stride, of.exact);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (query + half * 8 >= walked.valid) continue;
      const Index row = Index{walked.row} + query + half * 8;
      float* const to = of.query_gradients + row * of.width + work.head * depth + thread.lane() % 4 * 2;
#pragma unroll
      for (int n = 0; n < depth / 8; ++n) {
        thread.atomic_add(to + n * 8, sums[n][half * 2] * of.scale, sums[n][half * 2 + 1] * of.scale);
      }
    }
  }
};

}  // namespace bigbird::kernels::cuda
