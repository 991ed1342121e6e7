// See linear_products.h.
#include "kernels/cuda/linear_products.h"

#include <algorithm>
#include <cstdint>
#include <sstream>

namespace bigbird::kernels::cuda {
namespace {

bool aligned(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;  // true for null
}

// Stands for memory that is never looked at, as aligned as what the backend allocates.
constexpr std::uintptr_t somewhere = 256;

Values shape_only(ElementType type) {
  return {reinterpret_cast<void*>(somewhere), type};
}

}  // namespace

Index padded_columns(Index columns) {
  constexpr Index unit = 64;
  return columns % 8 == 0 ? columns : (columns + unit - 1) / unit * unit;
}

Gemm forward_product(ConstValues x, const Linear& layer, ConstValues weight, Values y, Index rows) {
  Gemm gemm;
  gemm.m = rows;
  gemm.n = layer.row_stride();
  gemm.k = layer.in;
  gemm.a = {x, layer.in};
  gemm.b = {weight, layer.in};
  gemm.transpose_b = true;
  gemm.d = {y, layer.row_stride()};
  return gemm;
}

Gemm input_product(ConstValues dy, const Linear& layer, ConstValues weight, Values dx, Index rows) {
  Gemm gemm;
  gemm.m = rows;
  gemm.n = layer.in;
  gemm.k = layer.row_stride();
  gemm.a = {dy, layer.row_stride()};
  gemm.b = {weight, layer.in};
  gemm.d = {dx, layer.in};
  return gemm;
}

Gemm weight_product(ConstValues dy, ConstValues x, const Linear& layer, float* gradient, Index rows,
                    bool fresh) {
  Gemm gemm;
  gemm.m = layer.row_stride();
  gemm.n = layer.in;
  gemm.k = rows;
  gemm.a = {dy, layer.row_stride()};
  gemm.transpose_a = true;
  gemm.b = {x, layer.in};
  gemm.d = {gradient, layer.in};
  gemm.accumulate = !fresh;
  return gemm;
}

bool is_epilogue(Activation activation, ElementType type) {
  return activation == Activation::gelu_tanh && type == ElementType::bf16;
}

bool may_have_epilogue(const Gemm& gemm) {
  return gemm.m > 0 && gemm.n > 0 && gemm.k > 0 && gemm.n % 8 == 0 && aligned(gemm.bias.data()) &&
         aligned(gemm.aux.data()) && aligned(gemm.d.data.data());
}

Gemm with_bias_gradient(Gemm weight_product, Values bias) {
  weight_product.epilogue = Epilogue::bias_gradient;
  weight_product.bias = bias;
  return weight_product;
}

Index most_bias_gradients(const ProductTable& table) {
  Index most = 0;
  for (const auto& [key, choice] : table.choices) {
    std::istringstream columns(key);
    std::string operands, result, transposed, adds, epilogue;
    Index sums = 0;
    if (columns >> operands >> result >> transposed >> adds >> epilogue >> sums &&
        epilogue == "bias_gradient" && choice.algorithm != ProductTable::split)
      most = std::max(most, sums);
  }
  return most;
}

Gemm split_product(const Gemm& gemm) {
  if (gemm.epilogue != Epilogue::gelu_bias) return without_epilogue(gemm);
  Gemm split = gemm;
  split.epilogue = Epilogue::bias;
  if (gemm.aux != nullptr) split.d = {gemm.aux, gemm.n};
  split.aux = {};
  return split;
}

Gemm without_epilogue(Gemm gemm) {
  gemm.epilogue = Epilogue::none;
  gemm.bias = {};
  gemm.aux = {};
  return gemm;
}

std::vector<ModelProduct> training_products(const ProductSizes& sizes, Precision precision) {
  const ElementType type = precision == Precision::bf16 ? ElementType::bf16 : ElementType::fp32;
  const Values any = shape_only(type);
  auto* const gradient = reinterpret_cast<float*>(somewhere);
  std::vector<ModelProduct> products;
  const auto add = [&](const std::string& what, Gemm gemm) {
    gemm.tf32 = precision == Precision::tf32;
    products.push_back({what, may_have_epilogue(gemm) ? gemm : without_epilogue(gemm)});
  };
  // activated: an activation follows the layer; activation_before: another precedes it.
  // fresh: the gradient of the weights is written first here (LinearGradients).
  const auto layer = [&](const std::string& what, Index in, Index out, Index rows, bool fresh, bool activated,
                         bool activation_before, bool accumulates, bool wide_output = false) {
    const Linear linear{nullptr, nullptr, in, out, out == sizes.vocabulary ? padded_columns(out) : 0};
    const Values y = wide_output ? shape_only(ElementType::fp32) : any;
    Gemm forward = forward_product(any, linear, any, y, rows);
    const bool gelu = is_epilogue(Activation::gelu_tanh, type);
    forward.epilogue = activated && gelu ? Epilogue::gelu_bias : Epilogue::bias;
    forward.bias = y;
    if (activated && gelu) forward.aux = y;
    add(what + ": forward", forward);
    add(what + ": gradient of the weights", weight_product(any, any, linear, gradient, rows, fresh));
    Gemm back = input_product(any, linear, any, any, rows);
    back.accumulate = accumulates;
    if (activation_before && gelu) {
      back.epilogue = Epilogue::dgelu;
      back.aux = any;
    }
    add(what + ": gradient of the input", back);
  };
  layer("attention, query, key and value", sizes.width, 3 * sizes.width, sizes.tokens, true, false, false,
        true);
  layer("attention, output", sizes.width, sizes.width, sizes.tokens, true, false, false, false);
  layer("feed-forward, inner", sizes.width, sizes.intermediate, sizes.tokens, true, true, false, true);
  layer("feed-forward, output", sizes.intermediate, sizes.width, sizes.tokens, true, false, true, false);
  layer("masked tokens, transform", sizes.width, sizes.width, sizes.predictions, false, true, false, false);
  layer("masked tokens, vocabulary", sizes.width, sizes.vocabulary, sizes.predictions, false, false, false,
        false);
  layer("pooler", sizes.width, sizes.width, sizes.sequences, false, false, false, false);
  layer("next sentence", sizes.width, 2, sizes.sequences, false, false, false, false, true);
  return products;
}

std::vector<ModelProduct> bias_gradient_products(const ProductSizes& sizes, Precision precision) {
  const Values any = shape_only(precision == Precision::bf16 ? ElementType::bf16 : ElementType::fp32);
  const Values sums = shape_only(ElementType::fp32);
  std::vector<ModelProduct> products;
  const auto add = [&](const std::string& what, Index in, Index out, Index rows, bool fresh) {
    const Linear linear{nullptr, nullptr, in, out, out == sizes.vocabulary ? padded_columns(out) : 0};
    Gemm gemm = with_bias_gradient(weight_product(any, any, linear, sums.as<float>(), rows, fresh), sums);
    gemm.tf32 = precision == Precision::tf32;
    if (may_have_epilogue(gemm)) products.push_back({what + ": gradients of the weights and the bias", gemm});
  };
  add("attention, query, key and value", sizes.width, 3 * sizes.width, sizes.tokens, true);
  add("feed-forward, inner", sizes.width, sizes.intermediate, sizes.tokens, true);
  add("masked tokens, transform", sizes.width, sizes.width, sizes.predictions, false);
  add("masked tokens, vocabulary", sizes.width, sizes.vocabulary, sizes.predictions, false);
  return products;
}

std::vector<ProductOffer> product_offers(GemmLibrary& library, const std::vector<ModelProduct>& products) {
  std::vector<ProductOffer> offers;
  for (const ModelProduct& product : products) {
    const Gemm& gemm = product.gemm;
    const bool first = library.offers(gemm);
    const bool wants = gemm.epilogue != Epilogue::none;
    offers.push_back({product.what, gemm.m, gemm.n, gemm.k,
                      first || (wants && library.offers(without_epilogue(gemm))), first && wants});
  }
  return offers;
}

}  // namespace bigbird::kernels::cuda
