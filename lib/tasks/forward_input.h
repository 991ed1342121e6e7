// The input file of a forward pass (forward_pass.h), read with checks that name the tensor and the place.
#pragma once

#include <cstdint>
#include <string>

#include "lib/model/config.h"
#include "lib/model/network/batch.h"

namespace bigbird {

struct ForwardInput {
  std::int64_t sequences = 0;  // B
  std::int64_t tokens = 0;     // T as given
  std::int64_t padded = 0;     // T rounded up to whole blocks
  std::int64_t real_tokens = 0;
  Batch batch;
  // That of the config, except that transformers takes float labels [B, L] for several labels at once when
  // config.json does not say what they are.
  ProblemType problem_type = ProblemType::single_label;
};

ForwardInput read_forward_input(const std::string& path, const ModelConfig& config);

}  // namespace bigbird
