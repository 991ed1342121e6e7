// See option_groups.h.
#include "lib/model/option_groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "kernels/types.h"
#include "lib/core/names.h"
#include "lib/model/config.h"

namespace bigbird {
namespace {

constexpr std::array<std::pair<EtcProjections, const char*>, 3> etc_projection_names{
    {{EtcProjections::separate, "separate"},
     {EtcProjections::by_query, "by-query"},
     {EtcProjections::shared, "shared"}}};
constexpr std::array<std::pair<bool, const char*>, 2> switch_names{{{false, "off"}, {true, "on"}}};
constexpr std::array<std::pair<bool, const char*>, 2> sharing_names{{{false, "separate"}, {true, "shared"}}};

constexpr std::array<std::pair<Compression, const char*>, 5> compression_names{
    {{Compression::conv, "conv"},
     {Compression::dilated, "dilated"},
     {Compression::mean, "mean"},
     {Compression::max, "max"},
     {Compression::most_used, "most-used"}}};
constexpr std::array<std::pair<FeatureMap, const char*>, 4> feature_map_names{
    {{FeatureMap::positive, "softmax+"},
     {FeatureMap::trigonometric, "softmax-trig"},
     {FeatureMap::relu, "relu"},
     {FeatureMap::elu, "elu1"}}};
constexpr std::array<std::pair<FeatureProjection, const char*>, 5> feature_projection_names{
    {{FeatureProjection::gauss, "gauss"},
     {FeatureProjection::givens, "givens"},
     {FeatureProjection::hadamard, "hadamard"},
     {FeatureProjection::iid, "iid"},
     {FeatureProjection::none, "none"}}};

AttentionOption a_count(const char* key, const char* help, const char* otherwise, std::int64_t least,
                        std::int64_t most, std::string (*shown)(const ModelConfig&),
                        void (*set)(AttentionOptions&, const std::string&)) {
  return {.key = key,
          .value = "N",
          .help = help,
          .otherwise = otherwise,
          .least = least,
          .most = most,
          .names = {},
          .shown = shown,
          .set = set};
}

AttentionOption a_choice(const char* key, const char* help, const char* otherwise,
                         std::vector<const char*> names, std::string (*shown)(const ModelConfig&),
                         void (*set)(AttentionOptions&, const std::string&)) {
  return {.key = key,
          .value = "HOW",
          .help = help,
          .otherwise = otherwise,
          .type = AttentionOption::Type::name,
          .names = std::move(names),
          .shown = shown,
          .set = set};
}

// A count or a choice of a group of options by its member.
template <auto Group, auto Member>
std::string count_shown(const ModelConfig& config) {
  return std::to_string(config.attention_options.*Group.*Member);
}
template <auto Group, auto Member>
void count_set(AttentionOptions& options, const std::string& text) {
  options.*Group.*Member = count_in(text);
}
template <const auto& Names, auto Group, auto Member>
std::string choice_shown(const ModelConfig& config) {
  return find_name(Names, config.attention_options.*Group.*Member);
}
template <const auto& Names, auto Group, auto Member>
void choice_set(AttentionOptions& options, const std::string& text) {
  options.*Group.*Member = find_value(Names, text).value_or(AttentionOptions{}.*Group.*Member);
}

}  // namespace

std::int64_t count_in(std::string_view text) {
  std::int64_t count = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc() && end == text.data() + text.size() ? count : -1;
}

std::vector<std::int64_t> counts_in(std::string_view text) {
  std::vector<std::int64_t> counts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(':', at), text.size());
    counts.push_back(count_in(text.substr(at, end - at)));
    at = end + 1;
  }
  return counts;
}

double number_in(const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789.eE+-") != std::string::npos) return -1;
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  return end == text.c_str() + text.size() && std::isfinite(number) ? number : -1;
}

std::vector<AttentionOption> etc_options() {
  using O = EtcOptions;
  constexpr auto group = &AttentionOptions::etc;
  return {
      a_count("radius", "Tokens that a long token sees on each side", "84", 1, longest_chunk,
              count_shown<group, &O::radius>, count_set<group, &O::radius>),
      a_count("relative_distance", "Largest distance of two tokens with a label of its own", "12", 0,
              O::most_labels, count_shown<group, &O::distance>, count_set<group, &O::distance>),
      a_count(
          "relative_labels", "Rows of each table of labels", "twice the distance and 8", 0, O::most_labels,
          [](const ModelConfig& c) { return std::to_string(etc_labels(c.attention_options.etc)); },
          count_set<group, &O::labels>),
      a_count("max_globals", "Global tokens of a sequence at most", "256", 1, longest_chunk,
              count_shown<group, &O::globals>, count_set<group, &O::globals>),
      a_count("global_every", "Tokens that share a global one where no sentences are known", "32", 1,
              longest_chunk, count_shown<group, &O::stretch>, count_set<group, &O::stretch>),
      a_choice("projections",
               "Keys and values for each pair of inputs (separate), by the input whose queries read them "
               "(by-query), or one set of queries, keys and values (shared)",
               "separate", {"separate", "by-query", "shared"},
               choice_shown<etc_projection_names, group, &O::projections>,
               choice_set<etc_projection_names, group, &O::projections>),
      a_choice("output_projection", "Output projections of the two inputs", "separate",
               {"separate", "shared"}, choice_shown<sharing_names, group, &O::shared_output>,
               choice_set<sharing_names, group, &O::shared_output>),
      a_choice("feed_forward", "Feed-forward parts of the two inputs", "shared", {"separate", "shared"},
               choice_shown<sharing_names, group, &O::shared_feed_forward>,
               choice_set<sharing_names, group, &O::shared_feed_forward>),
      a_choice("hard_g2l", "Limit of what a global token sees to the tokens of its own sentence", "off",
               {"off", "on"}, choice_shown<switch_names, group, &O::hard_g2l>,
               choice_set<switch_names, group, &O::hard_g2l>),
      a_choice("hard_l2g", "Limit of what a long token sees to the global token of its own sentence", "off",
               {"off", "on"}, choice_shown<switch_names, group, &O::hard_l2g>,
               choice_set<switch_names, group, &O::hard_l2g>),
      a_choice("cpc", "Projections for predicting masked sentences (contrastive predictive coding)", "off",
               {"off", "on"}, choice_shown<switch_names, group, &O::cpc>,
               choice_set<switch_names, group, &O::cpc>),
  };
}

std::vector<AttentionOption> recurrent_options() {
  using O = RecurrentOptions;
  constexpr auto group = &AttentionOptions::recurrent;
  return {
      a_count("memory", "Last tokens that a layer keeps for later segments, 0 or more", "512", 0,
              longest_chunk, count_shown<group, &O::memory>, count_set<group, &O::memory>),
      a_count("clamp", "Largest distance with a vector of its own", "of every distance", 0, longest_chunk,
              count_shown<group, &O::clamp>, count_set<group, &O::clamp>),
      a_choice("same_length", "Limit of what a token sees to as many tokens as the memory holds", "off",
               {"off", "on"}, choice_shown<switch_names, group, &O::same_length>,
               choice_set<switch_names, group, &O::same_length>),
      a_choice("untie", "Biases of content and of distance that every layer has for itself", "off",
               {"off", "on"}, choice_shown<switch_names, group, &O::untie>,
               choice_set<switch_names, group, &O::untie>),
  };
}

std::vector<AttentionOption> compressive_options() {
  using O = CompressiveOptions;
  constexpr auto group = &AttentionOptions::compressive;
  return {
      recurrent_options().front(),
      a_count("compressed", "Compressed rows of older tokens that a layer keeps too", "512", 1, longest_chunk,
              count_shown<group, &O::compressed>, count_set<group, &O::compressed>),
      a_count("rate", "Tokens that a compressed row is made of", "2", 1, longest_chunk,
              count_shown<group, &O::rate>, count_set<group, &O::rate>),
      a_choice("compression",
               "Compression of tokens that leave the memory: a product of each group (conv), three products "
               "(dilated), its mean, its largest values (max), or those with the most weight (most-used)",
               "conv", {"conv", "dilated", "mean", "max", "most-used"},
               choice_shown<compression_names, group, &O::compression>,
               choice_set<compression_names, group, &O::compression>),
  };
}

std::vector<AttentionOption> bpt_options() {
  return {
      {.key = "contextual",
       .value = "N",
       .help = "Nodes that a token sees on each side of every level",
       .otherwise = "4",
       .least = 1,
       .most = most_shares,
       .names = {},
       .shown = [](const ModelConfig& c) { return std::to_string(c.attention_options.bpt.contextual); },
       .set = [](AttentionOptions& o, const std::string& t) { o.bpt.contextual = count_in(t); }},
      {.key = "clip_levels",
       .value = "N",
       .help = "Level from which on all have the same labels",
       .otherwise = "5",
       .least = 0,
       .most = most_shares,
       .names = {},
       .shown = [](const ModelConfig& c) { return std::to_string(c.attention_options.bpt.clip_levels); },
       .set = [](AttentionOptions& o, const std::string& t) { o.bpt.clip_levels = count_in(t); }},
  };
}

std::vector<AttentionOption> span_options() {
  using O = SpanOptions;
  constexpr auto group = &AttentionOptions::spans;
  return {
      a_count("max_span", "Tokens before its own that a head sees at most", "1024", 1, longest_chunk,
              count_shown<group, &O::max_span>, count_set<group, &O::max_span>),
      a_count("ramp", "Tokens further back than a span over which weights fall from 1 to 0", "32", 1,
              longest_chunk, count_shown<group, &O::ramp>, count_set<group, &O::ramp>),
      {.key = "span_loss",
       .value = "X",
       .help = "Part of the loss for each token of the mean span of a layer's heads",
       .otherwise = "2e-6",
       .type = AttentionOption::Type::number,
       .least = 0,
       .most = 1,
       .names = {},
       .shown = [](const ModelConfig& c) { return fmt::format("{}", c.attention_options.spans.span_loss); },
       .set = [](AttentionOptions& o, const std::string& t) { o.spans.span_loss = number_in(t); }},
      a_choice("dynamic_span", "Choice of a span by every token for itself, instead of one by each head",
               "off", {"off", "on"}, choice_shown<switch_names, group, &O::dynamic>,
               choice_set<switch_names, group, &O::dynamic>),
  };
}

std::vector<AttentionOption> performer_options() {
  using O = PerformerOptions;
  constexpr auto group = &AttentionOptions::performer;
  return {
      a_count("features", "Rows of the random projection", "256", 1, most_shares,
              count_shown<group, &O::features>, count_set<group, &O::features>),
      a_choice(
          "kernel",
          "Map of queries and keys to features: positive (softmax+) or waves (softmax-trig) for softmax, "
          "relu, or elu plus 1 (elu1)",
          "softmax+", {"softmax+", "softmax-trig", "relu", "elu1"},
          choice_shown<feature_map_names, group, &O::kernel>,
          choice_set<feature_map_names, group, &O::kernel>),
      a_choice(
          "projection",
          "Random projection: orthogonal rows (gauss, givens, hadamard), normal numbers (iid), or none",
          "gauss, none for relu and elu1", {"gauss", "givens", "hadamard", "iid", "none"},
          [](const ModelConfig& c) {
            return std::string(find_name(feature_projection_names, feature_projection(c)));
          },
          choice_set<feature_projection_names, group, &O::projection>),
      a_count("redraw", "Updates between two draws of the projection in training", "1000", 1, longest_chunk,
              count_shown<group, &O::redraw>, count_set<group, &O::redraw>),
  };
}

std::vector<AttentionOption> reformer_options() {
  using O = ReformerOptions;
  constexpr auto group = &AttentionOptions::reformer;
  return {
      a_count("chunk_length", "Sorted tokens that see each other, and the chunk before theirs", "64", 1,
              longest_chunk, count_shown<group, &O::chunk>, count_set<group, &O::chunk>),
      a_count("hashes", "Rounds of hashing", "2", 1, most_shares, count_shown<group, &O::hashes>,
              count_set<group, &O::hashes>),
      {.key = "buckets",
       .value = "COUNTS",
       .help = "Buckets of a round, or two factors of them, such as 16:32",
       .otherwise = "two for a chunk of the sequence",
       .type = AttentionOption::Type::counts,
       .least = 0,
       .most = longest_chunk,
       .names = {},
       .shown =
           [](const ModelConfig& c) {
             const std::vector<std::int64_t>& buckets = c.attention_options.reformer.buckets;
             return buckets.empty() ? std::string("0") : fmt::format("{}", fmt::join(buckets, ":"));
           },
       .set =
           [](AttentionOptions& o, const std::string& t) {
             o.reformer.buckets = counts_in(t);
             if (o.reformer.buckets == std::vector<std::int64_t>{0}) o.reformer.buckets.clear();
           }},
      a_choice("reversible", "Computation of activations again in training, instead of keeping them", "off",
               {"off", "on"}, choice_shown<switch_names, group, &O::reversible>,
               choice_set<switch_names, group, &O::reversible>),
  };
}

std::vector<AttentionOption> routing_options() {
  using O = RoutingOptions;
  constexpr auto group = &AttentionOptions::routing;
  const auto fraction = [](const char* key, const char* help, const char* otherwise, auto shown, auto set) {
    AttentionOption option;
    option.key = key;
    option.value = "X";
    option.help = help;
    option.otherwise = otherwise;
    option.type = AttentionOption::Type::number;
    option.least = 0;
    option.most = 1;
    option.shown = shown;
    option.set = set;
    return option;
  };
  return {
      a_count("clusters", "Clusters of every routed head", "8", 1, most_shares,
              count_shown<group, &O::clusters>, count_set<group, &O::clusters>),
      a_count("cluster_window", "Tokens of a cluster, those nearest to its centroid", "512", 1, longest_chunk,
              count_shown<group, &O::window>, count_set<group, &O::window>),
      a_count(
          "local_heads", "Heads that see a window of tokens instead of clusters, the first ones",
          "half of the heads", 0, most_shares,
          [](const ModelConfig& c) { return std::to_string(local_heads(c)); },
          count_set<group, &O::local_heads>),
      a_count("local_window", "Tokens that local heads see on each side", "256", 0, longest_chunk,
              count_shown<group, &O::local_window>, count_set<group, &O::local_window>),
      fraction(
          "commitment_loss", "Part of the loss for the distances of tokens from their centroids", "1e-4",
          [](const ModelConfig& c) { return fmt::format("{}", c.attention_options.routing.commitment); },
          [](AttentionOptions& o, const std::string& t) { o.routing.commitment = number_in(t); }),
      fraction(
          "centroid_decay", "Decay of the moving averages that centroids are", "0.999",
          [](const ModelConfig& c) { return fmt::format("{}", c.attention_options.routing.decay); },
          [](AttentionOptions& o, const std::string& t) { o.routing.decay = number_in(t); }),
  };
}

}  // namespace bigbird
