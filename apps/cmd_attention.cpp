// bigbird attention: prints an attention plan - block lists, degrees, path lengths - and draws it.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/verbs.h"
#include "lib/core/error.h"
#include "lib/io/file.h"
#include "lib/io/provenance.h"
#include "lib/model/block_plan.h"
#include "lib/model/plan_statistics.h"
#include "lib/report/attention_svg.h"

namespace bigbird::apps {
namespace {

using Rows = std::vector<std::vector<std::vector<std::int32_t>>>;

struct AttentionRequest {
  std::int64_t length = 4096;
  std::int64_t heads = 12;
  std::int64_t layer = 0;
  std::int64_t block_size = 64;
  std::int64_t random = 3;
  std::int64_t max_positions = 4096;
  std::int64_t head_drawn = 0;
  std::string mode = "google";
  std::string pattern = "bigbird";
};

void print_heading(const AttentionRequest& request, std::int64_t blocks) {
  fmt::print(
      "pattern\t{}\nrandom_mode\t{}\nlength\t{}\nblock_size\t{}\nblocks\t{}\nrandom_blocks\t{}\nlayer\t{}\n",
      request.pattern, request.mode, blocks * request.block_size, request.block_size, blocks, request.random,
      request.layer);
}

void print_degrees(const Rows& rows) {
  fmt::print(
      "\n#head\tlisted\tdistinct\tshare_of_full\tmin_out\tmean_out\tmax_out\tmin_in\tmax_in\tmean_"
      "path\tlongest_path\t"
      "unreachable_pairs\tstar_centres\n");
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
  json["random_mode"] = request.mode;
  json["block_size"] = request.block_size;
  json["random_blocks"] = request.random;
  json["layer"] = request.layer;
  json["blocks"] = rows.empty() ? 0 : rows[0].size();
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
    Provenance provenance{bigbird_version(), verb.command(), {}, "", {}};
    json["provenance"] = nlohmann::ordered_json::parse(provenance_json(provenance));
  }
  return json.dump() + "\n";
}

}  // namespace

int cmd_attention(int argc, char** argv) {
  Verb verb("attention", "Print an attention plan: block lists, degrees, path lengths, picture.",
            {"bigbird attention --length 4096", "bigbird attention --length 768 --heads 2 --json plan.json",
             "bigbird attention --length 24 --block-size 2 --random-blocks 1 --heads 1 --svg plan.svg"});
  AttentionRequest request;
  std::string svg_file, json_file;
  bool lists = false;
  CLI::App& app = verb.app();
  app.add_option("--length", request.length, "Tokens; rounded up to a whole number of blocks")
      ->required()
      ->transform(count_suffix());
  app.add_option("--heads", request.heads, "Attention heads")->capture_default_str();
  app.add_option("--layer", request.layer, "0-based layer: the seed of the published plans")
      ->capture_default_str();
  app.add_option("--block-size", request.block_size, "Tokens of a block")->capture_default_str();
  app.add_option("--random-blocks", request.random, "Random blocks of a row")->capture_default_str();
  app.add_option("--attention", request.pattern, "bigbird, full, window, random or window+random")
      ->capture_default_str();
  app.add_option("--random-mode", request.mode, "google, hf-train, hf-eval, none or file")->capture_default_str();
  app.add_option("--max-positions", request.max_positions, "Length the huggingface plan is drawn for")
      ->capture_default_str();
  app.add_flag("--lists", lists, "Also print the key blocks of every row");
  app.add_option("--svg", svg_file, "Draw one head here");
  app.add_option("--head", request.head_drawn, "The head to draw")->capture_default_str();
  app.add_option("--json", json_file, "Write the lists and facts here (- for stdout)");
  if (!verb.parse(argc, argv)) return 0;

  const AttentionPattern pattern = parse_attention_pattern(request.pattern);
  const RandomMode mode = parse_random_mode(request.mode);
  if (request.length < 1 || request.block_size < 1 || request.heads < 1 || request.random < 0 ||
      request.layer < 0) {
    throw_usage(
        "--length, --block-size and --heads must be at least 1, --random-blocks and --layer at least 0");
  }
  if (request.head_drawn < 0 || request.head_drawn >= request.heads) {
    throw_usage(fmt::format("--head {} is not one of the {} heads", request.head_drawn, request.heads));
  }
  const std::int64_t blocks = (request.length + request.block_size - 1) / request.block_size;
  if (blocks > 65536)
    throw_usage(fmt::format("{} blocks are too many to list", blocks), "use a larger --block-size");
  const RandomBlocks random =
      random_blocks_for(pattern, blocks, request.block_size, request.heads, request.random,
                        static_cast<std::uint32_t>(request.layer), mode, request.max_positions);
  const Rows rows = pattern_rows(pattern, blocks, request.heads, random);

  if (!svg_file.empty()) {
    AttentionPicture picture{
        pattern, request.block_size,
        fmt::format("{}, {} blocks of {} tokens, {} random, layer {}, head {}", request.pattern, blocks,
                    request.block_size, request.random, request.layer, request.head_drawn),
        rows[static_cast<std::size_t>(request.head_drawn)]};
    write_text_atomic(svg_file, attention_svg(picture));
  }
  if (json_file == "-") {
    fmt::print("{}", plan_json(request, rows, verb));
    return 0;
  }
  if (!json_file.empty()) write_text_atomic(json_file, plan_json(request, rows, verb));
  print_heading(request, blocks);
  const bool short_for_model = pattern == AttentionPattern::bigbird && blocks < 2 * request.random + 6;
  if (short_for_model) {
    fmt::print("note\ta model takes full attention at this length (fewer than {} blocks)\n",
               2 * request.random + 6);
  }
  print_degrees(rows);
  if (lists) print_lists(rows);
  return 0;
}

}  // namespace bigbird::apps
