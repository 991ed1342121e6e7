// Attention of a decoder (Vaswani et al. 2017, section 3.2): over the keys of another sequence, or over those
// of its own up to each query. The whole matrix of probabilities in memory, in double.
#pragma once

#include <cstddef>

#include "reference/attention_plan.h"
#include "reference/tensor.h"

namespace bigbird::reference {

// One head: query [queries, size], key and value [keys, size].
struct CrossAttentionShape {
  std::size_t seen = 0;  // keys before this one exist; those behind are padding
  bool causal = false;   // query i sees keys 0 .. i
};

// What probabilities are multiplied by before they weigh the values, [queries, keys]: dropout's factors.
// Empty: 1.
Matrix cross_attention_forward(const CrossAttentionShape& shape, const Matrix& query, const Matrix& key,
                               const Matrix& value, const Matrix& factors = {});

struct CrossAttentionGradients {
  Matrix query, key, value;
};
// Of sum(output * d_output).
CrossAttentionGradients cross_attention_backward(const CrossAttentionShape& shape, const Matrix& query,
                                                 const Matrix& key, const Matrix& value,
                                                 const Matrix& d_output, const Matrix& factors = {});

}  // namespace bigbird::reference
