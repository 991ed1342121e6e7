// bigbird attention: prints an attention plan - block lists, degrees, path lengths - and draws it.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/io/files/file.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/provenance.h"
#include "lib/io/files/sha256.h"
#include "lib/model/plans/block_plan.h"
#include "lib/model/plans/plan_table.h"
#include "lib/report/attention_svg.h"

namespace bigbird::apps {
namespace {

using Rows = std::vector<std::vector<std::vector<std::int32_t>>>;

struct AttentionRequest {
  ModelConfig config;
  std::int64_t length = 0;  // 0: all of the plan
  std::int64_t layer = 0;
  std::int64_t head_drawn = 0;
  std::string pattern = "bigbird";
  std::int64_t global_tokens = 0;  // the first ones, in whole blocks
  std::string plan;                // the file, for provenance

  std::int64_t blocks() const { return (length + config.block_size - 1) / config.block_size; }
};

// The lengths in tokens at which a model takes full attention, as ranges: "1-704", "none".
std::string full_lengths(const ModelConfig& config) {
  if (config.attention == AttentionPattern::full) return "all";
  // No rule looks further than this.
  const std::int64_t most =
      std::max<std::int64_t>(4096 / config.block_size, 2 * config.num_random_blocks + 6);
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

void print_heading(const AttentionRequest& request) {
  const ModelConfig& config = request.config;
  fmt::print(
      "pattern\t{}\nrandom_mode\t{}\nlength\t{}\nblock_size\t{}\nblocks\t{}\nrandom_blocks\t{}\nlayer\t{}\n",
      request.pattern, name_of(config.random_mode), request.blocks() * config.block_size, config.block_size,
      request.blocks(), config.num_random_blocks, request.layer);
  fmt::print("full_attention_lengths\t{}\n", full_lengths(config));
  const std::string reason = full_attention_reason(config, request.blocks());
  if (config.attention == AttentionPattern::bigbird && !reason.empty()) {
    fmt::print("note\ta model takes full attention here: {}\n", reason);
  }
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
  json["global_tokens"] = request.global_tokens;
  json["layer"] = request.layer;
  json["blocks"] = request.blocks();
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

// A plan brings its own shape; what was typed beside it must not say something else.
void take_shape_of_plan(const Verb& verb, AttentionRequest& request) {
  ModelConfig& config = request.config;
  if (config.random_mode != RandomMode::file) return;
  if (config.plan == nullptr) throw_usage("--random-mode file needs a plan", "give one with --plan FILE");
  for (const char* option :
       {"--heads", "--block-size", "--random-blocks", "--attention", "--max-positions"}) {
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
  bool lists = false;
};

void add_options(Verb& verb, AttentionRequest& request, RandomModeOptions& random_mode,
                 AttentionOutputs& typed) {
  ModelConfig& config = request.config;
  verb.add_count("--length", request.length,
                 "Tokens; rounded up to a whole number of blocks. A plan's own length with --plan");
  verb.add_option("--heads", config.num_attention_heads, "Attention heads");
  verb.add_option("--layer", request.layer, "0-based layer: the seed of the published plans");
  verb.add_option("--block-size", config.block_size, "Tokens of a block");
  verb.add_option("--random-blocks", config.num_random_blocks, "Random blocks of a row");
  verb.add_option("--attention", request.pattern, "bigbird, full, window, random or window+random");
  random_mode.add(verb, "Where random blocks come from (google)");
  verb.add_option("--max-positions", config.max_position_embeddings, "Length the hf-train plan is drawn for");
  verb.add_option(
      "--global-tokens", request.global_tokens,
      "First tokens that see all and are seen by all, in whole blocks, beside what the pattern has (the "
      "paper's 128 of a question)");
  verb.add_flag("--lists", typed.lists, "Also print the key blocks of every row");
  verb.add_option("--svg", typed.svg, "Draw one head here");
  verb.add_option("--head", request.head_drawn, "The head to draw");
  verb.add_option("--json", typed.json, "Write the lists and facts here (- for stdout)");
}

}  // namespace

int cmd_attention(int argc, char** argv) {
  Verb verb("attention", "Print an attention plan: block lists, degrees, path lengths, picture.",
            {"bigbird attention --length 4096", "bigbird attention --length 768 --heads 2 --json plan.json",
             "bigbird attention --plan plan.json --lists",
             "bigbird attention --length 4096 --global-tokens 128 --json question-plan.json",
             "bigbird attention --length 24 --block-size 2 --random-blocks 1 --heads 1 --svg plan.svg"});
  AttentionRequest request;
  ModelConfig& config = request.config;
  RandomModeOptions random_mode;
  AttentionOutputs typed;
  add_options(verb, request, random_mode, typed);
  if (!verb.parse(argc, argv)) return 0;

  random_mode.apply(config);
  config.attention = parse_attention_pattern(request.pattern);
  request.plan = random_mode.plan();
  take_shape_of_plan(verb, request);
  if (!verb.given("--length") && request.length == 0) {
    throw_usage("--length is required", "give the number of tokens, such as --length 4096");
  }
  check(request);
  Rows rows = plan_rows(config, request.layer, request.blocks(), false);
  make_first_blocks_global(rows, (request.global_tokens + config.block_size - 1) / config.block_size);

  OutputSet outputs({{"--svg", typed.svg}, {"--json", typed.json}});
  if (!typed.svg.empty()) {
    AttentionPicture picture{config.attention, config.block_size,
                             fmt::format("{}, {} blocks of {} tokens, {} random, layer {}, head {}",
                                         request.pattern, request.blocks(), config.block_size,
                                         config.num_random_blocks, request.layer, request.head_drawn),
                             rows[static_cast<std::size_t>(request.head_drawn)]};
    write_text_atomic(typed.svg, attention_svg(picture));
  }
  if (typed.json == "-") {
    fmt::print("{}", plan_json(request, rows, verb));
    outputs.commit();
    return 0;
  }
  if (!typed.json.empty()) write_text_atomic(typed.json, plan_json(request, rows, verb));
  outputs.commit();
  print_heading(request);
  print_degrees(rows);
  if (typed.lists) print_lists(rows);
  return 0;
}

}  // namespace bigbird::apps
