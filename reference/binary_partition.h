// BP-Transformer (Ye et al. 2019; graph_builder/builder.pyx and modules/attention.py of yzh119/BPT) in double
// precision, one sequence at a time: its lists as the two pointers of the published code walk, but for
// children that a level has not, and an encoder over its nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/encoder.h"
#include "reference/tensor.h"

namespace bigbird::reference {

struct PartitionConfig {
  EncoderConfig encoder;  // positions, types, pre_layer_norm, rotary: not used
  std::size_t contextual = 1;
  std::size_t clip_levels = 5;
  bool causal = false;
};

struct PartitionPair {
  std::size_t node = 0;  // nodes are numbered level after level, leaves first
  std::size_t label = 0;
};
// [node] what it sees.
std::vector<std::vector<PartitionPair>> partition_pairs(std::size_t tokens, const PartitionConfig& config);

// The states of all nodes: the embeddings and zeros first, then after every layer. Parameters go by the names
// of the layout.
std::vector<Matrix> partition_forward(const PartitionConfig& config, const Parameters& parameters,
                                      const std::vector<std::size_t>& ids);
// Of sum(last states * d_last): by parameter.
Parameters partition_backward(const PartitionConfig& config, const Parameters& parameters,
                              const std::vector<std::size_t>& ids, const Matrix& d_last);

}  // namespace bigbird::reference
