// Any product without an epilogue, for the shapes that cuBLASLt has no algorithm for. Without tensor cores,
// and without demands on alignment. Plain C++.
#pragma once

#include "kernels/cuda/gemm.h"

namespace bigbird::kernels::cuda {

// gemm.epilogue is none. Sums run over k in order, in fp32 with fused multiply-adds; tf32 is not used.
void plain_gemm(const Gemm& gemm, Stream stream);

}  // namespace bigbird::kernels::cuda
