// See attention_features.h.
#include "lib/model/network/attention_features.h"

namespace bigbird {
namespace {

kernels::FeatureBatch with_projection(const PassContext& pass, const AttentionTensors& tensors) {
  kernels::FeatureBatch batch = pass.features->batch;
  batch.projection = tensors.features;
  return batch;
}

// Query, key and value, or their gradients, lie side by side.
kernels::QueryKeyValueGradients thirds_of(kernels::Values qkv, kernels::Index width) {
  kernels::QueryKeyValueGradients of;
  of.q = {qkv, 3 * width};
  of.k = {qkv + width, 3 * width};
  of.v = {qkv + 2 * width, 3 * width};
  return of;
}
kernels::QueryKeyValue inputs_of_features(const PassContext& pass, const AttentionActivations& kept) {
  const kernels::QueryKeyValueGradients of = thirds_of(kept.qkv, pass.width());
  return {of.q, of.k, of.v};
}

}  // namespace

void feature_pass(const ModelConfig& config, const Batch& batch, FeaturePass& pass) {
  if (config.attention != AttentionPattern::performer) return;
  pass.offsets.assign(batch.token_offsets.begin(), batch.token_offsets.end());
  pass.lengths.assign(batch.lengths.begin(), batch.lengths.end());
  pass.batch = {};
  pass.batch.sequences = static_cast<kernels::Index>(pass.lengths.size());
  pass.batch.heads = config.num_attention_heads;
  pass.batch.head_size = config.head_size();
  pass.batch.chunk = config.block_size;
  pass.batch.token_offsets = pass.offsets.data();
  pass.batch.lengths = pass.lengths.data();
  pass.batch.causal = config.causal;
  pass.batch.map = config.attention_options.performer.kernel;
  pass.batch.projected = projected_features(config);
}

void feature_attention_forward(const PassContext& pass, const AttentionTensors& tensors,
                               const AttentionActivations& kept) {
  pass.backend.feature_attention_forward(with_projection(pass, tensors), inputs_of_features(pass, kept),
                                         {kept.context, pass.width()});
}

void feature_attention_backward(const PassContext& pass, const AttentionTensors& tensors,
                                const AttentionActivations& kept, kernels::Values dcontext,
                                kernels::Values dqkv) {
  const kernels::Index width = pass.width();
  pass.backend.feature_attention_backward(with_projection(pass, tensors), inputs_of_features(pass, kept),
                                          {kept.context, width}, {dcontext, width}, thirds_of(dqkv, width));
}

}  // namespace bigbird
