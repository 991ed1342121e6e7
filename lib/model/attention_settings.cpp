// What the options of the systems of attention mean for a model; see attention_systems.h.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

#include "lib/model/attention_systems.h"
#include "lib/model/config.h"

namespace bigbird {
namespace {

// The heads of the published models: 10:2 for 2 parts, 10:1:1 for 3.
std::vector<std::int64_t> published_shares(std::int64_t parts) {
  if (parts == 1) return {1};
  if (parts == 2) return {10, 2};
  std::vector<std::int64_t> shares(static_cast<std::size_t>(parts), 1);
  shares[0] = std::max<std::int64_t>(12 - (parts - 1), 1);
  return shares;
}

// The shares as heads, each share at least one head, rounded; what is left over has shift 0.
std::vector<std::int64_t> heads_of_shares(const std::vector<std::int64_t>& shares, std::int64_t heads) {
  const std::int64_t all = std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
  std::vector<std::int64_t> counts(shares.size(), 0);
  counts[0] = heads;
  for (std::size_t shift = 1; shift < shares.size(); ++shift) {
    counts[shift] = std::max<std::int64_t>((2 * heads * shares[shift] + all) / (2 * all), 1);
    counts[0] -= counts[shift];
  }
  return counts;
}

}  // namespace

std::vector<std::int64_t> blockbert_heads(const ModelConfig& config) {
  const BlockBertOptions& options = config.attention_options.blockbert;
  const std::int64_t heads = config.num_attention_heads;
  if (!options.head_split.empty()) return heads_of_shares(options.head_split, heads);
  std::vector<std::int64_t> shares = published_shares(options.parts);
  // Fewer heads than parts: the first shifts only.
  if (static_cast<std::int64_t>(shares.size()) > heads)
    shares.resize(static_cast<std::size_t>(std::max<std::int64_t>(heads, 1)));
  std::vector<std::int64_t> counts = heads_of_shares(shares, heads);
  for (std::size_t shift = counts.size(); counts[0] < 1 && shift-- > 1;) {
    counts[0] += counts[shift] - 1;
    counts[shift] = 1;
  }
  return counts;
}

std::string blockbert_obstacle(const ModelConfig& config) {
  const BlockBertOptions& options = config.attention_options.blockbert;
  const auto shifts = static_cast<std::int64_t>(options.head_split.size());
  if (shifts > options.parts) {
    return fmt::format("head_split {} has {} shares for {} parts", fmt::join(options.head_split, ":"), shifts,
                       options.parts);
  }
  if (blockbert_heads(config)[0] >= 1) return {};
  return fmt::format("head_split {} leaves none of num_attention_heads {} to its first share",
                     fmt::join(options.head_split, ":"), config.num_attention_heads);
}

bool is_recurrent(const ModelConfig& config) {
  return config.attention == AttentionPattern::transformer_xl || compresses(config) || has_spans(config);
}

bool has_spans(const ModelConfig& config) {
  return config.attention == AttentionPattern::adaptive_span;
}

bool has_dynamic_spans(const ModelConfig& config) {
  return has_spans(config) && config.attention_options.spans.dynamic;
}

bool compresses(const ModelConfig& config) {
  return config.attention == AttentionPattern::compressive;
}

bool learns_compression(const ModelConfig& config) {
  const Compression how = config.attention_options.compressive.compression;
  return compresses(config) && (how == Compression::conv || how == Compression::dilated);
}

std::int64_t remembered_rows(const ModelConfig& config) {
  const AttentionOptions& options = config.attention_options;
  if (has_spans(config)) return options.spans.max_span;
  return options.recurrent.memory + (compresses(config) ? options.compressive.compressed : 0);
}

std::int64_t rows_before(const ModelConfig& config) {
  const AttentionOptions& options = config.attention_options;
  if (has_spans(config)) return options.spans.max_span;
  return options.recurrent.same_length ? std::max<std::int64_t>(options.recurrent.memory, 1) - 1 : -1;
}

FeatureProjection feature_projection(const ModelConfig& config) {
  const PerformerOptions& options = config.attention_options.performer;
  if (options.projection != FeatureProjection::usual) return options.projection;
  const bool of_softmax =
      options.kernel == FeatureMap::positive || options.kernel == FeatureMap::trigonometric;
  return of_softmax ? FeatureProjection::gauss : FeatureProjection::none;
}

std::int64_t projected_features(const ModelConfig& config) {
  const bool projects = feature_projection(config) != FeatureProjection::none;
  return projects ? config.attention_options.performer.features : config.head_size();
}

std::int64_t features_of_a_row(const ModelConfig& config) {
  const bool pairs = config.attention_options.performer.kernel == FeatureMap::trigonometric;
  return (pairs ? 2 : 1) * projected_features(config);
}

std::int64_t feature_multiply_adds(const ModelConfig& config) {
  const bool projects = feature_projection(config) != FeatureProjection::none;
  const std::int64_t of_projections = projects ? 2 * projected_features(config) : 0;
  return config.hidden_size * (of_projections + 2 * features_of_a_row(config));
}

void become_recurrent(ModelConfig& config) {
  config.norm_type = NormType::postnorm;
  config.embedding_norm = EmbeddingNorm::none;
  config.layer_norm_eps = 1e-5;
  config.activation = Activation::relu;
  config.position_type = PositionType::none;
  config.rotary_dim = 0;
  config.type_vocab_size = 0;
  config.use_bias = config.output_bias = false;
  config.rescale_embeddings = !has_spans(config);
  config.causal = true;
  config.num_random_blocks = 0;
  config.random_mode = RandomMode::none;
  config.plan = nullptr;
  if (config.has_mlm()) config.head = HeadType::causal_lm;
}

void become_prenorm(ModelConfig& config) {
  config.norm_type = NormType::prenorm;
  config.embedding_norm = usual_embedding_norm(config.norm_type);
  config.final_norm = true;
  config.use_bias = config.output_bias = false;
  // Next tokens are predicted from both streams, which are wider than the word table.
  if (is_reversible(config) && config.causal) config.tie_word_embeddings = false;
}

void become_published(ModelConfig& config) {
  if (is_recurrent(config)) become_recurrent(config);
  if (config.attention == AttentionPattern::reformer || config.attention == AttentionPattern::routing)
    become_prenorm(config);
}

bool is_reversible(const ModelConfig& config) {
  return config.attention == AttentionPattern::reformer && config.attention_options.reformer.reversible;
}

std::int64_t head_width(const ModelConfig& config) {
  return is_reversible(config) ? 2 * config.hidden_size : config.hidden_size;
}

bool shares_queries(const ModelConfig& config) {
  return config.attention == AttentionPattern::reformer;
}

std::int64_t reformer_chunks(const ModelConfig& config, std::int64_t length) {
  const std::int64_t chunk = config.attention_options.reformer.chunk;
  return std::max<std::int64_t>((length + chunk - 1) / chunk, 1);
}

std::array<std::int64_t, 2> reformer_buckets(const ModelConfig& config, std::int64_t length) {
  const ReformerOptions& options = config.attention_options.reformer;
  if (!options.buckets.empty())
    return {options.buckets.front(), options.buckets.size() > 1 ? options.buckets[1] : 0};
  const std::int64_t most_chunks = config.max_position_embeddings / options.chunk;
  const auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(most_chunks)));
  const auto twice = static_cast<std::uint64_t>(2 * reformer_chunks(config, length));
  const int power = static_cast<int>(std::bit_width(twice)) - 1;
  const std::int64_t buckets = std::int64_t{1} << power;
  if (buckets <= 2 * std::max(root, options.chunk)) return {buckets, 0};
  return {std::int64_t{1} << (power / 2), std::int64_t{1} << (power - power / 2)};
}

std::int64_t reformer_keys(const ModelConfig& config, std::int64_t length) {
  const ReformerOptions& options = config.attention_options.reformer;
  return reformer_chunks(config, length) == 1 ? length : 2 * options.chunk * options.hashes;
}

std::int64_t reformer_multiply_adds(const ModelConfig& config, std::int64_t length) {
  const std::int64_t of_pairs = 2 * reformer_keys(config, length);
  if (reformer_chunks(config, length) == 1) return config.hidden_size * of_pairs;
  const auto [first, second] = reformer_buckets(config, length);
  return config.hidden_size * (of_pairs + config.attention_options.reformer.hashes * (first + second) / 2);
}

std::int64_t local_heads(const ModelConfig& config) {
  const std::int64_t given = config.attention_options.routing.local_heads;
  return given < 0 ? config.num_attention_heads / 2 : given;
}

std::int64_t routed_heads(const ModelConfig& config) {
  return config.attention == AttentionPattern::routing ? config.num_attention_heads - local_heads(config) : 0;
}

std::int64_t routed_pairs(const ModelConfig& config, std::int64_t length) {
  const RoutingOptions& options = config.attention_options.routing;
  const std::int64_t window = std::min(options.window, length);
  return options.clusters * (config.causal ? window * (window + 1) / 2 : window * window);
}

std::int64_t routing_multiply_adds(const ModelConfig& config, std::int64_t length) {
  const std::int64_t rows = (config.causal ? 1 : 2) * config.attention_options.routing.clusters;
  const std::int64_t of_a_head = 2 * routed_pairs(config, length) / std::max<std::int64_t>(length, 1) + rows;
  return routed_heads(config) * config.head_size() * of_a_head;
}

std::int64_t etc_labels(const EtcOptions& options) {
  if (options.labels > 0 || options.distance == 0) return options.labels;
  return 2 * options.distance + 8;
}

std::int64_t sparse_summary(const ModelConfig& config) {
  const std::int64_t summary = config.attention_options.sparse.summary;
  return summary > 0 ? summary : config.block_size;
}

std::int64_t longformer_window(const ModelConfig& config, std::int64_t layer) {
  const std::vector<std::int64_t>& windows = config.attention_options.longformer.windows;
  return windows.size() == 1 ? windows[0] : windows.at(static_cast<std::size_t>(layer));
}

std::int64_t longformer_dilation(const ModelConfig& config, std::int64_t layer) {
  const std::vector<std::int64_t>& dilations = config.attention_options.longformer.dilations;
  return dilations.size() == 1 ? dilations[0] : dilations.at(static_cast<std::size_t>(layer));
}

LongformerGlobals longformer_globals(const ModelConfig& config) {
  if (config.attention != AttentionPattern::longformer) return {};
  const LongformerOptions& options = config.attention_options.longformer;
  if (options.global_first > 0) return {options.global_first, false};
  if (options.global_rule != GlobalRule::task) return {0, options.global_rule == GlobalRule::question};
  const bool answers =
      config.head == HeadType::question_answering || config.head == HeadType::structured_answers;
  const bool first = config.head == HeadType::classification || config.head == HeadType::generation;
  return {first ? 1 : 0, answers};
}

}  // namespace bigbird
