// See linear_layers.h.
#include "lib/model/network/linear_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/int8_weights.h"
#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/model/quantization.h"

namespace bigbird {

std::vector<LinearLayer> linear_layers(const ModelConfig& config) {
  const std::int64_t c = config.hidden_size, f = config.intermediate_size;
  std::vector<LinearLayer> layers;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const std::string prefix = fmt::format("bert.encoder.layer.{}.", layer);
    const std::string self = prefix + "attention.self";
    layers.push_back(
        {self, {self + ".query.weight", self + ".key.weight", self + ".value.weight"}, c, 3 * c});
    const auto one = [&](const std::string& name, std::int64_t in, std::int64_t out) {
      layers.push_back({prefix + name, {prefix + name + ".weight"}, in, out});
    };
    one("attention.output.dense", c, c);
    one("intermediate.dense", c, f);
    one("output.dense", f, c);
  }
  return layers;
}

std::vector<std::string> int8_weights(const ModelConfig& config) {
  std::vector<std::string> names;
  if (config.quantization == nullptr) return names;
  const std::vector<LayerError>& int8 = config.quantization->int8;
  for (const LinearLayer& layer : linear_layers(config)) {
    const bool listed = std::any_of(int8.begin(), int8.end(),
                                    [&](const LayerError& entry) { return entry.layer == layer.name; });
    if (listed) names.insert(names.end(), layer.weights.begin(), layer.weights.end());
  }
  return names;
}

void round_to_int8(const LinearLayer& layer, const ParameterLayout& layout, float* parameters) {
  float* const first = parameters + layout.offset(layer.weights.front());
  const float* const bad =
      std::find_if(first, first + layer.in * layer.out, [](float value) { return !std::isfinite(value); });
  if (bad != first + layer.in * layer.out)
    throw_bad_input(fmt::format("a weight of {} is {}: there is no scale for it", layer.name, *bad));
  kernels::parallel_for(static_cast<std::size_t>(layer.out), [&](std::size_t row) {
    kernels::round_to_int8(first + static_cast<std::int64_t>(row) * layer.in, layer.in);
  });
}

}  // namespace bigbird
