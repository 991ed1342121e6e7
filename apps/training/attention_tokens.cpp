// See attention_tokens.h.
#include "apps/training/attention_tokens.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "apps/training/attention_comparison.h"
#include "lib/core/json_text.h"
#include "lib/io/files/file.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/provenance.h"
#include "lib/model/plans/plan_graph.h"
#include "lib/model/plans/token_pairs.h"
#include "lib/report/attention_svg.h"

namespace bigbird::apps {
namespace {

// Heads that see the same, counted and measured.
struct HeadFacts {
  TokenHeads heads;
  std::int64_t pairs = 0;  // of one head
  std::int64_t seen = 0;   // of them those of queries that are no spans, as the next two
  std::int64_t least_keys = 0, most_keys = 0;
  TokenGraph graph;
};

struct LayerFacts {
  std::int64_t length = 0;
  TokenNumbers tokens;
  std::vector<KeyGroup> groups;
  std::vector<HeadFacts> heads;
  std::int64_t pairs = 0;  // of all heads
  double mean_keys = 0;
  std::int64_t most_keys = 0;
};

LayerFacts facts_of_layer(const TokenAttention& request) {
  const ModelConfig& config = request.config;
  LayerFacts layer;
  layer.length = request.blocks * config.block_size;
  layer.tokens = token_numbers(config, layer.length);
  if (layer.tokens.spans == 0) layer.groups = key_groups(config, request.layer);
  std::int64_t seen = 0;
  for (TokenHeads& alike : token_heads(config, request.layer, layer.length)) {
    HeadFacts facts;
    facts.least_keys = layer.tokens.all;
    for (std::size_t row = 0; row < alike.rows.size(); ++row) {
      const auto keys = static_cast<std::int64_t>(alike.rows[row].size());
      facts.pairs += keys;
      if (static_cast<std::int64_t>(row) >= layer.tokens.all - layer.tokens.spans) continue;
      facts.seen += keys;
      facts.least_keys = std::min(facts.least_keys, keys);
      facts.most_keys = std::max(facts.most_keys, keys);
    }
    layer.pairs += alike.heads * facts.pairs;
    seen += alike.heads * facts.seen;
    layer.most_keys = std::max(layer.most_keys, facts.most_keys);
    facts.graph = token_graph(alike.rows, 1);
    facts.heads = std::move(alike);
    layer.heads.push_back(std::move(facts));
  }
  layer.mean_keys = static_cast<double>(seen) /
                    static_cast<double>(config.num_attention_heads * (layer.tokens.all - layer.tokens.spans));
  return layer;
}

const char* kind_name(TokenKind kind) {
  switch (kind) {
    case TokenKind::local:
      return "local";
    case TokenKind::global:
      return "global";
    case TokenKind::all:
      break;
  }
  return "all";
}

std::string heads_text(std::int64_t first, std::int64_t heads) {
  return heads == 1 ? std::to_string(first) : fmt::format("{}-{}", first, first + heads - 1);
}

std::string limit(std::int64_t distance) {
  return distance < 0 ? "any" : std::to_string(distance);
}

void print_layer(const TokenAttention& request, const LayerFacts& layer) {
  const ModelConfig& config = request.config;
  fmt::print("pattern\t{}\nlength\t{}\nglobal_tokens\t{}\nblock_size\t{}\nlayer\t{}\n",
             name_of(config.attention), layer.length, layer.tokens.globals, config.block_size, request.layer);
  if (layer.tokens.spans > 0) fmt::print("span_nodes\t{}\n", layer.tokens.spans);
  for (const AttentionOption& option : system_of(config.attention).options)
    fmt::print("{}\t{}\n", option.key, option.shown(config));
  fmt::print("visible_pairs\t{}\nmean_keys\t{:.3f}\nmost_keys\t{}\n", layer.pairs, layer.mean_keys,
             layer.most_keys);
  if (!layer.groups.empty()) fmt::print("\n#heads\tqueries\tkeys\tstep\tbefore\tafter\titself\n");
  for (const KeyGroup& group : layer.groups) {
    fmt::print("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", heads_text(group.first_head, group.heads),
               kind_name(group.queries), group.linked ? "linked" : kind_name(group.keys), group.step,
               limit(group.before), limit(group.after), group.itself ? "yes" : "no");
  }
  fmt::print(
      "\n#heads\tpairs_of_a_head\tmin_keys\tmean_keys\tmax_keys\tmean_path\tlongest_path\t"
      "unreachable_pairs\tclustering\tgap\n");
  for (const HeadFacts& facts : layer.heads) {
    const TokenGraph& graph = facts.graph;
    fmt::print("{}\t{}\t{}\t{:.3f}\t{}\t{:.4f}\t{}\t{}\t{:.4f}\t{:.6f}\n",
               heads_text(facts.heads.first_head, facts.heads.heads), facts.pairs, facts.least_keys,
               static_cast<double>(facts.seen) / static_cast<double>(layer.tokens.all - layer.tokens.spans),
               facts.most_keys, graph.mean_path, graph.longest_path, graph.unreachable_pairs,
               graph.clustering, graph.gap);
  }
  if (!request.lists) return;
  fmt::print("\n#heads\tquery_token\tkey_tokens\n");
  for (const HeadFacts& facts : layer.heads) {
    for (std::size_t row = 0; row < facts.heads.rows.size(); ++row) {
      fmt::print("{}\t{}\t{}\n", heads_text(facts.heads.first_head, facts.heads.heads), row,
                 fmt::join(facts.heads.rows[row], " "));
    }
  }
}

std::string layer_json(const TokenAttention& request, const LayerFacts& layer, const Verb& verb) {
  const ModelConfig& config = request.config;
  nlohmann::ordered_json json;
  json["pattern"] = name_of(config.attention);
  json["block_size"] = config.block_size;
  for (const AttentionOption& option : system_of(config.attention).options)
    json["attention_options"][option.key] = option.shown(config);
  json["length"] = layer.length;
  json["global_tokens"] = layer.tokens.globals;
  if (layer.tokens.spans > 0) json["span_nodes"] = layer.tokens.spans;
  json["layer"] = request.layer;
  json["visible_pairs"] = layer.pairs;
  json["keys_per_query"] = {{"mean", layer.mean_keys}, {"max", layer.most_keys}};
  json["groups"] = nlohmann::ordered_json::array();
  for (const KeyGroup& group : layer.groups) {
    json["groups"].push_back({{"first_head", group.first_head},
                              {"heads", group.heads},
                              {"queries", kind_name(group.queries)},
                              {"keys", kind_name(group.keys)},
                              {"step", group.step},
                              {"before", group.before},
                              {"after", group.after},
                              {"itself", group.itself},
                              {"linked", group.linked}});
  }
  json["heads"] = nlohmann::ordered_json::array();
  for (const HeadFacts& facts : layer.heads) {
    nlohmann::ordered_json entry = {{"first_head", facts.heads.first_head},
                                    {"heads", facts.heads.heads},
                                    {"pairs", facts.pairs},
                                    {"keys_per_query", {{"min", facts.least_keys}, {"max", facts.most_keys}}},
                                    {"graph", nlohmann::ordered_json::parse(graph_json(facts.graph))}};
    if (request.lists) entry["rows"] = facts.heads.rows;
    json["heads"].push_back(std::move(entry));
  }
  if (verb.provenance())
    json["provenance"] = nlohmann::ordered_json::parse(provenance_json(verb.made_from()));
  return json_text(json) + "\n";
}

std::string layer_svg(const TokenAttention& request, const LayerFacts& layer) {
  const ModelConfig& config = request.config;
  // Token by token where they can be told apart.
  constexpr std::int64_t most_single = 96;
  const std::int64_t side = layer.tokens.all <= most_single ? 1 : config.block_size;
  const std::string options = attention_options_text(config);
  AttentionPicture picture{config.attention,
                           side,
                           fmt::format("{}, {} tokens{}, {}, layer {}, head {}", name_of(config.attention),
                                       layer.length, side == 1 ? "" : fmt::format(" in blocks of {}", side),
                                       options, request.layer, request.head_drawn),
                           {}};
  for (const auto& row : token_cells(config, request.layer, request.head_drawn, layer.length, side)) {
    std::vector<PartialCell>& cells = picture.cells.emplace_back();
    const auto add = [&](std::int32_t key, bool in_window, std::int64_t pairs) {
      if (pairs > 0)
        cells.push_back({key, in_window, static_cast<double>(pairs) / static_cast<double>(side * side)});
    };
    for (const TokenCell& cell : row) {
      add(cell.key_block, true, cell.in_window);
      add(cell.key_block, false, cell.beyond);
    }
  }
  return attention_svg(picture);
}

}  // namespace

void show_token_attention(const TokenAttention& request, const Verb& verb) {
  const LayerFacts layer = facts_of_layer(request);
  OutputSet outputs({{"--svg", request.svg}, {"--output", request.json}});
  if (!request.svg.empty()) write_text_atomic(request.svg, layer_svg(request, layer));
  if (request.json == "-") {
    fmt::print("{}", layer_json(request, layer, verb));
  } else {
    if (!request.json.empty()) write_text_atomic(request.json, layer_json(request, layer, verb));
    print_layer(request, layer);
  }
  outputs.commit();
}

}  // namespace bigbird::apps
