// Attention, three times over: two oracles of block-sparse attention that are derived apart from each other,
// and that of a decoder. None of them calls another.
#pragma once

#include <cstddef>
#include <vector>

#include "reference/tensor.h"

namespace bigbird::reference {

// Which key blocks each query block sees, as explicit lists, and the shapes shared by both block-sparse
// oracles.

// plan[head][query block] lists key blocks in any order; a block listed twice counts twice in the softmax.
using AttentionPlan = std::vector<std::vector<std::vector<std::size_t>>>;

// One sequence: query, key, value and output are (heads, blocks * block_size, head_size), row-major.
// Keys at positions >= valid_length are masked; query rows there come out as exact zeros and pass no
// gradient. A real query row whose listed keys are all masked comes out as zeros too. A query_length beyond
// valid_length lets padding up to there see the keys (the first oracle only).
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

// First oracle of block-sparse attention: a dense softmax over a matrix of multiplicities, with the whole
// length x length matrix of probabilities in memory. Paper section 2, equation (ATTN): softmax of scaled
// scores over the out-neighbours of each query.

// output_i = mean of v_j weighted by multiplicity(i, j) * exp(q_i . k_j / sqrt(head_size)), which is zero for
// masked keys.
Vector attention_dense_forward(const AttentionShape& shape, const AttentionPlan& plan, const Vector& query,
                               const Vector& key, const Vector& value);

// Gradients of sum(output * d_output); d_output at padded query rows has no effect.
AttentionGradients attention_dense_backward(const AttentionShape& shape, const AttentionPlan& plan,
                                            const Vector& query, const Vector& key, const Vector& value,
                                            const Vector& d_output);

// Second oracle, derived apart from the first: each query gathers the key blocks of its list and folds them
// into an online softmax, key by key, never holding more than one query's state; the backward pass recomputes
// probabilities and walks transposed lists.
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

// Attention of a decoder (Vaswani et al. 2017, section 3.2): over the keys of another sequence, or over those
// of its own up to each query. The whole matrix of probabilities in memory, in double.

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
