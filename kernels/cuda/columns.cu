// Sums over the rows of a matrix.
#include "kernels/cuda/launchers.h"

#include "kernels/cuda/columns.cuh"

namespace bigbird::kernels::cuda {

namespace {

template <class T>
struct MatrixColumns {
  static constexpr int outputs = 1;
  const T* x;
  Index stride;
  template <int N>
  BIGBIRD_DEVICE void add(Index row, Index column, float (&sums)[1][N]) const {
    float values[N];
    load_floats(x + row * stride + column, values);
#pragma unroll
    for (int i = 0; i < N; ++i) sums[0][i] += values[i];
  }
};

}  // namespace

std::size_t column_sums_workspace(Index rows, Index width) {
  return static_cast<std::size_t>(column_parts(rows, width) * width) * sizeof(float);
}

void add_column_sums(ConstRows x, float* sums, Index rows, Index width, void* workspace, Stream stream) {
  with_type(x.data.type(), [&](auto type) {
    using T = decltype(type);
    constexpr Index whole = vector_elements<T>;
    const bool vectors = width % whole == 0 && x.stride % whole == 0 && aligned_to_vectors(x.data.data());
    with_access<T>(vectors, [&](auto n) {
      sum_columns<n()>(MatrixColumns<T>{x.data.as<T>(), x.stride}, rows, width, sums, nullptr,
                       static_cast<float*>(workspace), stream);
    });
  });
}

}  // namespace bigbird::kernels::cuda
