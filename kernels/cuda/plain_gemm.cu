// One thread per element of the result: see plain_gemm.h.
#include "kernels/cuda/plain_gemm.h"

#include <math.h>

#include <stdexcept>

#include "kernels/cuda/device.cuh"

namespace bigbird::kernels::cuda {

namespace {

template <class Input, class Output>
struct PlainGemm {
  static constexpr int threads = 256;
  static constexpr int blocks_per_sm = 4;
  const Input* a;
  const Input* b;
  Output* d;
  Index m, n, k;
  Index a_row, a_step;  // distance in a from row to row of op(a), and from one k to the next
  Index b_step, b_column;
  Index d_stride;
  bool accumulate;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index element = Index{thread.block()} * threads + thread.index();
    if (element >= m * n) return;
    const Index row = element / n;
    const Index column = element % n;
    const Input* from_a = a + row * a_row;
    const Input* from_b = b + column * b_column;
    float sum = 0.0f;
    for (Index i = 0; i < k; ++i) sum = fmaf(to_float(from_a[i * a_step]), to_float(from_b[i * b_step]), sum);
    Output* to = d + row * d_stride + column;
    *to = to_element<Output>(accumulate ? to_float(*to) + sum : sum);
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
         {.blocks = blocks_for(gemm.m * gemm.n, Kernel::threads)}, stream);
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
