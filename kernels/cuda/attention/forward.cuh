// Forward pass of attention over tile lists: flash attention (Dao 2023) with the online softmax in powers of
// two.
//
// A block takes one piece of a query tile's list; each of its warps 16 or 32 query rows. Keys and values go
// through a ring in shared memory by asynchronous copies, one barrier for each pair of tiles; queries,
// scores, sums and statistics stay in registers. A tile that holds padding gets a mask, as does that on the
// diagonal of causal attention; later ones are hidden altogether and are left out. Pieces of cut lists leave
// unnormalised sums, which AttentionCombine adds up in ascending order. The paired form (pairs.cuh) has rules
// for pairs and terms for their labels; of it, a tile may hide all that a row sees.
#pragma once

#include <type_traits>

#include "kernels/cuda/attention/forward_rows.cuh"
#include "kernels/cuda/attention/launch.h"
#include "kernels/cuda/attention/pairs.cuh"
#include "kernels/cuda/attention/tiles.cuh"

namespace bigbird::kernels::cuda {

// Groups of 16 query rows that a warp has. With two, what it reads of a tile serves twice the products, so
// that shared memory does not bound them; registers have to hold both.
template <class Element, int width, int rows, bool paired>
constexpr int attention_forward_groups() {
  return sizeof(Element) == 2 && rows == 64 && width <= 64 && !paired ? 2 : 1;
}

// How many blocks of the kernel an SM is to hold: as many as registers allow without spills.
template <class Element, int width, int rows, bool paired>
constexpr int attention_forward_blocks() {
  if (rows == 16) return 8;
  if (paired && width <= 64) return 3;
  if (sizeof(Element) == 4) return width == 128 ? 1 : 3;
  return width == 128 ? 2 : 4;
}

template <class ElementType, int width, int rows, bool dropping, bool paired>
struct AttentionForward : PairMember<paired> {
  using Element = ElementType;
  using KeyTile = Tile<Element, rows, width>;
  using Products = TileProducts<Element, rows, width>;
  static constexpr int groups = attention_forward_groups<Element, width, rows, paired>();
  static constexpr int threads = rows / 16 / groups * 32;
  static constexpr int blocks_per_sm = attention_forward_blocks<Element, width, rows, paired>();
  // Floats are large: one pair of key and value tiles instead of a ring of two, and the queries beside it.
  static constexpr bool wide = sizeof(Element) == 4;
  static constexpr int stages = wide ? 1 : 2;
  static constexpr int shared_bytes = (stages * 2 + (wide ? 1 : 0)) * KeyTile::bytes;

  AttentionView view;
  const Element* q;
  const Element* k;
  const Element* v;
  std::int32_t q_stride, k_stride, v_stride;
  ForwardOutputs<Element, width, rows> to;
  bool exact;
  bool causal;
  ProbabilityDropout dropout;
  std::int32_t wanted_tiles;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    if (work_of(thread).own_tile >= wanted_tiles) return;
    RowGroup group[groups];
    add_up(thread, group);
#pragma unroll
    for (int g = 0; g < groups; ++g) {
      group[g].total[0] = row_sum(thread, group[g].total[0]);
      group[g].total[1] = row_sum(thread, group[g].total[1]);
    }

    const AttentionWork& work = work_of(thread);  // read again: registers are scarce in between
#pragma unroll
    for (int g = 0; g < groups; ++g) {
      if (work.slot < 0) {
        to.write(thread, group[g], row_of(thread, g), work);
      } else if (work.own_valid > 0) {
        to.write_partial(thread, group[g], row_of(thread, g), work.slot);
      }
    }
  }

 private:
  using RowGroup = ForwardRows<width>;

  BIGBIRD_DEVICE const AttentionWork& work_of(Thread& thread) const {
    return view.query_work[thread.block()];
  }
  // In the tile: the first row of a group, and the upper row of this lane's fragments.
  BIGBIRD_DEVICE static int first_of(Thread& thread, int g) {
    return (thread.warp() * groups + g) * 16;
  }
  BIGBIRD_DEVICE static int row_of(Thread& thread, int g) {
    return first_of(thread, g) + (thread.lane() >> 2);
  }

  using ScoresOfRows = float[rows / 8][4];  // of 16 query rows and a tile of keys, in fragments

  // Adds up what the piece of this block sees. With two stages, the next pair of tiles (keys, values) is on
  // its way while this one is worked on: the copy into the other stage starts behind the barrier that ends
  // its use. With one stage it can only start when this pair is done.
  BIGBIRD_DEVICE void add_up(Thread& thread, RowGroup (&group)[groups]) const {
    const AttentionWork& work = work_of(thread);
    int left = work.count;
    if (left == 0) return;
    const ListedTile* list = work.list;
    const int length = work.walked_length, head = work.head;
    const int column = head * width;
    const int first_row = work.own_row, key_row = work.walked_row;

    const auto queries = load_queries(thread, first_row, column);
    ListedTile next = *list;
    load_pair(thread, 0, next.tile, length, key_row, column);
    int stage = 0;
    while (left > 0) {
      thread.template wait_copies<0>();
      thread.barrier();  // the pair is there, and nobody reads the other one any more
      const ListedTile tile = next;
      const bool more = --left > 0;
      if (more) next = *++list;  // long before its copies start

      unsigned kept[groups] = {};
      if (dropping) find_kept(thread, head, first_row, key_row + tile.tile * rows, kept);
      ScoresOfRows scores[groups] = {};
      const int valid = rows_below(length, tile.tile, rows);
      const bool diagonal = causal && tile.tile == work.own_tile;
      if constexpr (paired) {
        begin_scores(thread, work, tile.tile, valid, scores);
      } else if (valid < rows || diagonal) {
#pragma unroll
        for (int g = 0; g < groups; ++g)
          mask_keys<rows>(thread, scores[g], valid, diagonal ? row_of(thread, g) : rows);
      }
      if constexpr (groups == 2) {
        Products::scores(thread, scores, queries.group, key_tile(thread, stage), exact);
      } else {
        Products::scores(thread, scores[0], queries.group[0], key_tile(thread, stage), exact);
      }
      if (stages == 2 && more) load_pair(thread, stage ^ 1, next.tile, length, key_row, column);
#pragma unroll
      for (int g = 0; g < groups; ++g) {
        group[g].template add_to_softmax<rows, paired>(thread, scores[g], to.scale * log2_e, tile.log2_count);
        if (dropping) drop(scores[g], kept[g]);
      }
      if constexpr (groups == 2) {
        Products::weighted_sum(thread, group[0].sums, group[1].sums, scores, value_tile(thread, stage),
                               exact);
      } else {
        Products::weighted_sum(thread, group[0].sums, scores[0], value_tile(thread, stage), exact);
      }
      if (stages == 2) {
        stage ^= 1;
      } else if (more) {
        thread.barrier();  // everybody has read the pair that is overwritten
        load_pair(thread, 0, next.tile, length, key_row, column);
      }
    }
  }

  BIGBIRD_DEVICE void begin_scores(Thread& thread, const AttentionWork& work, int tile, int valid,
                                   ScoresOfRows (&scores)[groups]) const {
#pragma unroll
    for (int g = 0; g < groups; ++g) {
      const int own = work.query_start + work.own_tile * rows;
      const PairPlace at{own + first_of(thread, g), tile * rows, work.own_row - own, work.walked_row,
                         work.head};
      PairFragment<rows, false>(thread, this->pairs, at).begin(valid, scores[g]);
    }
  }

  // Starts the copies of a pair of tiles.
  BIGBIRD_DEVICE void load_pair(Thread& thread, int stage, int tile, int length, int key_row,
                                int column) const {
    const int valid = length - tile * rows, first = key_row + tile * rows;
    KeyTile::template load<threads>(thread, key_tile(thread, stage), k + column, first, k_stride, valid);
    KeyTile::template load<threads>(thread, value_tile(thread, stage), v + column, first, v_stride, valid);
    thread.commit_copies();
  }

  // Which scores dropout keeps: bit 4 n + i of kept[g] is that of scores[g][n][i]. Before the scores are
  // there, because it needs registers that they take.
  BIGBIRD_DEVICE void find_kept(Thread& thread, int head, int first_row, int key_row,
                                unsigned (&kept)[groups]) const {
    const std::uint64_t seed = *dropout.seed;  // here, for its round keys to need no registers outside
    const Index first = dropout.own_call(thread, head, first_row + row_of(thread, 0), key_row);
#pragma unroll
    for (int g = 0; g < groups; ++g) {
      unsigned mine = 0;
#pragma unroll 4  // calls at a time
      for (int n = 0; n < rows / 8; ++n) {
        mine |= dropout.four_kept(seed, first + g * 16 * dropout.keys + n * 8) << (4 * n);
      }
      kept[g] = dropout.exchange(thread, mine);
    }
  }

  using Query = std::conditional_t<wide, SharedRows<Element, width>, WarpRows<Element, width>>;
  struct Queries {
    Query group[groups];
  };
  // Those of floats arrive with the first copies.
  BIGBIRD_DEVICE Queries load_queries(Thread& thread, int first_row, int column) const {
    if constexpr (wide) {
      const auto tile = thread.template shared<Element>(stages * 2 * KeyTile::bytes, KeyTile::elements);
      KeyTile::template load<threads>(thread, tile, q + column, first_row, q_stride, rows);
      return {{{tile, first_of(thread, 0)}}};
    } else {
      Queries queries;
#pragma unroll
      for (int g = 0; g < groups; ++g) {
        const Index first = first_row + first_of(thread, g);
        queries.group[g].load_global(thread, q + (first * q_stride + column), q_stride);
      }
      return queries;
    }
  }

  BIGBIRD_DEVICE static Shared<Element> key_tile(Thread& thread, int stage) {
    return thread.template shared<Element>(stage * 2 * KeyTile::bytes, KeyTile::elements);
  }
  BIGBIRD_DEVICE static Shared<Element> value_tile(Thread& thread, int stage) {
    return thread.template shared<Element>((stage * 2 + 1) * KeyTile::bytes, KeyTile::elements);
  }

  BIGBIRD_DEVICE static void drop(float (&scores)[rows / 8][4], unsigned kept) {
#pragma unroll
    for (int i = 0; i < rows / 2; ++i) {
      if ((kept >> i & 1u) == 0) scores[i / 4][i % 4] = 0.0f;
    }
  }
};

template <class Element, int width, int rows, bool dropping, bool paired>
void launch_forward_kernels(const AttentionForwardArguments& a, Stream stream) {
  using Kernel = AttentionForward<Element, width, rows, dropping, paired>;
  Kernel kernel{};
  kernel.view = a.view;
  kernel.q = a.q.data.as<Element>();
  kernel.k = a.k.data.as<Element>();
  kernel.v = a.v.data.as<Element>();
  kernel.q_stride = static_cast<std::int32_t>(a.q.stride);
  kernel.k_stride = static_cast<std::int32_t>(a.k.stride);
  kernel.v_stride = static_cast<std::int32_t>(a.v.stride);
  kernel.to = forward_outputs<Element, width, rows>(a);
  kernel.exact = a.exact;
  kernel.causal = a.causal;
  kernel.wanted_tiles = a.wanted_tiles;
  kernel.dropout = {a.dropout_seed, a.dropout_site, a.tokens, a.keys, first_kept_word(a.drop_probability)};
  if constexpr (paired) kernel.pairs = a.pairs;
  launch(kernel, {.blocks = a.pieces, .shared_bytes = Kernel::shared_bytes}, stream);

  launch_attention_combine(kernel.to, a, stream);
}

template <class Element, int width, int rows, bool paired>
void launch_forward_kernels(const AttentionForwardArguments& a, Stream stream) {
  if (a.drop_probability > 0.0f) {
    launch_forward_kernels<Element, width, rows, true, paired>(a, stream);
  } else {
    launch_forward_kernels<Element, width, rows, false, paired>(a, stream);
  }
}

template <int width, bool paired>
void launch_attention_forward(const AttentionForwardArguments& a, int tile_rows, Stream stream) {
  const bool narrow = a.q.data.type() == bigbird::kernels::ElementType::bf16;
  if (tile_rows == 64) {
    narrow ? launch_forward_kernels<bf16, width, 64, paired>(a, stream)
           : launch_forward_kernels<float, width, 64, paired>(a, stream);
  } else {
    narrow ? launch_forward_kernels<bf16, width, 16, paired>(a, stream)
           : launch_forward_kernels<float, width, 16, paired>(a, stream);
  }
}

}  // namespace bigbird::kernels::cuda
