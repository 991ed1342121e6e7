// The object "quantization" of a config.json: which layers are int8, which were kept and why, and what was
// measured.
#pragma once

#include <string>

#include "lib/model/config.h"
#include "lib/model/quantization.h"

namespace bigbird {

// Error{bad_input} "WHERE ...": fields that are missing or of another type, layers that the model has not, or
// twice.
Quantization parse_quantization(const std::string& text, const std::string& where, const ModelConfig& config);
std::string quantization_json(const Quantization& quantization);

}  // namespace bigbird
