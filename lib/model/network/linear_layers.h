// The linear layers of an encoder that can be computed in int8, and the tensors that each is made of. Layers
// of heads and of decoders are not among them: the former are small, the latter see few rows at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/model/config.h"
#include "lib/model/network/layout.h"

namespace bigbird {

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

}  // namespace bigbird
