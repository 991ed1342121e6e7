// Performer's attention (FAVOR+, Choromanski et al. 2020; AttentionPattern::performer): a token sees all
// tokens of its sequence, or from left to right all up to it, by products of features of its query and of
// their keys (kernels::FeatureBatch) in place of a softmax over scores. Sums over keys serve all queries, so
// that time and memory are those of the tokens. The projection W is one tensor of each layer, the same for
// all heads, without a gradient (random_features.h). Probabilities are not dropped: there are none.
#pragma once

#include <vector>

#include "kernels/feature_batch.h"
#include "lib/model/network/memory.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/network/tensors.h"

namespace bigbird {

// The host's side of one pass: the batch as the kernels take it, without a projection.
struct FeaturePass {
  std::vector<kernels::Index> offsets, lengths;
  kernels::FeatureBatch batch;
};

// The pass of a batch; of other models nothing.
void feature_pass(const ModelConfig& config, const Batch& batch, FeaturePass& pass);

// Between the products of a layer: kept.qkv to kept.context, and back.
void feature_attention_forward(const PassContext& pass, const AttentionTensors& tensors,
                               const AttentionActivations& kept);
void feature_attention_backward(const PassContext& pass, const AttentionTensors& tensors,
                                const AttentionActivations& kept, kernels::Values dcontext,
                                kernels::Values dqkv);

}  // namespace bigbird
