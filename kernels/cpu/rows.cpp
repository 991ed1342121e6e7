// LayerNorm, activations, dropout, rotary turns: rows or elements, cut into equal pieces.
#include <algorithm>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/partition.h"

namespace bigbird::kernels {

namespace {

// Without dropout there need be no seed.
std::uint64_t seed_of(const Dropout& dropout) {
  return dropout.probability > 0 ? *dropout.seed : 0;
}

}  // namespace

void CpuBackend::layernorm_forward(ConstValues x, const float* gamma, const float* beta, float epsilon,
                                   Values y, float* mean, float* rstd, Index rows, Index width) {
  parallel_pieces(rows, rows_per_task(width), [&](Index first, Index count) {
    for (Index row = first; row < first + count; ++row) {
      level_.layernorm_row(floats(x) + row * width, gamma, beta, epsilon, floats(y) + row * width,
                           mean != nullptr ? mean + row : nullptr, rstd != nullptr ? rstd + row : nullptr,
                           width);
    }
  });
}

void CpuBackend::layernorm_backward(ConstValues dy, ConstValues x, const float* gamma, const float* mean,
                                    const float* rstd, Values dx, bool accumulate, float* dgamma,
                                    float* dbeta, Index rows, Index width) {
  // Every piece of rows sums its own dgamma and dbeta; the partial sums are then added in order.
  const Index size = std::max<Index>(16, pieces(rows, 32));
  const Index parts = pieces(rows, size);
  float* const partial = scratch_.reserve(parts * 2 * width);
  parallel_pieces(rows, size, [&](Index first, Index count) {
    float* const part_dgamma = partial + first / size * 2 * width;
    float* const part_dbeta = part_dgamma + width;
    std::fill(part_dgamma, part_dgamma + 2 * width, 0.0f);
    for (Index row = first; row < first + count; ++row) {
      const Index at = row * width;
      level_.layernorm_backward_row(floats(dy) + at, floats(x) + at, gamma, mean[row], rstd[row],
                                    floats(dx) + at, accumulate, part_dgamma, part_dbeta, width);
    }
  });
  level_.add_column_sums(partial, parts, 2 * width, dgamma, width);
  level_.add_column_sums(partial + width, parts, 2 * width, dbeta, width);
}

void CpuBackend::gelu_backward(ConstValues pre, ConstValues dy, Values dx, Index count,
                               Activation activation) {
  parallel_pieces(count, elements_per_task, [&](Index first, Index number) {
    level_.gelu_backward(floats(pre) + first, floats(dy) + first, floats(dx) + first, number, activation);
  });
}

void CpuBackend::tanh_forward(ConstValues x, Values y, Index count) {
  parallel_pieces(count, elements_per_task, [&](Index first, Index number) {
    level_.tanh_forward(floats(x) + first, floats(y) + first, number);
  });
}

void CpuBackend::tanh_backward(ConstValues y, ConstValues dy, Values dx, Index count) {
  parallel_pieces(count, elements_per_task, [&](Index first, Index number) {
    level_.tanh_backward(floats(y) + first, floats(dy) + first, floats(dx) + first, number);
  });
}

void CpuBackend::dropout(ConstValues x, Values y, Index count, const Dropout& dropout) {
  parallel_pieces(count, elements_per_task, [&](Index first, Index number) {
    level_.dropout(floats(x) + first, nullptr, floats(y) + first, number, static_cast<std::uint64_t>(first),
                   dropout.probability, seed_of(dropout), dropout.stream);
  });
}

void CpuBackend::dropout_add(ConstValues x, ConstValues residual, Values y, Index count,
                             const Dropout& dropout) {
  parallel_pieces(count, elements_per_task, [&](Index first, Index number) {
    level_.dropout(floats(x) + first, floats(residual) + first, floats(y) + first, number,
                   static_cast<std::uint64_t>(first), dropout.probability, seed_of(dropout), dropout.stream);
  });
}

void CpuBackend::add(ConstValues x, Values y, Index count) {
  parallel_pieces(count, elements_per_task, [&](Index first, Index number) {
    level_.add_scaled(floats(x) + first, 1.0f, floats(y) + first, number);
  });
}

void CpuBackend::rotary_turn(Rows x, const std::int32_t* positions, const float* turns, Index rows,
                             Index heads, Index head_size, Index half, bool back) {
  parallel_pieces(rows, rows_per_task(heads * head_size), [&](Index first, Index count) {
    for (Index row = first; row < first + count; ++row) {
      level_.turn_row(floats(x.data) + row * x.stride, turns + positions[row] * 2 * half, heads, head_size,
                      half, back);
    }
  });
}

}  // namespace bigbird::kernels
