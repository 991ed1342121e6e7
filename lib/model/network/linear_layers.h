// The linear layers of an encoder that can be computed in int8 and the tensors that each is made of; and the
// layers whose weights the backend may keep packed (Backend::pack_weight): for inference in place of fp32, or
// in int8 while the floats stay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/model/config.h"
#include "lib/model/network/layout.h"
#include "lib/model/network/tensors.h"

namespace bigbird {

// Layers of heads and of decoders are not among these: the former are small, the latter see few rows at a
// time.
struct LinearLayer {
  std::string name;  // "bert.encoder.layer.0.attention.self", "bert.encoder.layer.0.output.dense"
  std::vector<std::string> weights;  // neighbours in the layout: query, key and value are one product
  std::int64_t in = 0;
  std::int64_t out = 0;  // of all its weights
};

// In the order of the layers: query, key and value; the attention's output; the inner product of the
// feed-forward part; its output.
std::vector<LinearLayer> linear_layers(const ModelConfig& config);

// The names of all weights of int8 layers; none without quantization.
std::vector<std::string> int8_weights(const ModelConfig& config);

// Rounds the weights of the layer to what their integers stand for. Error{bad_input} naming the tensor:
// values that are not finite.
void round_to_int8(const LinearLayer& layer, const ParameterLayout& layout, float* parameters);

struct PackedLayer {
  kernels::Linear layer;
  kernels::WeightForm form = kernels::WeightForm::bf16;
  std::size_t offset = 0;  // in the memory of all, 64-byte aligned
  std::size_t bytes = 0;
};

// Those of all layers of both stacks that are always used whole: a decoder's steps take queries apart from
// keys and values. None where the backend packs nothing.
std::vector<PackedLayer> packed_layers(const ModelConfig& config, const ModelTensors& tensors,
                                       const kernels::Backend& backend);

// Of the memory of all.
std::size_t packed_bytes(const std::vector<PackedLayer>& layers);

// What is packed and where, in words.
std::string layout_of(const std::vector<PackedLayer>& layers, const kernels::Backend& backend);
// Whether a parameter is one of a weight of these.
bool holds(const std::vector<PackedLayer>& layers, const float* parameter);

// Floats of the weights, which need not stay.
std::int64_t packed_floats(const std::vector<PackedLayer>& layers);

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
  // What config.quantization lists, where it can be computed so; where not, a line in the log says why.
  static std::vector<std::string> names_for(const kernels::Backend& backend, const ModelConfig& config,
                                            bool training);

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
