// Logits before decoding; see logits.h.
#include "lib/text/qa/logits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/core/error.h"

namespace bigbird {

std::vector<WindowLogits> window_logits(std::span<const ContextWindow> windows,
                                        std::span<const InputLogits> logits) {
  std::vector<WindowLogits> result;
  for (std::size_t i = 0; i < windows.size(); ++i)
    result.push_back({windows[i], logits[i].scores.at(0), logits[i].scores.at(1)});
  return result;
}

void require_finite_logits(std::initializer_list<std::span<const float>> logits, std::size_t size,
                           const std::string& where) {
  for (const std::span<const float>& values : logits) {
    if (values.size() != size)
      throw_runtime(fmt::format("{}: {} logits where there are {}", where, values.size(), size));
    if (!std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); })) {
      throw_runtime(fmt::format("{}: the model gives logits that are not finite", where),
                    "the weights or the precision are at fault: try fp32, or an earlier checkpoint");
    }
  }
}

}  // namespace bigbird
