// The probes of conformance.h: compiled by nvcc for a device, and as C++ for the emulated one.
#include "tests/cuda/conformance.h"

#include "kernels/cuda/attention/tiles.cuh"
#include "kernels/cuda/device.cuh"

namespace bigbird::kernels::cuda::testing {
namespace {

template <bool tf32>
struct MmaProbe {
  static constexpr int threads = 32;
  static constexpr int blocks_per_sm = 1;
  const std::uint32_t* a;
  const std::uint32_t* b;
  const float* c;
  float* d;
  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const int lane = thread.lane();
    const std::uint32_t left[4] = {a[lane * 4], a[lane * 4 + 1], a[lane * 4 + 2], a[lane * 4 + 3]};
    const std::uint32_t right[2] = {b[lane * 2], b[lane * 2 + 1]};
    float sums[4] = {c[lane * 4], c[lane * 4 + 1], c[lane * 4 + 2], c[lane * 4 + 3]};
    if constexpr (tf32) {
      thread.mma_tf32(sums, left, right);
    } else {
      thread.mma_bf16(sums, left, right);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) d[lane * 4 + i] = sums[i];
  }
};

template <bool transposed>
struct LoadMatrixProbe {
  static constexpr int threads = 32;
  static constexpr int blocks_per_sm = 1;
  const bf16* rows;
  std::uint32_t* r;
  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const int lane = thread.lane();
    const Shared<bf16> matrices = thread.shared<bf16>(0, 32 * 8);
    matrices.store(lane * 8, load<8>(rows + lane * 8));
    thread.warp_barrier();
    std::uint32_t words[4];
    if constexpr (transposed) {
      thread.load_matrix_4_transposed(words, matrices, lane * 8);
    } else {
      thread.load_matrix_4(words, matrices, lane * 8);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) r[lane * 4 + i] = words[i];
  }
};

struct CopyProbe {
  static constexpr int threads = 32;
  static constexpr int blocks_per_sm = 1;
  const float* from;
  float* to;
  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const int at = thread.lane() * 4;
    const Shared<float> buffer = thread.shared<float>(0, 4 * 128);
#pragma unroll
    for (int group = 0; group < 4; ++group) {
      buffer.store(group * 128 + at, Pack<float, 4>{{-1.0f, -2.0f, -3.0f, -4.0f}});
    }
    thread.barrier();
#pragma unroll
    for (int group = 0; group < 4; ++group) {
      if (group % 2 == 0) {
        thread.copy_async(buffer, group * 128 + at, from + group * 128 + at);
      } else {
        thread.copy_async(buffer, group * 128 + at, from + group * 128 + at, thread.lane() % 2 == 0);
      }
      thread.commit_copies();
    }
    thread.wait_copies<2>();  // the first two are here
    thread.barrier();
    const int other = 124 - at;  // what another lane copied
    store(to + other, buffer.load<4>(other));
    store(to + 128 + other, buffer.load<4>(128 + other));
    thread.wait_copies<0>();
    thread.barrier();
    store(to + 256 + other, buffer.load<4>(256 + other));
    store(to + 384 + other, buffer.load<4>(384 + other));
  }
};

struct ConversionProbe {
  static constexpr int threads = 128;
  static constexpr int blocks_per_sm = 1;
  const float* x;
  Index count;
  Conversions to;
  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index i = Index{thread.block()} * threads + thread.index();
    if (i >= count) return;
    to.narrow[i] = to_bf16(x[i]).bits;
    to.packed[i] = pack_bf16_fast(x[i], -x[i]);
    to.tf32[i] = to_tf32(x[i]);
    to.widened[i] = to_float(bf16{static_cast<std::uint16_t>(bits_of(x[i]) >> 16)});
  }
};

struct ExpLogProbe {
  static constexpr int threads = 128;
  static constexpr int blocks_per_sm = 1;
  const float* x;
  Index count;
  float* exp2;
  float* log2;
  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index i = Index{thread.block()} * threads + thread.index();
    if (i >= count) return;
    exp2[i] = exp2_fast(x[i]);
    log2[i] = log2_fast(x[i]);
  }
};

template <class T>
struct ShuffleProbe {
  static constexpr int threads = 32;
  static constexpr int blocks_per_sm = 1;
  const T* values;
  T* to;
  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const T mine = values[thread.lane()];
    T* const out = to + thread.lane() * shuffles;
    out[0] = thread.shuffle(mine, 31 - thread.lane());
    out[1] = thread.shuffle(mine, 7);
    out[2] = thread.shuffle_xor(mine, 1);
    out[3] = thread.shuffle_xor(mine, 2);
    out[4] = thread.shuffle_xor(mine, 4);
    out[5] = thread.shuffle_xor(mine, 8);
    out[6] = thread.shuffle_xor(mine, 16);
    out[7] = thread.shuffle_down(mine, 1);
    out[8] = thread.shuffle_down(mine, 16);
    out[9] = warp_sum(thread, mine);
    if constexpr (sizeof(T) == sizeof(float)) {
      out[10] = warp_max(thread, mine);
    } else {
      out[10] = out[9];
    }
  }
};

struct BallotProbe {
  static constexpr int threads = 32;
  static constexpr int blocks_per_sm = 1;
  const std::int32_t* values;
  std::uint32_t* to;
  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const unsigned bits = thread.ballot(values[thread.lane()] != 0);
    to[thread.lane() * 2] = bits;
    to[thread.lane() * 2 + 1] = static_cast<std::uint32_t>(lowest_bit(bits));
  }
};

struct AdditionProbe {
  static constexpr int threads = 64;
  static constexpr int blocks_per_sm = 1;
  float value;
  float* sums;
  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const int number = thread.block_y() * thread.blocks() + thread.block();
    thread.atomic_add(sums, value);
    thread.atomic_add(sums + 1 + thread.index() % 4, static_cast<float>(number));
    if (thread.index() == 0) thread.atomic_add(sums + 5, static_cast<float>(thread.blocks_y()));
  }
};

template <int width>
struct PackProbe {
  static constexpr int threads = 32;
  static constexpr int blocks_per_sm = 1;
  const bf16* from;
  bf16* to;
  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Shared<bf16> between = thread.shared<bf16>(0, 128);
    for (int i = thread.lane() * width; i < 128; i += 32 * width) between.store(i, load<width>(from + i));
    thread.barrier();
    const int turned = 128 - width;  // the pack that another lane stored
    for (int i = thread.lane() * width; i < 128; i += 32 * width) {
      store(to + turned - i, between.template load<width>(turned - i));
    }
  }
};

template <class Element, int width, Left left>
struct AttentionProbe {
  static constexpr int rows = 64;
  static constexpr int threads = rows / 16 * 32;
  static constexpr int blocks_per_sm = 1;
  using Layout = Tile<Element, rows, width>;
  using Products = TileProducts<Element, rows, width>;
  bool exact;
  const Element* a;
  const Element* tile;
  const float* p;
  float* scores;
  float* sums;

  // Element (row, column) of the result of a warp that c[n][i] of this lane is.
  BIGBIRD_DEVICE static int row(Thread& thread, int i) {
    return thread.warp() * 16 + thread.lane() / 4 + (i >= 2 ? 8 : 0);
  }
  BIGBIRD_DEVICE static int column(Thread& thread, int n, int i) {
    return n * 8 + thread.lane() % 4 * 2 + (i & 1);
  }

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Shared<Element> keys = thread.shared<Element>(0, Layout::elements);
    const Shared<Element> queries = thread.shared<Element>(Layout::bytes, Layout::elements);
    Layout::template load<threads>(thread, keys, tile, width, rows);
    Layout::template load<threads>(thread, queries, a, 0, width, rows);
    thread.commit_copies();
    thread.wait_copies<0>();
    thread.barrier();
    float c[rows / 8][4] = {};
    if constexpr (left == Left::shared) {
      const SharedRows<Element, width> mine{queries, thread.warp() * 16};
      Products::scores(thread, c, mine, keys, exact);
    } else {
      WarpRows<Element, width> mine;
      if constexpr (left == Left::global) {
        mine.load_global(thread, a + thread.warp() * 16 * width, width);
      } else {
        mine.load_shared(thread, queries, thread.warp() * 16);
      }
      Products::scores(thread, c, mine, keys, exact);
    }
#pragma unroll
    for (int n = 0; n < rows / 8; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        scores[row(thread, i) * rows + column(thread, n, i)] = c[n][i];
        c[n][i] = p[row(thread, i) * rows + column(thread, n, i)];
      }
    }
    float out[width / 8][4] = {};
    Products::weighted_sum(thread, out, c, keys, exact);
#pragma unroll
    for (int n = 0; n < width / 8; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[row(thread, i) * width + column(thread, n, i)] = out[n][i];
    }
  }
};

template <class Element, int width>
void launch_attention(Left left, bool exact, const Element* a, const Element* tile, const float* p,
                      float* scores, float* sums, Stream stream) {
  using Global = AttentionProbe<Element, width, Left::global>;
  using Rows = AttentionProbe<Element, width, Left::shared_rows>;
  const LaunchShape shape{.blocks = 1, .shared_bytes = std::size_t{2} * Tile<Element, 64, width>::bytes};
  if (left == Left::global) launch(Global{exact, a, tile, p, scores, sums}, shape, stream);
  if (left == Left::shared_rows) launch(Rows{exact, a, tile, p, scores, sums}, shape, stream);
  if constexpr (sizeof(Element) == sizeof(float)) {
    using Shared = AttentionProbe<Element, width, Left::shared>;
    if (left == Left::shared) launch(Shared{exact, a, tile, p, scores, sums}, shape, stream);
  }
}

}  // namespace

void probe_mma_bf16(const std::uint32_t* a, const std::uint32_t* b, const float* c, float* d, Stream stream) {
  launch(MmaProbe<false>{a, b, c, d}, {.blocks = 1}, stream);
}
void probe_mma_tf32(const std::uint32_t* a, const std::uint32_t* b, const float* c, float* d, Stream stream) {
  launch(MmaProbe<true>{a, b, c, d}, {.blocks = 1}, stream);
}

void probe_load_matrix(const bf16* rows, std::uint32_t* r, bool transposed, Stream stream) {
  const LaunchShape shape{.blocks = 1, .shared_bytes = 512};
  if (transposed) {
    launch(LoadMatrixProbe<true>{rows, r}, shape, stream);
  } else {
    launch(LoadMatrixProbe<false>{rows, r}, shape, stream);
  }
}

void probe_copies(const float* from, float* to, Stream stream) {
  launch(CopyProbe{from, to}, {.blocks = 1, .shared_bytes = 2048}, stream);
}

void probe_conversions(const float* x, Index count, const Conversions& to, Stream stream) {
  launch(ConversionProbe{x, count, to}, {.blocks = blocks_for(count, ConversionProbe::threads)}, stream);
}
void probe_exp_log(const float* x, Index count, float* exp2, float* log2, Stream stream) {
  launch(ExpLogProbe{x, count, exp2, log2}, {.blocks = blocks_for(count, ExpLogProbe::threads)}, stream);
}

void probe_shuffles(const float* values, float* to, Stream stream) {
  launch(ShuffleProbe<float>{values, to}, {.blocks = 1}, stream);
}
void probe_shuffles(const double* values, double* to, Stream stream) {
  launch(ShuffleProbe<double>{values, to}, {.blocks = 1}, stream);
}
void probe_ballot(const std::int32_t* values, std::uint32_t* to, Stream stream) {
  launch(BallotProbe{values, to}, {.blocks = 1}, stream);
}

void probe_additions(float value, float* sums, Stream stream) {
  launch(AdditionProbe{value, sums}, {.blocks = 4, .blocks_y = 3}, stream);
}

void probe_packs(const bf16* from, bf16* to, Stream stream) {
  const LaunchShape shape{.blocks = 1, .shared_bytes = 256};
  launch(PackProbe<1>{from, to}, shape, stream);
  launch(PackProbe<2>{from, to + 128}, shape, stream);
  launch(PackProbe<4>{from, to + 256}, shape, stream);
  launch(PackProbe<8>{from, to + 384}, shape, stream);
}

template <class Element>
void probe_attention(int width, Left left, bool exact, const Element* a, const Element* tile, const float* p,
                     float* scores, float* sums, Stream stream) {
  if (width == 32) launch_attention<Element, 32>(left, exact, a, tile, p, scores, sums, stream);
  if (width == 64) launch_attention<Element, 64>(left, exact, a, tile, p, scores, sums, stream);
  if (width == 128) launch_attention<Element, 128>(left, exact, a, tile, p, scores, sums, stream);
}
template void probe_attention<float>(int, Left, bool, const float*, const float*, const float*, float*,
                                     float*, Stream);
template void probe_attention<bf16>(int, Left, bool, const bf16*, const bf16*, const float*, float*, float*,
                                    Stream);

}  // namespace bigbird::kernels::cuda::testing
