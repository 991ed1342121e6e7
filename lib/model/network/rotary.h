// Rotary positions (Su et al. 2021): the rotations of every position, and one layer's queries and keys turned
// by them.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/model/network/memory.h"
#include "lib/model/network/pass_context.h"

namespace bigbird {

// [positions, rotary_dim]: the cosines of the angles position * base^(-2i / rotary_dim), i < rotary_dim / 2,
// then their sines. Frequencies and angles are rounded to fp32 step by step as the published PyTorch code
// does, since at position 4096 the last bit of a frequency is seen in the hidden states.
std::vector<float> rotary_table(const ModelConfig& config, std::int64_t positions);

// Turns query and key of every head within qkv [T, 3C], or turns their gradients back. Nothing for absolute
// positions.
void rotate_queries_and_keys(const PassContext& pass, const RotaryTable& rotations, kernels::Values qkv,
                             bool back);

}  // namespace bigbird
