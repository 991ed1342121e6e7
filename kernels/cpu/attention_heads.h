// What the parts of a head that attention works on have in common: their rows as floats, and, where a batch
// has a rule or a term for labels, these as the kernels of a level want them (HeadPairs).
#pragma once

#include <algorithm>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/partition.h"

namespace bigbird::kernels {

constexpr Index line_floats = 16;  // of the cache

// Where the key rows of the sequences begin.
inline const Index* key_offsets_of(const AttentionBatch& batch) {
  return batch.key_offsets != nullptr ? batch.key_offsets : batch.token_offsets;
}

// The row of its keys that the first query of a sequence stands at.
inline Index query_start_of(const AttentionBatch& batch, Index sequence) {
  return batch.query_starts != nullptr ? batch.query_starts[sequence] : 0;
}

inline Index key_count_of(const BlockPlanView& plan) {
  return plan.key_count > 0 ? plan.key_count : plan.blocks;
}

inline Index labels_of(const AttentionBatch& batch) {
  return batch.relative != nullptr ? batch.relative->labels : 0;
}

// The rule and the term of a batch as a head of one sequence has them. room: HeadPairs::room.
HeadPairs pairs_of(const AttentionBatch& batch, Index sequence, Index head, float* room);

// HeadPairs::room of a thread, in whole cache lines.
inline Index label_floats(const Level& level, Index block_size, Index head_size, Index labels) {
  return labels > 0 ? pieces(level.label_room(block_size, head_size, labels), line_floats) * line_floats : 0;
}
// HeadPairs::label_gradients of a head of one sequence.
inline Index label_gradient_floats(Index labels, Index head_size) {
  return pieces(labels * (head_size + 1), line_floats) * line_floats;
}

// What the labels of every head of every sequence get, added up over the sequences in their order.
class LabelGradients {
 public:
  static Index floats(const AttentionBatch& batch) { return batch.sequences * batch.heads * each(batch); }
  LabelGradients(const AttentionBatch& batch, float* memory) : batch_(batch), memory_(memory) {
    std::fill(memory, memory + floats(batch), 0.0f);
  }
  float* of(Index sequence, Index head) const {
    return memory_ + (sequence * batch_.heads + head) * each(batch_);
  }
  void add_to(const RelativeGradients& gradients) const;

 private:
  static Index each(const AttentionBatch& batch) {
    return labels_of(batch) > 0 ? label_gradient_floats(labels_of(batch), batch.head_size) : 0;
  }
  const AttentionBatch& batch_;
  float* const memory_;
};

// Rows of a head as floats, one behind the other, and back.
void take_rows(const Level& level, const ConstRows& from, Index first, Index column, Index rows, Index width,
               float* to);
void put_rows(const Level& level, const float* from, Index width, const Rows& to, Index first, Index column,
              Index rows);

}  // namespace bigbird::kernels
