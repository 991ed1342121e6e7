// See attention_routing.h.
#include "lib/model/network/attention_routing.h"

#include <algorithm>
#include <limits>

#include "lib/core/error.h"

namespace bigbird {
namespace {

bool routes(const ModelConfig& config) {
  return routed_heads(config) > 0;
}

// Of a layer: queries, and keys where they are not the same.
std::int64_t routed_kinds(const ModelConfig& config) {
  return config.causal ? 1 : 2;
}

// Places of a routed head's clusters in such batches, at most.
std::int64_t most_places(const ModelConfig& config, const BatchLimits& limits) {
  const RoutingOptions& options = config.attention_options.routing;
  const std::int64_t window = std::min(options.window, limits.longest);
  const std::int64_t places = options.clusters * std::min(limits.tokens, limits.sequences * window);
  if (places > std::numeric_limits<std::int32_t>::max() / config.num_attention_heads) {
    throw_bad_input("a batch of attention routing has more than 2^31 - 1 places of tokens in clusters",
                    "take fewer tokens in a batch, fewer clusters, or smaller ones");
  }
  return places;
}

std::int64_t centroid_floats(const ModelConfig& config) {
  return routed_heads(config) * config.attention_options.routing.clusters * config.head_size();
}

// The routed heads' part of query, key and value, or of their gradients.
kernels::QueryKeyValueGradients routed_part(const PassContext& pass, kernels::Values qkv) {
  const kernels::Index width = pass.width(), first = local_heads(pass.config) * pass.config.head_size();
  return {
      {qkv + first, 3 * width}, {qkv + (width + first), 3 * width}, {qkv + (2 * width + first), 3 * width}};
}
kernels::QueryKeyValue routed_inputs(const PassContext& pass, const AttentionActivations& kept) {
  const kernels::QueryKeyValueGradients of = routed_part(pass, kept.qkv);
  return {of.q, of.k, of.v};
}
kernels::Rows routed_context(const PassContext& pass, kernels::Values context) {
  return {context + local_heads(pass.config) * pass.config.head_size(), pass.width()};
}

// Number 1 are keys, which from left to right are queries.
kernels::RoutedTokens tokens_of(const PassContext& pass, const RoutingActivations& kept,
                                std::int64_t number) {
  const kernels::RoutingBatch& batch = pass.routing->batch;
  kernels::RoutedTokens tokens;
  tokens.order = kept.order + number * batch.heads * batch.places();
  if (kept.distances == nullptr) return tokens;
  tokens.nearest = kept.nearest + number * batch.heads * batch.tokens();
  tokens.distances = kept.distances + number * batch.heads * batch.tokens();
  return tokens;
}
kernels::RoutedPair order_of(const PassContext& pass, const RoutingActivations& kept) {
  const std::int64_t keys = routed_kinds(pass.config) - 1;
  return {tokens_of(pass, kept, 0).order, tokens_of(pass, kept, keys).order};
}

// What a square of x - mu weighs in the loss of a token, and how often each counts.
double weight_of_square(const ModelConfig& config) {
  const double twice = config.causal ? 2.0 : 1.0;
  return twice * config.attention_options.routing.commitment /
         static_cast<double>(routed_heads(config) * config.head_size());
}

}  // namespace

RoutingActivations plan_routing(Arena& arena, const ModelConfig& config, const BatchLimits& limits,
                                const ModelOptions& options) {
  RoutingActivations to;
  if (!routes(config)) return to;
  // A layer's clusters are kept for its way back, or made again there.
  const std::int64_t layers = config.num_hidden_layers;
  const bool keeps = options.training && !options.grad_checkpoint;
  const std::int64_t kept = keeps ? layers : 1, kinds = routed_kinds(config), heads = routed_heads(config);
  const std::int64_t places = heads * most_places(config, limits), tokens = heads * limits.tokens;
  const std::string what = "clusters of tokens";
  to.places_of_layer = keeps ? places : 0;
  to.tokens_of_layer = keeps ? kinds * tokens : 0;
  to.centroids_of_layer = keeps ? centroid_floats(config) : 0;
  to.centroids = arena.floats(what, kept * centroid_floats(config));
  to.order = arena.integers(what, kept * kinds * places);
  to.kinds = kinds;
  if (!options.training) return to;
  to.log_sum_exp = arena.floats(what, kept * places);
  to.nearest = arena.integers(what, kept * kinds * tokens);
  to.distances = arena.floats(what, layers * kinds * tokens);
  to.distances_of_layer = kinds * tokens;
  to.weight = arena.floats(what, 1);
  return to;
}

void routing_pass(const ModelConfig& config, const Batch& batch, RoutingPass& pass) {
  if (!routes(config)) return;
  const RoutingOptions& options = config.attention_options.routing;
  pass.offsets.assign(batch.token_offsets.begin(), batch.token_offsets.end());
  pass.lengths.assign(batch.lengths.begin(), batch.lengths.end());
  pass.places = {0};
  for (const std::int64_t length : batch.lengths)
    pass.places.push_back(pass.places.back() + options.clusters * std::min(options.window, length));
  pass.batch = {};
  pass.batch.sequences = static_cast<kernels::Index>(pass.lengths.size());
  pass.batch.heads = routed_heads(config);
  pass.batch.head_size = config.head_size();
  pass.batch.clusters = options.clusters;
  pass.batch.window = options.window;
  pass.batch.token_offsets = pass.offsets.data();
  pass.batch.lengths = pass.lengths.data();
  pass.batch.place_offsets = pass.places.data();
  pass.batch.causal = config.causal;
}

void routing_bring_scale(kernels::Backend& backend, const ModelConfig& config, const LossScale& scale,
                         const RoutingActivations& kept) {
  if (kept.weight == nullptr) return;
  const auto weight =
      static_cast<float>(static_cast<double>(scale[Loss::commitment]) * weight_of_square(config));
  backend.upload(kept.weight, &weight, sizeof weight);
}

void routing_attention_forward(const PassContext& pass, const AttentionTensors& tensors,
                               const AttentionActivations& kept) {
  kernels::Backend& backend = pass.backend;
  const kernels::RoutingBatch& batch = pass.routing->batch;
  const RoutingActivations& own = kept.routing;
  const kernels::QueryKeyValue inputs = routed_inputs(pass, kept);
  backend.make_centroids(batch.heads, batch.clusters, batch.head_size, tensors.centroid_sums,
                         tensors.centroid_counts, own.centroids);
  backend.route_tokens(batch, own.centroids, inputs.q, tokens_of(pass, own, 0));
  if (!batch.causal) backend.route_tokens(batch, own.centroids, inputs.k, tokens_of(pass, own, 1));
  backend.routed_attention_forward(batch, order_of(pass, own), inputs, routed_context(pass, kept.context),
                                   own.log_sum_exp);
}

void routing_attention_backward(const PassContext& pass, const AttentionTensors& gradients,
                                const AttentionActivations& kept, kernels::Values dcontext,
                                kernels::Values dqkv) {
  kernels::Backend& backend = pass.backend;
  const kernels::RoutingBatch& batch = pass.routing->batch;
  const RoutingActivations& own = kept.routing;
  const kernels::QueryKeyValue inputs = routed_inputs(pass, kept);
  const kernels::QueryKeyValueGradients to = routed_part(pass, dqkv);
  backend.routed_attention_backward(batch, order_of(pass, own), inputs, own.log_sum_exp,
                                    routed_context(pass, dcontext), to);
  backend.route_tokens_backward(batch, own.centroids, tokens_of(pass, own, 0).nearest, inputs.q, own.weight,
                                to.q, gradients.centroid_sums, gradients.centroid_counts);
  if (batch.causal) return;
  backend.route_tokens_backward(batch, own.centroids, tokens_of(pass, own, 1).nearest, inputs.k, own.weight,
                                to.k, gradients.centroid_sums, gradients.centroid_counts);
}

LossTerm routing_loss(const PassContext& pass, const RoutingActivations& kept) {
  LossTerm term;
  if (!pass.training || kept.distances == nullptr) return term;
  const kernels::RoutingBatch& batch = pass.routing->batch;
  const std::int64_t numbers = kept.kinds * batch.heads * batch.tokens();
  std::vector<float> distances(static_cast<std::size_t>(numbers));
  for (std::int64_t layer = 0; layer < pass.config.num_hidden_layers; ++layer) {
    if (pass.drops(layer)) continue;
    pass.backend.download_values(
        distances.data(), kernels::ConstValues(kept.distances + layer * kept.distances_of_layer), numbers);
    for (const float square : distances) term.sum += static_cast<double>(square);
  }
  term.sum *= weight_of_square(pass.config);
  for (const kernels::Index length : pass.routing->lengths) term.count += length;
  return term;
}

}  // namespace bigbird
