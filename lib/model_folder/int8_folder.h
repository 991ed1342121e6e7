// What a model folder with int8 layers holds: its weights as integers, with a scale for each output beside
// them, and the object "quantization" of its config.json: which layers are int8, which were kept and why, and
// what was measured.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/io/weights/stored_tensor.h"
#include "lib/model/config.h"
#include "lib/model/network/layout.h"
#include "lib/model/quantization.h"

namespace bigbird {

// The tensor of the scales of a weight.
std::string scales_name(const std::string& weight);

struct Int8Tensor {
  std::vector<std::int8_t> integers;  // [out, in]
  std::vector<float> scales;          // [out]
};

// Error{bad_input} naming the tensor when its values are not integers times a scale exactly.
Int8Tensor int8_tensor(const float* values, const TensorSpec& spec);

// What the two stand for, [out, in]. Error{bad_input} naming file and tensor: types or shapes that do not
// fit, integers or scales that quantizing what they stand for would not give back.
void read_int8(const StoredTensor& integers, const StoredTensor& scales, std::span<float> out);

// Error{bad_input} "WHERE ...": fields that are missing or of another type, layers that the model has not, or
// twice.
Quantization parse_quantization(const std::string& text, const std::string& where, const ModelConfig& config);
std::string quantization_json(const Quantization& quantization);

}  // namespace bigbird
