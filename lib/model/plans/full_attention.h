// When a sequence takes full attention although the model's pattern is sparse (docs/specification.md 1.3):
// decided for every sequence of every call, whatever ran before it.
#pragma once

#include <cstdint>
#include <string>

#include "lib/model/config.h"

namespace bigbird {

// Why a sequence of `blocks` blocks, its padding included, takes full attention, to follow "full attention
// for"; empty when its attention is sparse. The rule is that of the random mode:
//   google              at most 512 tokens, and the lengths at which the published code fails to draw a plan;
//   hf-train, hf-eval   at most 5 + 2r blocks, as Hugging Face, and where its code would fail;
//   none                at most 5 blocks, Hugging Face's rule for r = 0;
//   file                never: the plan is what is computed.
// The patterns random and window+random take it below 2r + 6 blocks, full always, window never.
std::string full_attention_reason(const ModelConfig& config, std::int64_t blocks);

}  // namespace bigbird
