// BP-Transformer's attention (Ye et al. 2019; modules/attention.py of yzh119/BPT; AttentionPattern::bpt). A
// sequence is its tokens and, behind them, the nodes of the spans of a binary tree over it
// (lib/model/plans/partition_lists.h): all are rows of one matrix [T + S, C], tokens of all sequences first,
// and go through every layer. Span nodes begin as zeros. Each row sees those of its list, in one softmax over
//
//   (q.k + q.table[label]) / sqrt(D)
//
// with a table [labels, D] of the layer, the same for all heads. The head reads the tokens, and of classes
// the root, the last node of a sequence (of one token: that). Probabilities are not dropped.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "lib/model/network/memory.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/network/tensors.h"
#include "lib/model/plans/partition_lists.h"

namespace bigbird {

// Span nodes of such batches, and entries of all lists, at most; 0 of other models.
std::int64_t most_span_rows(const ModelConfig& config, const BatchLimits& limits);
std::int64_t most_list_entries(const ModelConfig& config, const BatchLimits& limits);
// Of `rows` tokens and span nodes.
RowsActivations plan_lists(Arena& arena, const ModelConfig& config, const BatchLimits& limits,
                           std::int64_t rows, bool training);

// The lists of the lengths that came last; one lives until the next is asked for.
class PartitionCache {
 public:
  explicit PartitionCache(const ModelConfig& config)
      : options_(config.attention_options.bpt), causal_(config.causal) {}
  const BinaryPartition& lists(std::int64_t tokens);

 private:
  BptOptions options_;
  bool causal_;
  std::map<std::int64_t, BinaryPartition> known_;
};

// The host's side of one pass, and what stays from one to the next.
struct RowsPass {
  explicit RowsPass(const ModelConfig& config) : cache(config) {}

  PartitionCache cache;
  kernels::RowAttention call;  // without a table
  kernels::RowsByKey by_key;
  // The shape of the batch whose lists the device holds, and of that whose lists it is given.
  std::vector<std::int64_t> staged, on_their_way;
};

// The pass of a batch, which gets its span nodes and the rows that the head reads. Of other models nothing.
void rows_pass(const ModelConfig& config, Batch& batch, const RowsActivations& kept, RowsPass& pass);
// Brings the lists to the device, where it does not hold them.
void rows_stage(const PassContext& context, const RowsActivations& kept, RowsPass& pass);

// Between the products of a layer: kept.qkv to kept.context, and back.
void rows_attention_forward(const PassContext& pass, const AttentionTensors& tensors,
                            const AttentionActivations& kept);
void rows_attention_backward(const PassContext& pass, const AttentionTensors& tensors,
                             const AttentionTensors& gradients, const AttentionActivations& kept,
                             kernels::Values dcontext, kernels::Values dqkv);

}  // namespace bigbird
