// How work is cut into tasks: by the shapes alone, never by the number of threads.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/parallel.h"
#include "kernels/types.h"

namespace bigbird::kernels {

inline Index pieces(Index count, Index size) {
  return (count + size - 1) / size;
}

// body(first, count) over [0, total) in pieces of `size`.
template <typename Body>
void parallel_pieces(Index total, Index size, const Body& body) {
  parallel_for(static_cast<std::size_t>(pieces(total, size)), [&](std::size_t task) {
    const Index first = static_cast<Index>(task) * size;
    body(first, std::min(size, total - first));
  });
}

// As many rows as make a task worth handing out.
inline Index rows_per_task(Index width) {
  return std::max<Index>(1, Index{16384} / std::max<Index>(1, width));
}

constexpr Index elements_per_task = 16384;  // a multiple of 4: dropout decides on four at a time
constexpr Index columns_per_task = 64;

}  // namespace bigbird::kernels
