// The gradient of a linear layer's weight with the instructions for bf16 pairs. Its depth are the rows of the
// batch, so that both operands are packed from rows: x by all threads, a slice of the depth at a time, dy by
// the task that multiplies it. Slices follow from the shapes alone, so that every sum has one order.
#include <algorithm>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/partition.h"

namespace bigbird::kernels {

namespace {

// Rows of the batch in a slice: a panel of x and the rows of a task share the second-level cache.
constexpr Index most_depth = 2048;
constexpr Index packed_x_bytes = Index{16} << 20;
// Rows of the gradient that a task makes: whole tiles and whole vectors of the packing; fewer where that
// leaves too few tasks.
constexpr Index few_rows = 48, many_rows = 96;

Index rows_of_task(Index out) {
  constexpr Index wanted_tasks = 12;
  return pieces(out, many_rows) >= wanted_tasks ? many_rows : few_rows;
}

void pack(const Bf16Kernels& kernels, ConstValues from, Index row_step, Index columns, Index depth,
          Index stride, std::byte* to) {
  if (from.type() == ElementType::bf16) {
    kernels.pack_narrow_rows(from.as<bf16>(), row_step, columns, depth, stride, to);
  } else {
    kernels.pack_rows(from.as<float>(), row_step, columns, depth, stride, to);
  }
}

}  // namespace

void CpuBackend::add_weight_gradient_bf16(ConstValues dy, ConstValues x, Index out, Index in, Index rows,
                                          float* weight) {
  if (out == 0 || in == 0) return;
  const Index task_rows = rows_of_task(out), slices = pieces(rows, most_depth);
  const Index slice = pieces(pieces(rows, slices), 2) * 2;  // whole pairs
  const Index panel_bytes = bf16_panel_bytes(slice);
  const Index run = std::min(pieces(in, bf16_panel), std::max<Index>(1, packed_x_bytes / panel_bytes));
  const Index own_bytes = bf16_pairs(slice) * task_rows * 4;
  auto* const packed_x = reinterpret_cast<std::byte*>(
      scratch_.reserve((run * panel_bytes + own_bytes * thread_count()) / Index{sizeof(float)}));
  std::byte* const own = packed_x + run * panel_bytes;

  for (Index first = 0; first < in; first += run * bf16_panel) {
    const Index columns = std::min(run * bf16_panel, in - first);
    for (Index row = 0; row < rows; row += slice) {
      const Index depth = std::min(slice, rows - row);
      const Index depth_bytes = bf16_panel_bytes(depth);
      parallel_pieces(columns, bf16_panel, [&](Index at, Index count) {
        pack(*bf16_, x + (row * in + first + at), in, count, depth, bf16_panel,
             packed_x + at / bf16_panel * depth_bytes);
      });
      parallel_for_worker(static_cast<std::size_t>(pieces(out, task_rows)), [&](std::size_t task,
                                                                                int worker) {
        const Index begin = static_cast<Index>(task) * task_rows, count = std::min(task_rows, out - begin);
        std::byte* const packed_dy = own + own_bytes * worker;
        pack(*bf16_, dy + (row * out + begin), out, count, depth, task_rows, packed_dy);
        bf16_->multiply(
            {count, columns, depth, packed_dy, packed_x, weight + begin * in + first, in, true, task_rows});
      });
    }
  }
}

}  // namespace bigbird::kernels
