// The letters used everywhere for sizes, and the views that the kernels take.
//
//   B sequences in a batch        T tokens of the whole batch (every sequence padded to its own multiple of
//   b) C width of the model          H heads         D head size (C = H * D)      L layers V vocabulary size
//   F width of the feed-forward inner layer b block size in tokens        n blocks of one sequence
//
// Activations are row-major (T, C) over the concatenated sequences. All pointers are device pointers of the
// Backend in use; index arrays too, unless a comment says "host".
#pragma once

#include <cstdint>

namespace bigbird::kernels {

using Index = std::int64_t;

// gelu in its two forms (Hendrycks and Gimpel 2016): x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), which is
// BigBird's, and x/2 (1 + erf(x / sqrt(2))), which is BERT's.
enum class Activation { gelu_tanh, gelu_erf };

// Which key blocks each query block sees, for every head, at one length n. Lists keep repeats: a key block
// that is listed twice counts twice in the softmax (specification 1.1). The transpose lists, for every key
// block, the query blocks that name it (again with repeats), ascending.
struct BlockPlanView {
  Index heads = 0;                               // H
  Index blocks = 0;                              // n
  const std::int32_t* row_offsets = nullptr;     // [H * n + 1] into key_blocks; row (h, i) is h * n + i
  const std::int32_t* key_blocks = nullptr;      // block numbers 0..n-1
  const std::int32_t* column_offsets = nullptr;  // [H * n + 1] into query_blocks
  const std::int32_t* query_blocks = nullptr;    // block numbers 0..n-1
};

// A ragged batch as attention sees it. Sequence s owns rows token_offsets[s] .. token_offsets[s + 1] of every
// (T, *) matrix; that count is plans[s].blocks * block_size. Its first lengths[s] tokens are real; the rest
// is padding: never attended to, and exact zeros in the output. With query_lengths, at least lengths each,
// the first of those rows see the keys as real tokens do, as full attention in Hugging Face lets padding.
struct AttentionBatch {
  Index sequences = 0;                          // B
  Index heads = 0;                              // H
  Index head_size = 0;                          // D
  Index block_size = 0;                         // b
  const Index* token_offsets = nullptr;         // host, [B + 1]
  const Index* lengths = nullptr;               // host, [B]
  const Index* query_lengths = nullptr;         // host, [B]; null: lengths
  const BlockPlanView* const* plans = nullptr;  // host, [B]; plans of equal length are shared
  float scale = 1.0f;                           // 1 / sqrt(D), applied to the scores before the mask
  // Dropout of attention probabilities: only used in full attention; 0 on the sparse path
  // (specification 1.1).
  float drop_probability = 0.0f;
  std::uint64_t dropout_seed = 0;    // key of philox.h dropout_keep
  std::uint64_t dropout_stream = 0;  // element index of (head h, query row t, key row u) of the batch, within
                                     // the stream: (h * T + t) * T + u
};

// q, k, v (and their gradients) lie side by side in one (T, 3C) matrix or apart: a pointer and the distance
// between rows.
struct ConstRows {
  const float* data = nullptr;
  Index stride = 0;  // elements between the starts of consecutive rows
};
struct Rows {
  float* data = nullptr;
  Index stride = 0;
};

}  // namespace bigbird::kernels
