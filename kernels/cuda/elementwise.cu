// Element by element: activations, dropout, sums, conversions; and row by row: rotary positions, rows picked
// out and put back.
#include "kernels/cuda/launchers.h"

#include <initializer_list>

#include "kernels/activations.h"
#include "kernels/cuda/elements.cuh"

namespace bigbird::kernels::cuda {

namespace {

// y[i] = operation(i): each thread makes N neighbours. The operation reads what it needs of element i before
// y[i] is written, so that y may be one of its inputs.
template <class T, int N, class Operation>
struct Elementwise {
  static constexpr int threads = 256;
  static constexpr int blocks_per_sm = 4;
  T* y;
  Index count;
  Operation operation;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index begin = (Index{thread.block()} * threads + thread.index()) * N;
    if (begin + N <= count) {
      make<N>(begin);
    } else {
      for (Index i = begin; i < count; ++i) make<1>(i);
    }
  }

  template <int M>
  BIGBIRD_DEVICE void make(Index i) const {
    float values[M];
    operation.template get<M>(i, values);
    store_floats(y + i, values);
  }
};

template <class T, int N, class Operation>
void run_elementwise(T* y, Index count, const Operation& operation, Stream stream) {
  using Kernel = Elementwise<T, N, Operation>;
  launch(Kernel{y, count, operation}, {.blocks = blocks_for(count, Index{Kernel::threads} * N)}, stream);
}

template <class T>
struct ActivationForward {
  const T* x;
  Activation activation;
  template <int N>
  BIGBIRD_DEVICE void get(Index at, float (&values)[N]) const {
    load_floats(x + at, values);
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] = activate(activation, values[i]);
  }
};

template <class T>
struct ActivationBackward {
  const T* pre;
  const T* dy;
  Activation activation;
  template <int N>
  BIGBIRD_DEVICE void get(Index at, float (&values)[N]) const {
    float gradient[N];
    load_floats(pre + at, values);
    load_floats(dy + at, gradient);
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] = gradient[i] * activation_derivative(activation, values[i]);
  }
};

template <class T>
struct TanhForward {
  const T* x;
  template <int N>
  BIGBIRD_DEVICE void get(Index at, float (&values)[N]) const {
    load_floats(x + at, values);
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] = tanhf(values[i]);
  }
};

template <class T>
struct TanhBackward {
  const T* y;
  const T* dy;
  template <int N>
  BIGBIRD_DEVICE void get(Index at, float (&values)[N]) const {
    float gradient[N];
    load_floats(y + at, values);
    load_floats(dy + at, gradient);
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] = gradient[i] * (1.0f - values[i] * values[i]);
  }
};

template <class T>
struct DropoutOf {
  const T* x;
  DropoutFactors dropout;
  template <int N>
  BIGBIRD_DEVICE void get(Index at, float (&values)[N]) const {
    float factors[N];
    load_floats(x + at, values);
    dropout.get(at, factors);
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] *= factors[i];
  }
};

template <class T>
struct DropoutAdd {
  const T* x;
  const T* residual;
  DropoutFactors dropout;
  template <int N>
  BIGBIRD_DEVICE void get(Index at, float (&values)[N]) const {
    float stay[N], factors[N];
    load_floats(x + at, values);
    load_floats(residual + at, stay);
    dropout.get(at, factors);
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] = add_dropped(stay[i], values[i], factors[i]);
  }
};

template <class T, bool negative = false>
struct Add {
  const T* x;
  const T* y;
  template <int N>
  BIGBIRD_DEVICE void get(Index at, float (&values)[N]) const {
    float more[N];
    load_floats(y + at, values);
    load_floats(x + at, more);
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] += negative ? -more[i] : more[i];
  }
};

// N neighbours lie in one row: width is a multiple of the N of the launch.
template <class T, class Bias>
struct AddBias {
  const T* y;
  const Bias* bias;
  Index width;
  template <int N>
  BIGBIRD_DEVICE void get(Index at, float (&values)[N]) const {
    float more[N];
    load_floats(y + at, values);
    // The same in 32 bits: pieces are fewer than 2^32.
    const auto piece = static_cast<std::uint32_t>(at / N) % (static_cast<std::uint32_t>(width) / N);
    load_floats(bias + piece * N, more);
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] += more[i];
  }
};

template <class From>
struct Convert {
  const From* from;
  template <int N>
  BIGBIRD_DEVICE void get(Index at, float (&values)[N]) const {
    load_floats(from + at, values);
  }
};

struct MoveTowards {
  const float* average;
  const float* to;
  float share;
  template <int N>
  BIGBIRD_DEVICE void get(Index at, float (&values)[N]) const {
    float goal[N];
    load_floats(average + at, values);
    load_floats(to + at, goal);
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] += share * (goal[i] - values[i]);
  }
};

// A row of blocks for each of a few ranges, which are arguments themselves.
struct ZeroRanges {
  static constexpr int threads = 256;
  static constexpr int blocks_per_sm = 4;
  static constexpr int most = 64;
  float* values;
  FloatRange ranges[most];

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const FloatRange range = ranges[thread.block_y()];
    const Index step = Index{thread.blocks()} * threads;
    for (Index i = Index{thread.block()} * threads + thread.index(); i < range.count; i += step)
      values[range.first + i] = 0.0f;
  }
};

// --- rows: a warp each

constexpr int rows_per_block = 8;

// y[i] = x[rows[i]], or y[rows[i]] += x[i] when Back.
template <class T, int N, bool Back>
struct MoveRows {
  static constexpr int threads = 32 * rows_per_block;
  static constexpr int blocks_per_sm = 4;
  const T* x;
  const std::int32_t* rows;  // null: row i
  T* y;
  Index count;
  Index width;
  Index x_stride, y_stride;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index i = Index{thread.block()} * rows_per_block + thread.warp();
    if (i >= count) return;
    const Index named = rows == nullptr ? i : Index{rows[i]};
    const T* const from = x + (Back ? i : named) * x_stride;
    T* const to = y + (Back ? named : i) * y_stride;
#pragma unroll 4
    for (Index column = thread.lane() * N; column < width; column += 32 * N) {
      float values[N];
      load_floats(from + column, values);
      if constexpr (Back) {
        float there[N];
        load_floats(to + column, there);
#pragma unroll
        for (int j = 0; j < N; ++j) values[j] += there[j];
      }
      store_floats(to + column, values);
    }
  }
};

template <bool Back>
void move_rows(ConstRows x, const std::int32_t* rows, Rows y, Index count, Index width, Stream stream) {
  assert(x.data.type() == y.data.type());
  with_type(y.data.type(), [&](auto type) {
    using T = decltype(type);
    const bool vectors = width % vector_elements<T> == 0 && x.stride % vector_elements<T> == 0 &&
                         y.stride % vector_elements<T> == 0 &&
                         aligned_to_vectors(x.data.data(), y.data.data());
    with_access<T>(vectors, [&](auto n) {
      launch(MoveRows<T, n(), Back>{x.data.as<T>(), rows, y.data.as<T>(), count, width, x.stride, y.stride},
             {.blocks = blocks_for(count, rows_per_block)}, stream);
    });
  });
}

// Lanes share out the pairs of all heads of a row, N neighbouring pairs at a time.
template <class T, int N>
struct RotaryRotation {
  static constexpr int threads = 32 * rows_per_block;
  static constexpr int blocks_per_sm = 4;
  T* x;
  Index stride;
  const std::int32_t* positions;
  const float* rotations;
  Index rows;
  int heads;
  int head_size;
  int half;
  float direction;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index row = Index{thread.block()} * rows_per_block + thread.warp();
    if (row >= rows) return;
    const float* const rotation = rotations + Index{positions[row]} * 2 * half;
    const int pieces = half / N;  // of a head
#pragma unroll 2
    for (int item = thread.lane(); item < heads * pieces; item += 32) {
      const int i = item % pieces * N;
      T* const first = x + row * stride + item / pieces * head_size + i;
      float a[N], b[N], cosine[N], sine[N];
      load_floats(first, a);
      load_floats(first + half, b);
      load_floats(rotation + i, cosine);
      load_floats(rotation + half + i, sine);
#pragma unroll
      for (int j = 0; j < N; ++j) {
        const float along = a[j], across = b[j], turned = sine[j] * direction;
        a[j] = along * cosine[j] - across * turned;
        b[j] = across * cosine[j] + along * turned;
      }
      store_floats(first, a);
      store_floats(first + half, b);
    }
  }
};

// Which instance of Elementwise runs: that of the type of y, with 16 bytes at a time where all addresses
// allow. All inputs have the type of y; operation(T{}) is what to do in type T.
template <class MakeOperation>
void elementwise(Values y, std::initializer_list<ConstValues> inputs, Index count, Stream stream,
                 const MakeOperation& operation) {
  bool vectors = aligned_to_vectors(y.data());
  for (const ConstValues& input : inputs) {
    assert(input.type() == y.type());
    vectors = vectors && aligned_to_vectors(input.data());
  }
  with_type(y.type(), [&](auto type) {
    using T = decltype(type);
    with_access<T>(vectors,
                   [&](auto n) { run_elementwise<T, n()>(y.as<T>(), count, operation(type), stream); });
  });
}

// A block for each span and 32 N columns: its warps share out the rows, whose sums are then added in order.
template <class T, int N>
struct MeanRowsForward {
  static constexpr int warps = 8;
  static constexpr int threads = 32 * warps;
  static constexpr int blocks_per_sm = 2;
  static constexpr std::size_t shared_bytes = sizeof(float) * warps * 32 * N;
  const T* x;
  RowSpans spans;
  T* y;
  Index width;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index span = thread.block();
    const Index column = (Index{thread.block_y()} * 32 + thread.lane()) * N;
    const std::int32_t first = spans.first[span], length = spans.length[span];
    float sums[N] = {};
    if (column < width) {
      for (std::int32_t row = thread.warp(); row < length; row += warps) {
        float values[N];
        load_floats(x + Index{first + row} * width + column, values);
#pragma unroll
        for (int i = 0; i < N; ++i) sums[i] += values[i];
      }
    }
    const auto all = thread.shared<float>(0, warps * 32 * N);
#pragma unroll
    for (int i = 0; i < N; ++i) all[(thread.warp() * N + i) * 32 + thread.lane()] = sums[i];
    thread.barrier();
    if (thread.warp() != 0 || column >= width) return;
    const float share = 1.0f / static_cast<float>(length);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      float sum = 0.0f;
      for (int warp = 0; warp < warps; ++warp) sum += all[(warp * N + i) * 32 + thread.lane()];
      sums[i] = sum * share;
    }
    store_floats(y + span * width + column, sums);
  }
};

// A warp for each span and 32 N columns: spans are short.
template <class T, int N>
struct MaxRowsForward {
  static constexpr int threads = 32;
  static constexpr int blocks_per_sm = 16;
  const T* x;
  RowSpans spans;
  T* y;
  Index width;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index span = thread.block();
    const Index column = (Index{thread.block_y()} * 32 + thread.lane()) * N;
    if (column >= width) return;
    const T* from = x + Index{spans.first[span]} * width + column;
    float most[N];
    load_floats(from, most);
    for (std::int32_t row = 1; row < spans.length[span]; ++row) {
      float values[N];
      load_floats(from += width, values);
#pragma unroll
      for (int i = 0; i < N; ++i) most[i] = values[i] > most[i] ? values[i] : most[i];
    }
    store_floats(y + span * width + column, most);
  }
};

// The same blocks as of means; every warp adds to rows of its own.
template <class T, int N>
struct MeanRowsBackward {
  static constexpr int warps = 8;
  static constexpr int threads = 32 * warps;
  static constexpr int blocks_per_sm = 2;
  const T* dy;
  RowSpans spans;
  T* dx;
  Index width;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index span = thread.block();
    const Index column = (Index{thread.block_y()} * 32 + thread.lane()) * N;
    if (column >= width) return;
    const std::int32_t first = spans.first[span], length = spans.length[span];
    const float share = 1.0f / static_cast<float>(length);
    float values[N];
    load_floats(dy + span * width + column, values);
    for (std::int32_t row = thread.warp(); row < length; row += warps) {
      T* const to = dx + Index{first + row} * width + column;
      float sums[N];
      load_floats(to, sums);
#pragma unroll
      for (int i = 0; i < N; ++i) sums[i] += values[i] * share;
      store_floats(to, sums);
    }
  }
};

}  // namespace

void activation_forward(ConstValues x, Values y, Index count, Activation activation, Stream stream) {
  elementwise(y, {x}, count, stream, [&](auto type) {
    using T = decltype(type);
    return ActivationForward<T>{x.as<T>(), activation};
  });
}

void activation_backward(ConstValues pre, ConstValues dy, Values dx, Index count, Activation activation,
                         Stream stream) {
  elementwise(dx, {pre, dy}, count, stream, [&](auto type) {
    using T = decltype(type);
    return ActivationBackward<T>{pre.as<T>(), dy.as<T>(), activation};
  });
}

void tanh_forward(ConstValues x, Values y, Index count, Stream stream) {
  elementwise(y, {x}, count, stream, [&](auto type) {
    using T = decltype(type);
    return TanhForward<T>{x.as<T>()};
  });
}

void tanh_backward(ConstValues y, ConstValues dy, Values dx, Index count, Stream stream) {
  elementwise(dx, {y, dy}, count, stream, [&](auto type) {
    using T = decltype(type);
    return TanhBackward<T>{y.as<T>(), dy.as<T>()};
  });
}

void dropout(ConstValues x, Values y, Index count, const Dropout& dropout, Stream stream) {
  elementwise(y, {x}, count, stream, [&](auto type) {
    using T = decltype(type);
    return DropoutOf<T>{x.as<T>(), DropoutFactors(dropout)};
  });
}

void dropout_add(ConstValues x, ConstValues residual, Values y, Index count, const Dropout& dropout,
                 Stream stream) {
  elementwise(y, {x, residual}, count, stream, [&](auto type) {
    using T = decltype(type);
    return DropoutAdd<T>{x.as<T>(), residual.as<T>(), DropoutFactors(dropout)};
  });
}

void add(ConstValues x, Values y, Index count, Stream stream) {
  elementwise(y, {x}, count, stream, [&](auto type) {
    using T = decltype(type);
    return Add<T>{x.as<T>(), y.as<T>()};
  });
}

void subtract(ConstValues x, Values y, Index count, Stream stream) {
  elementwise(y, {x}, count, stream, [&](auto type) {
    using T = decltype(type);
    return Add<T, true>{x.as<T>(), y.as<T>()};
  });
}

void add_bias(ConstValues bias, Values y, Index rows, Index width, Stream stream) {
  with_types(y.type(), bias.type(), [&](auto type, auto bias_type) {
    using T = decltype(type);
    using Bias = decltype(bias_type);
    const bool vectors = width % vector_elements<bf16> == 0 && aligned_to_vectors(bias.data(), y.data());
    with_access<T, Bias>(vectors, [&](auto n) {
      run_elementwise<T, n()>(y.as<T>(), rows * width, AddBias<T, Bias>{y.as<T>(), bias.as<Bias>(), width},
                              stream);
    });
  });
}

void convert(ConstValues from, Values to, Index count, Stream stream) {
  with_types(to.type(), from.type(), [&](auto to_type, auto from_type) {
    using To = decltype(to_type);
    using From = decltype(from_type);
    with_access<To, From>(aligned_to_vectors(from.data(), to.data()), [&](auto n) {
      run_elementwise<To, n()>(to.as<To>(), count, Convert<From>{from.as<From>()}, stream);
    });
  });
}

void move_towards(float* average, const float* values, Index count, float share, Stream stream) {
  if (count == 0) return;
  with_access<float>(aligned_to_vectors(average, values), [&](auto n) {
    run_elementwise<float, n()>(average, count, MoveTowards{average, values, share}, stream);
  });
}

void zero_ranges(float* values, std::span<const FloatRange> ranges, Stream stream) {
  constexpr Index large = Index{1} << 18;
  ZeroRanges some{values, {}};
  Index count = 0;
  const auto zero = [&] {
    launch(some, {.blocks = count > 0 ? 8 : 0, .blocks_y = count}, stream);
    count = 0;
  };
  for (const FloatRange& range : ranges) {
    if (range.count >= large) {
      fill_zero(values + range.first, static_cast<std::size_t>(range.count) * sizeof(float), stream);
      continue;
    }
    some.ranges[count++] = range;
    if (count == ZeroRanges::most) zero();
  }
  zero();
}

void gather_rows(ConstValues x, const std::int32_t* rows, Values y, Index count, Index width, Stream stream) {
  move_rows<false>({x, width}, rows, {y, width}, count, width, stream);
}

void max_rows_forward(ConstValues x, const RowSpans& spans, Values y, Index width, Stream stream) {
  if (spans.count == 0) return;
  with_type(y.type(), [&](auto type) {
    using T = decltype(type);
    const bool vectors = width % vector_elements<T> == 0 && aligned_to_vectors(x.data(), y.data());
    with_access<T>(vectors, [&](auto n) {
      launch(MaxRowsForward<T, n()>{x.as<T>(), spans, y.as<T>(), width},
             {.blocks = spans.count, .blocks_y = blocks_for(width, Index{32} * n())}, stream);
    });
  });
}

void mean_rows_forward(ConstValues x, const RowSpans& spans, Values y, Index width, Stream stream) {
  with_type(y.type(), [&](auto type) {
    using T = decltype(type);
    const bool vectors = width % vector_elements<T> == 0 && aligned_to_vectors(x.data(), y.data());
    with_access<T>(vectors, [&](auto n) {
      using Kernel = MeanRowsForward<T, n()>;
      launch(Kernel{x.as<T>(), spans, y.as<T>(), width},
             {.blocks = spans.count,
              .blocks_y = blocks_for(width, Index{32} * n()),
              .shared_bytes = Kernel::shared_bytes},
             stream);
    });
  });
}

void mean_rows_backward(ConstValues dy, const RowSpans& spans, Values dx, Index width, Stream stream) {
  with_type(dx.type(), [&](auto type) {
    using T = decltype(type);
    const bool vectors = width % vector_elements<T> == 0 && aligned_to_vectors(dy.data(), dx.data());
    with_access<T>(vectors, [&](auto n) {
      launch(MeanRowsBackward<T, n()>{dy.as<T>(), spans, dx.as<T>(), width},
             {.blocks = spans.count, .blocks_y = blocks_for(width, Index{32} * n())}, stream);
    });
  });
}

void scatter_add_rows(ConstValues dy, const std::int32_t* rows, Values dx, Index count, Index width,
                      Stream stream) {
  move_rows<true>({dy, width}, rows, {dx, width}, count, width, stream);
}

void add_rows(ConstRows x, Rows y, Index rows, Index width, Stream stream) {
  move_rows<true>(x, nullptr, y, rows, width, stream);
}

void rotate(Rows x, const Rotary& rotary, Index rows, bool back, Stream stream) {
  with_type(x.data.type(), [&](auto type) {
    using T = decltype(type);
    constexpr Index whole = vector_elements<T>;
    const bool vectors = x.stride % whole == 0 && rotary.head_size % whole == 0 && rotary.half % whole == 0 &&
                         aligned_to_vectors(x.data.data(), rotary.rotations);
    with_access<T>(vectors, [&](auto n) {
      launch(RotaryRotation<T, n()>{x.data.as<T>(), x.stride, rotary.positions, rotary.rotations, rows,
                                    static_cast<int>(rotary.heads), static_cast<int>(rotary.head_size),
                                    static_cast<int>(rotary.half), back ? -1.0f : 1.0f},
             {.blocks = blocks_for(rows, rows_per_block)}, stream);
    });
  });
}

}  // namespace bigbird::kernels::cuda
