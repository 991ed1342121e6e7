// Matrices of heads and blocks brought to other sizes and back; see padding.h. Sizes that need this
// are unusual: an element a thread.
#include <cmath>

#include "kernels/cuda/attention/padding.h"
#include "kernels/cuda/elements.cuh"

namespace bigbird::kernels::cuda {
namespace {

// Where an element of a padded matrix comes from.
struct PaddedPlaces {
  Index block, padded_block;
  int head, padded_head, heads;
  Index padded_rows;

  PaddedPlaces(const PaddedMatrix& matrix)
      : block(matrix.padding.block_size),
        padded_block(matrix.padding.padded_block),
        head(static_cast<int>(matrix.padding.head_size)),
        padded_head(static_cast<int>(matrix.padding.padded_head)),
        heads(static_cast<int>(matrix.heads)),
        padded_rows(matrix.padding.rows(matrix.rows)) {}

  // -1: padding
  BIGBIRD_DEVICE Index row(Index padded) const {
    const Index in_block = padded % padded_block;
    return in_block < block ? padded / padded_block * block + in_block : -1;
  }
};

constexpr int pad_threads = 256;

template <class T, bool Back>
struct PadRows {
  static constexpr int threads = pad_threads;
  static constexpr int blocks_per_sm = 4;
  PaddedPlaces places;
  T* given;  // read, or written on the way back
  Index stride;
  T* padded;
  float mark_there, mark_padding;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index width = Index{places.heads} * places.padded_head;
    const Index at = Index{thread.block()} * threads + thread.index();
    if (at >= places.padded_rows * width) return;
    const Index row = places.row(at / width);
    const int head = static_cast<int>(at % width) / places.padded_head;
    const int column = static_cast<int>(at % width) % places.padded_head;
    const bool inside = row >= 0 && column < places.head;
    T* const own = given + (inside ? row * stride + head * places.head + column : 0);
    if constexpr (Back) {
      if (inside) *own = padded[at];
    } else if (inside) {
      padded[at] = *own;
    } else {
      const float mark = row < 0 ? mark_padding : mark_there;
      padded[at] = to_element<T>(column == places.head ? mark : 0.0f);
    }
  }
};

template <bool Back>
struct PadStatistics {
  static constexpr int threads = pad_threads;
  static constexpr int blocks_per_sm = 4;
  PaddedPlaces places;
  float* given;
  Index rows;
  float* padded;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index at = Index{thread.block()} * threads + thread.index();
    if (at >= places.heads * places.padded_rows) return;
    const Index row = places.row(at % places.padded_rows);
    float* const own = given + (row < 0 ? 0 : at / places.padded_rows * rows + row);
    if constexpr (Back) {
      if (row >= 0) *own = padded[at];
    } else {
      padded[at] = row < 0 ? INFINITY : *own;
    }
  }
};

template <bool Back>
void move_matrix(const PaddedMatrix& matrix, Values given, Index stride, Values padded, Stream stream) {
  with_type(given.type(), [&](auto type) {
    using T = decltype(type);
    const PaddedPlaces places(matrix);
    const Index count = places.padded_rows * places.heads * places.padded_head;
    launch(PadRows<T, Back>{places, given.as<T>(), stride, padded.as<T>(), matrix.mark_there,
                            matrix.mark_padding},
           {.blocks = blocks_for(count, pad_threads)}, stream);
  });
}

template <bool Back>
void move_statistics(const PaddedMatrix& matrix, float* given, float* padded, Stream stream) {
  const PaddedPlaces places(matrix);
  launch(PadStatistics<Back>{places, given, matrix.rows, padded},
         {.blocks = blocks_for(places.heads * places.padded_rows, pad_threads)}, stream);
}

// One kernel goes both ways; on each it only reads what is const for the caller.
Values writable(ConstValues values) {
  return {const_cast<void*>(values.data()), values.type()};
}

}  // namespace

void pad_rows(const PaddedMatrix& matrix, ConstRows from, Values to, Stream stream) {
  move_matrix<false>(matrix, writable(from.data), from.stride, to, stream);
}
void take_rows(const PaddedMatrix& matrix, ConstValues from, Rows to, Stream stream) {
  move_matrix<true>(matrix, to.data, to.stride, writable(from), stream);
}
void pad_statistics(const PaddedMatrix& matrix, const float* from, float* to, Stream stream) {
  move_statistics<false>(matrix, const_cast<float*>(from), to, stream);
}
void take_statistics(const PaddedMatrix& matrix, const float* from, float* to, Stream stream) {
  move_statistics<true>(matrix, to, const_cast<float*>(from), stream);
}

}  // namespace bigbird::kernels::cuda
