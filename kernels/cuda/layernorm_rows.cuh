// LayerNorm over rows that a warp has by itself, forward with what a post-LN branch has before it, and
// backward: nobody waits for another warp before all rows are done, and the next two rows of each are on
// their way into shared memory while it works on one. For vectors of bf16.
#pragma once

#include "kernels/cuda/elements.cuh"

namespace bigbird::kernels::cuda {

// How a warp has a row: a lane has `pieces` pieces of eight neighbouring columns, 256 columns apart. Lanes
// behind the end of a row work on zeros, and write nothing.
template <int pieces>
struct WarpRow {
  static constexpr int N = vector_elements<bf16>;
  static constexpr int widest = pieces * 32 * N;

  // The first of a piece.
  static BIGBIRD_DEVICE int column(Thread& thread, int piece) { return (piece * 32 + thread.lane()) * N; }

  // Brings a row of both matrices, one behind the other.
  static BIGBIRD_DEVICE void bring(Thread& thread, Shared<bf16> to, const bf16* first, const bf16* second,
                                   int width) {
#pragma unroll
    for (int piece = 0; piece < pieces; ++piece) {
      const int at = column(thread, piece);
      const bool valid = at < width;
      thread.copy_async(to, at, first + (valid ? at : 0), valid);
      thread.copy_async(to, widest + at, second + (valid ? at : 0), valid);
    }
  }

  // Floats of columns in shared memory: halves of pieces apart, so that neighbouring lanes have neighbouring
  // vectors.
  static BIGBIRD_DEVICE int place_of_half(Thread& thread, int piece, int half) {
    return ((piece * 2 + half) * 32 + thread.lane()) * 4;
  }
  static BIGBIRD_DEVICE int column_of_place(int place) {
    return (place / 256 * 32 + place / 4 % 32) * N + place / 128 % 2 * 4;
  }
  static BIGBIRD_DEVICE void store_halves(Thread& thread, Shared<float> to, int piece,
                                          const float (&values)[N]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      Pack<float, 4> pack;
#pragma unroll
      for (int i = 0; i < 4; ++i) pack[i] = values[half * 4 + i];
      to.store(place_of_half(thread, piece, half), pack);
    }
  }
  static BIGBIRD_DEVICE void load_halves(Thread& thread, Shared<float> from, int piece, float (&values)[N]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Pack<float, 4> pack = from.template load<4>(place_of_half(thread, piece, half));
#pragma unroll
      for (int i = 0; i < 4; ++i) values[half * 4 + i] = pack[i];
    }
  }
  // Parameters of columns, brought by one warp; others see them after a barrier.
  static BIGBIRD_DEVICE void bring_floats(Thread& thread, Shared<float> to, const float* from, int width) {
#pragma unroll
    for (int piece = 0; piece < pieces; ++piece) {
      float values[N] = {};
      if (column(thread, piece) < width) load_floats(from + column(thread, piece), values);
      store_halves(thread, to, piece, values);
    }
  }

  // Of a piece; values: before and after they are rounded.
  static BIGBIRD_DEVICE void store_rounded(Thread& thread, bf16* row, int piece, int width,
                                           float (&values)[N]) {
    const Pack<bf16, N> pack = pack_floats(values);
    if (row != nullptr && column(thread, piece) < width) store(row + column(thread, piece), pack);
    to_floats(pack, values);
  }

  // The dropout's bits of a lane.
  static BIGBIRD_DEVICE unsigned draw(Thread& thread, const DropoutFactors& dropout, std::uint64_t key,
                                      int row, int width) {
    int columns[pieces];
#pragma unroll
    for (int piece = 0; piece < pieces; ++piece) columns[piece] = column(thread, piece);
    return dropout.template kept<N>(key, row, width, columns);
  }
};

// Whether a warp can have rows of that width by itself, and body(integral_constant<int, pieces>) for those.
inline bool by_warps(Index width) {
  return width % vector_elements<bf16> == 0 && width <= WarpRow<4>::widest;
}
template <class Body>
void with_pieces(Index width, const Body& body) {
  if (width <= WarpRow<1>::widest) return body(std::integral_constant<int, 1>{});
  if (width <= WarpRow<2>::widest) return body(std::integral_constant<int, 2>{});
  if (width <= WarpRow<3>::widest) return body(std::integral_constant<int, 3>{});
  body(std::integral_constant<int, 4>{});
}

// sum = residual + dropout(x), which is kept, and y = LayerNorm(sum). Sums run in the order that
// LayerNormForward (layernorm.cu) has for such a row: the same bits.
template <int pieces_>
struct DropoutAddLayerNormByWarps {
  static constexpr int pieces = pieces_;
  using Lanes = WarpRow<pieces>;
  static constexpr int N = Lanes::N, widest = Lanes::widest;
  static constexpr int warps = 8;
  static constexpr int threads = 32 * warps;
  static constexpr int blocks_per_sm = pieces <= 3 ? 3 : 2;
  // Two rows of x and residual for each warp; then gamma and beta.
  static constexpr int ahead = 2;
  static constexpr int ring = warps * ahead * 2 * widest;  // elements
  static constexpr int gamma_at = ring * static_cast<int>(sizeof(bf16));
  static constexpr int beta_at = gamma_at + widest * static_cast<int>(sizeof(float));
  static constexpr std::size_t shared_bytes = beta_at + widest * sizeof(float);
  static_assert(shared_bytes <= 99 * 1024);

  const bf16* x;
  const bf16* residual;
  bf16* sum;  // may be null
  DropoutFactors dropout;
  const float* gamma;
  const float* beta;
  float epsilon;
  bf16* y;
  float* mean;  // may be null, as rstd
  float* rstd;
  int rows;
  int width;

  // One wave of them.
  static Index blocks(Index rows, int multiprocessors) {
    return std::min(Index{multiprocessors} * blocks_per_sm, blocks_for(rows, warps));
  }

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Shared<float> scale = thread.shared<float>(gamma_at, widest);
    const Shared<float> shift = thread.shared<float>(beta_at, widest);
    const std::uint64_t key = dropout.key();
    const int apart = thread.blocks() * warps;
    int row = thread.block() * warps + thread.warp();
#pragma unroll
    for (int stage = 0; stage < ahead; ++stage) bring_row(thread, stage, row + stage * apart);
    if (thread.warp() == 0) Lanes::bring_floats(thread, scale, gamma, width);
    if (thread.warp() == 1) Lanes::bring_floats(thread, shift, beta, width);
    thread.barrier();
    int stage = 0;
    for (; row < rows; row += apart) {
      // Masks wait for nothing: they are drawn while the row is on its way.
      const unsigned kept = Lanes::draw(thread, dropout, key, dropout.drawn_as(row), width);
      thread.template wait_copies<ahead - 1>();
      float values[pieces][N];
      float total = 0.0f;
#pragma unroll
      for (int piece = 0; piece < pieces; ++piece) {
        join(thread, stage, piece, kept >> (piece * N), values[piece]);
        Lanes::store_rounded(thread, sum == nullptr ? nullptr : sum + Index{row} * width, piece, width,
                             values[piece]);
#pragma unroll
        for (int i = 0; i < N; ++i) total += values[piece][i];
      }
      // What this lane has read is where its next row goes.
      bring_row(thread, stage, row + ahead * apart);
      stage = stage + 1 == ahead ? 0 : stage + 1;
      const float average = warp_sum(thread, total) / static_cast<float>(width);
      float squares = 0.0f;
#pragma unroll
      for (int piece = 0; piece < pieces; ++piece) {
        const bool there = Lanes::column(thread, piece) < width;
#pragma unroll
        for (int i = 0; i < N; ++i) {
          const float difference = there ? values[piece][i] - average : 0.0f;
          squares = fmaf(difference, difference, squares);
        }
      }
      squares = warp_sum(thread, squares);
      const float inverse = 1.0f / sqrtf(squares / static_cast<float>(width) + epsilon);
#pragma unroll
      for (int piece = 0; piece < pieces; ++piece) {
        float by[N], add[N];
        Lanes::load_halves(thread, scale, piece, by);
        Lanes::load_halves(thread, shift, piece, add);
#pragma unroll
        for (int i = 0; i < N; ++i) {
          values[piece][i] = fmaf((values[piece][i] - average) * inverse, by[i], add[i]);
        }
        const int column = Lanes::column(thread, piece);
        if (column < width) store_floats(y + Index{row} * width + column, values[piece]);
      }
      if (thread.lane() == 0) {
        if (mean != nullptr) mean[row] = average;
        if (rstd != nullptr) rstd[row] = inverse;
      }
    }
    thread.template wait_copies<0>();
  }

 private:
  BIGBIRD_DEVICE static Shared<bf16> row_of_stage(Thread& thread, int stage) {
    return thread.shared<bf16>(0, ring) + (thread.warp() * ahead + stage) * 2 * widest;
  }
  BIGBIRD_DEVICE void bring_row(Thread& thread, int stage, int row) const {
    if (row < rows) {
      Lanes::bring(thread, row_of_stage(thread, stage), x + Index{row} * width, residual + Index{row} * width,
                   width);
    }
    thread.commit_copies();
  }
  BIGBIRD_DEVICE void join(Thread& thread, int stage, int piece, unsigned kept, float (&values)[N]) const {
    const Shared<bf16> from = row_of_stage(thread, stage);
    const int at = Lanes::column(thread, piece);
    float stay[N];
    to_floats(from.template load<N>(at), values);
    to_floats(from.template load<N>(widest + at), stay);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      values[i] = add_dropped(stay[i], values[i], dropout.factor(kept, i));
    }
  }
};

// What a row's gradient does: it is written, added to what is there, or written and goes on to a branch.
enum class Leaving { written, added, to_branch };

// With g = dy * gamma, h = (x - mean) * rstd and means over the row:
//   dx = (g - mean(g) - h * mean(g * h)) * rstd
// and what goes to the branch when there is one. Each thread also adds up, of its columns over the rows that
// its warp meets, dgamma, dbeta and dbias, the last of what leaves for the branch (of dx, when there is
// none); the warps of a block add theirs at the end: partial[block, (dgamma, dbeta, dbias), column].
//
// A lane's sums take most of the registers, so that wide rows have fewer warps in a block, and a
// multiprocessor one block. Sums of products are fused by name: what all instances compute they round alike.
template <int pieces_, Leaving leaving>
struct LayerNormBackwardByWarps {
  static constexpr int pieces = pieces_;
  using Lanes = WarpRow<pieces>;
  static constexpr int N = Lanes::N, widest = Lanes::widest;
  static constexpr int warps = pieces <= 2 ? 16 : pieces == 3 ? 12 : 8;
  static constexpr int threads = 32 * warps;
  static constexpr int blocks_per_sm = 1;
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
  int rows;
  int width;
  float one_over_width;

  // One wave of them.
  static Index blocks(Index rows, int multiprocessors) {
    return std::min(Index{multiprocessors} * blocks_per_sm, blocks_for(rows, warps));
  }

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const std::uint64_t key = leaving == Leaving::to_branch ? dropout.key() : 0;
    const int apart = thread.blocks() * warps;
    int row = thread.block() * warps + thread.warp();
    OfRow next = find(row);
#pragma unroll
    for (int stage = 0; stage < ahead; ++stage) bring_row(thread, stage, row + stage * apart);
    if (thread.warp() == 0) {
      Lanes::bring_floats(thread, thread.shared<float>(gamma_at, widest), gamma, width);
    }
    thread.barrier();
    Held dgamma = {}, dbeta = {}, dbias = {};
    int stage = 0;
    for (; row < rows; row += apart) {
      const OfRow of_row = next;
      next = find(row + apart);
      // Masks wait for nothing: they are drawn while the row is on its way.
      const unsigned kept =
          leaving == Leaving::to_branch ? Lanes::draw(thread, dropout, key, of_row.drawn_as, width) : 0;
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
          const int column = Lanes::column(thread, piece);
          if (column < width) before[piece] = load<N>(dx + Index{row} * width + column);
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
    int drawn_as;  // the row that its masks are drawn for
  };

  BIGBIRD_DEVICE OfRow find(int row) const {
    const bool there = row < rows;
    return {there ? mean[row] : 0.0f, there ? rstd[row] : 0.0f,
            leaving == Leaving::to_branch && there ? dropout.drawn_as(row) : row};
  }
  BIGBIRD_DEVICE static Shared<bf16> row_of_stage(Thread& thread, int stage) {
    return thread.shared<bf16>(0, ring) + (thread.warp() * ahead + stage) * 2 * widest;
  }
  BIGBIRD_DEVICE void bring_row(Thread& thread, int stage, int row) const {
    if (row < rows) {
      Lanes::bring(thread, row_of_stage(thread, stage), dy + Index{row} * width, x + Index{row} * width,
                   width);
    }
    thread.commit_copies();
  }

  // dy as it is and h.
  BIGBIRD_DEVICE void read_piece(Thread& thread, int stage, int piece, const OfRow& of_row,
                                 float (&gradient)[N], float (&normal)[N]) const {
    const Shared<bf16> from = row_of_stage(thread, stage);
    const int at = Lanes::column(thread, piece);
    to_floats(from.template load<N>(at), gradient);
    to_floats(from.template load<N>(widest + at), normal);
#pragma unroll
    for (int i = 0; i < N; ++i) normal[i] = (normal[i] - of_row.mean) * of_row.rstd;
  }
  // gradient: dy before, g after.
  BIGBIRD_DEVICE void add_piece(Thread& thread, int piece, float (&gradient)[N], const float (&normal)[N],
                                float (&dgamma)[N], float (&dbeta)[N], float (&sums)[2]) const {
    float scale[N];
    Lanes::load_halves(thread, thread.shared<float>(gamma_at, widest), piece, scale);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      dgamma[i] = fmaf(gradient[i], normal[i], dgamma[i]);
      dbeta[i] += gradient[i];
      gradient[i] *= scale[i];
      sums[0] += gradient[i];
      sums[1] = fmaf(gradient[i], normal[i], sums[1]);
    }
  }
  // means: over the row, of g and of g h.
  BIGBIRD_DEVICE void write_piece(Thread& thread, int row, int piece, float inverse,
                                  const float (&gradient)[N], const float (&normal)[N],
                                  const float (&means)[2], const Pack<bf16, N>& before, unsigned kept,
                                  float (&dbias)[N]) const {
    float out[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const float difference = fmaf(-normal[i], means[1], gradient[i] - means[0]);
      out[i] =
          leaving == Leaving::added ? fmaf(difference, inverse, to_float(before[i])) : difference * inverse;
    }
    Lanes::store_rounded(thread, dx + Index{row} * width, piece, width, out);
    if constexpr (leaving == Leaving::to_branch) {
#pragma unroll
      for (int i = 0; i < N; ++i) out[i] *= dropout.factor(kept, i);
      Lanes::store_rounded(thread, branch + Index{row} * width, piece, width, out);
    }
    if constexpr (leaving != Leaving::added) {
#pragma unroll
      for (int i = 0; i < N; ++i) dbias[i] += out[i];
    }
  }

  // The sums of the block's warps, in their order.
  BIGBIRD_DEVICE void write_sums(Thread& thread, int output, const Held& sums) const {
    const Shared<float> all = thread.shared<float>(0, warps * widest);
    thread.barrier();  // nobody reads what was there before
#pragma unroll
    for (int piece = 0; piece < pieces; ++piece) {
      Lanes::store_halves(thread, all + thread.warp() * widest, piece, sums[piece]);
    }
    thread.barrier();
    float* const to = partial + (Index{thread.block()} * outputs + output) * width;
    for (int place = thread.index() * 4; place < widest; place += threads * 4) {
      const int column = Lanes::column_of_place(place);
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
