// See int8_layers.h.
#include "lib/model/network/int8_layers.h"

#include <algorithm>

#include "lib/core/error.h"
#include "lib/model/quantization.h"

namespace bigbird {
namespace {

const LinearLayer& layer_named(const std::vector<LinearLayer>& layers, const std::string& name) {
  const auto found = std::find_if(layers.begin(), layers.end(),
                                  [&](const LinearLayer& layer) { return layer.name == name; });
  if (found == layers.end()) throw_runtime("the model has no linear layer " + name);
  return *found;
}

kernels::Linear linear_of(const LinearLayer& layer, const float* weight) {
  return {weight, nullptr, layer.in, layer.out};
}

}  // namespace

Int8Layers::Int8Layers(kernels::Backend& backend, const ModelConfig& config, const ParameterLayout& layout,
                       const float* parameters)
    : backend_(backend), layout_(layout), parameters_(parameters), layers_(linear_layers(config)) {}

Int8Layers::~Int8Layers() {
  forget();
}

bool Int8Layers::use(const std::vector<std::string>& names) {
  unbind();
  for (const std::string& name : names) {
    const LinearLayer& layer = layer_named(layers_, name);
    const kernels::Linear linear = linear_of(layer, parameters_ + layout_.offset(layer.weights.front()));
    const std::size_t bytes = backend_.packed_weight_bytes(linear, kernels::WeightForm::int8);
    if (bytes == 0) {
      unbind();
      return false;
    }
    void*& packed = packed_[name];
    if (packed == nullptr) {
      packed = backend_.allocate(bytes);
      backend_.pack_weight(linear, kernels::WeightForm::int8, packed);
    }
    backend_.bind_packed_weight(linear, kernels::WeightForm::int8, packed);
    bound_.push_back(linear.weight);
  }
  return true;
}

void Int8Layers::forget() {
  unbind();
  for (const auto& [name, packed] : packed_) backend_.release(packed);
  packed_.clear();
}

std::size_t Int8Layers::bytes(const kernels::Backend& backend, const ModelConfig& config,
                              const std::vector<std::string>& names) {
  const std::vector<LinearLayer> layers = linear_layers(config);
  std::size_t total = 0;
  for (const std::string& name : names) {
    total +=
        backend.packed_weight_bytes(linear_of(layer_named(layers, name), nullptr), kernels::WeightForm::int8);
  }
  return total;
}

void Int8Layers::unbind() {
  for (const float* weight : bound_) backend_.unbind_packed_weight(weight);
  bound_.clear();
}

std::vector<std::string> int8_layer_names(const ModelConfig& config) {
  std::vector<std::string> names;
  if (config.quantization == nullptr) return names;
  for (const LayerError& layer : config.quantization->int8) names.push_back(layer.layer);
  return names;
}

}  // namespace bigbird
