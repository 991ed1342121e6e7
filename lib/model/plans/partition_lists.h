// Lists of BP-Transformer (Ye et al. 2019; graph_builder/builder.pyx of yzh119/BPT, corrected where it leaves
// a level). A sequence is the leaves of a binary tree: level 0 has a node for each token, and each level half
// as many as the one before it, rounded up, to one. A leaf sees itself and, on each side and level, the next
// nodes beyond those that it has seen, `contextual` of them, so that together they are the whole sequence,
// each token once. The node of a span sees its leaves.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/model/config.h"

namespace bigbird {

// Of one sequence. Nodes are numbered level after level: the leaves, which are the tokens, first.
struct BinaryPartition {
  // [levels + 1] the number of the first node of each level; at last how many nodes there are.
  std::vector<std::int32_t> level_begins;
  // Node i sees rows[offsets[i]] .. rows[offsets[i + 1]), a leaf itself first.
  std::vector<std::int32_t> rows;
  std::vector<std::int32_t> offsets;  // [nodes + 1]
  // [entries] of every pair the label min(level, clip) (2 contextual + 1), and on it 0 for the leaf itself
  // and for a span's leaves (of the span's level), 2 t + 1 for the t-th node to the left, from 0 on, and
  // 2 t + 2 to the right. A child that stands for a node whose other child was seen has the node's label.
  std::vector<std::int32_t> labels;

  std::int64_t nodes() const { return level_begins.back(); }
};
// causal: leaves see nothing to the right of themselves. A leaf sees no span with itself in it, so that the
// nodes to its left hold nothing later either.
BinaryPartition binary_partition(std::int64_t tokens, const BptOptions& options, bool causal);

// Nodes above the leaves.
std::int64_t partition_spans(std::int64_t tokens);
// Entries of the lists of sequences no longer than `longest`, of `tokens` leaves together: at most so many.
std::int64_t most_partition_entries(std::int64_t tokens, std::int64_t longest, const BptOptions& options);
// Labels that there are: rows of a layer's table.
std::int64_t partition_labels(const BptOptions& options);

}  // namespace bigbird
