// First oracle of block-sparse attention: a dense softmax over a matrix of multiplicities.
// Paper section 2, equation (ATTN): softmax of scaled scores over the out-neighbours of each query.
#pragma once

#include "reference/attention_plan.h"

namespace bigbird::reference {

// output_i = mean of v_j weighted by multiplicity(i, j) * exp(q_i . k_j / sqrt(head_size)), which is zero for
// masked keys.
Vector attention_dense_forward(const AttentionShape& shape, const AttentionPlan& plan, const Vector& query,
                               const Vector& key, const Vector& value);

// Gradients of sum(output * d_output); d_output at padded query rows has no effect.
AttentionGradients attention_dense_backward(const AttentionShape& shape, const AttentionPlan& plan,
                                            const Vector& query, const Vector& key, const Vector& value,
                                            const Vector& d_output);

}  // namespace bigbird::reference
