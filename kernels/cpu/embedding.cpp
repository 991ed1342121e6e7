// Embeddings, and rows picked out and put back.
#include <cstring>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/partition.h"

namespace bigbird::kernels {

void CpuBackend::embedding_forward(const std::int32_t* ids, const std::int32_t* types,
                                   const std::int32_t* positions, const float* word, const float* type,
                                   const float* position, float word_scale, Values y, Index tokens,
                                   Index width) {
  parallel_pieces(tokens, rows_per_task(width), [&](Index first, Index count) {
    for (Index t = first; t < first + count; ++t) {
      level_.sum_of_three(word + ids[t] * width, word_scale, type + types[t] * width,
                          position != nullptr ? position + positions[t] * width : nullptr,
                          floats(y) + t * width, width);
    }
  });
}

void CpuBackend::embedding_backward(ConstValues dy, const std::int32_t* ids, const std::int32_t* types,
                                    const std::int32_t* positions, float word_scale, float* dword,
                                    float* dtype, float* dposition, Index tokens, Index width, Index, Index,
                                    Index) {
  // A task owns some columns of all three tables and walks the tokens in order: no two tasks write the same
  // place, and every sum has one order.
  parallel_pieces(width, columns_per_task, [&](Index first, Index count) {
    for (Index t = 0; t < tokens; ++t) {
      const float* gradient = floats(dy) + t * width + first;
      if (ids[t] >= 0) level_.add_scaled(gradient, word_scale, dword + ids[t] * width + first, count);
      level_.add_scaled(gradient, 1.0f, dtype + types[t] * width + first, count);
      if (dposition == nullptr) continue;
      level_.add_scaled(gradient, 1.0f, dposition + positions[t] * width + first, count);
    }
  });
}

void CpuBackend::gather_rows(ConstValues x, const std::int32_t* rows, Values y, Index count, Index width) {
  parallel_pieces(count, rows_per_task(width), [&](Index first, Index number) {
    for (Index i = first; i < first + number; ++i) {
      std::memcpy(floats(y) + i * width, floats(x) + rows[i] * width,
                  static_cast<std::size_t>(width) * sizeof(float));
    }
  });
}

void CpuBackend::scatter_add_rows(ConstValues dy, const std::int32_t* rows, Values dx, Index count,
                                  Index width) {
  parallel_pieces(count, rows_per_task(width), [&](Index first, Index number) {
    for (Index i = first; i < first + number; ++i)
      level_.add_scaled(floats(dy) + i * width, 1.0f, floats(dx) + rows[i] * width, width);
  });
}

}  // namespace bigbird::kernels
