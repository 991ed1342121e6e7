// How many tokens a variant changes: byte-pair encoding re-segments around it.
#pragma once

#include <cstdint>
#include <span>

namespace bigbird {

// 1 - (tokens of a longest common subsequence) / (tokens of the longer sequence): 0 for equal sequences, 1
// where no token is common. A window that an indel moves along keeps its tokens. 0 when both are empty.
double changed_token_share(std::span<const std::int32_t> before, std::span<const std::int32_t> after);

}  // namespace bigbird
