// See attention_content.h.
#include "lib/model/network/attention_content.h"

namespace bigbird {

void content_pass(const ModelConfig& config, const BatchLimits& limits, const Batch& batch, bool training,
                  std::uint64_t seed, ContentPass& pass) {
  feature_pass(config, batch, pass.features);
  cluster_pass(config, limits, batch, training, seed, pass.clusters);
  routing_pass(config, batch, pass.routing);
}

void see_content(const ContentPass& content, PassContext& pass) {
  if (pass.config.attention == AttentionPattern::performer) pass.features = &content.features;
  if (pass.config.attention == AttentionPattern::reformer) pass.clusters = &content.clusters;
  if (pass.config.attention == AttentionPattern::routing) pass.routing = &content.routing;
}

void content_stage(const PassContext& context, const Activations& kept, ContentPass& pass) {
  if (context.clusters != nullptr) cluster_stage(context, kept.clusters, pass.clusters);
}

bool content_alone(const PassContext& pass) {
  return pass.features != nullptr || pass.clusters != nullptr;
}

void content_attention_forward(const PassContext& pass, const AttentionTensors& tensors,
                               const AttentionActivations& kept) {
  if (pass.features != nullptr) feature_attention_forward(pass, tensors, kept);
  if (pass.clusters != nullptr) cluster_attention_forward(pass, kept);
  if (pass.routing != nullptr) routing_attention_forward(pass, tensors, kept);
}

void content_attention_backward(const PassContext& pass, const AttentionTensors& tensors,
                                const AttentionTensors& gradients, const AttentionActivations& kept,
                                kernels::Values dcontext, kernels::Values dqkv) {
  if (pass.features != nullptr) feature_attention_backward(pass, tensors, kept, dcontext, dqkv);
  if (pass.clusters != nullptr) cluster_attention_backward(pass, kept, dcontext, dqkv);
  if (pass.routing != nullptr) routing_attention_backward(pass, gradients, kept, dcontext, dqkv);
}

void content_losses(const PassContext& pass, const LabelCounts& labels, const Activations& kept,
                    ForwardResult& result) {
  if (labels[Loss::commitment] > 0) result[Loss::commitment] = routing_loss(pass, kept.routing);
}

}  // namespace bigbird
