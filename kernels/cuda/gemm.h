// The GEMM of the backend. gemm_cublaslt.cpp runs them through cuBLASLt, which is loaded at run time;
// emulation/gemm_emulation.cpp by plain loops (tests). All matrices are row-major, rows `stride` elements
// apart.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "kernels/cuda/runtime.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda {

enum class Epilogue {
  none,
  bias,       // d = product + bias, bias [n]
  gelu_bias,  // aux = product + bias (kept when aux is not null); d = gelu(aux), tanh form
  dgelu,      // d = product * gelu'(aux), tanh form
};

// d[m, n] = op(a)[m, k] op(b)[k, n] (+ d when accumulate), sums in fp32.
// a and b have one type, d that type or fp32; bias and aux have the type of d.
struct Gemm {
  Index m = 0, n = 0, k = 0;
  ConstRows a;  // [m, k], or [k, m] when transpose_a
  ConstRows b;  // [k, n], or [n, k] when transpose_b
  Rows d;
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;
  bool tf32 = false;  // fp32 operands may be rounded to tf32
  Epilogue epilogue = Epilogue::none;
  ConstValues bias;
  Values aux;  // [m, n], rows n apart
};

class GemmLibrary {
 public:
  virtual ~GemmLibrary() = default;
  virtual std::string description() const = 0;      // "cuBLASLt 13.0.2"
  virtual std::size_t workspace_bytes() const = 0;  // the caller's, given once
  virtual void use_workspace(void* device) = 0;
  // Without an epilogue always. An epilogue may be missing for odd sizes and unaligned pointers: the caller
  // then takes the plain product and kernels of its own.
  virtual bool can_run(const Gemm&) { return true; }
  // m, n or k may be 0 (k = 0: the product is 0). Throws CudaError.
  virtual void run(const Gemm& gemm, Stream stream) = 0;
};

// Told, once for each shape and in one line, that the library has no algorithm for a product, which
// plain_gemm() then takes.
using Remark = std::function<void(const std::string&)>;

// Throws CudaError with one line when the library cannot be loaded.
std::unique_ptr<GemmLibrary> make_gemm_library(Remark remark = {});

}  // namespace bigbird::kernels::cuda
