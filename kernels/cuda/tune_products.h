// Which of the library's algorithms computes each product fastest on this device. Plain C++.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/cuda/gemm.h"
#include "kernels/cuda/linear_products.h"
#include "kernels/product_table.h"

namespace bigbird::kernels::cuda {

struct TuneOptions {
  int most_algorithms = 16;         // of each product, in the library's order
  int rounds = 5;                   // of which the median counts
  double round_milliseconds = 2.0;  // a round repeats the product until it takes so long
  int most_repeats = 200;
  std::function<void(const std::string& what, std::size_t done, std::size_t all)> progress = {};
};

// Measures every product with every algorithm on matrices of its own, filled with numbers about 1, on this
// thread's device, and takes the fastest; of equals the library's earlier one. Products that the library has
// no algorithm for are left out; where an epilogue is refused, the product alone is measured. The pointers of
// the products are not used. Throws CudaError, OutOfMemory.
ProductTable tune_products(GemmLibrary& library, const std::string& device,
                           const std::vector<ModelProduct>& products, const TuneOptions& options);

}  // namespace bigbird::kernels::cuda
