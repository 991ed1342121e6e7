// Routing Transformer's attention (Roy et al. 2021, section 4.1; AttentionPattern::routing, with what
// google-research/routing_transformer adds). The first heads see a window of tokens
// (attention_windowed.h); the others are routed: a centroid gathers the tokens nearest to it, which see each
// other (kernels::RoutingBatch). From left to right a routed head has its queries for keys, and a later token
// may take an earlier one's place in a cluster: a causal model knows that much of what comes.
//
// Centroids are moving averages of the tokens that are nearest to each: tensors of the model,
// `centroids.sums` over smoothed `centroids.counts`, without a gradient. What a batch adds lies where their
// gradients would be, so that it is summed over parts and ranks as these are; the optimizer moves the
// averages (optimizer.h). Both start as published: sums of mean 0 and variance 1 along each, and nothing
// counted.
//
// The loss has `commitment` times the mean square of x - mu, over columns and routed heads, for queries, and
// again for keys, whether or not they are the same.
#pragma once

#include <vector>

#include "kernels/routing_batch.h"
#include "lib/model/network/losses.h"
#include "lib/model/network/memory.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/network/tensors.h"

namespace bigbird {

// The host's side of one pass.
struct RoutingPass {
  std::vector<kernels::Index> offsets, lengths, places;
  kernels::RoutingBatch batch;
};

// Error{bad input} where there are too many places for the numbers of 32 bits that they have.
RoutingActivations plan_routing(Arena& arena, const ModelConfig& config, const BatchLimits& limits,
                                const ModelOptions& options);

// The pass of a batch; of other models nothing.
void routing_pass(const ModelConfig& config, const Batch& batch, RoutingPass& pass);
// What the loss of this pass weighs, to the device.
void routing_bring_scale(kernels::Backend& backend, const ModelConfig& config, const LossScale& scale,
                         const RoutingActivations& kept);

// Between the products of a layer, of the routed heads: kept.qkv to their columns of kept.context, and back.
void routing_attention_forward(const PassContext& pass, const AttentionTensors& tensors,
                               const AttentionActivations& kept);
void routing_attention_backward(const PassContext& pass, const AttentionTensors& gradients,
                                const AttentionActivations& kept, kernels::Values dcontext,
                                kernels::Values dqkv);

// In training alone.
LossTerm routing_loss(const PassContext& pass, const RoutingActivations& kept);

}  // namespace bigbird
