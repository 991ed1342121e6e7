// The products of linear layers as descriptions: what the backend runs, what a device is asked about before a
// run, and what is measured on it. Plain C++.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cuda/gemm.h"
#include "kernels/product_table.h"

namespace bigbird::kernels::cuda {

// Columns of logits on the device: where they are no multiple of 8, rows of bf16s begin within a vector, for
// which cuBLASLt has slow kernels or none. They are padded to a multiple of 64, which nobody sees.
Index padded_columns(Index columns);

// The product of a layer over `rows` rows without what may follow it. `weight` is layer.weight as it is read:
// of the type of x or dy.
Gemm forward_product(ConstValues x, const Linear& layer, ConstValues weight, Values y, Index rows);
Gemm input_product(ConstValues dy, const Linear& layer, ConstValues weight, Values dx, Index rows);
Gemm weight_product(ConstValues dy, ConstValues x, const Linear& layer, float* gradient, Index rows,
                    bool fresh);

// Whether an activation (forward), or its derivative (backward), can be an epilogue of a product with values
// of that type: it has gelu in the tanh form only, and not to the last digits of fp32.
bool is_epilogue(Activation activation, ElementType type);
// Whether the library may be asked for this epilogue: what cuBLASLt wants of bias and aux.
bool may_have_epilogue(const Gemm& gemm);

// A product and what it is for: "attention, query, key and value: forward".
struct ModelProduct {
  std::string what;
  Gemm gemm;  // as the backend asks for it first; its pointers only say how they are aligned
};

// Those of a training step of a model with heads for masked tokens and for pairs of sentences (BERT's), gelu
// in the tanh form, biases everywhere, no head beyond these.
std::vector<ModelProduct> training_products(const ProductSizes& sizes, Precision precision);

// Gradients of weights that come with the gradient of a bias, as products that take it along: its sums go to
// `bias`, in fp32. They run so only where a table says it.
std::vector<ModelProduct> bias_gradient_products(const ProductSizes& sizes, Precision precision);
Gemm with_bias_gradient(Gemm weight_product, Values bias);
// The largest of a table, in sums; 0: it has none.
Index most_bias_gradients(const ProductTable& table);

// The same without its epilogue: what the backend asks for next.
Gemm without_epilogue(Gemm gemm);
// What stays of an epilogue when gelu or its derivative is left to a kernel, and a bias gradient to column
// sums: the bias of the forward pass, or nothing.
Gemm split_product(const Gemm& gemm);

std::vector<ProductOffer> product_offers(GemmLibrary& library, const std::vector<ModelProduct>& products);

struct TuneOptions {
  int most_algorithms = 16;         // of each product, in the library's order
  int rounds = 5;                   // of which the median counts
  double round_milliseconds = 2.0;  // a round repeats the product until it takes so long
  int most_repeats = 200;
  std::function<void(const std::string& what, std::size_t done, std::size_t all)> progress = {};
};

// Measures every product with every algorithm on matrices of its own, filled with numbers about 1, on this
// thread's device, and takes the fastest; of equals the library's earlier one. Products that the library has
// no algorithm for are left out; where an epilogue is refused, the product alone is measured. One with gelu,
// its derivative or a bias gradient is measured against the product alone with the kernels behind it, and has
// the row of what is faster; the sums of a bias gradient must be right, too. The pointers of the products are
// not used. Throws CudaError, OutOfMemory.
ProductTable tune_products(GemmLibrary& library, const std::string& device,
                           const std::vector<ModelProduct>& products, const TuneOptions& options);

}  // namespace bigbird::kernels::cuda
