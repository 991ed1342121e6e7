// The layers of contextual_mapping.h computed by the program's own attention, in fp32: each is one forward
// pass of two heads of width 1 over a plan in blocks of one token.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/backend.h"
#include "lib/theory/contextual_mapping.h"

namespace bigbird {

// fp32 holds whole numbers up to so many bits.
inline constexpr int fp32_bits = 24;

// t, which makes of softmax a hardmax: in steps, scores of two values that differ are at least t / 2 apart.
inline constexpr float hardmax_scale = 4096;

// How many ids come out as they are, of all. Softmax is sharp enough for that; what is missing is room in
// fp32.
std::int64_t ids_by_attention(const ContextualMapping& mapping, kernels::Backend& backend);

}  // namespace bigbird
