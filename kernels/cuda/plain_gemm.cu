// Tiles of the result, through shared memory: see gemm.h.
#include "kernels/cuda/gemm.h"

#include <math.h>

#include <stdexcept>

#include "kernels/cuda/device.cuh"

namespace bigbird::kernels::cuda {

namespace {

// A block has a tile of `side` by `side` results, a thread `each` by `each` of them; what they need of a and
// b goes through shared memory, `depth` steps of k at a time.
template <class Input, class Output>
struct PlainGemm {
  static constexpr int threads = 256;
  static constexpr int blocks_per_sm = 3;
  static constexpr int each = 4;
  static constexpr int side = 16 * each;  // 16 by 16 threads
  static constexpr int depth = 16;
  static constexpr int stride = side + 4;  // of a step of k; a multiple of 16 bytes
  static constexpr std::size_t shared_bytes = 2 * depth * stride * sizeof(float);
  const Input* a;
  const Input* b;
  Output* d;
  Index m, n, k;
  Index a_row, a_step;  // distance in a from row to row of op(a), and from one k to the next
  Index b_step, b_column;
  Index d_stride;
  bool accumulate;

  static Index tiles(Index count) { return blocks_for(count, side); }

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index column_tiles = (n + side - 1) / side;
    const Index first_row = Index{thread.block()} / column_tiles * side;
    const Index first_column = Index{thread.block()} % column_tiles * side;
    const auto left = thread.shared<float>(0, depth * stride);
    const auto right = thread.shared<float>(depth * stride * static_cast<int>(sizeof(float)), depth * stride);
    const int row = thread.index() / 16 * each, column = thread.index() % 16 * each;
    float sums[each][each] = {};
    for (Index begin = 0; begin < k; begin += depth) {
      if (begin > 0) thread.barrier();  // the steps before are done
      fill(thread, left, a, a_row, a_step, first_row, m, begin);
      fill(thread, right, b, b_column, b_step, first_column, n, begin);
      thread.barrier();
      const int steps = static_cast<int>(k - begin < depth ? k - begin : depth);
      for (int step = 0; step < steps; ++step) {
        const Pack<float, each> of_a = left.template load<each>(step * stride + row);
        const Pack<float, each> of_b = right.template load<each>(step * stride + column);
#pragma unroll
        for (int i = 0; i < each; ++i) {
#pragma unroll
          for (int j = 0; j < each; ++j) sums[i][j] = fmaf(of_a[i], of_b[j], sums[i][j]);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < each; ++i) {
      if (first_row + row + i >= m) continue;
      Output* const to = d + (first_row + row + i) * d_stride + first_column + column;
#pragma unroll
      for (int j = 0; j < each; ++j) {
        if (first_column + column + j < n)
          to[j] = to_element<Output>(accumulate ? to_float(to[j]) + sums[i][j] : sums[i][j]);
      }
    }
  }

 private:
  // to[step * stride + line] of `side` lines (rows of op(a), columns of op(b)) and `depth` steps; zeros
  // beyond the matrix. Neighbouring threads read along the direction in which the matrix lies.
  template <class Cells>
  BIGBIRD_DEVICE void fill(Thread& thread, const Cells& to, const Input* from, Index line_distance,
                           Index step_distance, Index first_line, Index lines, Index first_step) const {
#pragma unroll
    for (int part = 0; part < side * depth / threads; ++part) {
      const int cell = thread.index() + part * threads;
      const int step = step_distance == 1 ? cell % depth : cell / side;
      const int line = step_distance == 1 ? cell / depth : cell % side;
      const bool there = first_line + line < lines && first_step + step < k;
      to[step * stride + line] =
          there ? to_float(from[(first_line + line) * line_distance + (first_step + step) * step_distance])
                : 0.0f;
    }
  }
};

template <class Input, class Output>
void run_typed(const Gemm& gemm, Stream stream) {
  const Index a_row = gemm.transpose_a ? 1 : gemm.a.stride;
  const Index a_step = gemm.transpose_a ? gemm.a.stride : 1;
  const Index b_step = gemm.transpose_b ? 1 : gemm.b.stride;
  const Index b_column = gemm.transpose_b ? gemm.b.stride : 1;
  using Kernel = PlainGemm<Input, Output>;
  launch(Kernel{gemm.a.data.as<Input>(), gemm.b.data.as<Input>(), gemm.d.data.as<Output>(), gemm.m, gemm.n,
                gemm.k, a_row, a_step, b_step, b_column, gemm.d.stride, gemm.accumulate},
         {.blocks = Kernel::tiles(gemm.m) * Kernel::tiles(gemm.n), .shared_bytes = Kernel::shared_bytes},
         stream);
}

}  // namespace

void plain_gemm(const Gemm& gemm, Stream stream) {
  if (gemm.epilogue != Epilogue::none) throw std::logic_error("plain_gemm: there are no epilogues");
  const bool narrow_input = gemm.a.data.type() == ElementType::bf16;
  const bool narrow_output = gemm.d.data.type() == ElementType::bf16;
  if (narrow_input && narrow_output) return run_typed<bf16, bf16>(gemm, stream);
  if (narrow_input) return run_typed<bf16, float>(gemm, stream);
  if (narrow_output) throw std::logic_error("plain_gemm: a bf16 result of fp32 values");
  run_typed<float, float>(gemm, stream);
}

}  // namespace bigbird::kernels::cuda
