// Where dropout happens, and the numbers that tell one mask from another.
#pragma once

#include <cstdint>

namespace bigbird {

// The sites (docs/specification.md 2.1). The numbers are part of what a seed means: never renumber, only
// append.
enum class DropoutSite : std::uint64_t {
  embeddings = 1,
  attention_probabilities = 2,  // full attention only
  attention_output = 3,
  feed_forward_output = 4,
  classifier_input = 5,
  classifier_inner = 6,
  question_input = 7,
  question_output = 8,
  cross_attention_probabilities = 9,
  cross_attention_output = 10,
};

// kernels::Dropout::site: different for every (site, layer, part). Parts are runs of sequences, see
// attention_runs.h.
constexpr std::uint64_t dropout_site(DropoutSite site, std::int64_t layer, std::int64_t part = 0) {
  return static_cast<std::uint64_t>(site) << 56 | static_cast<std::uint64_t>(layer) << 32 |
         static_cast<std::uint64_t>(part);
}

}  // namespace bigbird
