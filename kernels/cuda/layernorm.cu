// LayerNorm, forward and backward. A row is shared out among the lanes of one, two, four or eight warps and
// is held in registers between the passes over it; rows that are too wide for that are read again.
#include "kernels/cuda/layernorm.h"

#include "kernels/cuda/columns.cuh"

namespace bigbird::kernels::cuda {

namespace {

constexpr int threads_per_block = 256;
constexpr int warps_per_block = threads_per_block / 32;

// Which part of which row a thread has, when `warps` warps share a row and each thread holds `held` elements
// of it.
struct RowPart {
  int warps;  // 1, 2, 4 or 8

  // The fewest warps that hold the row, or all of the block.
  static RowPart of(Index width, int held) {
    int warps = 1;
    while (warps < warps_per_block && Index{warps} * 32 * held < width) warps *= 2;
    return {warps};
  }
  BIGBIRD_HOST_DEVICE int rows_per_block() const { return warps_per_block / warps; }
  BIGBIRD_DEVICE int row(Thread& thread) const { return thread.warp() / warps; }
  BIGBIRD_DEVICE int index(Thread& thread) const { return thread.index() % (32 * warps); }
  BIGBIRD_DEVICE int elements(int held) const { return warps * 32 * held; }
};

// Sums of `count` numbers over the threads of each row, in a fixed order. All threads of the block come here;
// calls without a barrier between them use different slots.
template <int count>
BIGBIRD_DEVICE void sum_over_row(Thread& thread, RowPart part, int slot, float (&sums)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) sums[i] = warp_sum(thread, sums[i]);
  if (part.warps == 1) return;
  const auto cells = thread.shared<float>(0, 2 * count * warps_per_block) + slot * count * warps_per_block;
  if (thread.lane() == 0) {
#pragma unroll
    for (int i = 0; i < count; ++i) cells[i * warps_per_block + thread.warp()] = sums[i];
  }
  thread.barrier();
  const int first = part.row(thread) * part.warps;
#pragma unroll
  for (int i = 0; i < count; ++i) {
    float total = 0.0f;
    for (int warp = 0; warp < part.warps; ++warp) total += cells[i * warps_per_block + first + warp];
    sums[i] = total;
  }
}

// --- forward

// Rows that are there.
template <class T>
struct PlainRows {
  static constexpr int blocks_per_sm = 4;
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
  static constexpr int blocks_per_sm = 3;
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
    for (int i = 0; i < N; ++i) values[i] = rounded<T>(stay[i] + values[i] * factors[i]);
    store_floats(sum + at, values);
  }
  BIGBIRD_DEVICE const T* rows() const {
    return sum;
  }
};

template <class T, int N, class Source>
struct LayerNormForward {
  static constexpr int threads = threads_per_block;
  // single elements take more registers
  static constexpr int blocks_per_sm = N == 1 ? 2 : Source::blocks_per_sm;
  static constexpr int held = 16;  // elements of a row in one thread
  static constexpr int vectors = held / N;
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

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index row = Index{thread.block()} * part.rows_per_block() + part.row(thread);
    // Threads behind the last row have no columns, and still come to the barriers.
    const int columns = row < rows ? width : 0;
    const Index start = row * width;
    const int step = part.elements(held);
    const int mine = part.index(thread) * N;
    const int apart = 32 * part.warps * N;
    float values[vectors][N] = {};

    float sum[1] = {0.0f};
    for (int begin = mine; begin < columns; begin += step) {
      typename Source::template Raw<N> raw[vectors] = {};
#pragma unroll
      for (int v = 0; v < vectors; ++v) {
        if (begin + v * apart < columns) raw[v] = source.template load_raw<N>(start + begin + v * apart);
      }
#pragma unroll
      for (int v = 0; v < vectors; ++v) {
        if (begin + v * apart < columns) {
          source.finish(start + begin + v * apart, raw[v], values[v]);
#pragma unroll
          for (int i = 0; i < N; ++i) sum[0] += values[v][i];
        }
      }
    }
    sum_over_row(thread, part, 0, sum);
    const float average = sum[0] / static_cast<float>(width);

    float squares[1] = {0.0f};
    for (int begin = mine; begin < columns; begin += step) {
      if (columns > step) read_again(start + begin, columns - begin, apart, values);
#pragma unroll
      for (int v = 0; v < vectors; ++v) {
        if (begin + v * apart < columns) {
#pragma unroll
          for (int i = 0; i < N; ++i) {
            const float difference = values[v][i] - average;
            squares[0] += difference * difference;
          }
        }
      }
    }
    sum_over_row(thread, part, 1, squares);
    const float inverse = 1.0f / sqrtf(squares[0] / static_cast<float>(width) + epsilon);

    for (int begin = mine; begin < columns; begin += step) {
      if (columns > step) read_again(start + begin, columns - begin, apart, values);
#pragma unroll
      for (int v = 0; v < vectors; ++v) {
        const int column = begin + v * apart;
        if (column < columns) {
          float scale[N], shift[N];
          load_floats(gamma + column, scale);
          load_floats(beta + column, shift);
#pragma unroll
          for (int i = 0; i < N; ++i) {
            values[v][i] = (values[v][i] - average) * inverse * scale[i] + shift[i];
          }
          store_floats(y + start + column, values[v]);
        }
      }
    }
    if (row < rows && mine == 0) {
      if (mean != nullptr) mean[row] = average;
      if (rstd != nullptr) rstd[row] = inverse;
    }
  }

  BIGBIRD_DEVICE void read_again(Index at, int left, int apart, float (&values)[vectors][N]) const {
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      if (v * apart < left) load_floats(source.rows() + at + v * apart, values[v]);
    }
  }
};

template <class T, int N, class Source>
void run_forward(const Source& source, const float* gamma, const float* beta, float epsilon, Values y,
                 float* mean, float* rstd, Index rows, Index width, Stream stream) {
  using Kernel = LayerNormForward<T, N, Source>;
  const RowPart part = RowPart::of(width, Kernel::held);
  launch(Kernel{source, gamma, beta, epsilon, y.as<T>(), mean, rstd, rows, static_cast<int>(width), part},
         {.blocks = blocks_for(rows, part.rows_per_block()), .shared_bytes = Kernel::shared_bytes}, stream);
}

// --- backward

constexpr int held_backward = 8;  // elements of a row in one thread
// Rows beyond have their sums over rows taken by a kernel of its own.
constexpr Index widest_with_sums = Index{threads_per_block} * held_backward;
// One wave of them on the largest devices.
constexpr Index most_blocks_with_sums = 384;

Index blocks_with_sums(Index rows, Index width) {
  return std::min(most_blocks_with_sums,
                  blocks_for(rows, RowPart::of(width, held_backward).rows_per_block()));
}

// dx, and what goes to the branch when there is one. With sums, each thread also adds up dgamma and dbeta of
// its columns over the rows that it meets: partial[block and row of it, (dgamma, dbeta), column].
template <class T, int N, bool with_sums>
struct LayerNormBackward {
  static constexpr int threads = threads_per_block;
  static constexpr int blocks_per_sm = N == 1 ? 2 : 3;
  static constexpr int vectors = held_backward / N;
  static constexpr std::size_t shared_bytes = 4 * warps_per_block * sizeof(float);
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
  Index rows;
  int width;
  RowPart part;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const int mine = part.index(thread) * N;
    const int apart = 32 * part.warps * N;
    const int step = part.elements(held_backward);
    const Index rows_of_block = part.rows_per_block();
    float gradient[vectors][N] = {}, normal[vectors][N] = {}, scale[vectors][N] = {};
    float dgamma[vectors][N] = {}, dbeta[vectors][N] = {};
    if (with_sums) read_scale(mine, apart, scale);

    int slot = 0;
    for (Index first = thread.block() * rows_of_block; first < rows;
         first += thread.blocks() * rows_of_block) {
      const Index row = first + part.row(thread);
      const bool there = row < rows;
      const int columns = there ? width : 0;
      const Index start = row * width;
      const float average = there ? mean[row] : 0.0f;
      const float inverse = there ? rstd[row] : 0.0f;

      float sums[2] = {0.0f, 0.0f};  // of dy gamma, of dy gamma normal
      for (int begin = mine; begin < columns; begin += step) {
        if (!with_sums) read_scale(begin, apart, scale);
        read(start, begin, columns, apart, average, inverse, gradient, normal);
#pragma unroll
        for (int v = 0; v < vectors; ++v) {
          if (begin + v * apart < columns) {
#pragma unroll
            for (int i = 0; i < N; ++i) {
              if (with_sums) {
                dgamma[v][i] += gradient[v][i] * normal[v][i];
                dbeta[v][i] += gradient[v][i];
              }
              const float scaled = gradient[v][i] * scale[v][i];
              sums[0] += scaled;
              sums[1] += scaled * normal[v][i];
            }
          }
        }
      }
      sum_over_row(thread, part, slot, sums);
      slot ^= 1;
      const float mean_scaled = sums[0] / static_cast<float>(width);
      const float mean_scaled_normal = sums[1] / static_cast<float>(width);

      for (int begin = mine; begin < columns; begin += step) {
        if (columns > step) {
          read_scale(begin, apart, scale);
          read(start, begin, columns, apart, average, inverse, gradient, normal);
        }
#pragma unroll
        for (int v = 0; v < vectors; ++v) {
          const int column = begin + v * apart;
          if (column < columns) {
            float out[N];
            if (accumulate) load_floats(dx + start + column, out);
#pragma unroll
            for (int i = 0; i < N; ++i) {
              const float scaled = gradient[v][i] * scale[v][i];
              const float value = (scaled - mean_scaled - normal[v][i] * mean_scaled_normal) * inverse;
              out[i] = accumulate ? out[i] + value : value;
            }
            store_floats(dx + start + column, out);
            if (branch != nullptr) {
              float factors[N];
              dropout.get(start + column, factors);
#pragma unroll
              for (int i = 0; i < N; ++i) out[i] = rounded<T>(out[i]) * factors[i];
              store_floats(branch + start + column, out);
            }
          }
        }
      }
    }
    if (with_sums) {
      float* const to = partial + (thread.block() * rows_of_block + part.row(thread)) * 2 * width;
#pragma unroll
      for (int v = 0; v < vectors; ++v) {
        const int column = mine + v * apart;
        if (column < width) {
          store_floats(to + column, dgamma[v]);
          store_floats(to + width + column, dbeta[v]);
        }
      }
    }
  }

  BIGBIRD_DEVICE void read_scale(int begin, int apart, float (&scale)[vectors][N]) const {
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      if (begin + v * apart < width) load_floats(gamma + begin + v * apart, scale[v]);
    }
  }

  BIGBIRD_DEVICE void read(Index start, int begin, int columns, int apart, float average, float inverse,
                           float (&gradient)[vectors][N], float (&normal)[vectors][N]) const {
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const int column = begin + v * apart;
      if (column < columns) {
        load_floats(dy + start + column, gradient[v]);
        load_floats(x + start + column, normal[v]);
#pragma unroll
        for (int i = 0; i < N; ++i) normal[v][i] = (normal[v][i] - average) * inverse;
      }
    }
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

// branch may be null.
void run_backward(ConstValues dy, ConstValues x, const float* gamma, const float* mean, const float* rstd,
                  Values dx, bool accumulate, Values branch, const Dropout& dropout, float* dgamma,
                  float* dbeta, Index rows, Index width, void* workspace, Stream stream) {
  assert(dy.type() == dx.type() && x.type() == dx.type() &&
         (branch == nullptr || branch.type() == dx.type()));
  const RowPart part = RowPart::of(width, held_backward);
  float* const partial = static_cast<float*>(workspace);
  with_type(dx.type(), [&](auto type) {
    using T = decltype(type);
    const bool vectors = width % vector_elements<T> == 0 &&
                         aligned_to_vectors(dy.data(), x.data(), gamma, dx.data(), branch.data(), workspace);
    with_access<T>(vectors, [&](auto n) {
      const auto run = [&](auto with_sums, Index blocks) {
        using Kernel = LayerNormBackward<T, n(), with_sums()>;
        launch(Kernel{dy.as<T>(), x.as<T>(), gamma, mean, rstd, dx.as<T>(), accumulate, branch.as<T>(),
                      DropoutFactors(dropout), partial, rows, static_cast<int>(width), part},
               {.blocks = blocks, .shared_bytes = Kernel::shared_bytes}, stream);
      };
      if (width <= widest_with_sums) {
        const Index blocks = blocks_with_sums(rows, width);
        run(std::true_type{}, blocks);
        fold_parts(partial, blocks * part.rows_per_block(), 2 * width, width, dgamma, dbeta, stream);
      } else {
        // First, because dx may be dy.
        sum_columns<n()>(NormalisedColumns<T>{dy.as<T>(), x.as<T>(), mean, rstd, width}, rows, width, dgamma,
                         dbeta, partial, stream);
        run(std::false_type{}, blocks_for(rows, part.rows_per_block()));
      }
    });
  });
}

}  // namespace

void layernorm_forward(ConstValues x, const float* gamma, const float* beta, float epsilon, Values y,
                       float* mean, float* rstd, Index rows, Index width, Stream stream) {
  assert(x.type() == y.type());
  with_type(y.type(), [&](auto type) {
    using T = decltype(type);
    const bool vectors =
        width % vector_elements<T> == 0 && aligned_to_vectors(x.data(), gamma, beta, y.data());
    with_access<T>(vectors, [&](auto n) {
      run_forward<T, n()>(PlainRows<T>{x.as<T>()}, gamma, beta, epsilon, y, mean, rstd, rows, width, stream);
    });
  });
}

void dropout_add_layernorm_forward(ConstValues x, ConstValues residual, const Dropout& dropout, Values sum,
                                   const float* gamma, const float* beta, float epsilon, Values y,
                                   float* mean, float* rstd, Index rows, Index width, Stream stream) {
  assert(x.type() == y.type() && residual.type() == y.type() && sum.type() == y.type());
  with_type(y.type(), [&](auto type) {
    using T = decltype(type);
    const bool vectors = width % vector_elements<T> == 0 &&
                         aligned_to_vectors(x.data(), residual.data(), sum.data(), gamma, beta, y.data());
    with_access<T>(vectors, [&](auto n) {
      run_forward<T, n()>(
          DropoutAddRows<T>{x.as<T>(), residual.as<T>(), sum.as<T>(), DropoutFactors(dropout)}, gamma, beta,
          epsilon, y, mean, rstd, rows, width, stream);
    });
  });
}

std::size_t layernorm_backward_workspace(Index rows, Index width) {
  const Index parts = width <= widest_with_sums
                          ? blocks_with_sums(rows, width) * RowPart::of(width, held_backward).rows_per_block()
                          : column_parts(rows, width);
  return static_cast<std::size_t>(parts * 2 * width) * sizeof(float);
}

void layernorm_backward(ConstValues dy, ConstValues x, const float* gamma, const float* mean,
                        const float* rstd, Values dx, bool accumulate, float* dgamma, float* dbeta,
                        Index rows, Index width, void* workspace, Stream stream) {
  run_backward(dy, x, gamma, mean, rstd, dx, accumulate, nullptr, {}, dgamma, dbeta, rows, width, workspace,
               stream);
}

void layernorm_backward_dropout(ConstValues dy, ConstValues sum, const float* gamma, const float* mean,
                                const float* rstd, Values dx, Values branch, const Dropout& dropout,
                                float* dgamma, float* dbeta, Index rows, Index width, void* workspace,
                                Stream stream) {
  run_backward(dy, sum, gamma, mean, rstd, dx, false, branch, dropout, dgamma, dbeta, rows, width, workspace,
               stream);
}

}  // namespace bigbird::kernels::cuda
