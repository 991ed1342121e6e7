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

// The rows and biases of labels behind, which are many, head by head: in the table the rows of one head lie
// so far apart that they meet in a few lines of the cache.
class LabelTables {
 public:
  static Index floats(const AttentionBatch& batch) {
    return has_own(batch) ? batch.heads * floats(labels_of(batch), batch.head_size) : 0;
  }
  // Of a head, in whole cache lines.
  static Index floats(Index labels, Index head_size) {
    return pieces(labels * (head_size + 1), line_floats) * line_floats;
  }
  LabelTables(const AttentionBatch& batch, float* memory);
  // Weight and bias of a head, and from one label to the next.
  void put(Index head, HeadPairs& pairs) const;

 private:
  static bool has_own(const AttentionBatch& batch) {
    return batch.relative != nullptr && batch.relative->behind;
  }
  const AttentionBatch& batch_;
  float* const memory_;
};

// The rule and the term of a batch as a head of one sequence has them. room: HeadPairs::room.
HeadPairs pairs_of(const AttentionBatch& batch, const LabelTables& tables, Index sequence, Index head,
                   float* room);
// Where such a head's spans get their gradients.
void put_span_gradients(const AttentionBatch& batch, const RelativeGradients& gradients, Index sequence,
                        Index head, HeadPairs& pairs);

// HeadPairs::room of a thread, in whole cache lines.
inline Index label_floats(const Level& level, Index block_size, Index head_size, Index labels) {
  return labels > 0 ? pieces(level.label_room(block_size, head_size, labels), line_floats) * line_floats : 0;
}
// HeadPairs::label_gradients of a head of one sequence.
inline Index label_gradient_floats(Index labels, Index head_size) {
  return pieces(labels * (head_size + 1), line_floats) * line_floats;
}

// What the labels of every head of every sequence get, added up over the sequences in their order: of so many
// sequences at a time that many labels do not take the memory of all.
class LabelGradients {
 public:
  static Index floats(const AttentionBatch& batch) {
    return floats(batch.sequences, batch.heads, labels_of(batch), batch.head_size);
  }
  static Index floats(Index sequences, Index heads, Index labels, Index head_size) {
    if (labels == 0) return 0;
    return together(sequences, heads, labels, head_size) * heads * label_gradient_floats(labels, head_size);
  }
  LabelGradients(const AttentionBatch& batch, float* memory) : batch_(batch), memory_(memory) {}
  // body(first, count) for groups of sequences, behind each of which `gradients` get theirs.
  template <typename Body>
  void for_groups(const RelativeGradients& gradients, const Body& body) const {
    const Index most = together(batch_.sequences, batch_.heads, labels_of(batch_), batch_.head_size);
    for (Index first = 0; first < batch_.sequences; first += most) {
      const Index count = std::min(most, batch_.sequences - first);
      body(first, count);
      add_to(gradients, count);
    }
  }
  // Zeros for a head of a sequence of the group.
  float* begin(Index sequence_of_group, Index head) const {
    float* const zeros = of(sequence_of_group, head);
    if (labels_of(batch_) > 0)
      std::fill_n(zeros, label_gradient_floats(labels_of(batch_), batch_.head_size), 0.0f);
    return zeros;
  }

 private:
  static Index together(Index sequences, Index heads, Index labels, Index head_size);
  float* of(Index sequence_of_group, Index head) const {
    const Index each = labels_of(batch_) > 0 ? label_gradient_floats(labels_of(batch_), batch_.head_size) : 0;
    return memory_ + (sequence_of_group * batch_.heads + head) * each;
  }
  void add_to(const RelativeGradients& gradients, Index sequences) const;
  const AttentionBatch& batch_;
  float* const memory_;
};

// Scratch of attention by features (feature_attention.cpp), for all threads.
Index feature_attention_floats(const Level& level, const AttentionLimits& limits);
// The same of attention within clusters and of its hash (cluster_attention.cpp).
Index cluster_attention_floats(const Level& level, const AttentionLimits& limits);
// The same of attention within learned clusters (routed_attention.cpp).
Index routed_attention_floats(const Level& level, const AttentionLimits& limits);

// Rows of a head as floats, one behind the other, and back.
void take_rows(const Level& level, const ConstRows& from, Index first, Index column, Index rows, Index width,
               float* to);
void put_rows(const Level& level, const float* from, Index width, const Rows& to, Index first, Index column,
              Index rows);

}  // namespace bigbird::kernels
