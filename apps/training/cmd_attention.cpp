// bigbird attention: prints an attention plan - block lists, degrees, path lengths - and draws it, or
// compares several, or shows how far back the heads of a model look.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/training/attention_comparison.h"
#include "apps/training/attention_tokens.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/io/files/file.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/provenance.h"
#include "lib/io/files/sha256.h"
#include "lib/model/plans/block_plan.h"
#include "lib/model/plans/patterns.h"
#include "lib/model/plans/plan_graph.h"
#include "lib/model/plans/plan_table.h"
#include "lib/model/plans/token_pairs.h"
#include "lib/model_folder/model_spans.h"
#include "lib/report/attention_svg.h"

namespace bigbird::apps {
namespace {

using Rows = std::vector<std::vector<std::vector<std::int32_t>>>;

struct AttentionRequest {
  ModelConfig config;
  std::int64_t length = 0;  // 0: all of the plan
  std::int64_t layer = 0;
  std::int64_t head_drawn = 0;
  AttentionOptionGroup attention;
  std::string pattern;             // its name; "file" of a plan
  std::int64_t global_tokens = 0;  // the first ones, in whole blocks
  std::string plan;                // the file, for provenance

  std::int64_t blocks() const { return (length + config.block_size - 1) / config.block_size; }
};

// The lengths in tokens at which a model takes full attention, as ranges: "1-704", "none".
std::string full_lengths(const ModelConfig& config) {
  if (config.attention == AttentionPattern::full) return "all";
  // No rule looks further than this.
  const AttentionOptions& options = config.attention_options;
  const std::int64_t most = std::max(
      {std::int64_t{4096} / config.block_size, 2 * config.num_random_blocks + 6, options.blockbert.parts,
       options.sparse.stride / config.block_size, options.reformer.chunk / config.block_size});
  std::string ranges;
  std::int64_t begin = 0;
  for (std::int64_t blocks = 1; blocks <= most + 1; ++blocks) {
    const bool full = blocks <= most && !full_attention_reason(config, blocks).empty();
    if (full && begin == 0) begin = blocks;
    if (full || begin == 0) continue;
    ranges += fmt::format("{}{}-{}", ranges.empty() ? "" : ",", (begin - 1) * config.block_size + 1,
                          (blocks - 1) * config.block_size);
    begin = 0;
  }
  return ranges.empty() ? "none" : ranges;
}

// BigBird's family is shown as it is drawn, also where a model would take full attention; the lists of the
// others are what the model computes.
bool own_full(const AttentionRequest& request) {
  return system_of(request.config.attention).by_own_length &&
         !full_attention_reason(request.config, request.blocks()).empty();
}

// For the picture's title: "3 random, ", "parts 2, head_split 10:2, ".
std::string extras_of(const ModelConfig& config) {
  if (!system_of(config.attention).by_own_length) return fmt::format("{} random, ", config.num_random_blocks);
  const std::string options = attention_options_text(config);
  return options.empty() ? "" : options + ", ";
}

// Whether the tokens decide which keys a query has.
bool by_content(const ModelConfig& config) {
  return config.attention == AttentionPattern::reformer || config.attention == AttentionPattern::routing;
}

void print_heading(const AttentionRequest& request) {
  const ModelConfig& config = request.config;
  fmt::print(
      "pattern\t{}\nrandom_mode\t{}\nlength\t{}\nblock_size\t{}\nblocks\t{}\nrandom_blocks\t{}\nlayer\t{}\n",
      request.pattern, name_of(config.random_mode), request.blocks() * config.block_size, config.block_size,
      request.blocks(), config.num_random_blocks, request.layer);
  for (const AttentionOption& option : system_of(config.attention).options)
    fmt::print("{}\t{}\n", option.key, option.shown(config));
  fmt::print("full_attention_lengths\t{}\n", full_lengths(config));
  const std::string reason = full_attention_reason(config, request.blocks());
  const bool told = config.attention == AttentionPattern::bigbird || own_full(request);
  if (told && !reason.empty()) {
    fmt::print("note\ta model takes full attention here: {}\n", reason);
  }
  if (by_content(config) && reason.empty())
    fmt::print("note\tthe tokens decide which keys a query has: below are those that it may have\n");
}

// What the queries of a layer see, each key once: pairs over all heads, keys of a query in a head.
struct LayerCounts {
  std::int64_t pairs = 0;
  double mean_keys = 0;
  std::int64_t most_keys = 0;
};
LayerCounts counts_of(const AttentionRequest& request, const Rows& rows) {
  const std::int64_t block_size = request.config.block_size;
  LayerCounts counts;
  if (by_content(request.config)) {
    const AttentionFacts facts = attention_facts(request.config, request.blocks());
    return {static_cast<std::int64_t>(facts.visible_pairs), facts.mean_keys, facts.most_keys};
  }
  for (const auto& head : rows) {
    for (const auto& row : head) {
      const auto keys = block_size * static_cast<std::int64_t>(std::set(row.begin(), row.end()).size());
      counts.pairs += block_size * keys;
      counts.most_keys = std::max(counts.most_keys, keys);
    }
  }
  const std::size_t queries = rows.size() * rows[0].size() * static_cast<std::size_t>(block_size);
  counts.mean_keys = static_cast<double>(counts.pairs) / static_cast<double>(queries);
  return counts;
}

void print_counts(const AttentionRequest& request, const Rows& rows) {
  const LayerCounts counts = counts_of(request, rows);
  fmt::print("visible_pairs\t{}\nmean_keys\t{:.3f}\nmost_keys\t{}\n", counts.pairs, counts.mean_keys,
             counts.most_keys);
}

void print_degrees(const Rows& rows) {
  fmt::print(
      "\n#head\tlisted\tdistinct\tshare_of_full\tmin_out\tmean_out\tmax_out\tmin_in\tmax_in\t"
      "mean_path\tlongest_path\tunreachable_pairs\tstar_centres\n");
  for (std::size_t head = 0; head < rows.size(); ++head) {
    const PlanStatistics s = plan_statistics(rows[head]);
    const double full = static_cast<double>(s.blocks) * static_cast<double>(s.blocks);
    fmt::print("{}\t{}\t{}\t{:.4f}\t{}\t{:.3f}\t{}\t{}\t{}\t{:.4f}\t{}\t{}\t{}\n", head, s.listed, s.distinct,
               static_cast<double>(s.distinct) / full, s.min_out, s.mean_out, s.max_out, s.min_in, s.max_in,
               s.mean_path, s.longest_path, s.unreachable_pairs,
               s.star_centres.size() == rows[head].size() ? std::string("all")
               : s.star_centres.empty()                   ? std::string("none")
                                        : fmt::format("{}", fmt::join(s.star_centres, ",")));
  }
}

void print_lists(const Rows& rows) {
  fmt::print("\n#head\tquery_block\tkey_blocks\n");
  for (std::size_t head = 0; head < rows.size(); ++head) {
    for (std::size_t row = 0; row < rows[head].size(); ++row) {
      fmt::print("{}\t{}\t{}\n", head, row, fmt::join(rows[head][row], " "));
    }
  }
}

std::string plan_json(const AttentionRequest& request, const Rows& rows, const Verb& verb) {
  nlohmann::ordered_json json;
  json["pattern"] = request.pattern;
  json["random_mode"] = name_of(request.config.random_mode);
  json["block_size"] = request.config.block_size;
  json["random_blocks"] = request.config.num_random_blocks;
  for (const AttentionOption& option : system_of(request.config.attention).options)
    json["attention_options"][option.key] = option.shown(request.config);
  json["global_tokens"] = request.global_tokens;
  json["layer"] = request.layer;
  json["blocks"] = request.blocks();
  const LayerCounts counts = counts_of(request, rows);
  json["visible_pairs"] = counts.pairs;
  json["keys_per_query"] = {{"mean", counts.mean_keys}, {"max", counts.most_keys}};
  json["heads"] = nlohmann::ordered_json::array();
  for (const auto& head : rows) {
    const PlanStatistics s = plan_statistics(head);
    nlohmann::ordered_json entry;
    entry["rows"] = head;
    entry["degrees"] = {{"min_out", s.min_out},  {"mean_out", s.mean_out}, {"max_out", s.max_out},
                        {"min_in", s.min_in},    {"max_in", s.max_in},     {"listed", s.listed},
                        {"distinct", s.distinct}};
    entry["paths"] = {
        {"mean", s.mean_path}, {"longest", s.longest_path}, {"unreachable_pairs", s.unreachable_pairs}};
    entry["star_centres"] = s.star_centres;
    json["heads"].push_back(std::move(entry));
  }
  if (verb.provenance()) {
    Provenance provenance = verb.made_from();
    if (!request.plan.empty()) provenance.inputs.push_back({"plan", request.plan, sha256_file(request.plan)});
    json["provenance"] = nlohmann::ordered_json::parse(provenance_json(provenance));
  }
  return json_text(json) + "\n";
}

void check(const AttentionRequest& request) {
  const ModelConfig& config = request.config;
  if (request.length < 1 || config.block_size < 1 || config.num_attention_heads < 1 ||
      config.num_random_blocks < 0 || request.layer < 0 || request.global_tokens < 0) {
    throw_usage(
        "--length, --block-size and --heads must be at least 1, --random-blocks, --layer and --global-tokens at "
        "least 0");
  }
  if (request.head_drawn < 0 || request.head_drawn >= config.num_attention_heads) {
    throw_usage(
        fmt::format("--head {} is not one of the {} heads", request.head_drawn, config.num_attention_heads));
  }
  if (request.blocks() > 65536) {
    throw_usage(fmt::format("{} blocks are too many to list", request.blocks()), "use a larger --block-size");
  }
}

void require_length(const Verb& verb, const AttentionRequest& request) {
  if (verb.given("--length") || request.length > 0) return;
  throw_usage("--length is required", "give the number of tokens, such as --length 4096");
}

// A plan brings its own shape; what was typed beside it must not say something else.
void take_shape_of_plan(const Verb& verb, AttentionRequest& request) {
  ModelConfig& config = request.config;
  if (config.random_mode != RandomMode::file) return;
  if (config.plan == nullptr) throw_usage("--random-mode file needs a plan", "give one with --plan FILE");
  std::vector<std::string> of_plans = request.attention.flags();
  of_plans.insert(of_plans.end(), {"--heads", "--block-size", "--random-blocks", "--max-positions"});
  for (const std::string& option : of_plans) {
    if (verb.given(option)) {
      throw_usage(fmt::format("{} with a plan, which has its own", option),
                  fmt::format("leave {} out", option));
    }
  }
  const PlanTable& plan = *config.plan;
  if (plan.layers() > 1 && request.layer >= plan.layers()) {
    throw_usage(fmt::format("--layer {}: {} has {} layers", request.layer, plan.where(), plan.layers()));
  }
  config.block_size = plan.block_size();
  config.num_attention_heads = plan.heads();
  config.num_random_blocks = 0;
  request.pattern = "file";
  if (request.length == 0) request.length = plan.blocks() * plan.block_size();
}

struct AttentionOutputs {
  std::string svg, json;
  std::string compare;  // names of systems
  bool left_to_right = false;
  std::string model;  // its spans
  bool lists = false;
};

void add_options(Verb& verb, AttentionRequest& request, RandomModeOptions& random_mode,
                 AttentionOutputs& typed) {
  ModelConfig& config = request.config;
  verb.add_count("--length", request.length,
                 "Tokens, rounded up to a whole number of blocks (default: a plan's own with --plan)")
      ->default_str("");
  verb.add_option("--heads", config.num_attention_heads, "Attention heads");
  verb.add_option("--layer", request.layer, "Layer, 0-based: the seed of the published plans");
  verb.add_option("--block-size", config.block_size, "Tokens of a block");
  verb.add_option("--random-blocks", config.num_random_blocks, "Random blocks of a row");
  request.attention.add(verb, "bigbird");
  random_mode.add(verb, "Random blocks: their source (default: google)");
  verb.add_option("--max-positions", config.max_position_embeddings,
                  "Rows of the position table, which the hf-train plan is drawn for");
  verb.add_option(
      "--global-tokens", request.global_tokens,
      "First tokens that see all and are seen by all, in whole blocks, in addition to the pattern's (the "
      "paper's 128 of a question)");
  verb.add_flag("--lists", typed.lists, "Print also the key blocks of every row");
  verb.add_option("--svg", typed.svg, "Picture of one head; with --compare of a layer of each");
  verb.add_option("--head", request.head_drawn, "Head to draw");
  verb.add_option("-o,--output FILE", typed.json,
                  "File of the lists and facts as well, as JSON; - is stdout, and then nothing more");
  verb.add_option("--compare NAME,...", typed.compare,
                  "Attentions to compare, instead of one plan: a row for each, with keys, pairs, work and "
                  "bytes of a layer, and its graph");
  verb.add_flag(
      "--left-to-right", typed.left_to_right,
      "Count the left-to-right form of each system of --compare, in which no token sees a later one");
  verb.add_option("-m,--model MODEL", typed.model,
                  "Model folder of adaptive-span: the spans of its heads, instead of a plan");
}

void show_spans(const Verb& verb, const AttentionRequest& request, const AttentionOutputs& typed) {
  std::vector<std::string> others = request.attention.flags();
  others.insert(others.end(), {"--length", "--heads", "--layer", "--block-size", "--random-blocks",
                               "--random-mode", "--plan", "--max-positions", "--global-tokens", "--lists",
                               "--svg", "--head", "--compare", "--left-to-right", "--output"});
  for (const std::string& option : others) {
    if (verb.given(option))
      throw_usage(fmt::format("{} with --model, which only prints spans", option),
                  fmt::format("leave {} out", option));
  }
  const ModelFolder folder(typed.model);
  const std::vector<HeadSpan> spans = spans_of_heads(folder);
  fmt::print("pattern\t{}\n", name_of(folder.config().attention));
  for (const AttentionOption& option : system_of(folder.config().attention).options)
    fmt::print("{}\t{}\n", option.key, option.shown(folder.config()));
  std::int64_t all = 0, longest = 0;
  for (const HeadSpan& span : spans) {
    all += span.tokens;
    longest = std::max(longest, span.tokens);
  }
  fmt::print("mean_span\t{:.3f}\nlongest_span\t{}\n\n#layer\thead\tfraction\tspan\treach\n",
             static_cast<double>(all) / static_cast<double>(spans.size()), longest);
  for (const HeadSpan& span : spans)
    fmt::print("{}\t{}\t{:.6f}\t{}\t{}\n", span.layer, span.head, span.fraction, span.tokens, span.reach);
}

void compare(const Verb& verb, AttentionRequest& request, const AttentionOutputs& typed) {
  for (const char* option : {"--attention", "--plan", "--lists", "--layer", "--head", "--global-tokens"}) {
    if (verb.given(option))
      throw_usage(fmt::format("{} with --compare, which shows several", option),
                  fmt::format("leave {} out", option));
  }
  if (request.config.random_mode == RandomMode::file)
    throw_usage("--random-mode file with --compare, which reads no plan", "leave one of the two out");
  require_length(verb, request);
  check(request);
  request.config.causal = typed.left_to_right;
  compare_attention({compared_systems(typed.compare, request.config, request.blocks(), request.attention),
                     request.blocks(), typed.left_to_right, typed.svg, typed.json},
                    verb);
}

void show_tokens(const Verb& verb, const AttentionRequest& request, const AttentionOutputs& typed) {
  if (verb.given("--global-tokens")) {
    throw_usage("--global-tokens with --attention " + request.pattern + ", which has its own",
                "leave --global-tokens out");
  }
  if (verb.given("--random-blocks")) {
    throw_usage("--random-blocks with --attention " + request.pattern + ", of which none are drawn",
                "leave --random-blocks out");
  }
  if (request.layer >= request.config.num_hidden_layers) {
    throw_usage(fmt::format("--layer {} of {} layers", request.layer, request.config.num_hidden_layers),
                "layers are counted from 0");
  }
  show_token_attention({request.config, request.blocks(), request.layer, request.head_drawn, typed.lists,
                        typed.svg, typed.json},
                       verb);
}

void show_blocks(const Verb& verb, const AttentionRequest& request, const AttentionOutputs& typed) {
  const ModelConfig& config = request.config;
  Rows rows = plan_rows(config, request.layer, request.blocks(), own_full(request));
  make_first_blocks_global(rows, (request.global_tokens + config.block_size - 1) / config.block_size);

  OutputSet outputs({{"--svg", typed.svg}, {"--output", typed.json}});
  if (!typed.svg.empty()) {
    AttentionPicture picture{
        config.attention, config.block_size,
        fmt::format("{}, {} blocks of {} tokens, {}layer {}, head {}", request.pattern, request.blocks(),
                    config.block_size, extras_of(config), request.layer, request.head_drawn),
        rows[static_cast<std::size_t>(request.head_drawn)],
        config.attention_options.sparse.stride / config.block_size};
    write_text_atomic(typed.svg, attention_svg(picture));
  }
  if (typed.json == "-") {
    fmt::print("{}", plan_json(request, rows, verb));
    outputs.commit();
    return;
  }
  if (!typed.json.empty()) write_text_atomic(typed.json, plan_json(request, rows, verb));
  outputs.commit();
  print_heading(request);
  print_counts(request, rows);
  print_degrees(rows);
  if (typed.lists) print_lists(rows);
}

}  // namespace

int cmd_attention(int argc, char** argv) {
  Verb verb(
      "attention", "Print an attention plan: block lists, degrees, path lengths, picture.",
      {"bigbird attention --length 4096", "bigbird attention --length 768 --heads 2 -o plan.json",
       "bigbird attention --plan plan.json --lists",
       "bigbird attention --length 4096 --global-tokens 128 -o question-plan.json",
       "bigbird attention --attention blockbert --parts 3 --length 4096",
       "bigbird attention --attention longformer --attention-window 256 --global first:1 --length 4096",
       "bigbird attention --compare bigbird,window,star,blockbert,sparse-fixed,longformer --length 4096",
       "bigbird attention --length 24 --block-size 2 --random-blocks 1 --heads 1 --svg plan.svg"});
  AttentionRequest request;
  ModelConfig& config = request.config;
  RandomModeOptions random_mode;
  AttentionOutputs typed;
  add_options(verb, request, random_mode, typed);
  if (!verb.parse(argc, argv)) return 0;

  if (verb.given("--model")) {
    show_spans(verb, request, typed);
    return 0;
  }
  random_mode.apply(config);
  if (verb.given("--compare")) {
    compare(verb, request, typed);
    return 0;
  }
  if (typed.left_to_right)
    throw_usage("--left-to-right without --compare, whose systems it is of", "give --compare NAME,...");
  request.attention.apply(config);
  request.pattern = name_of(config.attention);
  request.plan = random_mode.plan();
  take_shape_of_plan(verb, request);
  require_length(verb, request);
  check(request);
  check_drawn_attention(config, request.blocks(), "--attention " + request.pattern);
  if (decided_by_tokens(config.attention)) {
    show_tokens(verb, request, typed);
    return 0;
  }
  show_blocks(verb, request, typed);
  return 0;
}

}  // namespace bigbird::apps
