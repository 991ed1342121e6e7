// Attention over pairs, one head at a time and in double: which keys a query sees, and the label of each
// pair, are asked pair by pair. It is what every rule, window, label and group of keys is held against.
#pragma once

#include <cstddef>
#include <functional>

#include "reference/tensor.h"

namespace bigbird::reference {

// query [queries, size], key and value [keys, size]; of scores s_ij = scale (q_i.k_j + q_i.weight[u_ij] +
// bias[u_ij]) the softmax runs over the keys j with visible(i, j). The own key of query i is start + i.
struct PairAttention {
  std::function<bool(std::size_t, std::size_t)> visible;
  double scale = 1.0;
  std::size_t start = 0;
  // A query's own key is seen only where it sees no other; never.
  bool self_last = false;
  bool no_self = false;
  // u_ij; empty: no term of labels.
  std::function<std::size_t(std::size_t, std::size_t)> label;
  Matrix weight;  // [labels, size]
  Vector bias;    // [labels]; empty: none; -infinity: pairs of this label do not meet
  // What probabilities are multiplied by before they weigh the values, [queries, keys]: dropout's factors.
  // Empty: 1.
  Matrix factors;
};

struct PairAttentionOutput {
  Matrix output;       // zeros where a query has no key
  Vector log_sum_exp;  // of each query; +infinity where it has none
};
PairAttentionOutput pair_attention_forward(const PairAttention& rule, const Matrix& query, const Matrix& key,
                                           const Matrix& value);

struct PairAttentionGradients {
  Matrix query, key, value, weight;
  Vector bias;
};
// Of sum(output * d_output).
PairAttentionGradients pair_attention_backward(const PairAttention& rule, const Matrix& query,
                                               const Matrix& key, const Matrix& value,
                                               const Matrix& d_output);

// The label of a key so far behind its query (key - query), of distances up to `most` (Ainslie et al. 2020,
// section 2.3; etcmodel's numbers): 0 .. most to the right, most + 1 .. 2 most to the left.
std::size_t relative_label(std::ptrdiff_t distance, std::size_t most);
// Of keys at the query or before it alone (Dai et al. 2019, section 3.3): how far, at most `most`.
std::size_t label_behind(std::ptrdiff_t distance, std::size_t most);

}  // namespace bigbird::reference
