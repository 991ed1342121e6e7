// The linear layers of a model on a device that are computed in int8 while its floats stay: packed when they
// are first asked for, and kept, so that one model can be run with these or those. Inference packs them with
// the others (packed_layers.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/model/network/linear_layers.h"

namespace bigbird {

class Int8Layers {
 public:
  // `parameters` on the device, in the layout; they stay as they are while layers are bound.
  Int8Layers(kernels::Backend& backend, const ModelConfig& config, const ParameterLayout& layout,
             const float* parameters);
  ~Int8Layers();
  Int8Layers(const Int8Layers&) = delete;
  Int8Layers& operator=(const Int8Layers&) = delete;

  // From now on these layers, by their names, are computed in int8 and no others. Error{runtime} for one that
  // the model has not. On a device without int8, whose layers go on reading the parameters: false.
  bool use(const std::vector<std::string>& names);
  bool any() const { return !bound_.empty(); }
  // What is packed is of other parameters.
  void forget();
  // Of all that the model may pack: what `names` take on this device.
  static std::size_t bytes(const kernels::Backend& backend, const ModelConfig& config,
                           const std::vector<std::string>& names);

 private:
  void unbind();

  kernels::Backend& backend_;
  const ParameterLayout& layout_;
  const float* parameters_;
  std::vector<LinearLayer> layers_;
  std::map<std::string, void*> packed_;
  std::vector<const float*> bound_;
};

// The names that config.quantization lists; none without.
std::vector<std::string> int8_layer_names(const ModelConfig& config);

}  // namespace bigbird
