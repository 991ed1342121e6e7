// `bigbird attention --compare`: systems of attention side by side.
#pragma once

#include <string>
#include <vector>

#include "apps/command_line.h"
#include "lib/model/config.h"
#include "lib/model/plans/plan_graph.h"

namespace bigbird::apps {

struct AttentionComparison {
  std::vector<ModelConfig> systems;  // one each, checked
  std::int64_t blocks = 0;
  bool left_to_right = false;  // all of them, also those that need not be
  std::string svg, json;       // files; empty: none; json "-": stdout instead of the table
};

// Gives the config what its attention asks of a model that is only drawn, and checks the attention as `where`
// asks for it, of a sequence of so many blocks. Error{usage}.
void check_drawn_attention(ModelConfig& config, std::int64_t blocks, const std::string& where);

// The systems of "bigbird,star,...", each with what was typed of its options on top of `shared`, for so many
// blocks; left to right where `shared` is. Error{usage} for a name that is none or stands there twice, and
// for a system that cannot compute with what was typed, or has no left-to-right form.
std::vector<ModelConfig> compared_systems(const std::string& names, const ModelConfig& shared,
                                          std::int64_t blocks, const AttentionOptionGroup& typed);

// The graph of a head or of a layer as a JSON object, as all files have it.
std::string graph_json(const TokenGraph& graph);

void compare_attention(const AttentionComparison& comparison, const Verb& verb);

}  // namespace bigbird::apps
