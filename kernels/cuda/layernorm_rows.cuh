// LayerNorm's backward pass over rows that a warp holds by itself: nobody waits for another warp before all rows
// are done, and the next two rows of each are on their way into shared memory while it works on one. For vectors
// of bf16.
#pragma once

#include "kernels/cuda/elements.cuh"

namespace bigbird::kernels::cuda {

// What a row's gradient does: it is written, added to what is there, or written and goes on to a branch.
enum class Leaving { written, added, to_branch };

// With g = dy * gamma, h = (x - mean) * rstd and means over the row:
//   dx = (g - mean(g) - h * mean(g * h)) * rstd
// and what goes to the branch when there is one. Each thread also adds up, of its columns over the rows that its
// warp meets, dgamma, dbeta and dbias, the last of what leaves for the branch (of dx, when there is none); the
// warps of a block add theirs at the end: partial[block, (dgamma, dbeta, dbias), column].
//
// A lane has `pieces` pieces of eight neighbouring columns, 256 columns apart. Its sums take most of the
// registers, so that wide rows have fewer warps in a block, and a multiprocessor one block. Sums of products are
// fused by name: what all instances compute they round alike.
template <int pieces_, Leaving leaving>
struct LayerNormBackwardByWarps {
  static constexpr int pieces = pieces_;
  static constexpr int N = vector_elements<bf16>;
  static constexpr int widest = pieces * 32 * N;
  static constexpr int warps = pieces <= 2 ? 16 : pieces == 3 ? 12 : 8;
  static constexpr int threads = 32 * warps;
  static constexpr int blocks_per_sm = 1;
  static constexpr Index most_blocks = 132;  // one to each multiprocessor of a GH100
  // Two rows of dy and x for each warp; then gamma. The sums of the warps take the place of the rows.
  static constexpr int ahead = 2;
  static constexpr int ring = warps * ahead * 2 * widest;  // elements
  static constexpr int gamma_at = ring * static_cast<int>(sizeof(bf16));
  static constexpr std::size_t shared_bytes = gamma_at + widest * sizeof(float);
  static_assert(warps * widest * static_cast<int>(sizeof(float)) <= gamma_at);
  static_assert(shared_bytes <= 99 * 1024);  // what a block has on 8.6 and 8.9

  const bf16* dy;
  const bf16* x;
  const float* gamma;
  const float* mean;
  const float* rstd;
  bf16* dx;
  bf16* branch;
  DropoutFactors dropout;
  float* partial;
  int outputs;  // 3, or 2: without dbias, as where gradients are added
  Index rows;
  int width;
  float one_over_width;

  static Index blocks(Index rows) { return std::min(most_blocks, blocks_for(rows, warps)); }

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    bring_gamma(thread);
    const std::uint64_t key = leaving == Leaving::to_branch && dropout.first_kept != 0 ? *dropout.seed : 0;
    const Index apart = Index{thread.blocks()} * warps;
    Index row = Index{thread.block()} * warps + thread.warp();
    OfRow next = find(row);
#pragma unroll
    for (int stage = 0; stage < ahead; ++stage) bring_row(thread, stage, row + stage * apart);
    Held dgamma = {}, dbeta = {}, dbias = {};
    int stage = 0;
    for (; row < rows; row += apart) {
      const OfRow of_row = next;
      next = find(row + apart);
      // Masks wait for nothing: they are drawn while the row is on its way.
      const unsigned kept = leaving == Leaving::to_branch ? draw(thread, key, of_row.drawn_as) : 0;
      thread.template wait_copies<ahead - 1>();
      Held gradient, normal;  // g and h
      float sums[2] = {0.0f, 0.0f};
#pragma unroll
      for (int piece = 0; piece < pieces; ++piece) {
        read_piece(thread, stage, piece, of_row, gradient[piece], normal[piece]);
        add_piece(thread, piece, gradient[piece], normal[piece], dgamma[piece], dbeta[piece], sums);
      }
      // What this lane has read is where its next row goes.
      bring_row(thread, stage, row + ahead * apart);
      stage = stage + 1 == ahead ? 0 : stage + 1;
      Pack<bf16, N> before[pieces] = {};
      if constexpr (leaving == Leaving::added) {
#pragma unroll
        for (int piece = 0; piece < pieces; ++piece) {
          const int column = column_of(thread, piece);
          if (column < width) before[piece] = load<N>(dx + row * width + column);
        }
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) sums[i] = warp_sum(thread, sums[i]) * one_over_width;
#pragma unroll
      for (int piece = 0; piece < pieces; ++piece) {
        write_piece(thread, row, piece, of_row.rstd, gradient[piece], normal[piece], sums, before[piece],
                    kept >> (piece * N), dbias[piece]);
      }
    }
    thread.template wait_copies<0>();
    write_sums(thread, 0, dgamma);
    write_sums(thread, 1, dbeta);
    if (leaving != Leaving::added && outputs == 3) write_sums(thread, 2, dbias);
  }

 private:
  using Held = float[pieces][N];
  struct OfRow {
    float mean, rstd;
    Index drawn_as;  // the row that its masks are drawn for
  };

  BIGBIRD_DEVICE OfRow find(Index row) const {
    const bool there = row < rows;
    const bool elsewhere = leaving == Leaving::to_branch && dropout.rows != nullptr && there;
    return {there ? mean[row] : 0.0f, there ? rstd[row] : 0.0f, elsewhere ? Index{dropout.rows[row]} : row};
  }
  // Of a piece's first element. Lanes behind the end of a row work on zeros, and write nothing.
  BIGBIRD_DEVICE static int column_of(Thread& thread, int piece) {
    return (piece * 32 + thread.lane()) * N;
  }
  // One bit for each of the lane's elements.
  BIGBIRD_DEVICE unsigned draw(Thread& thread, std::uint64_t key, Index row) const {
    if (dropout.first_kept == 0) return ~0u;
    unsigned kept = 0;
#pragma unroll
    for (int piece = 0; piece < pieces; ++piece) {
      kept |= dropout.template kept<N>(key, row * width + column_of(thread, piece)) << (piece * N);
    }
    return kept;
  }
  BIGBIRD_DEVICE static Shared<bf16> row_of_stage(Thread& thread, int stage) {
    return thread.shared<bf16>(0, ring) + (thread.warp() * ahead + stage) * 2 * widest;
  }
  BIGBIRD_DEVICE void bring_row(Thread& thread, int stage, Index row) const {
    if (row < rows) {
      const Shared<bf16> to = row_of_stage(thread, stage);
#pragma unroll
      for (int piece = 0; piece < pieces; ++piece) {
        const int column = column_of(thread, piece);
        const bool valid = column < width;
        const Index from = row * width + (valid ? column : 0);
        thread.copy_async(to, column, dy + from, valid);
        thread.copy_async(to, widest + column, x + from, valid);
      }
    }
    thread.commit_copies();
  }
  // Floats in shared memory of columns (or their sums), halves of a lane's pieces apart: neighbouring lanes
  // have neighbouring vectors.
  BIGBIRD_DEVICE static int place_of_half(Thread& thread, int piece, int half) {
    return ((piece * 2 + half) * 32 + thread.lane()) * 4;
  }
  BIGBIRD_DEVICE static int column_of_place(int place) {
    return (place / 256 * 32 + place / 4 % 32) * N + place / 128 % 2 * 4;
  }
  BIGBIRD_DEVICE static void store_halves(Thread& thread, Shared<float> to, int piece,
                                          const float (&values)[N]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      Pack<float, 4> pack;
#pragma unroll
      for (int i = 0; i < 4; ++i) pack[i] = values[half * 4 + i];
      to.store(place_of_half(thread, piece, half), pack);
    }
  }
  BIGBIRD_DEVICE void bring_gamma(Thread& thread) const {
    const Shared<float> to = thread.shared<float>(gamma_at, widest);
    if (thread.warp() == 0) {
#pragma unroll
      for (int piece = 0; piece < pieces; ++piece) {
        float scale[N] = {};
        const int column = column_of(thread, piece);
        if (column < width) load_floats(gamma + column, scale);
        store_halves(thread, to, piece, scale);
      }
    }
    thread.barrier();
  }

  // dy as it is and h.
  BIGBIRD_DEVICE void read_piece(Thread& thread, int stage, int piece, const OfRow& of_row,
                                 float (&gradient)[N], float (&normal)[N]) const {
    const Shared<bf16> from = row_of_stage(thread, stage);
    const int at = column_of(thread, piece);
    to_floats(from.template load<N>(at), gradient);
    to_floats(from.template load<N>(widest + at), normal);
#pragma unroll
    for (int i = 0; i < N; ++i) normal[i] = (normal[i] - of_row.mean) * of_row.rstd;
  }
  // gradient: dy before, g after.
  BIGBIRD_DEVICE void add_piece(Thread& thread, int piece, float (&gradient)[N], const float (&normal)[N],
                                float (&dgamma)[N], float (&dbeta)[N], float (&sums)[2]) const {
    const Shared<float> scale = thread.shared<float>(gamma_at, widest);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Pack<float, 4> four = scale.template load<4>(place_of_half(thread, piece, half));
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = half * 4 + i;
        dgamma[at] = fmaf(gradient[at], normal[at], dgamma[at]);
        dbeta[at] += gradient[at];
        gradient[at] *= four[i];
        sums[0] += gradient[at];
        sums[1] = fmaf(gradient[at], normal[at], sums[1]);
      }
    }
  }
  // means: over the row, of g and of g h.
  BIGBIRD_DEVICE void write_piece(Thread& thread, Index row, int piece, float inverse,
                                  const float (&gradient)[N], const float (&normal)[N],
                                  const float (&means)[2], const Pack<bf16, N>& before, unsigned kept,
                                  float (&dbias)[N]) const {
    const int column = column_of(thread, piece);
    const Index at = row * width + column;
    float out[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const float difference = fmaf(-normal[i], means[1], gradient[i] - means[0]);
      out[i] =
          leaving == Leaving::added ? fmaf(difference, inverse, to_float(before[i])) : difference * inverse;
    }
    if (column < width) store_floats(dx + at, out);
    if constexpr (leaving == Leaving::to_branch) {
#pragma unroll
      for (int i = 0; i < N; ++i) {
        out[i] = rounded<bf16>(out[i]) * ((kept >> i & 1u) != 0 ? dropout.scale : 0.0f);
      }
      if (column < width) store_floats(branch + at, out);
    }
    if constexpr (leaving != Leaving::added) {
#pragma unroll
      for (int i = 0; i < N; ++i) dbias[i] += rounded<bf16>(out[i]);
    }
  }

  // The sums of the block's warps, in their order.
  BIGBIRD_DEVICE void write_sums(Thread& thread, int output, const Held& sums) const {
    const Shared<float> all = thread.shared<float>(0, warps * widest);
    thread.barrier();  // nobody reads what was there before
#pragma unroll
    for (int piece = 0; piece < pieces; ++piece) {
      store_halves(thread, all + thread.warp() * widest, piece, sums[piece]);
    }
    thread.barrier();
    float* const to = partial + (Index{thread.block()} * outputs + output) * width;
    for (int place = thread.index() * 4; place < widest; place += threads * 4) {
      const int column = column_of_place(place);
      if (column >= width) continue;
      float total[4] = {};
      for (int warp = 0; warp < warps; ++warp) {
        const Pack<float, 4> four = all.template load<4>(warp * widest + place);
#pragma unroll
        for (int i = 0; i < 4; ++i) total[i] += four[i];
      }
      store_floats(to + column, total);
    }
  }
};

}  // namespace bigbird::kernels::cuda
