// Linear layers: the three GEMMs, and bias and gelu on each tile while it is in the cache.
#include <algorithm>
#include <stdexcept>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/partition.h"

namespace bigbird::kernels {

namespace {

struct TileSize {
  Index rows;
  Index columns;
};

// A product with b packed once, for all tasks: so many rows that reading the packed panels again is no price,
// and few enough that the last tasks leave no thread waiting for long; finer where that leaves too few tasks.
constexpr Index packed_b_floats = Index{1} << 20;  // a stretch, for a cache that threads share
constexpr Index packed_b_depth = 1024;             // of the longest that is as wide as it can be
TileSize shared_tile_size(Index m, Index n, Index panel) {
  constexpr Index wanted_tasks = 16;
  TileSize tile{96, std::min<Index>(n, 3072)};
  while (pieces(m, tile.rows) * pieces(n, tile.columns) < wanted_tasks &&
         (tile.rows > 48 || tile.columns > 96)) {
    if (tile.rows > 48 && tile.columns <= 4 * tile.rows) {
      tile.rows /= 2;
    } else {
      tile.columns = tile.columns / 2;
    }
  }
  tile.columns = pieces(tile.columns, panel) * panel;
  return tile;
}

// GEMM on AMX. A slice of packed a (rows of one task by most_slice_steps of depth) and one
// packed group of b share the second-level cache; b is packed as a whole, or in runs of columns when it is
// large.
constexpr Index most_slice_steps = 24;
constexpr Index packed_a_bytes = Index{1} << 19;  // of a task whose result is bf16
constexpr Index packed_b_bytes = Index{16} << 20;
constexpr Index finished_columns = 256;  // of c, still in the cache when what follows the product is done

// A task packs its own rows of a, so it should have many columns; finer where that leaves too few tasks.
TileSize packed_tile_size(Index m, Index n) {
  constexpr Index wanted_tasks = 12;
  TileSize tile{256, pieces(n, amx_group) * amx_group};
  while (pieces(m, tile.rows) * pieces(n, tile.columns) < wanted_tasks &&
         (tile.rows > 64 || tile.columns > finished_columns)) {
    if (tile.columns > finished_columns && (tile.columns >= 4 * tile.rows || tile.rows <= 64)) {
      tile.columns = pieces(tile.columns, 2 * amx_group) * amx_group;
    } else {
      tile.rows /= 2;
    }
  }
  return tile;
}

// Rows of a that are packed by the task that multiplies them: with a panel of b they stay in the second-level
// cache, and the last tasks leave no thread waiting for long. On tiles of AMX b is read faster than it comes
// from that cache, and should serve more rows. Fewer where that leaves too few tasks.
Index rows_of_task(Index m, Index tile_rows) {
  constexpr Index wanted_tasks = 12, fewest = 24;
  const Index most = tile_rows == amx_group ? 256 : 36;
  const auto whole = [&](Index count) { return pieces(count, tile_rows) * tile_rows; };
  return std::clamp(whole(pieces(m, wanted_tasks)), whole(fewest), whole(most));
}

AmxOperand operand(ConstValues data, Index outer, Index depth, Index outer_step, Index depth_step) {
  AmxOperand result{nullptr, outer, depth, outer_step, depth_step};
  if (data.type() == ElementType::bf16) {
    result.narrow = data.as<bf16>();
  } else {
    result.data = floats(data);
  }
  return result;
}

AmxOperand part_of(AmxOperand whole, Index first, Index count, Index first_depth, Index depth) {
  const Index before = first * whole.outer_step + first_depth * whole.depth_step;
  whole.outer = count;
  whole.depth = depth;
  if (whole.data != nullptr) whole.data += before;
  if (whole.narrow != nullptr) whole.narrow += before;
  return whole;
}

// Rows with a zero behind their last, odd number.
void copy_with_odd_end(const bf16* from, Index rows, Index columns, bf16* to) {
  for (Index row = 0; row < rows; ++row) {
    std::copy_n(from + row * columns, columns, to + row * (columns + 1));
    to[row * (columns + 1) + columns] = {0};
  }
}

}  // namespace

// c (+)= a b on AMX. A narrow c is not added to: that is left to what follows.
struct CpuBackend::TileProduct {
  AmxOperand a;
  AmxOperand b;  // of its columns alone where it is packed
  const std::byte* packed_b = nullptr;
  Index parts = 0;
  Values c;
  Index c_row = 0;
  bool accumulate = false;
};

// A stretch of b is packed by all threads, and every task multiplies its rows by it.
template <typename After>
void CpuBackend::multiply_shared(const Product& x, const After& after) {
  const Index panel = level_.gemm_panel();
  const Index run = std::clamp(packed_b_floats / std::clamp(x.k, Index{1}, packed_b_depth) / panel, Index{1},
                               pieces(x.n, panel)) *
                    panel;
  const Index depth = std::min(x.k, std::max(packed_b_floats / run / gemm_depth, Index{1}) * gemm_depth);
  const Index a_floats = level_.gemm_rows_scratch();
  float* const packed_b = scratch_.reserve(run * depth + a_floats * thread_count());
  float* const packed_a = packed_b + run * depth;
  for (Index column = 0; column < x.n; column += run) {
    for (Index step = 0; step < x.k || step == 0; step += depth) {
      Product part = x;
      part.n = std::min(run, x.n - column);
      part.k = std::min(depth, x.k - step);
      part.a += step * x.a_column;
      part.b += column * x.b_column + step * x.b_row;
      part.c += column;
      part.accumulate = x.accumulate || step > 0;
      multiply_packed_b(part, packed_b, packed_a, a_floats,
                        [&](Index row, Index rows, Index first, Index columns) {
                          if (step + depth >= x.k) after(row, rows, column + first, columns);
                        });
      if (x.k == 0) break;
    }
  }
}

// One stretch: packed, then multiplied.
template <typename After>
void CpuBackend::multiply_packed_b(const Product& x, float* packed_b, float* packed_a, Index a_floats,
                                   const After& after) {
  const Index panel = level_.gemm_panel(), packed_columns = pieces(x.n, panel) * panel;
  const Index pack = 4 * panel, packs = pieces(x.n, pack);
  parallel_for(static_cast<std::size_t>(pieces(x.k, gemm_depth) * packs), [&](std::size_t task) {
    const Index slice = static_cast<Index>(task) / packs * gemm_depth;
    const Index column = static_cast<Index>(task) % packs * pack;
    Product part = x;
    part.n = std::min(pack, x.n - column);
    part.b += column * x.b_column;
    const Index depth = std::min(gemm_depth, x.k - slice);
    level_.gemm_pack(part, slice, depth, packed_b + slice * packed_columns + column * depth);
  });
  const TileSize tile = shared_tile_size(x.m, x.n, panel);
  const Index row_tiles = pieces(x.m, tile.rows), column_tiles = pieces(x.n, tile.columns);
  parallel_for_worker(static_cast<std::size_t>(row_tiles * column_tiles), [&](std::size_t task, int worker) {
    const Index row = static_cast<Index>(task) / column_tiles * tile.rows;
    const Index column = static_cast<Index>(task) % column_tiles * tile.columns;
    Product part = x;
    part.m = std::min(tile.rows, x.m - row);
    part.n = std::min(tile.columns, x.n - column);
    part.a += row * x.a_row;
    part.c += row * x.c_row + column;
    level_.gemm_rows(part, packed_b, packed_columns, column, packed_a + a_floats * worker);
    after(row, part.m, column, part.n);
  });
}

// As on AMX: b is packed in runs of columns, unless that was done for good, a by the tasks, unless it is
// bf16.
template <typename Pack, typename After>
void CpuBackend::multiply_bf16(ConstValues x, Index in, Index out, const std::byte* packed, const Pack& pack,
                               Values y, Index rows, bool accumulate, const After& after) {
  const Index panel_bytes = bf16_panel_bytes(in), row_bytes = bf16_row_bytes(in);
  const Index panels = pieces(out, bf16_panel);
  const Index run_panels =
      packed != nullptr ? panels : std::min(panels, std::max<Index>(1, packed_b_bytes / panel_bytes));
  const Index task_rows = rows_of_task(rows, bf16_tile_rows);
  const bool narrow_x = x.type() == ElementType::bf16, narrow_y = y.type() == ElementType::bf16;
  const bool as_it_is = narrow_x && in % 2 == 0;  // neighbours in a row are the pairs
  const Index b_bytes = packed != nullptr ? 0 : run_panels * panel_bytes;
  const Index a_bytes = as_it_is ? 0 : pieces(task_rows * row_bytes, 64) * 64;
  const Index tile_bytes = narrow_y ? task_rows * finished_columns * Index{sizeof(float)} : 0;
  auto* const scratch = reinterpret_cast<std::byte*>(
      scratch_.reserve((b_bytes + (a_bytes + tile_bytes) * thread_count()) / Index{sizeof(float)}));
  std::byte* const own = scratch + b_bytes;

  for (Index first = 0; first < out; first += run_panels * bf16_panel) {
    const Index columns = std::min(run_panels * bf16_panel, out - first);
    if (packed == nullptr) {
      parallel_pieces(columns, bf16_panel, [&](Index at, Index count) {
        pack(first + at, count, scratch + at / bf16_panel * panel_bytes);
      });
    }
    const std::byte* const b = packed != nullptr ? packed + first / bf16_panel * panel_bytes : scratch;
    parallel_for_worker(static_cast<std::size_t>(pieces(rows, task_rows)), [&](std::size_t task, int worker) {
      const Index row = static_cast<Index>(task) * task_rows, count = std::min(task_rows, rows - row);
      std::byte* const packed_a = own + (a_bytes + tile_bytes) * worker;
      const void* a = packed_a;
      if (as_it_is) {
        a = (x + row * in).data();
      } else if (narrow_x) {
        copy_with_odd_end((x + row * in).as<bf16>(), count, in, reinterpret_cast<bf16*>(packed_a));
      } else {
        bf16_->pack_a(floats(x) + row * in, in, count, in, packed_a);
      }
      for (Index at = 0; at < columns; at += finished_columns) {
        const Index width = std::min(finished_columns, columns - at),
                    stride = narrow_y ? finished_columns : out;
        float* const tile =
            narrow_y ? reinterpret_cast<float*>(packed_a + a_bytes) : floats(y) + row * out + first + at;
        bf16_->multiply(
            {count, width, in, a, b + at / bf16_panel * panel_bytes, tile, stride, accumulate && !narrow_y});
        after(tile, stride, row, count, first + at, width);
      }
    });
  }
}

template <typename After>
void CpuBackend::multiply_int8(ConstValues x, const Linear& layer, const std::byte* packed, Values y,
                               Index rows, const After& after) {
  const Index in = layer.in, out = layer.out, row_bytes = int8_row_bytes(in);
  const Index task_rows = rows_of_task(rows, int8_.tile_rows);
  const bool narrow_x = x.type() == ElementType::bf16, narrow_y = y.type() == ElementType::bf16;
  const Index a_bytes = pieces(task_rows * row_bytes, 64) * 64;
  const Index facts_bytes = pieces(task_rows * Index{sizeof(Int8Row)}, 64) * 64;
  const Index tile_bytes = narrow_y ? task_rows * finished_columns * Index{sizeof(float)} : 0;
  const Index own_bytes = a_bytes + facts_bytes + tile_bytes;
  auto* const scratch =
      reinterpret_cast<std::byte*>(scratch_.reserve(own_bytes * thread_count() / Index{sizeof(float)}));
  parallel_for_worker(static_cast<std::size_t>(pieces(rows, task_rows)), [&](std::size_t task, int worker) {
    const Index row = static_cast<Index>(task) * task_rows, count = std::min(task_rows, rows - row);
    std::byte* const a = scratch + own_bytes * worker;
    auto* const facts = reinterpret_cast<Int8Row*>(a + a_bytes);
    if (narrow_x) {
      int8_.quantize_bf16((x + row * in).as<bf16>(), in, count, in, a, facts);
    } else {
      int8_.quantize(floats(x) + row * in, in, count, in, a, facts);
    }
    for (Index at = 0; at < out; at += finished_columns) {
      const Index width = std::min(finished_columns, out - at), stride = narrow_y ? finished_columns : out;
      float* const tile =
          narrow_y ? reinterpret_cast<float*>(a + a_bytes + facts_bytes) : floats(y) + row * out + at;
      int8_.multiply({count, width, in, a, facts, packed, out, at, tile, stride});
      after(tile, stride, row, count, at, width);
    }
  });
}

template <typename After>
void CpuBackend::multiply_layer(ConstValues x, const Linear& layer, Values y, Index rows,
                                const After& after) {
  const Index in = layer.in, out = layer.out;
  if (rows == 0 || out == 0) return;
  const PackedWeight* const packed = find_packed(layer);
  const std::byte* const data = packed != nullptr ? packed->data : nullptr;
  if (packed != nullptr && packed->form == WeightForm::int8)
    return multiply_int8(x, layer, data, y, rows, after);
  if (bf16_ != nullptr && rounds(layer) && in > 0) {
    const auto pack = [&](Index first, Index count, void* to) {
      bf16_->pack_b(layer.weight + first * in, in, count, in, to);
    };
    return multiply_bf16(x, in, out, data, pack, y, rows, false, after);
  }
  if (amx_ != nullptr && in > 0) {
    AmxOperand weight;
    weight.outer = out;
    if (data == nullptr) weight = operand(layer.weight, out, in, in, 1);
    return multiply_on_tiles(
        {operand(x, rows, in, in, 1), weight, data, rounds(layer) ? 1 : 3, y, out, false}, after);
  }
  multiply_shared(
      {rows, out, in, floats(x), in, 1, layer.weight, 1, in, floats(y), out, false, rounds(layer)},
      [&](Index row, Index count, Index column, Index columns) {
        after(floats(y) + row * out + column, out, row, count, column, columns);
      });
}

template <typename After>
void CpuBackend::multiply_on_tiles(const TileProduct& x, const After& after) {
  const Index m = x.a.outer, n = x.b.outer, k = x.a.depth, parts = x.parts;
  if (m == 0 || n == 0) return;
  const bool narrow = x.c.type() == ElementType::bf16;  // sums over all of the depth go there at once
  const Index steps = amx_groups(k);
  const Index slices = narrow ? 1 : pieces(steps, most_slice_steps), slice_steps = pieces(steps, slices);
  const Index b_group_bytes = amx_group_bytes(steps, parts);
  const Index run =
      x.packed_b != nullptr ? n : std::min(n, std::max<Index>(1, packed_b_bytes / b_group_bytes) * amx_group);
  TileSize size = packed_tile_size(m, run);
  if (narrow) size.rows = std::min(size.rows, std::max<Index>(1, packed_a_bytes / b_group_bytes) * amx_group);
  const Index a_bytes = pieces(size.rows, amx_group) * amx_group_bytes(slice_steps, parts);
  const Index tile_bytes = narrow ? size.rows * finished_columns * Index{sizeof(float)} : 0;
  const Index row_tiles = pieces(m, size.rows);
  const Index b_bytes = x.packed_b != nullptr ? 0 : amx_groups(run) * b_group_bytes;
  auto* const scratch = reinterpret_cast<std::byte*>(
      scratch_.reserve((b_bytes + (a_bytes + tile_bytes) * thread_count()) / Index{sizeof(float)}));
  const std::byte* const packed_b = x.packed_b != nullptr ? x.packed_b : scratch;
  std::byte* const own = scratch + b_bytes;

  for (Index first = 0; first < n; first += run) {
    const Index columns = std::min(run, n - first);
    if (x.packed_b == nullptr) {
      parallel_pieces(columns, amx_group, [&](Index at, Index count) {
        amx_->pack_b(part_of(x.b, first + at, count, 0, k), parts, scratch + at / amx_group * b_group_bytes);
      });
    }
    const Index column_tiles = pieces(columns, size.columns);
    parallel_for_worker(static_cast<std::size_t>(row_tiles * column_tiles), [&](std::size_t task,
                                                                                int worker) {
      const Index row = static_cast<Index>(task) / column_tiles * size.rows;
      const Index column = static_cast<Index>(task) % column_tiles * size.columns;
      const Index rows = std::min(size.rows, m - row), width = std::min(size.columns, columns - column);
      std::byte* const a = own + (a_bytes + tile_bytes) * worker;
      for (Index slice = 0; slice < slices; ++slice) {
        const Index step = slice * slice_steps, depth = step * amx_group;
        const Index part_steps = std::min(slice_steps, steps - step);
        const AmxOperand of_a = part_of(x.a, row, rows, depth, std::min(part_steps * amx_group, k - depth));
        // Tiles read bf16 rows as they lie; what is no whole group of them is packed.
        const bool as_it_is = of_a.narrow != nullptr && of_a.depth_step == 1 && k % amx_group == 0;
        const Index whole = as_it_is ? rows / amx_group * amx_group : 0;
        amx_->pack_a(part_of(of_a, whole, rows - whole, 0, of_a.depth), parts, a);
        for (Index at = column; at < column + width; at += finished_columns) {
          const Index count = std::min(finished_columns, column + width - at);
          const std::byte* const part =
              packed_b + at / amx_group * b_group_bytes + amx_group_bytes(step, parts);
          float* const tile =
              narrow ? reinterpret_cast<float*>(a + a_bytes) : floats(x.c) + row * x.c_row + first + at;
          const Index stride = narrow ? finished_columns : x.c_row;
          const bool accumulate = (x.accumulate && !narrow) || slice > 0;
          if (whole > 0) {
            amx_->multiply({whole, count, part_steps, parts, of_a.narrow, part, b_group_bytes, tile, stride,
                            accumulate, of_a.outer_step * Index{sizeof(bf16)}});
          }
          if (whole < rows) {
            amx_->multiply({rows - whole, count, part_steps, parts, a, part, b_group_bytes,
                            tile + whole * stride, stride, accumulate});
          }
          if (slice + 1 == slices) after(tile, stride, row, rows, first + at, count);
        }
      }
    });
  }
}

template <typename After>
void CpuBackend::multiply_back(ConstValues dy, const Linear& layer, Values dx, Index rows, bool accumulate,
                               const After& after) {
  const Index in = layer.in, out = layer.out;
  if (rows == 0 || in == 0) return;
  if (find_packed(layer) != nullptr) throw std::logic_error("a packed weight has no way back");
  if (bf16_ != nullptr && rounds(layer) && out > 0) {
    const auto pack = [&](Index first, Index count, void* to) {
      bf16_->pack_rows(layer.weight + first, in, count, out, bf16_panel, to);
    };
    return multiply_bf16(dy, out, in, nullptr, pack, dx, rows, accumulate, after);
  }
  if (amx_ != nullptr && out > 0) {
    return multiply_on_tiles({operand(dy, rows, out, out, 1), operand(layer.weight, in, out, 1, in), nullptr,
                              rounds(layer) ? 1 : 3, dx, in, accumulate},
                             after);
  }
  multiply_shared(
      {rows, in, out, floats(dy), out, 1, layer.weight, in, 1, floats(dx), in, accumulate, rounds(layer)},
      [&](Index row, Index count, Index column, Index columns) {
        after(floats(dx) + row * in + column, in, row, count, column, columns);
      });
}

void CpuBackend::linear_forward(ConstValues x, const Linear& layer, Values y, Index rows) {
  const Index out = layer.out;
  const bool narrow = y.type() == ElementType::bf16;
  multiply_layer(
      x, layer, y, rows, [&](float* tile, Index stride, Index row, Index count, Index column, Index columns) {
        const float* const bias = layer.bias != nullptr ? layer.bias + column : nullptr;
        for (Index i = 0; i < count; ++i) {
          if (narrow) {
            level_.narrow(tile + i * stride, bias, y.as<bf16>() + (row + i) * out + column, columns);
          } else if (bias != nullptr) {
            level_.add_scaled(bias, 1.0f, tile + i * stride, columns);
          }
        }
      });
}

void CpuBackend::linear_activation_forward(ConstValues x, const Linear& layer, Activation activation,
                                           Values pre, Values y, Index rows) {
  const Index out = layer.out;
  const bool keeps = pre != nullptr, narrow_y = y.type() == ElementType::bf16;
  const bool narrow_pre = keeps && pre.type() == ElementType::bf16;
  multiply_layer(
      x, layer, keeps ? pre : y, rows,
      [&](float* tile, Index stride, Index row, Index count, Index column, Index columns) {
        const float* const bias = layer.bias != nullptr ? layer.bias + column : nullptr;
        for (Index i = 0; i < count; ++i) {
          float* const product = tile + i * stride;
          const Index at = (row + i) * out + column;
          if (narrow_pre) {  // the activation of what is kept, as activation_forward() makes it again
            level_.narrow(product, bias, (pre + at).as<bf16>(), columns);
            level_.widen((pre + at).as<bf16>(), product, columns);
          }
          const float* const added = narrow_pre ? nullptr : bias;
          float* const kept = keeps && !narrow_pre ? product : nullptr;
          if (narrow_y) {
            level_.add_bias_activation_narrow(product, added, kept, (y + at).as<bf16>(), columns, activation);
          } else {
            level_.add_bias_activation(product, added, kept, floats(y + at), columns, activation);
          }
        }
      });
}

void CpuBackend::linear_backward_input(ConstValues dy, const Linear& layer, Values dx, Index rows,
                                       bool accumulate) {
  const bool narrow = dx.type() == ElementType::bf16;
  multiply_back(dy, layer, dx, rows, accumulate,
                [&](float* tile, Index stride, Index row, Index count, Index column, Index columns) {
                  if (!narrow) return;
                  alignas(64) float before[finished_columns];
                  for (Index i = 0; i < count; ++i) {
                    bf16* const to = (dx + ((row + i) * layer.in + column)).as<bf16>();
                    if (accumulate) level_.widen(to, before, columns);
                    level_.narrow(tile + i * stride, accumulate ? before : nullptr, to, columns);
                  }
                });
}

void CpuBackend::linear_backward_input_activation(ConstValues dy, const Linear& layer, Activation activation,
                                                  ConstValues pre, Values dx, Index rows) {
  const bool narrow_pre = pre.type() == ElementType::bf16, narrow_dx = dx.type() == ElementType::bf16;
  multiply_back(dy, layer, dx, rows, false,
                [&](float* tile, Index stride, Index row, Index count, Index column, Index columns) {
                  alignas(64) float wide[finished_columns];
                  for (Index i = 0; i < count; ++i) {
                    for (Index from = 0; from < columns; from += finished_columns) {
                      const Index some = std::min(finished_columns, columns - from);
                      const Index at = (row + i) * layer.in + column + from;
                      float* const gradient = tile + i * stride + from;
                      if (narrow_pre) level_.widen((pre + at).as<bf16>(), wide, some);
                      level_.activation_backward(narrow_pre ? wide : floats(pre) + at, gradient, gradient,
                                                 some, activation);
                      if (narrow_dx) level_.narrow(gradient, nullptr, (dx + at).as<bf16>(), some);
                    }
                  }
                });
}

void CpuBackend::linear_backward_weight(ConstValues dy, ConstValues x, const Linear& layer,
                                        const LinearGradients& gradients, Index rows) {
  const Index in = layer.in, out = layer.out;
  if (gradients.fresh) zero(gradients.weight, static_cast<std::size_t>(in * out) * sizeof(float));
  if (rows == 0) return;
  if (bf16_ != nullptr && rounds(layer)) {
    add_weight_gradient_bf16(dy, x, out, in, rows, gradients.weight);
  } else if (amx_ != nullptr) {
    multiply_on_tiles({operand(dy, out, rows, 1, out), operand(x, in, rows, 1, in), nullptr,
                       rounds(layer) ? 1 : 3, gradients.weight, in, true},
                      [](float*, Index, Index, Index, Index, Index) {});
  } else {
    multiply_shared(
        {out, in, rows, floats(dy), 1, out, floats(x), in, 1, gradients.weight, in, true, rounds(layer)},
        [](Index, Index, Index, Index) {});
  }
  if (gradients.bias != nullptr) add_bias_gradient(dy, rows, out, gradients.bias);
}

void CpuBackend::add_bias_gradient(ConstValues dy, Index rows, Index out, float* bias) const {
  parallel_pieces(out, columns_per_task, [&](Index first, Index count) {
    if (dy.type() == ElementType::fp32)
      return level_.add_column_sums(floats(dy) + first, rows, out, bias + first, count);
    constexpr Index group = 64;  // rows, as add_column_sums() takes them together
    alignas(64) float wide[group * columns_per_task];
    for (Index row = 0; row < rows; row += group) {
      const Index some = std::min(group, rows - row);
      for (Index i = 0; i < some; ++i)
        level_.widen((dy + ((row + i) * out + first)).as<bf16>(), wide + i * count, count);
      level_.add_column_sums(wide, some, count, bias + first, count);
    }
  });
}

}  // namespace bigbird::kernels
