// Which key blocks each query block sees, as explicit lists, and the shapes shared by both attention oracles.
#pragma once

#include <cstddef>
#include <vector>

#include "reference/tensor.h"

namespace bigbird::reference {

// plan[head][query block] lists key blocks in any order; a block listed twice counts twice in the softmax.
using AttentionPlan = std::vector<std::vector<std::vector<std::size_t>>>;

// One sequence: query, key, value and output are (heads, blocks * block_size, head_size), row-major.
// Keys at positions >= valid_length are masked; query rows there come out as exact zeros and pass no
// gradient. A real query row whose listed keys are all masked comes out as zeros too. A query_length beyond
// valid_length lets padding up to there see the keys (attention_dense.h only).
struct AttentionShape {
  std::size_t heads = 0;
  std::size_t blocks = 0;
  std::size_t block_size = 0;
  std::size_t head_size = 0;
  std::size_t valid_length = 0;
  std::size_t query_length = 0;

  std::size_t length() const { return blocks * block_size; }
  std::size_t elements() const { return heads * length() * head_size; }
};

struct AttentionGradients {
  Vector query;
  Vector key;
  Vector value;
};

// Throws std::invalid_argument unless plan and the three arrays fit the shape.
void check_attention(const AttentionShape& shape, const AttentionPlan& plan, const Vector& query,
                     const Vector& key, const Vector& value);

// Every query block sees every key block once.
AttentionPlan full_plan(std::size_t heads, std::size_t blocks);

// BigBird-ITC (paper section 2, appendix D): the first and last block are global, the window is 3 blocks wide
// without wrap-around, and random_blocks[head][i - 1] lists the random blocks of row i for i = 1 .. blocks
// - 2. Repeats are kept.
AttentionPlan itc_plan(std::size_t blocks, const AttentionPlan& random_blocks);

}  // namespace bigbird::reference
