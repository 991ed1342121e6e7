// The GEMM of the backend. gemm_cublaslt.cpp runs them through cuBLASLt, which is loaded at run time;
// emulation/gemm_emulation.cpp by plain loops (tests). All matrices are row-major, rows `stride` elements
// apart.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/cuda_options.h"
#include "kernels/cuda/runtime.h"
#include "kernels/product_table.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda {

enum class Epilogue {
  none,
  bias,       // d = product + bias, bias [n]
  gelu_bias,  // aux = product + bias (kept when aux is not null); d = gelu(aux), tanh form
  dgelu,      // d = product * gelu'(aux), tanh form
  // bias[i] = the sum of row i of op(a), bias [m]: of dy transposed, the gradient of a bias. Overwrites it.
  bias_gradient,
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
  ConstValues bias;  // bias_gradient writes it
  Values aux;        // [m, n], rows n apart
};

class GemmLibrary {
 public:
  GemmLibrary() = default;
  GemmLibrary(const GemmLibrary&) = delete;
  GemmLibrary& operator=(const GemmLibrary&) = delete;
  virtual ~GemmLibrary() = default;
  virtual std::string description() const = 0;      // "cuBLASLt 13.0.2"
  virtual std::size_t workspace_bytes() const = 0;  // the caller's, given once
  virtual void use_workspace(void* device) = 0;
  // Without an epilogue always. An epilogue may be missing for odd sizes and unaligned pointers: the caller
  // then takes the plain product and kernels of its own.
  virtual bool can_run(const Gemm& gemm) { return gemm.epilogue == Epilogue::none || offers(gemm); }
  // Whether the library itself has an algorithm for a product of these sizes, types and alignments (what the
  // pointers lead to is not looked at). m, n and k are not 0.
  virtual bool offers(const Gemm& gemm) = 0;
  // The algorithms that can run the product, the library's own choice first, at most so many; empty when it
  // has none. Text that means the same to this version of the library on the same kind of device.
  virtual std::vector<std::string> algorithms(const Gemm& gemm, int most) = 0;
  // The product is run so from now on. False, and nothing changes, when it cannot be.
  virtual bool choose(const Gemm& gemm, const std::string& algorithm) = 0;
  // What the table says of a product with an epilogue. fused: one of the library's algorithms takes it along.
  // split: the product alone and kernels behind it are faster. unsaid: nothing.
  enum class Form { unsaid, fused, split };
  Form form(const Gemm& gemm) const;
  // Before the first product: those that the table knows run as it says, where all of their matrices are
  // aligned as those that were measured. What it says and cannot be done is told, and left to the library.
  void use_table(ProductTable table) { table_ = std::move(table); }
  // m, n or k may be 0 (k = 0: the product is 0). Throws CudaError.
  virtual void run(const Gemm& gemm, Stream stream) = 0;

 protected:
  // What the table says of a product; null: nothing.
  const ProductTable::Choice* table_choice(const Gemm& gemm) const;

 private:
  ProductTable table_;
};

// The row of a product in a ProductTable.
std::string product_key(const Gemm& gemm);

// "fp32", "tf32" or "bf16": what its operands are, or are rounded to.
const char* operand_type(const Gemm& gemm);

// Told, once for each shape and in one line, that the library has no algorithm for a product, which
// plain_gemm() then takes.
using Remark = std::function<void(const std::string&)>;

// The products that a library leaves to plain_gemm().
class Refusals {
 public:
  // count may be null.
  Refusals(Remark remark, std::shared_ptr<RefusedProducts> count)
      : remark_(std::move(remark)), count_(std::move(count)) {}
  void add(const Gemm& gemm);
  // A table's algorithm for a product cannot be had.
  void tell_useless_row(const Gemm& gemm);

 private:
  Remark remark_;
  std::shared_ptr<RefusedProducts> count_;
  std::set<std::string> shapes_;
};

// Throws CudaError with one line when the library cannot be loaded.
std::unique_ptr<GemmLibrary> make_gemm_library(Remark remark = {},
                                               std::shared_ptr<RefusedProducts> refused = {});

// Any product without an epilogue, for the shapes that cuBLASLt has no algorithm for (plain_gemm.cu). Without
// tensor cores, and without demands on alignment. gemm.epilogue is none. Sums run over k in order, in fp32
// with fused multiply-adds; tf32 is not used.
void plain_gemm(const Gemm& gemm, Stream stream);

}  // namespace bigbird::kernels::cuda
