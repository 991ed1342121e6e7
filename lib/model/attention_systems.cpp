// The table of systems of attention; see attention_systems.h.
#include "lib/model/attention_systems.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "kernels/types.h"
#include "lib/core/error.h"
#include "lib/core/names.h"
#include "lib/model/config.h"

namespace bigbird {
namespace {

constexpr std::array<std::pair<HeadsAs, const char*>, 3> heads_as_names{
    {{HeadsAs::merged, "merged"}, {HeadsAs::split, "split"}, {HeadsAs::layers, "layers"}}};

constexpr std::array<std::pair<EtcProjections, const char*>, 3> etc_projection_names{
    {{EtcProjections::separate, "separate"},
     {EtcProjections::by_query, "by-query"},
     {EtcProjections::shared, "shared"}}};
constexpr std::array<std::pair<bool, const char*>, 2> switch_names{{{false, "off"}, {true, "on"}}};
constexpr std::array<std::pair<bool, const char*>, 2> sharing_names{{{false, "separate"}, {true, "shared"}}};
constexpr std::array<std::pair<GlobalRule, const char*>, 3> global_rule_names{
    {{GlobalRule::task, "task"}, {GlobalRule::none, "none"}, {GlobalRule::question, "question"}}};

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

constexpr std::int64_t longest_chunk = std::int64_t{1} << 24;
constexpr std::int64_t most_shares = 1024;

std::int64_t count_in(std::string_view text) {
  std::int64_t count = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc() && end == text.data() + text.size() ? count : -1;
}

// -1 for what is none.
double number_in(const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789.eE+-") != std::string::npos) return -1;
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  return end == text.c_str() + text.size() && std::isfinite(number) ? number : -1;
}

// "10:2"; -1 for what is no number.
std::vector<std::int64_t> counts_in(std::string_view text) {
  std::vector<std::int64_t> counts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(':', at), text.size());
    counts.push_back(count_in(text.substr(at, end - at)));
    at = end + 1;
  }
  return counts;
}

constexpr std::string_view first_prefix = "first:";
// N of "first:N"; -1 of what is none.
std::int64_t count_of_first(std::string_view text) {
  if (!text.starts_with(first_prefix)) return -1;
  return count_in(text.substr(first_prefix.size()));
}

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

std::vector<AttentionSystem> make_systems() {
  using Type = AttentionOption::Type;
  const AttentionOption parts = {
      .key = "parts",
      .value = "N",
      .help = "Parts of a sequence, each of which sees one part",
      .otherwise = "2",
      .least = 1,
      .most = most_shares,
      .names = {},
      .shown = [](const ModelConfig& c) { return std::to_string(c.attention_options.blockbert.parts); },
      .set = [](AttentionOptions& o, const std::string& t) { o.blockbert.parts = count_in(t); }};
  const AttentionOption head_split = {
      .key = "head_split",
      .value = "COUNTS",
      .help = "Division of the heads: those that see their own part, the next part, and so on",
      .otherwise = "10:2 for 2 parts, 10:1:1 for 3, one each for more, rounded to the heads",
      .type = Type::counts,
      .least = 1,
      .most = most_shares,
      .names = {},
      .shown = [](const ModelConfig& c) { return fmt::format("{}", fmt::join(blockbert_heads(c), ":")); },
      .set = [](AttentionOptions& o, const std::string& t) { o.blockbert.head_split = counts_in(t); }};
  const AttentionOption stride = {
      .key = "stride",
      .value = "N",
      .help =
          "Tokens of a chunk, whole blocks; of sparse-strided, of any number, how far a token sees and "
          "how far apart the tokens are that it sees beyond",
      .otherwise = "128",
      .least = 1,
      .most = longest_chunk,
      .names = {},
      .shown = [](const ModelConfig& c) { return std::to_string(c.attention_options.sparse.stride); },
      .set = [](AttentionOptions& o, const std::string& t) { o.sparse.stride = count_in(t); }};
  const AttentionOption summary = {
      .key = "summary",
      .value = "N",
      .help = "Tokens at the end of every chunk that all see, whole blocks",
      .otherwise = "one block",
      .least = 0,
      .most = longest_chunk,
      .names = {},
      .shown = [](const ModelConfig& c) { return std::to_string(sparse_summary(c)); },
      .set = [](AttentionOptions& o, const std::string& t) { o.sparse.summary = count_in(t); }};
  const AttentionOption patterns = {
      .key = "summary_patterns",
      .value = "N",
      .help = "Groups of summary tokens, counted from a chunk's end, between which heads take turns",
      .otherwise = "1",
      .least = 1,
      .most = most_shares,
      .names = {},
      .shown =
          [](const ModelConfig& c) { return std::to_string(c.attention_options.sparse.summary_patterns); },
      .set = [](AttentionOptions& o, const std::string& t) { o.sparse.summary_patterns = count_in(t); }};
  const AttentionOption heads_as = {
      .key = "heads_as",
      .value = "HOW",
      .help =
          "Both sets of tokens in each head (merged), one in each half of the heads (split), or in layers in "
          "turn (layers)",
      .otherwise = "merged",
      .type = Type::name,
      .names = {"merged", "split", "layers"},
      .shown =
          [](const ModelConfig& c) {
            return std::string(find_name(heads_as_names, c.attention_options.sparse.heads_as));
          },
      .set =
          [](AttentionOptions& o, const std::string& t) {
            o.sparse.heads_as = find_value(heads_as_names, t).value_or(HeadsAs::merged);
          }};
  const AttentionOption token_window = {
      .key = "window",
      .value = "COUNTS",
      .help = "Tokens of the window, half of them on each side; of every layer, or one for each",
      .otherwise = "512",
      .type = Type::counts,
      .least = 2,
      .most = longest_chunk,
      .names = {},
      .shown =
          [](const ModelConfig& c) {
            return fmt::format("{}", fmt::join(c.attention_options.longformer.windows, ":"));
          },
      .set = [](AttentionOptions& o, const std::string& t) { o.longformer.windows = counts_in(t); }};
  const AttentionOption global_tokens = {
      .key = "global",
      .value = "WHICH",
      .help =
          "Tokens that see all and are seen by all: none, first:N of every sequence, its question (all before "
          "the first separator), or the task's: first:1 for classes and summaries, question for answers, none for others",
      .otherwise = "task",
      .type = Type::first,
      .least = 1,
      .most = longest_chunk,
      .names = {"task", "none", "question"},
      .shown =
          [](const ModelConfig& c) {
            const LongformerOptions& options = c.attention_options.longformer;
            return options.global_first == 0 ? std::string(find_name(global_rule_names, options.global_rule))
                                             : fmt::format("{}{}", first_prefix, options.global_first);
          },
      .set =
          [](AttentionOptions& o, const std::string& t) {
            o.longformer.global_first = std::max<std::int64_t>(count_of_first(t), 0);
            o.longformer.global_rule = find_value(global_rule_names, t).value_or(GlobalRule::task);
          }};
  const AttentionOption dilation = {
      .key = "dilation",
      .value = "COUNTS",
      .help =
          "Step of the window in dilated heads, which has every N-th token; of every layer, or one for each",
      .otherwise = "1",
      .type = Type::counts,
      .least = 1,
      .most = most_shares,
      .names = {},
      .shown =
          [](const ModelConfig& c) {
            return fmt::format("{}", fmt::join(c.attention_options.longformer.dilations, ":"));
          },
      .set = [](AttentionOptions& o, const std::string& t) { o.longformer.dilations = counts_in(t); }};
  const AttentionOption dilated_heads = {
      .key = "dilated_heads",
      .value = "N",
      .help = "Heads that are dilated, the last ones",
      .otherwise = "0",
      .least = 0,
      .most = most_shares,
      .names = {},
      .shown =
          [](const ModelConfig& c) { return std::to_string(c.attention_options.longformer.dilated_heads); },
      .set = [](AttentionOptions& o, const std::string& t) { o.longformer.dilated_heads = count_in(t); }};
  // pattern, name, family, what it sees; random, by own length, causal, on CUDA; options
  using enum AttentionPattern;
  return {
      {bigbird,
       "bigbird",
       "BigBird (ITC)",
       "the first and the last block, which see all; a window of 3 blocks; r random blocks",
       true,
       false,
       false,
       true,
       {}},
      {full, "full", "BERT", "every token", false, false, true, true, {}},
      {window, "window", "BigBird, a part", "a window of 3 blocks", false, false, false, true, {}},
      {random,
       "random",
       "BigBird, a part",
       "its own block and r random blocks",
       true,
       false,
       false,
       true,
       {}},
      {window_random,
       "window+random",
       "BigBird, a part",
       "a window of 3 blocks and r random blocks",
       true,
       false,
       false,
       true,
       {}},
      {star,
       "star",
       "BigBird, Definition 1",
       "its own block and block 0, which sees all",
       false,
       true,
       false,
       true,
       {}},
      {blockbert,
       "blockbert",
       "BlockBERT",
       "one part of the sequence, which one by head",
       false,
       true,
       false,
       true,
       {parts, head_split}},
      {sparse_fixed,
       "sparse-fixed",
       "Sparse Transformer",
       "its own chunk, and the last tokens of every chunk",
       false,
       true,
       true,
       true,
       {stride, summary, patterns, heads_as}},
      {sparse_strided,
       "sparse-strided",
       "Sparse Transformer",
       "a band of tokens, and every stride-th token from its own on, both ways",
       false,
       true,
       true,
       true,
       {stride, heads_as}},
      {longformer,
       "longformer",
       "Longformer",
       "a window of tokens and the global tokens, which see all by projections of their own",
       false,
       true,
       true,
       true,
       {token_window, global_tokens, dilation, dilated_heads}},
      {etc, "etc", "BigBird-ETC",
       "a window of tokens and all global tokens; these see each other and all tokens", false, true, false,
       true, etc_options()},
      {bpt, "bpt", "BP-Transformer",
       "the next tokens, and beyond them spans of 2, 4, 8 ... tokens, which are nodes of their own", false,
       true, true, true, bpt_options()},
      {transformer_xl, "transformer-xl", "Transformer-XL",
       "all tokens before it in its segment, and the last ones of earlier segments", false, true, true, true,
       recurrent_options()},
      {adaptive_span, "adaptive-span", "Adaptive-Span",
       "the tokens before it, in each head as far back as that head has learned to look", false, true, true,
       true, span_options()},
      {compressive, "compressive", "Compressive Transformer",
       "all tokens before it in its segment, the last ones of earlier segments, and older ones compressed",
       false, true, true, true, compressive_options()},
      {performer, "performer", "Performer", "every token, by products of random features in place of scores",
       false, true, true, false, performer_options()},
  };
}

}  // namespace

const std::vector<AttentionSystem>& attention_systems() {
  static const std::vector<AttentionSystem> systems = make_systems();
  return systems;
}

const AttentionSystem& system_of(AttentionPattern pattern) {
  for (const AttentionSystem& system : attention_systems()) {
    if (system.pattern == pattern) return system;
  }
  throw_runtime("a system of attention without a row in the table");
}

std::string name_of(AttentionPattern pattern) {
  return system_of(pattern).name;
}

AttentionPattern parse_attention_pattern(const std::string& name) {
  for (const AttentionSystem& system : attention_systems()) {
    if (name == system.name) return system.pattern;
  }
  throw_usage("'" + name + "' is not an attention pattern", "one of: " + attention_system_names());
}

std::string attention_system_names() {
  std::string names;
  const std::vector<AttentionSystem>& systems = attention_systems();
  for (std::size_t i = 0; i < systems.size(); ++i) {
    names += i == 0 ? "" : (i + 1 == systems.size() ? " or " : ", ");
    names += systems[i].name;
  }
  return names;
}

std::string attention_options_text(const ModelConfig& config) {
  std::string text;
  for (const AttentionOption& option : system_of(config.attention).options)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", option.key, option.shown(config));
  return text;
}

std::string AttentionOption::flag() const {
  // Two keys are words that users know for something else: a window of bases, and a file.
  const std::string_view known = key;
  std::string name(known == "window" ? "attention_window" : known == "summary" ? "summary_tokens" : known);
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

void AttentionOption::parse(AttentionOptions& options, const std::string& typed,
                            const std::string& where) const {
  if (type == Type::name) {
    if (std::none_of(names.begin(), names.end(), [&](const char* name) { return typed == name; })) {
      throw_usage(fmt::format("{}: '{}' is none of its values", where, text_for_message(typed)),
                  fmt::format("one of: {}", fmt::join(names, ", ")));
    }
    set(options, typed);
    return;
  }
  if (type == Type::first) {
    const std::int64_t count = count_of_first(typed);
    const bool named = std::find(names.begin(), names.end(), typed) != names.end();
    if (!named && (count < least || count > most)) {
      throw_usage(fmt::format("{}: '{}' is neither {} nor {}N with N within {}..{}", where,
                              text_for_message(typed), fmt::join(names, ", "), first_prefix, least, most));
    }
    set(options, typed);
    return;
  }
  if (type == Type::number) {
    const double number = number_in(typed);
    if (number < static_cast<double>(least) || number > static_cast<double>(most)) {
      throw_usage(
          fmt::format("{}: '{}' is not a number within {}..{}", where, text_for_message(typed), least, most));
    }
    set(options, typed);
    return;
  }
  const std::vector<std::int64_t> counts =
      type == Type::counts ? counts_in(typed) : std::vector<std::int64_t>{count_in(typed)};
  if (std::any_of(counts.begin(), counts.end(), [&](std::int64_t n) { return n < least || n > most; })) {
    throw_usage(fmt::format("{}: '{}' is {} within {}..{}", where, text_for_message(typed),
                            type == Type::counts ? "not whole numbers" : "not a whole number", least, most),
                type == Type::counts ? "numbers with colons between them, such as 10:2" : "");
  }
  set(options, typed);
}

}  // namespace bigbird
