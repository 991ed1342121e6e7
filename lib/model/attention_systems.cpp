// The table of systems of attention; see attention_systems.h.
#include "lib/model/attention_systems.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "kernels/types.h"
#include "lib/core/error.h"
#include "lib/core/names.h"
#include "lib/model/config.h"
#include "lib/model/option_groups.h"

namespace bigbird {
namespace {

constexpr std::array<std::pair<HeadsAs, const char*>, 3> heads_as_names{
    {{HeadsAs::merged, "merged"}, {HeadsAs::split, "split"}, {HeadsAs::layers, "layers"}}};
constexpr std::array<std::pair<GlobalRule, const char*>, 3> global_rule_names{
    {{GlobalRule::task, "task"}, {GlobalRule::none, "none"}, {GlobalRule::question, "question"}}};

constexpr std::string_view first_prefix = "first:";
// N of "first:N"; -1 of what is none.
std::int64_t count_of_first(std::string_view text) {
  if (!text.starts_with(first_prefix)) return -1;
  return count_in(text.substr(first_prefix.size()));
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
      {reformer, "reformer", "Reformer",
       "tokens that random rotations sort into its chunk, and the chunk before", false, true, true, false,
       reformer_options()},
      {routing, "routing", "Routing Transformer",
       "in some heads a window of tokens, in the others the tokens that are near the same centroids", false,
       true, true, false, routing_options()},
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
