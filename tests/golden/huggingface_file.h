// The golden files of Hugging Face models: weights by the formula of tests/peers/formula_weights.py, and
// model folders made of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/model/network/layout.h"

namespace bigbird::testing {

// The values of one tensor, exact in float32.
std::vector<float> formula_values(const TensorSpec& spec);
// Of all tensors, in the order of the layout.
std::vector<float> formula_parameters(const ParameterLayout& layout);
// config.json (the text given) and model.safetensors with the formula's weights, in an existing folder.
void write_formula_model(const std::string& folder, const std::string& config_text);

double norm(const std::vector<float>& values);

}  // namespace bigbird::testing
