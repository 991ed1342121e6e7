// Embeddings, and rows picked out and put back.
#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/partition.h"

namespace bigbird::kernels {

void CpuBackend::embedding_forward(const EmbeddingIndices& indices, const EmbeddingTables& tables, Values y) {
  const Index width = tables.width;
  parallel_pieces(indices.tokens, rows_per_task(width), [&](Index first, Index count) {
    for (Index t = first; t < first + count; ++t) {
      const auto row_of = [&](const float* table, const std::int32_t* rows) {
        return table != nullptr ? table + rows[t] * width : nullptr;
      };
      const float* type = row_of(tables.type, indices.types);
      const float* position = row_of(tables.position, indices.positions);
      if (type == nullptr) std::swap(type, position);
      level_.sum_of_three(tables.word + indices.ids[t] * width, tables.word_scale, type, position,
                          floats(y) + t * width, width);
    }
  });
}

void CpuBackend::embedding_backward(ConstValues dy, const EmbeddingIndices& indices,
                                    const EmbeddingTables& tables, const EmbeddingGradients& gradients) {
  // A task owns some columns of all three tables and walks the tokens in order: no two tasks write the same
  // place, and every sum has one order.
  const Index width = tables.width;
  parallel_pieces(width, columns_per_task, [&](Index first, Index count) {
    const auto row_of = [&](float* table, std::int32_t row) { return table + row * width + first; };
    for (Index t = 0; t < indices.tokens; ++t) {
      const float* const gradient = floats(dy) + t * width + first;
      if (const std::int32_t id = indices.ids[t]; id >= 0)
        level_.add_scaled(gradient, tables.word_scale, row_of(gradients.word, id), count);
      if (gradients.type != nullptr)
        level_.add_scaled(gradient, 1.0f, row_of(gradients.type, indices.types[t]), count);
      if (gradients.position == nullptr) continue;
      level_.add_scaled(gradient, 1.0f, row_of(gradients.position, indices.positions[t]), count);
    }
  });
}

void CpuBackend::gather_rows(ConstValues x, const std::int32_t* rows, Values y, Index count, Index width) {
  parallel_pieces(count, rows_per_task(width), [&](Index first, Index number) {
    for (Index i = first; i < first + number; ++i) {
      std::memcpy((y + i * width).data(), (x + rows[i] * width).data(),
                  static_cast<std::size_t>(width) * size_of(x.type()));
    }
  });
}

void CpuBackend::scatter_add_rows(ConstValues dy, const std::int32_t* rows, Values dx, Index count,
                                  Index width) {
  const bool narrow = dx.type() == ElementType::bf16;
  const Index size = rows_per_task(width);
  float* const scratch = narrow ? scratch_.reserve(2 * width * thread_count()) : nullptr;
  parallel_for_worker(static_cast<std::size_t>(pieces(count, size)), [&](std::size_t task, int worker) {
    const Index first = static_cast<Index>(task) * size;
    for (Index i = first; i < std::min(first + size, count); ++i) {
      const Values to = dx + rows[i] * width;
      if (!narrow) {
        level_.add_scaled(floats(dy) + i * width, 1.0f, floats(to), width);
        continue;
      }
      float* const added = scratch + 2 * width * worker;
      float* const sum = added + width;
      level_.widen((dy + i * width).as<bf16>(), added, width);
      level_.widen(to.as<bf16>(), sum, width);
      level_.narrow(added, sum, to.as<bf16>(), width);
    }
  });
}

}  // namespace bigbird::kernels
