// The single-threaded inner kernels, compiled once per instruction set level (x86-64-v2, -v3, -v4; generic
// elsewhere); cpu_options.h picks one at run time. What a thread does with one piece of work is here; how
// work is cut into pieces is in the other files of this folder.
//
// levels/*.cpp are compiled several times with different -march, so they must not instantiate inline
// functions shared with the rest of the program (the linker would keep any one copy): they use no standard
// library but its types.
#pragma once

#include "kernels/types.h"

namespace bigbird::kernels {

// Which pairs of a head of one sequence meet, and the term for their label.
struct HeadPairs {
  // Pointers are at row 0 of the sequence; those of queries are at the row that stands at key row 0, which
  // need not be there (AttentionBatch::query_starts).
  PairRule rule;
  Index query_link_stride = 0;
  Index key_link_stride = 0;
  bool hides = false;          // it has any condition
  bool hides_by_rows = false;  // one beside distances and own keys
  RelativeTerm relative;       // weight and bias of this head, parts at such rows; weight null: no term
  Index label_stride = 0;      // from the weight of one label to the next
  Index bias_stride = 0;
  float* room = nullptr;             // level.label_room() floats
  float* label_gradients = nullptr;  // backward: [labels][head_size], then of biases [labels]; added to
  // Of span_logits of this head, whose query that stands at key row r has its number at r * span_stride.
  Index span_stride = 0;
  float* span_gradients = nullptr;  // backward: likewise
};

// One head of one sequence. Pointers are at row 0 of the sequence, column 0 of the head.
struct AttentionHead {
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  const bf16* narrow_q = nullptr;  // all three in place of the floats; read by attention in bf16 alone
  const bf16* narrow_k = nullptr;
  const bf16* narrow_v = nullptr;
  Index q_stride = 0;
  Index k_stride = 0;
  Index v_stride = 0;
  Index head_size = 0;
  Index block_size = 0;
  Index blocks = 0;                           // of queries
  Index key_count = 0;                        // of keys
  bool causal = false;                        // a query sees no key behind its own row
  const HeadPairs* pairs = nullptr;           // null: all pairs meet, and have no label
  Index query_origin = 0;                     // row of the sequence's keys that the first query stands at
  Index rows = 0;                             // what the sequence has of blocks * block_size rows
  Index length = 0;                           // real tokens, of keys
  Index query_length = 0;                     // tokens that see the keys; the rest come out as zeros
  const std::int32_t* row_offsets = nullptr;  // [blocks + 1], of this head
  const std::int32_t* key_blocks = nullptr;   // of the whole plan, indexed by row_offsets
  float scale = 1.0f;
  float drop_probability = 0.0f;
  std::uint64_t dropout_seed = 0;
  std::uint64_t dropout_site = 0;
  std::uint64_t dropout_first = 0;  // element index of (query row 0, key row 0) of the sequence
  std::uint64_t dropout_row = 0;    // from one query row to the next
};

struct AttentionHeadGradients {
  const float* out = nullptr;
  const float* dout = nullptr;
  const float* log_sum_exp = nullptr;  // [blocks * block_size]
  float* dq = nullptr;
  float* dk = nullptr;
  float* dv = nullptr;
  Index out_stride = 0;
  Index dout_stride = 0;
  Index dq_stride = 0;
  Index dk_stride = 0;
  Index dv_stride = 0;
};

// The keys and values of one head, wherever their rows are.
struct RowsOfHead {
  const float* k = nullptr;  // of row 0
  const float* v = nullptr;
  Index k_stride = 0;
  Index v_stride = 0;
  Index head_size = 0;
  float scale = 1.0f;
  const float* label_weight = nullptr;  // of this head, from label 0 on; read where there are labels
  Index label_stride = 0;
  const float* label_bias = nullptr;  // likewise; null: zeros
  Index bias_stride = 0;
};
// One query of a head, and what a backward pass knows of it.
struct QueryOfHead {
  const float* q = nullptr;
  const float* dout = nullptr;
  float log_sum_exp = 0.0f;
  float product = 0.0f;  // of its output with dout
};
// Queries of one head, wherever their rows are; of log_sum_exp and product [queries].
struct QueriesOfHead {
  const float* q = nullptr;
  const float* dout = nullptr;
  Index q_stride = 0;
  Index dout_stride = 0;
  const float* log_sum_exp = nullptr;
  const float* product = nullptr;
};

// Strided operands of c[m, n] (+)= a[m, k] b[k, n]. Element (i, p) of a is a[i * a_row + p * a_column], and
// so on; rows of c are contiguous.
struct Product {
  Index m = 0;
  Index n = 0;
  Index k = 0;
  const float* a = nullptr;
  Index a_row = 0;
  Index a_column = 0;
  const float* b = nullptr;
  Index b_row = 0;
  Index b_column = 0;
  float* c = nullptr;
  Index c_row = 0;
  bool accumulate = false;
  bool round_to_bf16 = false;  // both operands, to nearest even; only the own product can
};

// AdamW and LAMB with everything that does not depend on the element worked out (AdamWStep, LambStep).
struct AdamWConstants {
  float gradient_scale = 1.0f;
  float beta1 = 0.0f;
  float beta2 = 0.0f;
  float one_minus_beta1 = 0.0f;  // 1 - beta1
  float one_minus_beta2 = 0.0f;  // 1 - beta2
  float epsilon = 0.0f;
  float step_size = 0.0f;            // learning rate / correction1
  float inverse_correction2 = 1.0f;  // 1 / correction2
  float decay = 0.0f;                // learning rate * weight decay; of LAMB weight decay
};

// Length of a slice of a product's k: a panel of b (a slice by the tile's columns) stays in the first-level
// cache.
inline constexpr Index gemm_depth = 256;

// Every function works on contiguous arrays on the calling thread. Scratch is 64-byte aligned, owned by the
// caller, and at least as many floats as the function beside it says.
struct Level {
  const char* name;

  // Any sizes; n over about 1000 and m over about 500 should be cut into several calls.
  void (*gemm)(const Product& product, float* scratch);
  Index (*gemm_scratch)(Index n);
  // The same product in two steps, so that what is packed serves many rows. Sums are taken slice by slice of
  // gemm_depth along k in both, so that a result is the same whoever packed.
  Index (*gemm_panel)();  // columns of b that lie together
  // The n columns of b in one slice, `depth` long from `first`: a multiple of gemm_panel() wide, zeros behind
  // n.
  void (*gemm_pack)(const Product& product, Index first, Index depth, float* packed);
  // Of a whole packed b, `packed_columns` wide (a multiple of gemm_panel()), slice behind slice: the
  // product's n columns from `column`, which is such a multiple too.
  void (*gemm_rows)(const Product& product, const float* packed_b, Index packed_columns, Index column,
                    float* scratch);
  Index (*gemm_rows_scratch)();

  void (*attention_forward_block)(const AttentionHead& head, Index query_block, float* out, Index out_stride,
                                  float* log_sum_exp, float* scratch);
  Index (*attention_forward_scratch)(Index block_size, Index head_size);
  // All query blocks of the head, in order; overwrites dq, dk and dv of the whole sequence.
  void (*attention_backward_head)(const AttentionHead& head, const AttentionHeadGradients& gradients,
                                  float* scratch);
  Index (*attention_backward_scratch)(Index block_size, Index head_size);
  // HeadPairs::room, for all kinds of attention.
  Index (*label_room)(Index block_size, Index head_size, Index labels);
  // Two groups of keys as one, of one query and head: out = the merge of first and second, each [head_size];
  // returns the merged log_sum_exp (operations.inc).
  float (*merge_row)(const float* first, float first_sum, const float* second, float second_sum, float* out,
                     Index head_size);

  // out[head_size] of one query over `count` rows, the first ones where `rows` is null, one at least; labels
  // of those, or null. Returns log_sum_exp. Scratch of `count` floats.
  float (*attend_rows)(const RowsOfHead& head, const float* q, const std::int32_t* rows,
                       const std::int32_t* labels, Index count, float* out, float* scratch);
  // The way back: dq[head_size] of one query, and added to dlabels what its labels get, which lies as the
  // table does. Scratch of 2 `count` floats.
  void (*attend_rows_backward_query)(const RowsOfHead& head, const QueryOfHead& query,
                                     const std::int32_t* rows, const std::int32_t* labels, Index count,
                                     float* dq, float* dlabels, float* scratch);
  // dk and dv [head_size] of the key row `key` by the `count` queries that see it, the first ones where
  // `which` is null; labels of those, or null. Scratch of 2 `count` floats.
  void (*attend_rows_backward_key)(const RowsOfHead& head, Index key, const QueriesOfHead& queries,
                                   const std::int32_t* which, const std::int32_t* labels, Index count,
                                   float* dk, float* dv, float* scratch);

  // One row. y may be x.
  void (*layernorm_row)(const float* x, const float* gamma, const float* beta, float epsilon, float* y,
                        float* mean, float* rstd, Index width);
  // One row; dgamma and dbeta accumulate. dx may be dy.
  void (*layernorm_backward_row)(const float* dy, const float* x, const float* gamma, float mean, float rstd,
                                 float* dx, bool accumulate, float* dgamma, float* dbeta, Index width);
  // y[j] = a[j] * scale + b[j] + c[j]; b and c may be null.
  void (*sum_of_three)(const float* a, float scale, const float* b, const float* c, float* y, Index count);
  // y[j] += x[j] * scale
  void (*add_scaled)(const float* x, float scale, float* y, Index count);
  // sums[j] += sum over rows of x[row * stride + j], j < width
  void (*add_column_sums)(const float* x, Index rows, Index stride, float* sums, Index width);

  // y[j] = x[j] + bias[j], to nearest even; bias may be null.
  void (*narrow)(const float* x, const float* bias, bf16* y, Index count);
  void (*widen)(const bf16* x, float* y, Index count);

  // x += bias; pre = x unless null; y = activation(x). y may be x.
  void (*add_bias_activation)(const float* x, const float* bias, float* pre, float* y, Index count,
                              Activation activation);
  // The same with y to nearest even.
  void (*add_bias_activation_narrow)(const float* x, const float* bias, float* pre, bf16* y, Index count,
                                     Activation activation);
  void (*activation_backward)(const float* pre, const float* dy, float* dx, Index count,
                              Activation activation);
  // y[j] = a[j] * b[j]. y may be either.
  void (*multiply)(const float* a, const float* b, float* y, Index count);
  void (*tanh_forward)(const float* x, float* y, Index count);
  void (*tanh_backward)(const float* y, const float* dy, float* dx, Index count);

  // One row: x[h * head_size + i] and x[h * head_size + half + i] are turned by the angle with cosine
  // rotations[i] and sine rotations[half + i], or back.
  void (*rotate_row)(float* x, const float* rotations, Index heads, Index head_size, Index half, bool back);

  // y = (residual +) dropout(x); residual may be null; `first` is the element index of x[0], a multiple of 4.
  void (*dropout)(const float* x, const float* residual, float* y, Index count, std::uint64_t first,
                  float probability, std::uint64_t seed, std::uint64_t site);

  // Largest element, its lowest index, and the sum of exp(x - largest).
  void (*softmax_statistics)(const float* x, Index count, float* largest, Index* index, float* sum);
  // y = exp(x - shift) * scale. y may be x.
  void (*exp_scaled)(const float* x, float shift, float scale, float* y, Index count);

  double (*sum)(const float* x, Index count);
  double (*sum_of_squares)(const float* x, Index count);
  void (*adamw)(float* p, const float* g, float* m, float* v, Index count, const AdamWConstants& constants);
  // LAMB: new moments, and the squares of p and of u = m / (sqrt(v) + epsilon) + decay p; and p -= rate * u.
  LambSquares (*lamb_moments)(const float* p, const float* g, float* m, float* v, Index count,
                              const AdamWConstants& constants);
  void (*lamb_move)(float* p, const float* m, const float* v, Index count, const AdamWConstants& constants,
                    float rate);
  // A row of Adafactor. sums[j] += (g[j] * scale)^2; returns the sum of what was added.
  double (*add_squares)(const float* g, float scale, double* sums, Index count);
  // The sum of the squares of u[j] = g[j] * row * columns[j]; and p[j] -= step * u[j].
  double (*factored_squares)(const float* g, float row, const float* columns, Index count);
  void (*factored_update)(float* p, const float* g, float row, const float* columns, float step, Index count);
};

// Attention whose keys and values are packed, block by block and once for each head, before the queries are
// run: on AMX's tiles (amx.h), and in pairs of bf16 numbers (bf16.h); attention.cpp cuts the work into tasks
// for both.
//
// Blocks lie packed_bytes apart, 64-byte aligned. `parts`: numbers of bf16 for each float, 1 or 3 (amx.h).
// Scratch is counted in floats.
struct PackedAttention {
  Index block_multiple;  // the block size must be one of it
  Index (*packed_bytes)(Index block_size, Index head_size, Index parts);
  void (*pack_block)(const AttentionHead& head, Index block, Index parts, void* to);
  Index (*forward_scratch)(Index block_size, Index head_size, Index parts);
  // As Level::attention_forward_block.
  void (*forward_block)(const AttentionHead& head, const void* packed, Index parts, Index query_block,
                        float* out, Index out_stride, float* log_sum_exp, float* scratch);
};

}  // namespace bigbird::kernels
