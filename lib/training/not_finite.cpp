// The search for NaN and infinity; see not_finite.h.
#include "lib/training/not_finite.h"
#include "lib/model/network/model.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace bigbird {
namespace {

bool finite(float value) {
  return std::isfinite(value);
}

// "name (3 of 4096 values)" when any value of the tensor is not finite.
std::string bad_values(const TensorSpec& tensor, const std::vector<float>& arena) {
  const auto begin = arena.begin() + static_cast<std::ptrdiff_t>(tensor.offset);
  const auto bad =
      tensor.count - std::count_if(begin, begin + static_cast<std::ptrdiff_t>(tensor.count), finite);
  return bad == 0 ? "" : fmt::format("{} ({} of {} values)", tensor.name, bad, tensor.count);
}

std::string first_parameter_not_finite(const Model& model) {
  const std::vector<float> parameters = model.host_parameters();
  for (const TensorSpec& tensor : model.layout().tensors()) {
    if (std::string bad = bad_values(tensor, parameters); !bad.empty()) return bad;
  }
  return "";
}

}  // namespace

std::string first_output_not_finite(Model& model, const Batch& batch, const ForwardOptions& options) {
  std::string where = "the head";
  bool found = false;
  ForwardOptions watched = options;
  watched.hidden_state = [&](std::int64_t layer, const std::vector<float>& values) {
    if (found || std::all_of(values.begin(), values.end(), finite)) return;
    found = true;
    where = layer == 0 ? "the embeddings"
                       : fmt::format("layer {} of {}", layer, model.config().num_hidden_layers);
  };
  model.forward(batch, watched);
  const std::string parameter = first_parameter_not_finite(model);
  return parameter.empty() ? where : where + "; so are parameters: " + parameter;
}

std::string first_gradient_not_finite(const Model& model) {
  const std::vector<float> gradients = model.host_gradients();
  const std::vector<TensorSpec>& tensors = model.layout().tensors();
  for (auto tensor = tensors.rbegin(); tensor != tensors.rend(); ++tensor) {
    if (const std::string bad = bad_values(*tensor, gradients); !bad.empty()) return "gradient of " + bad;
  }
  return "";
}

}  // namespace bigbird
