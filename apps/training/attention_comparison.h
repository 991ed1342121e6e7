// `bigbird attention --compare`: systems of attention side by side.
#pragma once

#include <string>
#include <vector>

#include "apps/command_line.h"
#include "lib/model/config.h"

namespace bigbird::apps {

struct AttentionComparison {
  std::vector<ModelConfig> systems;  // one each, checked
  std::int64_t blocks = 0;
  std::string svg, json;  // files; empty: none; json "-": stdout instead of the table
};

// Checks the attention of a config as `where` asks for it, of a system that is a plan of blocks.
// Error{usage}.
void check_plan_of_blocks(const ModelConfig& config, const std::string& where);

// The systems of "bigbird,star,...", each with what was typed of its options on top of `shared`. Error{usage}
// for a name that is none or stands there twice, and for a system that cannot compute with what was typed.
std::vector<ModelConfig> compared_systems(const std::string& names, const ModelConfig& shared,
                                          const AttentionOptionGroup& typed);

void compare_attention(const AttentionComparison& comparison, const Verb& verb);

}  // namespace bigbird::apps
