// The input file of a forward pass (forward_pass.h), read with checks that name the tensor and the place.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/model/config.h"
#include "lib/model/network/batch.h"

namespace bigbird {

struct ForwardInput {
  std::int64_t sequences = 0;  // B
  std::int64_t tokens = 0;     // T as given
  std::int64_t padded = 0;     // T rounded up to whole blocks
  std::int64_t real_tokens = 0;
  std::int64_t targets = 0;         // T' as given, of a decoder
  std::int64_t padded_targets = 0;  // and in whole blocks
  // Padding on the left of each sequence. In the batch its real tokens come first, so that it counts as the
  // same sequence padded on the right; what the caller gave at t lies at row_of(s, t) of the sequence.
  std::vector<std::int64_t> shifts;
  Batch batch;
  // That of the config, except that transformers takes float labels [B, L] for several labels at once when
  // config.json does not say what they are.
  ProblemType problem_type = ProblemType::single_label;

  std::int64_t row_of(std::int64_t s, std::int64_t t) const {
    return (t + tokens - shifts[static_cast<std::size_t>(s)]) % tokens;
  }
};

ForwardInput read_forward_input(const std::string& path, const ModelConfig& config);

}  // namespace bigbird
