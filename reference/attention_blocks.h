// Second oracle of block-sparse attention, derived apart from attention_dense: each query gathers the key
// blocks of its list and folds them into an online softmax; the backward pass recomputes probabilities and
// walks transposed lists.
#pragma once

#include "reference/attention_plan.h"

namespace bigbird::reference {

struct BlockAttentionOutput {
  Vector output;  // (heads, length, head_size)
  // (heads, length): log of the softmax denominator over scaled scores; 0 where no key is seen.
  Vector log_sum_exp;
};

BlockAttentionOutput attention_blocks_forward(const AttentionShape& shape, const AttentionPlan& plan,
                                              const Vector& query, const Vector& key, const Vector& value);

// transposed[head][key block] lists the query blocks that see it, with repeats.
AttentionPlan transposed_plan(const AttentionPlan& plan);

AttentionGradients attention_blocks_backward(const AttentionShape& shape, const AttentionPlan& plan,
                                             const Vector& query, const Vector& key, const Vector& value,
                                             const Vector& d_output);

}  // namespace bigbird::reference
