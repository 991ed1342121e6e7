// See huggingface_file.h.
#include "tests/golden/huggingface_file.h"

#include <cmath>
#include <string_view>

#include "lib/io/weights/safetensors.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/dialect.h"
#include "tests/support/support.h"

namespace bigbird::testing {
namespace {

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

std::uint64_t fnv1a(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3ull;
  return hash;
}

// The top 16 bits of splitmix64 as a number in [-1, 1).
double unit_value(std::uint64_t state) {
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  z = z ^ (z >> 31);
  return static_cast<double>(z >> 48) / 32768.0 - 1.0;
}

}  // namespace

std::vector<float> formula_values(const TensorSpec& spec) {
  double middle = 0.0, reach = 0.25;
  if (ends_with(spec.name, ".bias")) reach = 0.125;
  if (ends_with(spec.name, "LayerNorm.weight")) middle = 1.0;
  if (ends_with(spec.name, "query.weight") || ends_with(spec.name, "key.weight")) reach = 0.5;
  std::vector<float> values;
  std::uint64_t state = fnv1a(spec.name);
  for (std::int64_t i = 0; i < spec.count; ++i) {
    state += 0x9e3779b97f4a7c15ull;
    values.push_back(static_cast<float>(middle + reach * unit_value(state)));
  }
  return values;
}

std::vector<float> formula_parameters(const ParameterLayout& layout) {
  std::vector<float> all;
  for (const TensorSpec& spec : layout.tensors()) {
    const std::vector<float> values = formula_values(spec);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

void write_formula_model(const std::string& folder, const std::string& config_text) {
  write_text(folder + "/config.json", config_text);
  const ModelConfig config = read_config(folder + "/config.json");
  const ParameterLayout layout(config);
  const std::vector<float> parameters = formula_parameters(layout);
  std::vector<TensorToWrite> tensors;
  for (const TensorSpec& spec : layout.tensors()) {
    tensors.push_back({stored_name(spec.name, config, Dialect::huggingface), TensorType::f32, spec.shape,
                       parameters.data() + spec.offset});
  }
  write_safetensors(folder + "/model.safetensors", tensors);
}

double norm(const std::vector<float>& values) {
  double squares = 0.0;
  for (const float value : values) squares += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(squares);
}

}  // namespace bigbird::testing
