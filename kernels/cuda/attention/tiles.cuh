// Pieces that attention's forward and backward kernels share: tiles in shared memory, a warp's products with
// them, the way from a block of the grid to its piece of a schedule, and the mask of dropped probabilities.
//
// A warp owns 16 rows of a matrix product whose result lies in fragments c[n][4], n counting 8 columns each:
// lane L (g = L / 4, t = L % 4) holds row g, columns 8 n + 2 t, + 1 in c[n][0], c[n][1], and row g + 8 of
// them in c[n][2], c[n][3]. Scores leave one product so and enter the next as its left operand without a
// shuffle.
#pragma once

#include "kernels/cuda/attention/schedule.h"
#include "kernels/cuda/device.cuh"

namespace bigbird::kernels::cuda {

constexpr float log2_e = 1.44269504088896341f;

// How a tile of rows x width elements lies in shared memory, so that no access of the products meets a bank
// twice.
template <class Element, int width>
struct TileLayout;

// Rows without gaps; 16-byte chunks of a row change places by the row's number.
template <int width>
struct TileLayout<bf16, width> {
  static_assert(width == 32 || width % 64 == 0);
  static constexpr int stride = width;
  BIGBIRD_DEVICE static int at(int row, int column) {
    const int swizzle = width == 32 ? (row >> 1) & 3 : row & 7;
    return row * stride + (((column >> 3) ^ swizzle) << 3) + (column & 7);
  }
};

// Rows are 16 bytes apart.
template <int width>
struct TileLayout<float, width> {
  static constexpr int stride = width + 4;
  BIGBIRD_DEVICE static int at(int row, int column) { return row * stride + column; }
};

template <class Element, int rows, int width>
struct Tile {
  using Layout = TileLayout<Element, width>;
  static constexpr int elements = rows * Layout::stride;
  static constexpr int bytes = elements * static_cast<int>(sizeof(Element));

  // Starts the copy of rows `stride` elements apart, by all threads of the block; zeros in place of rows from
  // `valid` on. The caller commits and waits.
  template <int threads>
  BIGBIRD_DEVICE static void load(Thread& thread, Shared<Element> to, const Element* from, Index stride,
                                  int valid) {
    const int row = first_row<threads>(thread), column = column_of(thread);
    const Element* const source = from + row * stride + column;
#pragma unroll
    for (int i = 0; i < rows; i += rows_at_once<threads>) {
      thread.copy_async(to, place<threads>(row, column, i), source + i * stride, row + i < valid);
    }
  }
  // The same of the rows from `first` on, in one multiplication each: for kernels that are short of
  // registers.
  template <int threads>
  BIGBIRD_DEVICE static void load(Thread& thread, Shared<Element> to, const Element* from, int first,
                                  int stride, int valid) {
    // bf16 kernels have the registers for all else when this keeps none; those of floats are made otherwise.
    const int index = sizeof(Element) == 2 ? thread.index_again() : thread.index();
    const int row = index / chunks, column = index % chunks * chunk;
#pragma unroll
    for (int i = 0; i < rows; i += rows_at_once<threads>) {
      const Element* const source = from + Index{first + row + i} * stride + column;
      thread.copy_async(to, place<threads>(row, column, i), source, row + i < valid);
    }
  }

 private:
  // Threads share out the 16-byte chunks of a number of rows.
  static constexpr int chunk = 16 / static_cast<int>(sizeof(Element));
  static constexpr int chunks = width / chunk;
  template <int threads>
  static constexpr int rows_at_once = threads / chunks;

  template <int threads>
  BIGBIRD_DEVICE static int first_row(Thread& thread) {
    static_assert(threads % chunks == 0 && rows % rows_at_once<threads> == 0);
    return thread.index() / chunks;
  }
  BIGBIRD_DEVICE static int column_of(Thread& thread) {
    return thread.index() % chunks * chunk;
  }
  template <int threads>
  BIGBIRD_DEVICE static int place(int row, int column, int i) {
    // The chunks of every eighth row change places alike.
    return rows_at_once<threads> % 8 == 0 ? Layout::at(row, column) + i * Layout::stride
                                          : Layout::at(row + i, column);
  }
};

// The left operand of a product: 16 rows of `width` elements in a warp's registers.
template <class Element, int width>
struct WarpRows;

template <int width>
struct WarpRows<bf16, width> {
  std::uint32_t part[width / 16][4];

  // from: the first of the warp's rows.
  BIGBIRD_DEVICE void load_global(Thread& thread, const bf16* from, Index stride) {
    const bf16* upper = from + (thread.lane() >> 2) * stride + (thread.lane() & 3) * 2;
    const bf16* lower = upper + 8 * stride;
#pragma unroll
    for (int i = 0; i < width / 16; ++i) {
      part[i][0] = word(upper + i * 16);
      part[i][1] = word(lower + i * 16);
      part[i][2] = word(upper + i * 16 + 8);
      part[i][3] = word(lower + i * 16 + 8);
    }
  }
  BIGBIRD_DEVICE void load_shared(Thread& thread, Shared<bf16> tile, int first_row) {
    const int row = first_row + (thread.lane() & 15), column = (thread.lane() >> 4) * 8;
#pragma unroll
    for (int i = 0; i < width / 16; ++i) {
      thread.load_matrix_4(part[i], tile, TileLayout<bf16, width>::at(row, i * 16 + column));
    }
  }

 private:
  BIGBIRD_DEVICE static std::uint32_t word(const bf16* from) {
    const Pack<bf16, 2> pair = cuda::load<2>(from);
    return static_cast<std::uint32_t>(pair[0].bits) | static_cast<std::uint32_t>(pair[1].bits) << 16;
  }
};

template <int width>
struct WarpRows<float, width> {
  static constexpr int unroll = width / 8;
  float part[width / 8][4];

  BIGBIRD_DEVICE void get(Thread&, int i, float (&a)[4]) const {
#pragma unroll
    for (int j = 0; j < 4; ++j) a[j] = part[i][j];
  }

  BIGBIRD_DEVICE void load_global(Thread& thread, const float* from, Index stride) {
    const float* upper = from + (thread.lane() >> 2) * stride + (thread.lane() & 3);
    const float* lower = upper + 8 * stride;
#pragma unroll
    for (int i = 0; i < width / 8; ++i) {
      part[i][0] = upper[i * 8];
      part[i][1] = lower[i * 8];
      part[i][2] = upper[i * 8 + 4];
      part[i][3] = lower[i * 8 + 4];
    }
  }
  BIGBIRD_DEVICE void load_shared(Thread& thread, Shared<float> tile, int first_row) {
    const int row = first_row + (thread.lane() >> 2), column = thread.lane() & 3;
#pragma unroll
    for (int i = 0; i < width / 8; ++i) {
      part[i][0] = tile[TileLayout<float, width>::at(row, i * 8 + column)];
      part[i][1] = tile[TileLayout<float, width>::at(row + 8, i * 8 + column)];
      part[i][2] = tile[TileLayout<float, width>::at(row, i * 8 + column + 4)];
      part[i][3] = tile[TileLayout<float, width>::at(row + 8, i * 8 + column + 4)];
    }
  }
};

// The same, left in shared memory: for floats, which registers would not hold.
template <class Element, int width>
struct SharedRows;

template <int width>
struct SharedRows<float, width> {
  static constexpr int unroll = 2;
  Shared<float> tile;
  int first_row;

  BIGBIRD_DEVICE void get(Thread& thread, int i, float (&a)[4]) const {
    const int row = first_row + (thread.lane() >> 2), column = i * 8 + (thread.lane() & 3);
    a[0] = tile[TileLayout<float, width>::at(row, column)];
    a[1] = tile[TileLayout<float, width>::at(row + 8, column)];
    a[2] = tile[TileLayout<float, width>::at(row, column + 4)];
    a[3] = tile[TileLayout<float, width>::at(row + 8, column + 4)];
  }
};

// Products of a warp's 16 rows with a tile. `exact` says for floats whether fp32 (three products of split
// operands) or tf32 is wanted; bf16 has but one way.
//   scores():  c[16, rows] += a[16, width] tile[rows, width]^T, a in WarpRows or, of floats, in SharedRows
//   weighted_sum():  c[16, width] += p[16, rows] tile[rows, width], p in fragments as scores() leaves them
// `from`: where the tile begins, in elements; that of a row whose number is a multiple of 16.
template <class Element, int rows, int width>
struct TileProducts;

template <int rows, int width>
struct TileProducts<bf16, rows, width> {
  using Layout = TileLayout<bf16, width>;
  using Left = WarpRows<bf16, width>;

  // Scores as a left operand.
  BIGBIRD_DEVICE static void pack(const float (&p)[rows / 8][4], std::uint32_t (&part)[rows / 16][4]) {
#pragma unroll
    for (int i = 0; i < rows / 16; ++i) {
      part[i][0] = pack_bf16_fast(p[2 * i][0], p[2 * i][1]);
      part[i][1] = pack_bf16_fast(p[2 * i][2], p[2 * i][3]);
      part[i][2] = pack_bf16_fast(p[2 * i + 1][0], p[2 * i + 1][1]);
      part[i][3] = pack_bf16_fast(p[2 * i + 1][2], p[2 * i + 1][3]);
    }
  }

  BIGBIRD_DEVICE static void scores(Thread& thread, float (&c)[rows / 8][4], const Left& a, Shared<bf16> tile,
                                    bool) {
    read_transposed(thread, tile, 0,
                    [&](int i, int n, const std::uint32_t(&b)[2]) { thread.mma_bf16(c[n], a.part[i], b); });
  }
  BIGBIRD_DEVICE static void weighted_sum(Thread& thread, float (&c)[width / 8][4],
                                          const float (&p)[rows / 8][4], Shared<bf16> tile, bool) {
    std::uint32_t a[rows / 16][4];
    pack(p, a);
    read(thread, tile, 0, [&](int i, int n, const std::uint32_t(&b)[2]) { thread.mma_bf16(c[n], a[i], b); });
  }

  // The same for groups of 16 rows, which share what is read of the tile: shared memory is as busy as the
  // products otherwise.
  template <int groups>
  BIGBIRD_DEVICE static void scores(Thread& thread, float (&c)[groups][rows / 8][4], const Left (&a)[groups],
                                    Shared<bf16> tile, bool, int from = 0) {
    read_transposed(thread, tile, from, [&](int i, int n, const std::uint32_t(&b)[2]) {
#pragma unroll
      for (int g = 0; g < groups; ++g) thread.mma_bf16(c[g][n], a[g].part[i], b);
    });
  }
  template <int groups>
  BIGBIRD_DEVICE static void weighted_sum(Thread& thread, float (&c)[groups][width / 8][4],
                                          const float (&p)[groups][rows / 8][4], Shared<bf16> tile, bool,
                                          int from = 0) {
    std::uint32_t a[groups][rows / 16][4];
#pragma unroll
    for (int g = 0; g < groups; ++g) pack(p[g], a[g]);
    read(thread, tile, from, [&](int i, int n, const std::uint32_t(&b)[2]) {
#pragma unroll
      for (int g = 0; g < groups; ++g) thread.mma_bf16(c[g][n], a[g][i], b);
    });
  }
  BIGBIRD_DEVICE static void weighted_sum(Thread& thread, float (&c0)[width / 8][4],
                                          float (&c1)[width / 8][4], const float (&p)[2][rows / 8][4],
                                          Shared<bf16> tile, bool) {
    std::uint32_t a0[rows / 16][4], a1[rows / 16][4];
    pack(p[0], a0);
    pack(p[1], a1);
    read(thread, tile, 0, [&](int i, int n, const std::uint32_t(&b)[2]) {
      thread.mma_bf16(c0[n], a0[i], b);
      thread.mma_bf16(c1[n], a1[i], b);
    });
  }

 private:
  // Places of a lane in a tile differ in the bits of their column alone, whatever bits the layout has turned
  // round: so they are made of one, in one instruction each, and take no registers in between.
  // use(i, n, b): b is the right operand of step i (16 columns of the tile) for its rows 8 n and following.
  template <class Use>
  BIGBIRD_DEVICE static void read_transposed(Thread& thread, Shared<bf16> tile, int from, const Use& use) {
    const int row = (thread.lane() >> 4) * 8 + (thread.lane() & 7), column = (thread.lane() >> 3 & 1) * 8;
    const int first = from + Layout::at(row, column);
#pragma unroll
    for (int i = 0; i < width / 16; ++i) {
#pragma unroll
      for (int n = 0; n < rows / 16; ++n) {
        std::uint32_t b[4];
        thread.load_matrix_4(b, tile, (first ^ (i * 16)) + n * 16 * Layout::stride);
        use(i, 2 * n, {b[0], b[1]});
        use(i, 2 * n + 1, {b[2], b[3]});
      }
    }
  }
  // use(i, n, b): that of step i (16 rows of the tile) for its columns 8 n and following.
  template <class Use>
  BIGBIRD_DEVICE static void read(Thread& thread, Shared<bf16> tile, int from, const Use& use) {
    const int row = thread.lane() & 15, column = (thread.lane() >> 4) * 8;
    const int first = from + Layout::at(row, column);
#pragma unroll
    for (int i = 0; i < rows / 16; ++i) {
#pragma unroll
      for (int n = 0; n < width / 16; ++n) {
        std::uint32_t b[4];
        thread.load_matrix_4_transposed(b, tile, (first ^ (n * 16)) + i * 16 * Layout::stride);
        use(i, 2 * n, {b[0], b[1]});
        use(i, 2 * n + 1, {b[2], b[3]});
      }
    }
  }
};

// x = high + low to fp32's precision, both in tf32.
template <int count>
struct SplitFloats {
  std::uint32_t high[count];
  std::uint32_t low[count];

  template <bool exact>
  BIGBIRD_DEVICE void split(int i, float x) {
    high[i] = to_tf32(x);
    if (exact) low[i] = to_tf32(x - float_of_bits(high[i]));
  }
};

template <int rows, int width>
struct TileProducts<float, rows, width> {
  using Layout = TileLayout<float, width>;

  template <class Left>
  BIGBIRD_DEVICE static void scores(Thread& thread, float (&c)[rows / 8][4], const Left& a,
                                    Shared<float> tile, bool exact) {
    exact ? scores_of<true>(thread, c, a, tile) : scores_of<false>(thread, c, a, tile);
  }
  BIGBIRD_DEVICE static void weighted_sum(Thread& thread, float (&c)[width / 8][4],
                                          const float (&p)[rows / 8][4], Shared<float> tile, bool exact) {
    exact ? weighted_sum_of<true>(thread, c, p, tile) : weighted_sum_of<false>(thread, c, p, tile);
  }

  // The same for groups of 16 rows, of which there is one: registers would not hold more.
  template <class Left>
  BIGBIRD_DEVICE static void scores(Thread& thread, float (&c)[1][rows / 8][4], const Left (&a)[1],
                                    Shared<float> tile, bool exact, int from = 0) {
    scores(thread, c[0], a[0], tile + from, exact);
  }
  BIGBIRD_DEVICE static void weighted_sum(Thread& thread, float (&c)[1][width / 8][4],
                                          const float (&p)[1][rows / 8][4], Shared<float> tile, bool exact,
                                          int from = 0) {
    weighted_sum(thread, c[0], p[0], tile + from, exact);
  }

 private:
  template <bool exact>
  BIGBIRD_DEVICE static void multiply(Thread& thread, float (&c)[4], const SplitFloats<4>& a,
                                      const SplitFloats<2>& b) {
    if (exact) {  // the small ones first
      thread.mma_tf32(c, a.low, b.high);
      thread.mma_tf32(c, a.high, b.low);
    }
    thread.mma_tf32(c, a.high, b.high);
  }

  template <bool exact, class Left>
  BIGBIRD_DEVICE static void scores_of(Thread& thread, float (&c)[rows / 8][4], const Left& a,
                                       Shared<float> tile) {
    const int row = thread.lane() >> 2, column = thread.lane() & 3;
#pragma unroll Left::unroll
    for (int i = 0; i < width / 8; ++i) {
      float of_a[4];
      a.get(thread, i, of_a);
      SplitFloats<4> left;
#pragma unroll
      for (int j = 0; j < 4; ++j) left.split<exact>(j, of_a[j]);
#pragma unroll
      for (int n = 0; n < rows / 8; ++n) {
        SplitFloats<2> right;
        right.split<exact>(0, tile[Layout::at(n * 8 + row, i * 8 + column)]);
        right.split<exact>(1, tile[Layout::at(n * 8 + row, i * 8 + column + 4)]);
        multiply<exact>(thread, c[n], left, right);
      }
    }
  }

  // The 8 rows of a step are summed in the order 0, 2, 4, 6, 1, 3, 5, 7: then each lane's own scores are its
  // operand.
  template <bool exact>
  BIGBIRD_DEVICE static void weighted_sum_of(Thread& thread, float (&c)[width / 8][4],
                                             const float (&p)[rows / 8][4], Shared<float> tile) {
    const int row = (thread.lane() & 3) * 2, column = thread.lane() >> 2;
#pragma unroll
    for (int i = 0; i < rows / 8; ++i) {
      SplitFloats<4> left;
      left.split<exact>(0, p[i][0]);
      left.split<exact>(1, p[i][2]);
      left.split<exact>(2, p[i][1]);
      left.split<exact>(3, p[i][3]);
#pragma unroll
      for (int n = 0; n < width / 8; ++n) {
        SplitFloats<2> right;
        right.split<exact>(0, tile[Layout::at(i * 8 + row, n * 8 + column)]);
        right.split<exact>(1, tile[Layout::at(i * 8 + row + 1, n * 8 + column)]);
        multiply<exact>(thread, c[n], left, right);
      }
    }
  }
};

// Sum and maximum over the four lanes that share a row of a fragment.
BIGBIRD_DEVICE float row_sum(Thread& thread, float value) {
  value += thread.shuffle_xor(value, 1);
  return value + thread.shuffle_xor(value, 2);
}
BIGBIRD_DEVICE float row_maximum(Thread& thread, float value) {
  value = fmaxf(value, thread.shuffle_xor(value, 1));
  return fmaxf(value, thread.shuffle_xor(value, 2));
}

// The sequence that a block of the grid works for: the last whose counter is not above it.
BIGBIRD_DEVICE int find_sequence(const std::int32_t* counters, int sequences, int block) {
  int low = 0, high = sequences - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (counters[middle] <= block) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// Rows of a tile that lie below `length`, at most tile_rows and at least 0.
BIGBIRD_DEVICE int rows_below(int length, int tile, int tile_rows) {
  const int left = length - tile * tile_rows;
  return left < 0 ? 0 : (left < tile_rows ? left : tile_rows);
}

// Which probabilities dropout keeps: philox.h dropout_keep at element (head * T + query row) * (rows of keys)
// + key row.
struct ProbabilityDropout {
  const std::uint64_t* seed = nullptr;
  std::uint64_t site = 0;
  Index tokens = 0;              // T
  Index keys = 0;                // rows of keys; a multiple of 16
  std::uint32_t first_kept = 0;  // first_kept_word()

  BIGBIRD_DEVICE Index element(int head, Index query_row, Index key_row) const {
    return (head * tokens + query_row) * keys + key_row;
  }
  // Four keys from `element`, a multiple of 4, share a Philox call. Bit i: whether key i is kept.
  BIGBIRD_DEVICE unsigned four_kept(std::uint64_t key, Index element) const {
    const Philox4x32 random = philox4x32(key, static_cast<std::uint64_t>(element) >> 2, site);
    unsigned bits = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (random.word[i] >= first_kept) bits |= 1u << i;
    }
    return bits;
  }

  // Fragments c[4] of scores whose rows are queries and whose columns are keys. Of two neighbouring lanes one
  // makes the call of the upper row, the other that of the lower: own_call() says for which element, of a
  // fragment whose first key is key_row, in this lane's upper row `query_row`.
  BIGBIRD_DEVICE Index own_call(Thread& thread, int head, Index query_row, Index key_row) const {
    return element(head, query_row + (thread.lane() & 1) * 8, key_row + (thread.lane() & 2) * 2);
  }
  // four_kept() of up to eight fragments, 4 bits each, becomes whether c[i] is kept.
  BIGBIRD_DEVICE static unsigned exchange(Thread& thread, unsigned mine) {
    const unsigned other = thread.shuffle_xor(mine, 1);
    return (thread.lane() & 1) != 0 ? (other >> 2 & 0x33333333u) | (mine & 0xccccccccu)
                                    : (mine & 0x33333333u) | (other & 0x33333333u) << 2;
  }

  // The same for fragments whose rows are keys and whose columns are queries, from query_row and key_row on:
  // c[j] belongs to query 2 t + j % 2 and key g + 8 (j / 2). Of the four lanes that need the same four calls
  // each makes one.
  BIGBIRD_DEVICE Index own_transposed_call(Thread& thread, int head, Index query_row, Index key_row) const {
    const int own = thread.lane() >> 2 & 3;
    return element(head, query_row + (thread.lane() & 3) * 2 + (own & 1),
                   key_row + (thread.lane() >> 4) * 4 + (own >> 1) * 8);
  }
  BIGBIRD_DEVICE static unsigned exchange_transposed(Thread& thread, unsigned mine) {
    const int own = thread.lane() >> 2 & 3;
    unsigned bits = 0;
#pragma unroll
    for (int round = 0; round < 4; ++round) {
      const unsigned others = round == 0 ? mine : thread.shuffle_xor(mine, round * 4);
      bits |= (others >> own & 0x11111111u) << (own ^ round);  // c[j] lies in the call of lane j of the four
    }
    return bits;
  }
};

}  // namespace bigbird::kernels::cuda
