// Activations of gated layers, whose rows are inputs and as many gates.
#include "kernels/cuda/launchers.h"

#include "kernels/activations.h"
#include "kernels/cuda/elements.cuh"

namespace bigbird::kernels::cuda {

namespace {

// Each thread makes N neighbours of a row of a gated layer, which lie `width` columns from their gates.
template <class T, int N>
struct GatedForward {
  static constexpr int threads = 256;
  static constexpr int blocks_per_sm = 4;
  const T* pre;
  T* y;
  Index count;  // rows * width
  Index width;
  Activation activation;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index at = (Index{thread.block()} * threads + thread.index()) * N;
    if (at >= count) return;
    const T* const from = pre + at + at / width * width;
    float values[N], gates[N];
    load_floats(from, values);
    load_floats(from + width, gates);
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] = activate(activation, values[i]) * gates[i];
    store_floats(y + at, values);
  }
};

template <class T, int N>
struct GatedBackward {
  static constexpr int threads = 256;
  static constexpr int blocks_per_sm = 4;
  const T* pre;
  const T* dy;
  T* dpre;
  Index count;
  Index width;
  Activation activation;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index at = (Index{thread.block()} * threads + thread.index()) * N;
    if (at >= count) return;
    const Index first = at + at / width * width;
    float values[N], gates[N], gradient[N];
    load_floats(pre + first, values);
    load_floats(pre + first + width, gates);
    load_floats(dy + at, gradient);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const float x = values[i];
      values[i] = gradient[i] * gates[i] * activation_derivative(activation, x);
      gates[i] = gradient[i] * activate(activation, x);
    }
    store_floats(dpre + first, values);
    store_floats(dpre + first + width, gates);
  }
};

}  // namespace

void gated_activation_forward(ConstValues pre, Values y, Index rows, Index width, Activation activation,
                              Stream stream) {
  assert(pre.type() == y.type());
  with_type(y.type(), [&](auto type) {
    using T = decltype(type);
    const bool vectors = width % vector_elements<T> == 0 && aligned_to_vectors(pre.data(), y.data());
    with_access<T>(vectors, [&](auto n) {
      using Kernel = GatedForward<T, n()>;
      launch(Kernel{pre.as<T>(), y.as<T>(), rows * width, width, activation},
             {.blocks = blocks_for(rows * width, Index{Kernel::threads} * n())}, stream);
    });
  });
}

void gated_activation_backward(ConstValues pre, ConstValues dy, Values dpre, Index rows, Index width,
                               Activation activation, Stream stream) {
  assert(pre.type() == dpre.type() && dy.type() == dpre.type());
  with_type(dpre.type(), [&](auto type) {
    using T = decltype(type);
    const bool vectors =
        width % vector_elements<T> == 0 && aligned_to_vectors(pre.data(), dy.data(), dpre.data());
    with_access<T>(vectors, [&](auto n) {
      using Kernel = GatedBackward<T, n()>;
      launch(Kernel{pre.as<T>(), dy.as<T>(), dpre.as<T>(), rows * width, width, activation},
             {.blocks = blocks_for(rows * width, Index{Kernel::threads} * n())}, stream);
    });
  });
}

}  // namespace bigbird::kernels::cuda
