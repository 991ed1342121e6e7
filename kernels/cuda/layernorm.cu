// LayerNorm, forward and backward. A row is shared out among the lanes of one, two, four or eight warps and
// is held in registers between the passes over it; rows that are too wide for that are read again.
#include "kernels/cuda/launchers.h"

#include "kernels/cuda/columns.cuh"
#include "kernels/cuda/layernorm_rows.cuh"

namespace bigbird::kernels::cuda {

namespace {

constexpr int threads_per_block = 256;
constexpr int warps_per_block = threads_per_block / 32;

// How the warps of a block share out rows: `warps` of them to a row.
struct RowPart {
  int warps;  // 1, 2, 4 or 8

  // The fewest warps that hold a row of that width when each thread holds `held` elements, or all of the
  // block.
  static RowPart of(Index width, int held) {
    int warps = 1;
    while (warps < warps_per_block && Index{warps} * 32 * held < width) warps *= 2;
    return {warps};
  }
  BIGBIRD_HOST_DEVICE int rows_per_block() const { return warps_per_block / warps; }
  BIGBIRD_DEVICE int row(Thread& thread) const { return thread.warp() / warps; }
  BIGBIRD_DEVICE int index(Thread& thread) const { return thread.index() % (32 * warps); }
};

// Which columns of its row a thread has. The threads of a row hold one round of it at a time, each of them
// `pieces` pieces of N neighbouring columns, `apart` from one piece to the next, so that neighbouring threads
// have neighbouring pieces. Most rows are one round.
template <int N, int pieces>
struct Columns {
  int first;  // of the first piece of the first round
  int apart;

  static BIGBIRD_DEVICE Columns of(Thread& thread, RowPart part) {
    return {part.index(thread) * N, 32 * part.warps * N};
  }
  BIGBIRD_DEVICE int round() const { return pieces * apart; }
  // body(piece, column) for the pieces of the round that begins with column `begin`, as far as they lie in a
  // row of `width` columns.
  template <class Body>
  BIGBIRD_DEVICE void of_round(int begin, int width, const Body& body) const {
#pragma unroll
    for (int piece = 0; piece < pieces; ++piece) {
      const int column = begin + piece * apart;
      if (column < width) body(piece, column);
    }
  }
};

// Sums of `count` numbers over the threads of each row, in a fixed order. All threads of the block come here;
// calls without a barrier between them use different slots.
template <int count>
BIGBIRD_DEVICE void sum_over_row(Thread& thread, RowPart part, int slot, float (&sums)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) sums[i] = warp_sum(thread, sums[i]);
  if (part.warps == 1) return;
  const auto partial_sums =
      thread.shared<float>(0, 2 * count * warps_per_block) + slot * count * warps_per_block;
  if (thread.lane() == 0) {
#pragma unroll
    for (int i = 0; i < count; ++i) partial_sums[i * warps_per_block + thread.warp()] = sums[i];
  }
  thread.barrier();
  const int first = part.row(thread) * part.warps;
#pragma unroll
  for (int i = 0; i < count; ++i) {
    float total = 0.0f;
    for (int warp = 0; warp < part.warps; ++warp) total += partial_sums[i * warps_per_block + first + warp];
    sums[i] = total;
  }
}

// --- forward

// Rows that are there.
template <class T>
struct PlainRows {
  const T* x;
  template <int N>
  struct Raw {
    Pack<T, N> x;
  };
  template <int N>
  BIGBIRD_DEVICE Raw<N> load_raw(Index at) const {
    return {load<N>(x + at)};
  }
  template <int N>
  BIGBIRD_DEVICE void finish(Index, const Raw<N>& raw, float (&values)[N]) const {
    to_floats(raw.x, values);
  }
  BIGBIRD_DEVICE const T* rows() const { return x; }
};

// sum = residual + dropout(x), which is kept.
template <class T>
struct DropoutAddRows {
  const T* x;
  const T* residual;
  T* sum;
  DropoutFactors dropout;
  template <int N>
  struct Raw {
    Pack<T, N> x, residual;
  };
  template <int N>
  BIGBIRD_DEVICE Raw<N> load_raw(Index at) const {
    return {load<N>(x + at), load<N>(residual + at)};
  }
  template <int N>
  BIGBIRD_DEVICE void finish(Index at, const Raw<N>& raw, float (&values)[N]) const {
    float stay[N], factors[N];
    to_floats(raw.x, values);
    to_floats(raw.residual, stay);
    dropout.get(at, factors);
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] = rounded<T>(add_dropped(stay[i], values[i], factors[i]));
    store_floats(sum + at, values);
  }
  BIGBIRD_DEVICE const T* rows() const {
    return sum;
  }
};

// held: elements of a row in one thread. A row of up to 32 times that is a warp's, so that nobody waits for
// another warp.
template <class T, int N, int held, class Source>
struct LayerNormForward {
  static constexpr int threads = threads_per_block;
  // Vectors of bf16 with dropout come here in wide rows alone, and take the more registers.
  static constexpr int blocks_per_sm = held == 24                                        ? 4
                                       : N == 8 && !std::is_same_v<Source, PlainRows<T>> ? 1
                                                                                         : 2;
  static constexpr int pieces = held / N;
  static constexpr std::size_t shared_bytes = 2 * warps_per_block * sizeof(float);
  Source source;
  const float* gamma;
  const float* beta;
  float epsilon;
  T* y;
  float* mean;
  float* rstd;
  Index rows;
  int width;
  RowPart part;

  // Three passes over the row: mean, variance, result. A row of one round is read in the first and stays in
  // `values`; a wider one is read again in each. Sums of products are fused by name: the instances for both
  // sources round alike, whatever a compiler makes of each.
  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index row = Index{thread.block()} * part.rows_per_block() + part.row(thread);
    // Threads behind the last row have no columns, and still come to the barriers.
    const int columns = row < rows ? width : 0;
    const Index start = row * width;
    const auto mine = Columns<N, pieces>::of(thread, part);
    const bool again = columns > mine.round();
    float values[pieces][N] = {};

    float sum[1] = {0.0f};
    for (int begin = mine.first; begin < columns; begin += mine.round()) {
      // All loads of a round are under way before the first of them is waited for.
      typename Source::template Raw<N> raw[pieces] = {};
      mine.of_round(begin, columns,
                    [&](int piece, int column) { raw[piece] = source.template load_raw<N>(start + column); });
      mine.of_round(begin, columns, [&](int piece, int column) {
        source.finish(start + column, raw[piece], values[piece]);
#pragma unroll
        for (int i = 0; i < N; ++i) sum[0] += values[piece][i];
      });
    }
    sum_over_row(thread, part, 0, sum);
    const float average = sum[0] / static_cast<float>(width);

    float squares[1] = {0.0f};
    for (int begin = mine.first; begin < columns; begin += mine.round()) {
      if (again) read_again(mine, begin, columns, start, values);
      mine.of_round(begin, columns, [&](int piece, int) {
#pragma unroll
        for (int i = 0; i < N; ++i) {
          const float difference = values[piece][i] - average;
          squares[0] = fmaf(difference, difference, squares[0]);
        }
      });
    }
    sum_over_row(thread, part, 1, squares);
    const float inverse = 1.0f / sqrtf(squares[0] / static_cast<float>(width) + epsilon);

    for (int begin = mine.first; begin < columns; begin += mine.round()) {
      if (again) read_again(mine, begin, columns, start, values);
      mine.of_round(begin, columns, [&](int piece, int column) {
        float scale[N], shift[N];
        load_floats(gamma + column, scale);
        load_floats(beta + column, shift);
#pragma unroll
        for (int i = 0; i < N; ++i) {
          values[piece][i] = fmaf((values[piece][i] - average) * inverse, scale[i], shift[i]);
        }
        store_floats(y + start + column, values[piece]);
      });
    }
    if (row < rows && mine.first == 0) {
      if (mean != nullptr) mean[row] = average;
      if (rstd != nullptr) rstd[row] = inverse;
    }
  }

  BIGBIRD_DEVICE void read_again(const Columns<N, pieces>& mine, int begin, int columns, Index start,
                                 float (&values)[pieces][N]) const {
    mine.of_round(begin, columns,
                  [&](int piece, int column) { load_floats(source.rows() + start + column, values[piece]); });
  }
};

template <class T, int N, class Source>
void run_forward(const Source& source, const Norm& norm, Values y, const NormState& state, Index rows,
                 Stream stream) {
  const auto run = [&](auto held) {
    using Kernel = LayerNormForward<T, N, held(), Source>;
    const RowPart part = RowPart::of(norm.width, held());
    launch(Kernel{source, norm.gamma, norm.beta, norm.epsilon, y.as<T>(), state.mean, state.rstd, rows,
                  static_cast<int>(norm.width), part},
           {.blocks = blocks_for(rows, part.rows_per_block()), .shared_bytes = Kernel::shared_bytes}, stream);
  };
  if constexpr (N == 1) {
    return run(std::integral_constant<int, 16>{});  // single elements take more registers
  } else if constexpr (std::is_same_v<Source, PlainRows<T>>) {
    // Twice as many warps have such a row at once.
    if (norm.width <= 32 * 24) return run(std::integral_constant<int, 24>{});
  }
  if constexpr (N != 1) run(std::integral_constant<int, 32>{});
}

// Rows of bf16 of which a warp brings the next ones while it works on one.
template <int pieces>
void run_forward_by_warps(const ResidualSum& join, const Norm& norm, Values y, const NormState& state,
                          Index rows, int multiprocessors, Stream stream) {
  using Kernel = DropoutAddLayerNormByWarps<pieces>;
  launch(Kernel{join.x.as<bf16>(), join.residual.as<bf16>(), join.sum.as<bf16>(),
                DropoutFactors(join.dropout), norm.gamma, norm.beta, norm.epsilon, y.as<bf16>(), state.mean,
                state.rstd, static_cast<int>(rows), static_cast<int>(norm.width)},
         {.blocks = Kernel::blocks(rows, multiprocessors), .shared_bytes = Kernel::shared_bytes}, stream);
}

// --- backward
constexpr int held_backward = 8;  // elements of a row in one thread
// Rows beyond have their sums over rows taken by a kernel of its own.
constexpr Index widest_with_sums = Index{threads_per_block} * held_backward;
constexpr int blocks_with_sums_per_sm = 2;  // one wave of them
Index blocks_with_sums(Index rows, Index width, int multiprocessors) {
  return std::min(Index{multiprocessors} * blocks_with_sums_per_sm,
                  blocks_for(rows, RowPart::of(width, held_backward).rows_per_block()));
}

// With g = dy * gamma, h = (x - mean) * rstd and means over the row:
//   dx = (g - mean(g) - h * mean(g * h)) * rstd
// and what goes to the branch when there is one. With sums, each thread also adds up, of its columns over the
// rows that it meets, dgamma, dbeta and dbias, the last of what leaves for the branch (of dx, when there is
// none): partial[block and row of it, (dgamma, dbeta, dbias), column].
template <class T, int N, bool with_sums>
struct LayerNormBackward {
  static constexpr int threads = threads_per_block;
  static constexpr int blocks_per_sm = with_sums ? blocks_with_sums_per_sm : N == 1 ? 2 : 3;
  static constexpr int pieces = held_backward / N;
  static constexpr std::size_t shared_bytes = 4 * warps_per_block * sizeof(float);
  using Mine = Columns<N, pieces>;
  using Held = float[pieces][N];  // a number for each column of the thread in a round
  const T* dy;
  const T* x;
  const float* gamma;
  const float* mean;
  const float* rstd;
  T* dx;
  bool accumulate;
  T* branch;  // may be null
  DropoutFactors dropout;
  float* partial;
  int outputs;  // 3, or 2: without dbias
  Index rows;
  int width;
  RowPart part;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Mine mine = Mine::of(thread, part);
    if constexpr (with_sums) {
      add_up_rows(thread, mine);
    } else {
      read_twice(thread, mine);
    }
  }

 private:
  struct Row {
    Index start;  // of its elements
    int columns;  // 0 behind the last row: its threads still come to the barriers
    float mean, rstd;
  };
  struct Raw {
    Pack<T, N> dy[pieces], x[pieces];
  };

  // Rows of one round: each is read once, while the one before it is worked on, and stays in `gradient` (dy)
  // and `normal` (h). gamma is read once for all rows.
  BIGBIRD_DEVICE void add_up_rows(Thread& thread, const Mine& mine) const {
    const Index rows_of_block = part.rows_per_block(), apart = thread.blocks() * rows_of_block;
    Held scale = {}, dgamma = {}, dbeta = {}, dbias = {};
    read_scale(mine, mine.first, scale);
    Index first = thread.block() * rows_of_block;
    Row next = find(first + part.row(thread));
    Raw raw = {};
    load_raw(mine, next, raw);
    int slot = 0;  // neighbouring rows sum in different partial sums
    for (; first < rows; first += apart) {
      const Row row = next;
      Held gradient = {}, normal = {};
      mine.of_round(mine.first, row.columns, [&](int piece, int) {
        to_floats(raw.dy[piece], gradient[piece]);
        to_floats(raw.x[piece], normal[piece]);
        normalise(row, normal[piece]);
      });
      next = find(first + apart + part.row(thread));
      load_raw(mine, next, raw);

      float sums[2] = {0.0f, 0.0f};  // of g, of g h
      add_to_gradients(mine, mine.first, row, gradient, normal, dgamma, dbeta);
      add_to_means(mine, mine.first, row, gradient, normal, scale, sums);
      sum_over_row(thread, part, slot, sums);
      slot ^= 1;
      write(mine, mine.first, row, gradient, normal, scale, sums, dbias);
    }
    float* const to = partial + (thread.block() * rows_of_block + part.row(thread)) * outputs * width;
    mine.of_round(mine.first, width, [&](int piece, int column) {
      store_floats(to + column, dgamma[piece]);
      store_floats(to + width + column, dbeta[piece]);
      if (outputs == 3) store_floats(to + 2 * width + column, dbias[piece]);
    });
  }

  // Two passes over a row of several rounds: the two means, then dx. One of a single round is read in the
  // first and stays.
  BIGBIRD_DEVICE void read_twice(Thread& thread, const Mine& mine) const {
    const Row row = find(thread.block() * part.rows_per_block() + part.row(thread));
    Held gradient = {}, normal = {}, scale = {}, dbias = {};
    const auto read = [&](int begin) {
      Raw raw = {};
      mine.of_round(begin, row.columns, [&](int piece, int column) {
        raw.dy[piece] = load<N>(dy + row.start + column);
        raw.x[piece] = load<N>(x + row.start + column);
      });
      mine.of_round(begin, row.columns, [&](int piece, int) {
        to_floats(raw.dy[piece], gradient[piece]);
        to_floats(raw.x[piece], normal[piece]);
        normalise(row, normal[piece]);
      });
      read_scale(mine, begin, scale);
    };
    float sums[2] = {0.0f, 0.0f};
    for (int begin = mine.first; begin < row.columns; begin += mine.round()) {
      read(begin);
      add_to_means(mine, begin, row, gradient, normal, scale, sums);
    }
    sum_over_row(thread, part, 0, sums);
    for (int begin = mine.first; begin < row.columns; begin += mine.round()) {
      if (row.columns > mine.round()) read(begin);
      write(mine, begin, row, gradient, normal, scale, sums, dbias);
    }
  }

  BIGBIRD_DEVICE Row find(Index row) const {
    const bool there = row < rows;
    return {row * width, there ? width : 0, there ? mean[row] : 0.0f, there ? rstd[row] : 0.0f};
  }
  BIGBIRD_DEVICE void load_raw(const Mine& mine, const Row& row, Raw& raw) const {
    mine.of_round(mine.first, row.columns, [&](int piece, int column) {
      raw.dy[piece] = load<N>(dy + row.start + column);
      raw.x[piece] = load<N>(x + row.start + column);
    });
  }
  BIGBIRD_DEVICE void read_scale(const Mine& mine, int begin, Held& scale) const {
    mine.of_round(begin, width, [&](int piece, int column) { load_floats(gamma + column, scale[piece]); });
  }
  BIGBIRD_DEVICE static void normalise(const Row& row, float (&values)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] = (values[i] - row.mean) * row.rstd;
  }

  BIGBIRD_DEVICE static void add_to_gradients(const Mine& mine, int begin, const Row& row,
                                              const Held& gradient, const Held& normal, Held& dgamma,
                                              Held& dbeta) {
    mine.of_round(begin, row.columns, [&](int piece, int) {
#pragma unroll
      for (int i = 0; i < N; ++i) {
        dgamma[piece][i] += gradient[piece][i] * normal[piece][i];
        dbeta[piece][i] += gradient[piece][i];
      }
    });
  }

  BIGBIRD_DEVICE static void add_to_means(const Mine& mine, int begin, const Row& row, const Held& gradient,
                                          const Held& normal, const Held& scale, float (&sums)[2]) {
    mine.of_round(begin, row.columns, [&](int piece, int) {
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const float scaled = gradient[piece][i] * scale[piece][i];
        sums[0] += scaled;
        sums[1] += scaled * normal[piece][i];
      }
    });
  }

  // sums: over the row, of g and of g h.
  BIGBIRD_DEVICE void write(const Mine& mine, int begin, const Row& row, const Held& gradient,
                            const Held& normal, const Held& scale, const float (&sums)[2],
                            Held& dbias) const {
    const float means[2] = {sums[0] / static_cast<float>(width), sums[1] / static_cast<float>(width)};
    mine.of_round(begin, row.columns, [&](int piece, int column) {
      const Index at = row.start + column;
      float out[N];
      if (accumulate) load_floats(dx + at, out);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const float scaled = gradient[piece][i] * scale[piece][i];
        const float value = (scaled - means[0] - normal[piece][i] * means[1]) * row.rstd;
        out[i] = accumulate ? out[i] + value : value;
      }
      store_floats(dx + at, out);
      if (branch != nullptr) {
        float factors[N];
        dropout.get(at, factors);
#pragma unroll
        for (int i = 0; i < N; ++i) out[i] = rounded<T>(out[i]) * factors[i];
        store_floats(branch + at, out);
      }
      if (with_sums) {
#pragma unroll
        for (int i = 0; i < N; ++i) dbias[piece][i] += rounded<T>(out[i]);
      }
    });
  }
};

// dgamma and dbeta of rows that are too wide for LayerNormBackward to sum.
template <class T>
struct NormalisedColumns {
  static constexpr int outputs = 2;
  const T* dy;
  const T* x;
  const float* mean;
  const float* rstd;
  Index width;
  template <int N>
  BIGBIRD_DEVICE void add(Index row, Index column, float (&sums)[2][N]) const {
    float gradient[N], normal[N];
    load_floats(dy + row * width + column, gradient);
    load_floats(x + row * width + column, normal);
    const float average = mean[row], inverse = rstd[row];
#pragma unroll
    for (int i = 0; i < N; ++i) {
      sums[0][i] += gradient[i] * ((normal[i] - average) * inverse);
      sums[1][i] += gradient[i];
    }
  }
};

struct Branch {
  Values data;  // may be null
  Dropout dropout;
};

template <int pieces>
void run_backward_by_warps(const NormBackward& pass, const Norm& norm, const NormGradients& gradients,
                           bool accumulate, const Branch& branch, const NormScratch& scratch, Stream stream) {
  const Index width = norm.width;
  const int outputs = gradients.linear_bias == nullptr ? 2 : 3;
  auto* const partial = static_cast<float*>(scratch.memory);
  const auto run = [&](auto leaving) {
    using Kernel = LayerNormBackwardByWarps<pieces, leaving()>;
    const Index blocks = Kernel::blocks(pass.rows, scratch.multiprocessors);
    launch(
        Kernel{pass.dy.as<bf16>(), pass.x.as<bf16>(), norm.gamma, pass.state.mean, pass.state.rstd,
               pass.dx.as<bf16>(), branch.data.as<bf16>(), DropoutFactors(branch.dropout), partial, outputs,
               static_cast<int>(pass.rows), static_cast<int>(width), 1.0f / static_cast<float>(width)},
        {.blocks = blocks, .shared_bytes = Kernel::shared_bytes}, stream);
    fold_parts(partial, blocks, outputs * width, width, gradients.gamma, gradients.beta,
               gradients.linear_bias, stream);
  };
  if (accumulate) return run(std::integral_constant<Leaving, Leaving::added>{});
  if (branch.data == nullptr) return run(std::integral_constant<Leaving, Leaving::written>{});
  run(std::integral_constant<Leaving, Leaving::to_branch>{});
}

void run_backward(const NormBackward& pass, const Norm& norm, const NormGradients& gradients, bool accumulate,
                  const Branch& branch, const NormScratch& scratch, Stream stream) {
  const ElementType type = pass.dx.type();
  assert(pass.dy.type() == type && pass.x.type() == type &&
         (branch.data == nullptr || branch.data.type() == type));
  assert((gradients.linear_bias == nullptr && branch.data == nullptr) || !accumulate);
  assert(branch.dropout.rows == nullptr || branch.dropout.width == norm.width);
  assert(pass.rows < Index{1} << 30);
  const Index width = norm.width;
  const int outputs = gradients.linear_bias == nullptr ? 2 : 3;
  const bool aligned = aligned_to_vectors(pass.dy.data(), pass.x.data(), norm.gamma, pass.dx.data(),
                                          branch.data.data(), scratch.memory);
  const RowPart part = RowPart::of(width, held_backward);
  float* const partial = static_cast<float*>(scratch.memory);
  if (type == ElementType::bf16 && aligned && by_warps(width)) {
    return with_pieces(width, [&](auto pieces) {
      run_backward_by_warps<pieces()>(pass, norm, gradients, accumulate, branch, scratch, stream);
    });
  }
  with_type(type, [&](auto element) {
    using T = decltype(element);
    with_access<T>(aligned && width % vector_elements<T> == 0, [&](auto n) {
      const auto run = [&](auto with_sums, Index blocks) {
        using Kernel = LayerNormBackward<T, n(), with_sums()>;
        launch(Kernel{pass.dy.as<T>(), pass.x.as<T>(), norm.gamma, pass.state.mean, pass.state.rstd,
                      pass.dx.as<T>(), accumulate, branch.data.as<T>(), DropoutFactors(branch.dropout),
                      partial, outputs, pass.rows, static_cast<int>(width), part},
               {.blocks = blocks, .shared_bytes = Kernel::shared_bytes}, stream);
      };
      if (width <= widest_with_sums) {
        const Index blocks = blocks_with_sums(pass.rows, width, scratch.multiprocessors);
        run(std::true_type{}, blocks);
        fold_parts(partial, blocks * part.rows_per_block(), outputs * width, width, gradients.gamma,
                   gradients.beta, gradients.linear_bias, stream);
      } else {
        // First, because dx may be dy.
        sum_columns<n()>(
            NormalisedColumns<T>{pass.dy.as<T>(), pass.x.as<T>(), pass.state.mean, pass.state.rstd, width},
            pass.rows, width, gradients.gamma, gradients.beta, partial, stream);
        run(std::false_type{}, blocks_for(pass.rows, part.rows_per_block()));
        if (gradients.linear_bias == nullptr) return;
        const Values& leaving = branch.data == nullptr ? pass.dx : branch.data;
        add_column_sums({leaving, width}, gradients.linear_bias, pass.rows, width, partial, stream);
      }
    });
  });
}

}  // namespace

void layernorm_forward(ConstValues x, const Norm& norm, Values y, const NormState& state, Index rows,
                       Stream stream) {
  assert(x.type() == y.type());
  const bool aligned = aligned_to_vectors(x.data(), norm.gamma, norm.beta, y.data());
  with_type(y.type(), [&](auto type) {
    using T = decltype(type);
    with_access<T>(aligned && norm.width % vector_elements<T> == 0, [&](auto n) {
      run_forward<T, n()>(PlainRows<T>{x.as<T>()}, norm, y, state, rows, stream);
    });
  });
}

void dropout_add_layernorm_forward(const ResidualSum& join, const Norm& norm, Values y,
                                   const NormState& state, Index rows, int multiprocessors, Stream stream) {
  assert(join.dropout.rows == nullptr || join.dropout.width == norm.width);
  assert(join.x.type() == y.type() && join.residual.type() == y.type());
  const bool aligned = aligned_to_vectors(join.x.data(), join.residual.data(), join.sum.data(), norm.gamma,
                                          norm.beta, y.data());
  const Index width = norm.width;
  if (y.type() == ElementType::bf16 && aligned && by_warps(width)) {
    return with_pieces(width, [&](auto pieces) {
      run_forward_by_warps<pieces()>(join, norm, y, state, rows, multiprocessors, stream);
    });
  }
  with_type(y.type(), [&](auto type) {
    using T = decltype(type);
    with_access<T>(aligned && width % vector_elements<T> == 0, [&](auto n) {
      // A sum that nobody keeps lies in its normalised row's place until that is made.
      T* const sum = join.sum == nullptr ? y.as<T>() : join.sum.as<T>();
      run_forward<T, n()>(
          DropoutAddRows<T>{join.x.as<T>(), join.residual.as<T>(), sum, DropoutFactors(join.dropout)}, norm,
          y, state, rows, stream);
    });
  });
}

// Where LayerNormBackwardByWarps runs it has no more parts than LayerNormBackward would have.
std::size_t layernorm_backward_workspace(Index rows, Index width, int multiprocessors) {
  const Index parts = width <= widest_with_sums ? blocks_with_sums(rows, width, multiprocessors) *
                                                      RowPart::of(width, held_backward).rows_per_block() * 3
                                                : column_parts(rows, width) * 2;
  return static_cast<std::size_t>(parts * width) * sizeof(float);
}

void layernorm_backward(const NormBackward& pass, const Norm& norm, const NormGradients& gradients,
                        bool accumulate, const NormScratch& scratch, Stream stream) {
  run_backward(pass, norm, gradients, accumulate, {}, scratch, stream);
}

void layernorm_backward_dropout(const NormBackward& pass, const Norm& norm, const NormGradients& gradients,
                                const Dropout& dropout, Values branch, const NormScratch& scratch,
                                Stream stream) {
  run_backward(pass, norm, gradients, false, {branch, dropout}, scratch, stream);
}

}  // namespace bigbird::kernels::cuda
