// See attention_clusters.h.
#include "lib/model/network/attention_clusters.h"

#include <algorithm>
#include <limits>
#include <string>

#include "lib/core/error.h"
#include "lib/core/rng.h"

namespace bigbird {
namespace {

bool has_clusters(const ModelConfig& config) {
  return config.attention == AttentionPattern::reformer;
}

// Places of a sequence in the order of a head.
std::int64_t places_of(const ModelConfig& config, std::int64_t length) {
  const ReformerOptions& options = config.attention_options.reformer;
  if (length == 0) return 0;
  const std::int64_t chunks = reformer_chunks(config, length);
  return options.chunk * (chunks > 1 ? chunks * options.hashes : 1);
}

std::int64_t rotation_floats(const ModelConfig& config, std::int64_t columns) {
  return config.hidden_size * config.attention_options.reformer.hashes * columns;
}

kernels::TokenHash hash_of(const PassContext& pass, const AttentionActivations& kept) {
  kernels::TokenHash hash = pass.clusters->hash;
  hash.rotations = kept.clusters.rotations;
  return hash;
}

}  // namespace

std::int64_t most_hash_columns(const ModelConfig& config, const BatchLimits& limits) {
  if (!has_clusters(config)) return 0;
  // Of two factors there are fewer than of one, and shorter sequences may have one.
  std::int64_t most = 0;
  for (std::int64_t length = limits.longest; length > 0; length /= 2) {
    const auto [first, second] = reformer_buckets(config, length);
    most = std::max(most, (first + second) / 2);
  }
  return most;
}

std::int64_t most_hash_buckets(const ModelConfig& config, const BatchLimits& limits) {
  if (!has_clusters(config)) return 0;
  const auto [first, second] = reformer_buckets(config, std::max<std::int64_t>(limits.longest, 1));
  return second > 0 ? first * second : first;
}

std::int64_t most_cluster_places(const ModelConfig& config, const BatchLimits& limits) {
  if (!has_clusters(config)) return 0;
  const ReformerOptions& options = config.attention_options.reformer;
  const std::int64_t rounds = reformer_chunks(config, limits.longest) > 1 ? options.hashes : 1;
  const std::int64_t places = (limits.tokens + limits.sequences * (options.chunk - 1)) * rounds;
  if (places > std::numeric_limits<std::int32_t>::max() / config.num_attention_heads) {
    throw_bad_input("a batch of attention reformer has more than 2^31 - 1 places of tokens in chunks",
                    "take fewer tokens in a batch, fewer hashes, or a smaller chunk");
  }
  return places;
}

ClusterActivations plan_clusters(Arena& arena, const ModelConfig& config, const BatchLimits& limits,
                                 const ModelOptions& options) {
  ClusterActivations to;
  if (!has_clusters(config)) return to;
  const std::int64_t layers = config.num_hidden_layers;
  // A layer's order is kept for its way back, or made again there.
  const bool keeps = options.training && (!options.grad_checkpoint || is_reversible(config));
  const std::int64_t orders = keeps ? layers : 1;
  to.rotations_of_layer = rotation_floats(config, most_hash_columns(config, limits));
  const std::int64_t order = config.num_attention_heads * most_cluster_places(config, limits);
  to.order_of_layer = orders > 1 ? order : 0;
  to.rotations = arena.floats("rotations of hashes", layers * to.rotations_of_layer);
  to.order = arena.integers("orders of tokens in chunks", orders * order);
  return to;
}

std::vector<float> hash_rotations(const ModelConfig& config, std::int64_t layer, std::int64_t columns,
                                  std::uint64_t seed) {
  constexpr int head_bits = 16, round_bits = 8;
  const std::int64_t rounds = config.attention_options.reformer.hashes;
  std::vector<float> rotations;
  rotations.reserve(static_cast<std::size_t>(rotation_floats(config, columns)));
  for (std::int64_t head = 0; head < config.num_attention_heads; ++head) {
    for (std::int64_t round = 0; round < rounds; ++round) {
      // Column by column, so that longer sequences, which have more, have these as well.
      CounterRng rng(seed, Purpose::hash_rotations,
                     static_cast<std::uint64_t>((((layer << head_bits) + head) << round_bits) + round));
      for (std::int64_t i = 0; i < columns * config.head_size(); ++i)
        rotations.push_back(static_cast<float>(rng.normal()));
    }
  }
  return rotations;
}

void cluster_pass(const ModelConfig& config, const BatchLimits& limits, const Batch& batch, bool training,
                  std::uint64_t seed, ClusterPass& pass) {
  if (!has_clusters(config)) return;
  pass.offsets.assign(batch.token_offsets.begin(), batch.token_offsets.end());
  pass.lengths.assign(batch.lengths.begin(), batch.lengths.end());
  pass.places = {0};
  pass.factors.clear();
  for (const std::int64_t length : batch.lengths) {
    pass.places.push_back(pass.places.back() + places_of(config, length));
    const auto factors = reformer_buckets(config, std::max<std::int64_t>(length, 1));
    pass.factors.insert(pass.factors.end(), factors.begin(), factors.end());
  }
  pass.batch = {};
  pass.batch.sequences = static_cast<kernels::Index>(pass.lengths.size());
  pass.batch.heads = config.num_attention_heads;
  pass.batch.head_size = config.head_size();
  pass.batch.cluster = config.attention_options.reformer.chunk;
  pass.batch.token_offsets = pass.offsets.data();
  pass.batch.lengths = pass.lengths.data();
  pass.batch.place_offsets = pass.places.data();
  pass.batch.causal = config.causal;
  pass.hash = {};
  pass.hash.rounds = config.attention_options.reformer.hashes;
  pass.hash.factors = pass.factors.data();
  pass.hash.columns = most_hash_columns(config, limits);
  pass.seed = training ? seed : fixed_hash_seed;
}

void cluster_stage(const PassContext& context, const ClusterActivations& kept, ClusterPass& pass) {
  if (pass.staged == pass.seed) return;
  pass.staged.reset();
  for (std::int64_t layer = 0; layer < context.config.num_hidden_layers; ++layer) {
    const std::vector<float> rotations = hash_rotations(context.config, layer, pass.hash.columns, pass.seed);
    context.backend.upload(kept.of_layer(layer).rotations, rotations.data(),
                           rotations.size() * sizeof(float));
  }
  pass.staged = pass.seed;
}

void cluster_attention_forward(const PassContext& pass, const AttentionActivations& kept) {
  const kernels::Index width = pass.width();
  const kernels::ClusterBatch& batch = pass.clusters->batch;
  const kernels::ConstRows queries{kept.qkv, 2 * width}, values{kept.qkv + width, 2 * width};
  if (!pass.again) pass.backend.sort_by_hash(batch, hash_of(pass, kept), queries, kept.clusters.order);
  pass.backend.cluster_attention_forward(batch, kept.clusters.order, queries, values, {kept.context, width},
                                         kept.log_sum_exp);
}

void cluster_attention_backward(const PassContext& pass, const AttentionActivations& kept,
                                kernels::Values dcontext, kernels::Values dqkv) {
  const kernels::Index width = pass.width();
  pass.backend.cluster_attention_backward(pass.clusters->batch, kept.clusters.order, {kept.qkv, 2 * width},
                                          {kept.qkv + width, 2 * width}, {kept.context, width},
                                          kept.log_sum_exp, {dcontext, width}, {dqkv, 2 * width},
                                          {dqkv + width, 2 * width});
}

}  // namespace bigbird
