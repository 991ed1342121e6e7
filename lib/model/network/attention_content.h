// Attention that the content of tokens decides: by features (attention_features.h), by hashes
// (attention_clusters.h) and by centroids (attention_routing.h). What models and layers call of all three; of
// other models each does nothing.
#pragma once

#include <cstdint>

#include "lib/model/network/attention_clusters.h"
#include "lib/model/network/attention_features.h"
#include "lib/model/network/attention_routing.h"

namespace bigbird {

// The host's side of one pass, and what stays from one to the next.
struct ContentPass {
  FeaturePass features;
  ClusterPass clusters;
  RoutingPass routing;
};

// The pass of a batch. seed: of its dropout.
void content_pass(const ModelConfig& config, const BatchLimits& limits, const Batch& batch, bool training,
                  std::uint64_t seed, ContentPass& pass);
// Lets a pass see what it has of it.
void see_content(const ContentPass& content, PassContext& pass);
void content_stage(const PassContext& context, const Activations& kept, ContentPass& pass);

// Whether no other attention stands beside it in a layer.
bool content_alone(const PassContext& pass);
void content_attention_forward(const PassContext& pass, const AttentionTensors& tensors,
                               const AttentionActivations& kept);
void content_attention_backward(const PassContext& pass, const AttentionTensors& tensors,
                                const AttentionTensors& gradients, const AttentionActivations& kept,
                                kernels::Values dcontext, kernels::Values dqkv);

void content_losses(const PassContext& pass, const LabelCounts& labels, const Activations& kept,
                    ForwardResult& result);

}  // namespace bigbird
