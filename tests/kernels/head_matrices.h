// Rows of one head of one sequence, out of the matrices of a batch and back, as the oracles take them.
#pragma once

#include "reference/tensor.h"
#include "tests/kernels/kernel_test.h"

namespace bigbird::kernels {

inline reference::Matrix head_of(const Floats& x, Index stride, Index first, Index count, Index column,
                                 Index size) {
  reference::Matrix of(static_cast<std::size_t>(count), static_cast<std::size_t>(size));
  for (Index i = 0; i < count; ++i)
    for (Index d = 0; d < size; ++d)
      of(static_cast<std::size_t>(i), static_cast<std::size_t>(d)) =
          x[static_cast<std::size_t>((first + i) * stride + column + d)];
  return of;
}
inline void put_head(const reference::Matrix& from, reference::Vector& x, Index stride, Index first,
                     Index column) {
  for (std::size_t i = 0; i < from.rows; ++i)
    for (std::size_t d = 0; d < from.columns; ++d)
      x[(static_cast<std::size_t>(first) + i) * static_cast<std::size_t>(stride) +
        static_cast<std::size_t>(column) + d] = from(i, d);
}

}  // namespace bigbird::kernels
