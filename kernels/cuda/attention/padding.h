// Heads and blocks that the attention kernels have no tiles for are brought to the next size that they have:
// heads of 32, 64 or 128 columns, blocks of a multiple of 16 rows. Plain C++.
//
// What is added counts for nothing. Columns are zeros. Rows behind a block's last one are no keys: where
// blocks are padded a head has a column of its own for it, 1 in every query, 0 in the keys that are there and
// a large negative number in those that are not, so that their exponentials are exact zeros; and no query:
// nothing is read of them, and the gradient of their output is zero. Sums over real keys are those of the
// kernels.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/runtime.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda {

struct AttentionPadding {
  // Of sizes that attention_refusal() lets pass.
  AttentionPadding(Index head_size, Index block_size);

  Index head_size, block_size;      // as given
  Index padded_head, padded_block;  // as the kernels get them

  bool needed() const { return padded_head != head_size || padded_block != block_size; }
  bool pads_blocks() const { return padded_block != block_size; }
  // Rows before row `row` of a matrix of whole blocks.
  Index rows(Index row) const { return row / block_size * padded_block + row % block_size; }
  AttentionLimits limits(AttentionLimits of) const;
};

// Bytes that a padded call needs beside the kernels' workspace; 0 where nothing is padded.
std::size_t attention_padding_bytes(const AttentionLimits& limits, ElementType type);

// A batch with the numbers of padded rows. Its plans are those of the batch that it is made of.
class PaddedBatch {
 public:
  PaddedBatch(const AttentionBatch& batch, const AttentionPadding& padding);
  PaddedBatch(const PaddedBatch&) = delete;
  PaddedBatch& operator=(const PaddedBatch&) = delete;

  const AttentionBatch& batch() const { return batch_; }

 private:
  std::vector<Index> token_offsets_, lengths_, query_lengths_, key_offsets_;
  AttentionBatch batch_;
};

// attention_forward() and attention_backward() of attention.h for a batch that is padded: `call` is that of
// PaddedBatch, `area` attention_padding_bytes() of limits that cover `given`; inputs and results are as
// given.
void padded_attention_forward(const AttentionBatch& given, const AttentionCall& call, void* area,
                              const QueryKeyValue& inputs, Rows out, float* log_sum_exp);
void padded_attention_backward(const AttentionBatch& given, const AttentionCall& call, void* area,
                               const QueryKeyValue& inputs, ConstRows out, const float* log_sum_exp,
                               ConstRows dout, const QueryKeyValueGradients& gradients, bool deterministic);

// --- padding.cu

// One matrix of `rows` rows as given, in whole blocks, and what it is padded to, [padded rows, heads *
// padded_head]. mark_there and mark_padding go into the column behind the head's own, in rows that are there
// and in those that are not; only where blocks are padded.
struct PaddedMatrix {
  const AttentionPadding& padding;
  Index heads = 0;
  Index rows = 0;  // as given
  float mark_there = 0.0f;
  float mark_padding = 0.0f;
};
void pad_rows(const PaddedMatrix& matrix, ConstRows from, Values to, Stream stream);
void take_rows(const PaddedMatrix& matrix, ConstValues from, Rows to, Stream stream);
// Of log_sum_exp, [heads, rows]; padding gets infinity.
void pad_statistics(const PaddedMatrix& matrix, const float* from, float* to, Stream stream);
void take_statistics(const PaddedMatrix& matrix, const float* from, float* to, Stream stream);

}  // namespace bigbird::kernels::cuda
