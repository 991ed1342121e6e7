// Embeddings, rows picked out and put back, LayerNorm, activations, dropout, rotary positions: rows or
// elements, cut into equal pieces.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/partition.h"

namespace bigbird::kernels {
namespace {

// Without dropout there need be no seed.
std::uint64_t seed_of(const Dropout& dropout) {
  return dropout.probability > 0 ? *dropout.seed : 0;
}

// y = (residual +) dropout(x); residual may be null.
void drop(const Level& level, const float* x, const float* residual, float* y, Index count,
          const Dropout& dropout) {
  // Elements that lie together, the first of which is number `element` where masks are counted.
  const auto run = [&](Index first, Index number, Index element) {
    level.dropout(x + first, residual == nullptr ? nullptr : residual + first, y + first, number,
                  static_cast<std::uint64_t>(element), dropout.probability, seed_of(dropout), dropout.site);
  };
  if (dropout.rows == nullptr) {
    parallel_pieces(count, elements_per_task, [&](Index first, Index number) { run(first, number, first); });
    return;
  }
  const Index width = dropout.width;
  parallel_pieces(count / width, rows_per_task(width), [&](Index first, Index number) {
    for (Index row = first; row < first + number; ++row) run(row * width, width, dropout.rows[row] * width);
  });
}

void normalise_row(const Level& level, ConstValues x, const Norm& norm, Values y, const NormState& state,
                   Index row) {
  const Index at = row * norm.width;
  level.layernorm_row(floats(x) + at, norm.gamma, norm.beta, norm.epsilon, floats(y) + at,
                      state.mean != nullptr ? state.mean + row : nullptr,
                      state.rstd != nullptr ? state.rstd + row : nullptr, norm.width);
}

// Elements that are widened together, in the first-level cache.
constexpr Index stretch = 1024;

// body(first, count, so many stretches of floats) over [first, first + count).
template <Index stretches = 2, typename Body>
void for_each_as_floats(Index first, Index count, const Body& body) {
  alignas(64) float room[static_cast<std::size_t>(stretches * stretch)];
  for (Index at = first; at < first + count; at += stretch)
    body(at, std::min(stretch, first + count - at), room);
}

// The values as floats, in `room` where they are not.
const float* widened(const Level& level, ConstValues values, float* room, Index count) {
  if (values.type() == ElementType::fp32) return floats(values);
  level.widen(values.as<bf16>(), room, count);
  return room;
}

float word_scale_of(const EmbeddingIndices& indices, const EmbeddingTables& tables, Index token) {
  return indices.word_scales == nullptr ? tables.word_scale : tables.word_scale * indices.word_scales[token];
}

}  // namespace

void CpuBackend::embedding_forward(const EmbeddingIndices& indices, const EmbeddingTables& tables, Values y) {
  const Index width = tables.width;
  parallel_pieces(indices.tokens, rows_per_task(width), [&](Index first, Index count) {
    for (Index t = first; t < first + count; ++t) {
      const auto row_of = [&](const float* table, const std::int32_t* rows) {
        return table != nullptr ? table + rows[t] * width : nullptr;
      };
      const float* const type = row_of(tables.type, indices.types);
      const float* const position = row_of(tables.position, indices.positions);
      level_.sum_of_three(tables.word + indices.ids[t] * width, word_scale_of(indices, tables, t), type,
                          position, floats(y) + t * width, width);
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
        level_.add_scaled(gradient, word_scale_of(indices, tables, t), row_of(gradients.word, id), count);
      if (gradients.type != nullptr)
        level_.add_scaled(gradient, 1.0f, row_of(gradients.type, indices.types[t]), count);
      if (gradients.position == nullptr) continue;
      level_.add_scaled(gradient, 1.0f, row_of(gradients.position, indices.positions[t]), count);
    }
  });
}

void CpuBackend::neighbours_forward(const NeighbourRows& rows, const NeighbourTables& tables, Values y) {
  const Index width = tables.width;
  parallel_pieces(rows.tokens, rows_per_task(width), [&](Index first, Index count) {
    for (Index t = first; t < first + count; ++t) {
      float* const sum = floats(y) + t * width;
      std::copy_n(tables.bias, width, sum);
      for (Index k = 0; k < tables.neighbours; ++k) {
        const std::int32_t row = rows.rows[k * rows.tokens + t];
        if (row >= 0)
          level_.add_scaled(tables.weight + (k * tables.vocabulary + row) * width, 1.0f, sum, width);
      }
    }
  });
}

void CpuBackend::neighbours_backward(ConstValues dy, const NeighbourRows& rows, const NeighbourTables& tables,
                                     const NeighbourGradients& gradients) {
  const Index width = tables.width;
  add_bias_gradient(dy, rows.tokens, width, gradients.bias);
  // As in embedding_backward: a task owns some columns of all tables.
  parallel_pieces(width, columns_per_task, [&](Index first, Index count) {
    for (Index t = 0; t < rows.tokens; ++t) {
      const float* const gradient = floats(dy) + t * width + first;
      for (Index k = 0; k < tables.neighbours; ++k) {
        const std::int32_t row = rows.rows[k * rows.tokens + t];
        if (row < 0) continue;
        level_.add_scaled(gradient, 1.0f, gradients.weight + (k * tables.vocabulary + row) * width + first,
                          count);
      }
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

void CpuBackend::mean_rows_forward(ConstValues x, const RowSpans& spans, Values y, Index width) {
  parallel_pieces(spans.count, 1, [&](Index first, Index count) {
    for (Index i = first; i < first + count; ++i) {
      float* const mean = floats(y) + i * width;
      std::fill_n(mean, width, 0.0f);
      const float share = 1.0f / static_cast<float>(spans.length[i]);
      for (Index row = spans.first[i]; row < spans.first[i] + spans.length[i]; ++row)
        level_.add_scaled(floats(x) + row * width, share, mean, width);
    }
  });
}

void CpuBackend::max_rows_forward(ConstValues x, const RowSpans& spans, Values y, Index width) {
  parallel_pieces(spans.count, 1, [&](Index first, Index count) {
    for (Index i = first; i < first + count; ++i) {
      float* const most = floats(y) + i * width;
      const float* const rows = floats(x) + spans.first[i] * width;
      std::copy_n(rows, width, most);
      for (Index at = width; at < spans.length[i] * width; ++at)
        most[at % width] = std::max(most[at % width], rows[at]);
    }
  });
}

void CpuBackend::mean_rows_backward(ConstValues dy, const RowSpans& spans, Values dx, Index width) {
  parallel_pieces(spans.count, 1, [&](Index first, Index count) {
    for (Index i = first; i < first + count; ++i) {
      const float share = 1.0f / static_cast<float>(spans.length[i]);
      for (Index row = spans.first[i]; row < spans.first[i] + spans.length[i]; ++row)
        level_.add_scaled(floats(dy) + i * width, share, floats(dx) + row * width, width);
    }
  });
}

// to(i) += from(i) for `count` rows, which are distinct.
template <typename From, typename To>
void CpuBackend::add_each_row(Index count, Index width, bool narrow, const From& from, const To& to) {
  const Index size = rows_per_task(width);
  float* const scratch = narrow ? scratch_.reserve(2 * width * thread_count()) : nullptr;
  parallel_for_worker(static_cast<std::size_t>(pieces(count, size)), [&](std::size_t task, int worker) {
    const Index first = static_cast<Index>(task) * size;
    for (Index i = first; i < std::min(first + size, count); ++i) {
      if (!narrow) {
        level_.add_scaled(floats(from(i)), 1.0f, floats(to(i)), width);
        continue;
      }
      float* const added = scratch + 2 * width * worker;
      float* const sum = added + width;
      level_.widen(from(i).template as<bf16>(), added, width);
      level_.widen(to(i).template as<bf16>(), sum, width);
      level_.narrow(added, sum, to(i).template as<bf16>(), width);
    }
  });
}

void CpuBackend::scatter_add_rows(ConstValues dy, const std::int32_t* rows, Values dx, Index count,
                                  Index width) {
  add_each_row(
      count, width, dx.type() == ElementType::bf16, [&](Index i) { return dy + i * width; },
      [&](Index i) { return dx + rows[i] * width; });
}

void CpuBackend::add_rows(ConstRows x, Rows y, Index rows, Index width) {
  add_each_row(
      rows, width, y.data.type() == ElementType::bf16, [&](Index i) { return x.data + i * x.stride; },
      [&](Index i) { return y.data + i * y.stride; });
}

void CpuBackend::layernorm_forward(ConstValues x, const Norm& norm, Values y, const NormState& state,
                                   Index rows) {
  parallel_pieces(rows, rows_per_task(norm.width), [&](Index first, Index count) {
    for (Index row = first; row < first + count; ++row) normalise_row(level_, x, norm, y, state, row);
  });
}

void CpuBackend::layernorm_backward(const NormBackward& pass, const Norm& norm,
                                    const NormGradients& gradients, bool accumulate) {
  // Every piece of rows sums its own gradients of gamma and beta; the partial sums are then added in order.
  const Index rows = pass.rows, width = norm.width;
  const Index size = std::max<Index>(16, pieces(rows, 32));
  const Index parts = pieces(rows, size);
  float* const partial = scratch_.reserve(parts * 2 * width);
  parallel_pieces(rows, size, [&](Index first, Index count) {
    float* const dgamma = partial + first / size * 2 * width;
    float* const dbeta = dgamma + width;
    std::fill(dgamma, dgamma + 2 * width, 0.0f);
    for (Index row = first; row < first + count; ++row) {
      const Index at = row * width;
      level_.layernorm_backward_row(floats(pass.dy) + at, floats(pass.x) + at, norm.gamma,
                                    pass.state.mean[row], pass.state.rstd[row], floats(pass.dx) + at,
                                    accumulate, dgamma, dbeta, width);
    }
  });
  level_.add_column_sums(partial, parts, 2 * width, gradients.gamma, width);
  level_.add_column_sums(partial + width, parts, 2 * width, gradients.beta, width);
  if (gradients.linear_bias != nullptr) add_bias_gradient(pass.dx, rows, width, gradients.linear_bias);
}

void CpuBackend::dropout_add_layernorm_forward(const ResidualSum& join, const Norm& norm, Values y,
                                               const NormState& state, Index rows) {
  const Index width = norm.width;
  const Values sum = join.sum == nullptr ? y : join.sum;
  if (join.dropout.probability > 0) {
    dropout_add(join.x, join.residual, sum, rows * width, join.dropout);
    layernorm_forward(sum, norm, y, state, rows);
    return;
  }
  parallel_pieces(rows, rows_per_task(width), [&](Index first, Index count) {
    for (Index row = first; row < first + count; ++row) {  // the sum is normalised while it is in the cache
      const Index at = row * width;
      level_.dropout(floats(join.x) + at, floats(join.residual) + at, floats(sum) + at, width, 0, 0.0f, 0, 0);
      normalise_row(level_, sum, norm, y, state, row);
    }
  });
}

void CpuBackend::layernorm_backward_dropout(const NormBackward& pass, const Norm& norm,
                                            const NormGradients& gradients, const Dropout& dropout,
                                            Values branch) {
  layernorm_backward(pass, norm, {gradients.gamma, gradients.beta}, false);
  this->dropout(pass.dx, branch, pass.rows * norm.width, dropout);
  if (gradients.linear_bias != nullptr) {
    add_bias_gradient(branch, pass.rows, norm.width, gradients.linear_bias);
  }
}

void CpuBackend::activation_forward(ConstValues pre, Values y, Index count, Activation activation) {
  parallel_pieces(count, elements_per_task, [&](Index first, Index number) {
    for_each_as_floats(first, number, [&](Index at, Index some, float* room) {
      const float* const from = widened(level_, pre + at, room, some);
      if (y.type() == ElementType::bf16) {
        level_.add_bias_activation_narrow(from, nullptr, nullptr, (y + at).as<bf16>(), some, activation);
      } else {
        level_.add_bias_activation(from, nullptr, nullptr, floats(y) + at, some, activation);
      }
    });
  });
}

void CpuBackend::activation_backward(ConstValues pre, ConstValues dy, Values dx, Index count,
                                     Activation activation) {
  parallel_pieces(count, elements_per_task, [&](Index first, Index number) {
    for_each_as_floats(first, number, [&](Index at, Index some, float* room) {
      const bool narrow = dx.type() == ElementType::bf16;
      float* const gradient = room + stretch;
      float* const made = narrow ? gradient : floats(dx) + at;
      level_.activation_backward(widened(level_, pre + at, room, some),
                                 widened(level_, dy + at, gradient, some), made, some, activation);
      if (narrow) level_.narrow(made, nullptr, (dx + at).as<bf16>(), some);
    });
  });
}

void CpuBackend::gated_activation_forward(ConstValues pre, Values y, Index rows, Index width,
                                          Activation activation) {
  parallel_pieces(rows, rows_per_task(2 * width), [&](Index first, Index number) {
    for (Index row = first; row < first + number; ++row) {
      for_each_as_floats<3>(0, width, [&](Index at, Index some, float* room) {
        float* const gate_room = room + stretch;
        float* const made = room + 2 * stretch;
        const ConstValues of_row = pre + (2 * row * width + at);
        level_.add_bias_activation(widened(level_, of_row, room, some), nullptr, nullptr, made, some,
                                   activation);
        const bool narrow = y.type() == ElementType::bf16;
        const Values to = y + (row * width + at);
        level_.multiply(made, widened(level_, of_row + width, gate_room, some), narrow ? made : floats(to),
                        some);
        if (narrow) level_.narrow(made, nullptr, to.as<bf16>(), some);
      });
    }
  });
}

void CpuBackend::gated_activation_backward(ConstValues pre, ConstValues dy, Values dpre, Index rows,
                                           Index width, Activation activation) {
  parallel_pieces(rows, rows_per_task(2 * width), [&](Index first, Index number) {
    for (Index row = first; row < first + number; ++row) {
      for_each_as_floats<5>(0, width, [&](Index at, Index some, float* room) {
        const auto part = [room](int i) { return room + i * stretch; };
        const ConstValues of_row = pre + (2 * row * width + at);
        const float* const x = widened(level_, of_row, part(0), some);
        const float* const gate = widened(level_, of_row + width, part(1), some);
        const float* const gradient = widened(level_, dy + (row * width + at), part(2), some);
        float* const of_gate = part(3);
        float* const of_x = part(4);
        level_.add_bias_activation(x, nullptr, nullptr, of_gate, some, activation);
        level_.multiply(of_gate, gradient, of_gate, some);
        level_.multiply(gradient, gate, of_x, some);
        level_.activation_backward(x, of_x, of_x, some, activation);
        // Both are made before either half of the row, which may be read from here, is written.
        const Values to = dpre + (2 * row * width + at);
        const auto store = [&](const float* from, Values half) {
          if (half.type() == ElementType::bf16) {
            level_.narrow(from, nullptr, half.as<bf16>(), some);
          } else {
            std::copy_n(from, some, floats(half));
          }
        };
        store(of_x, to);
        store(of_gate, to + width);
      });
    }
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
  drop(level_, floats(x), nullptr, floats(y), count, dropout);
}

void CpuBackend::dropout_add(ConstValues x, ConstValues residual, Values y, Index count,
                             const Dropout& dropout) {
  drop(level_, floats(x), floats(residual), floats(y), count, dropout);
}

void CpuBackend::add(ConstValues x, Values y, Index count) {
  parallel_pieces(count, elements_per_task, [&](Index first, Index number) {
    level_.add_scaled(floats(x) + first, 1.0f, floats(y) + first, number);
  });
}

void CpuBackend::subtract(ConstValues x, Values y, Index count) {
  parallel_pieces(count, elements_per_task, [&](Index first, Index number) {
    level_.add_scaled(floats(x) + first, -1.0f, floats(y) + first, number);
  });
}

void CpuBackend::rotate(Rows x, const Rotary& rotary, Index rows, bool back) {
  const Index width = rotary.heads * rotary.head_size, size = rows_per_task(width);
  const bool narrow = x.data.type() == ElementType::bf16;
  float* const scratch = narrow ? scratch_.reserve(width * thread_count()) : nullptr;
  parallel_for_worker(static_cast<std::size_t>(pieces(rows, size)), [&](std::size_t task, int worker) {
    const Index first = static_cast<Index>(task) * size;
    for (Index row = first; row < std::min(first + size, rows); ++row) {
      const Values values = x.data + row * x.stride;
      float* const wide = narrow ? scratch + width * worker : floats(values);
      if (narrow) level_.widen(values.as<bf16>(), wide, width);
      level_.rotate_row(wide, rotary.rotations + rotary.positions[row] * 2 * rotary.half, rotary.heads,
                        rotary.head_size, rotary.half, back);
      if (narrow) level_.narrow(wide, nullptr, values.as<bf16>(), width);
    }
  });
}

}  // namespace bigbird::kernels
