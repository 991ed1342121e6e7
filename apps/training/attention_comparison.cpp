// See attention_comparison.h.
#include "apps/training/attention_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/provenance.h"
#include "lib/model/plans/block_plan.h"
#include "lib/model/plans/patterns.h"
#include "lib/model/plans/token_pairs.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/etc_lift.h"
#include "lib/report/attention_svg.h"

namespace bigbird::apps {
namespace {

// The measures of graphs are dense in the blocks, or in the tokens where these decide.
constexpr std::int64_t most_compared_blocks = 1024;
constexpr std::int64_t most_compared_tokens = 8192;

const char* yes_or_no(bool is) {
  return is ? "yes" : "no";
}

nlohmann::ordered_json facts_json(const ModelConfig& config, const AttentionFacts& facts) {
  const AttentionSystem& system = system_of(config.attention);
  nlohmann::ordered_json options = nlohmann::ordered_json::object();
  for (const AttentionOption& option : system.options) options[option.key] = option.shown(config);
  nlohmann::ordered_json layers = facts.layers;
  if (facts.layers == 0) layers = nullptr;
  return {{"name", system.name},
          {"options", options},
          {"full_attention", facts.full_reason},
          {"keys_per_query", {{"mean", facts.mean_keys}, {"max", facts.most_keys}}},
          {"visible_pairs", facts.visible_pairs},
          {"multiply_adds", facts.multiply_adds},
          {"bytes_read", facts.bytes_read},
          {"bytes_of_scores", facts.bytes_of_scores},
          {"layers_to_connect", layers},
          {"first_head", nlohmann::ordered_json::parse(graph_json(facts.head))},
          {"all_heads", nlohmann::ordered_json::parse(graph_json(facts.all_heads))},
          {"causal", system.causal},
          {"cuda", system.cuda}};
}

std::string comparison_json(const AttentionComparison& comparison, const std::vector<AttentionFacts>& facts,
                            const Verb& verb) {
  const ModelConfig& first = comparison.systems[0];
  nlohmann::ordered_json json;
  json["length"] = facts[0].tokens;
  json["block_size"] = first.block_size;
  json["heads"] = first.num_attention_heads;
  json["width"] = first.hidden_size;
  json["random_mode"] = name_of(first.random_mode);
  json["random_blocks"] = first.num_random_blocks;
  if (comparison.left_to_right) json["left_to_right"] = true;
  json["systems"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < facts.size(); ++i)
    json["systems"].push_back(facts_json(comparison.systems[i], facts[i]));
  if (verb.provenance())
    json["provenance"] = nlohmann::ordered_json::parse(provenance_json(verb.made_from()));
  return json_text(json) + "\n";
}

void print_comparison(const AttentionComparison& comparison, const std::vector<AttentionFacts>& facts) {
  fmt::print(
      "attention\tmean_keys\tmost_keys\tvisible_pairs\tmultiply_adds\tbytes_read\tbytes_of_scores\tlayers\t"
      "mean_path\tclustering\tgap\tall_mean_path\tall_clustering\tall_gap\tcausal\tcuda\n");
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const AttentionFacts& f = facts[i];
    const AttentionSystem& system = system_of(comparison.systems[i].attention);
    fmt::print(
        "{}\t{:.1f}\t{}\t{:.0f}\t{:.0f}\t{:.0f}\t{:.0f}\t{}\t{:.3f}\t{:.3f}\t{:.4f}\t{:.3f}\t{:.3f}\t{:.4f}\t{}\t{}\n",
        system.name, f.mean_keys, f.most_keys, f.visible_pairs, f.multiply_adds, f.bytes_read,
        f.bytes_of_scores, f.layers == 0 ? "never" : std::to_string(f.layers), f.head.mean_path,
        f.head.clustering, f.head.gap, f.all_heads.mean_path, f.all_heads.clustering, f.all_heads.gap,
        yes_or_no(system.causal), yes_or_no(system.cuda));
  }
}

std::string comparison_picture(const AttentionComparison& comparison,
                               const std::vector<AttentionFacts>& facts) {
  std::vector<LayerPicture> layers;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const ModelConfig& config = comparison.systems[i];
    // Left to right the first tokens never meet the last ones.
    std::string words = fmt::format("{:.0f} keys a query", facts[i].mean_keys);
    if (facts[i].layers > 0)
      words += fmt::format(", {} {}", facts[i].layers, facts[i].layers == 1 ? "layer" : "layers");
    layers.push_back({name_of(config.attention), words, block_shares(config, 0, comparison.blocks)});
  }
  return comparison_svg(fmt::format("{} tokens in blocks of {}: which query block (row) sees which key block",
                                    facts[0].tokens, comparison.systems[0].block_size),
                        layers);
}

}  // namespace

std::string graph_json(const TokenGraph& graph) {
  return json_text(nlohmann::ordered_json{{"mean_degree", graph.mean_degree},
                                          {"mean_path", graph.mean_path},
                                          {"longest_path", graph.longest_path},
                                          {"unreachable_pairs", graph.unreachable_pairs},
                                          {"clustering", graph.clustering},
                                          {"gap", graph.gap},
                                          {"two_sided_gap", graph.two_sided_gap}});
}

void check_drawn_attention(ModelConfig& config, std::int64_t blocks, const std::string& where) {
  // Of bpt there are as many nodes of spans besides.
  const std::int64_t most =
      config.attention == AttentionPattern::bpt ? most_compared_tokens / 2 : most_compared_tokens;
  if (decided_by_tokens(config.attention) && blocks * config.block_size > most) {
    throw_usage(fmt::format("{}: {} tokens, of at most {} where single tokens decide", where,
                            blocks * config.block_size, most),
                "its graph is measured exactly, token by token: give a shorter --length");
  }
  if (longformer_globals(config).question) {
    throw_usage(where + ": --global question is another number of tokens in every input",
                "give as many as a question has, such as --global first:20");
  }
  if (config.attention == AttentionPattern::etc) become_etc(config);  // without random blocks
  become_published(config);
  try {
    check_attention(config, where);
  } catch (const Error& error) {
    throw_usage(error.message(), error.hint());
  }
}

std::vector<ModelConfig> compared_systems(const std::string& names, const ModelConfig& shared,
                                          std::int64_t blocks, const AttentionOptionGroup& typed) {
  std::vector<ModelConfig> systems;
  std::istringstream in(names);
  for (std::string name; std::getline(in, name, ',');) {
    ModelConfig config = shared;
    take_attention(parse_attention_pattern(name), {}, config);
    typed.apply_known(config);
    if (std::any_of(systems.begin(), systems.end(),
                    [&](const ModelConfig& other) { return other.attention == config.attention; }))
      throw_usage("--compare names " + name + " twice", "leave it out once");
    check_drawn_attention(config, blocks, "--compare " + name);
    systems.push_back(std::move(config));
  }
  if (systems.empty()) throw_usage("--compare names no attention", attention_system_names());
  return systems;
}

void compare_attention(const AttentionComparison& comparison, const Verb& verb) {
  if (comparison.blocks > most_compared_blocks) {
    throw_usage(fmt::format("--compare: {} blocks are more than {}", comparison.blocks, most_compared_blocks),
                "use a larger --block-size");
  }
  std::vector<AttentionFacts> facts;
  for (const ModelConfig& config : comparison.systems) {
    facts.push_back(attention_facts(config, comparison.blocks));
    if (!facts.back().full_reason.empty() && config.attention != AttentionPattern::full)
      log_info(fmt::format("{}: full attention for {}", name_of(config.attention), facts.back().full_reason));
  }
  OutputSet outputs({{"--svg", comparison.svg}, {"--output", comparison.json}});
  if (!comparison.svg.empty()) write_text_atomic(comparison.svg, comparison_picture(comparison, facts));
  if (comparison.json == "-") {
    fmt::print("{}", comparison_json(comparison, facts, verb));
  } else {
    if (!comparison.json.empty())
      write_text_atomic(comparison.json, comparison_json(comparison, facts, verb));
    print_comparison(comparison, facts);
  }
  outputs.commit();
}

}  // namespace bigbird::apps
