// Reformer's attention (Kitaev et al. 2020; AttentionPattern::reformer): every head sorts the tokens of a
// sequence by buckets of random rotations, several times, and a token sees those of its chunk and of the one
// before it (kernels::ClusterBatch). One projection makes queries and keys, another one values. A sequence
// that is no longer than a chunk has full attention.
//
// Rotations are a function of (seed, layer, head, round): in training the seed is that of a pass's dropout,
// otherwise always the same. A sequence's order is made of its own tokens, and padding changes nothing; but a
// later token may move the borders of chunks, so that a causal model knows where later tokens went, though
// not what they are.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/cluster_batch.h"
#include "lib/model/network/memory.h"
#include "lib/model/network/pass_context.h"

namespace bigbird {

// The host's side of one pass, and what stays from one to the next.
struct ClusterPass {
  std::vector<kernels::Index> offsets, lengths, places, factors;
  kernels::ClusterBatch batch;
  kernels::TokenHash hash;              // of layer 0
  std::uint64_t seed = 0;               // of the rotations that this pass wants
  std::optional<std::uint64_t> staged;  // and of those that the device holds
};

// Columns and buckets of a hash of such batches, at most; 0 of other models, as the next.
std::int64_t most_hash_columns(const ModelConfig& config, const BatchLimits& limits);
std::int64_t most_hash_buckets(const ModelConfig& config, const BatchLimits& limits);
// Error{bad input} where there are too many places for the numbers of 32 bits that they have.
std::int64_t most_cluster_places(const ModelConfig& config, const BatchLimits& limits);
ClusterActivations plan_clusters(Arena& arena, const ModelConfig& config, const BatchLimits& limits,
                                 const ModelOptions& options);

// [H, hashes, columns, D] of a layer.
std::vector<float> hash_rotations(const ModelConfig& config, std::int64_t layer, std::int64_t columns,
                                  std::uint64_t seed);
// What a pass without training has.
inline constexpr std::uint64_t fixed_hash_seed = 0;

// The pass of a batch; of other models nothing. seed: of its dropout.
void cluster_pass(const ModelConfig& config, const BatchLimits& limits, const Batch& batch, bool training,
                  std::uint64_t seed, ClusterPass& pass);
// Brings the rotations to the device, where it does not hold them.
void cluster_stage(const PassContext& context, const ClusterActivations& kept, ClusterPass& pass);

// Between the products of a layer: kept.qkv, [T, 2C] of queries and values, to kept.context, and back.
void cluster_attention_forward(const PassContext& pass, const AttentionActivations& kept);
void cluster_attention_backward(const PassContext& pass, const AttentionActivations& kept,
                                kernels::Values dcontext, kernels::Values dqkv);

}  // namespace bigbird
