// `bigbird attention` of a system that decides by tokens (lib/model/plans/token_pairs.h): its groups of keys,
// counts and graphs in place of lists of blocks.
#pragma once

#include <cstdint>
#include <string>

#include "apps/command_line.h"
#include "lib/model/config.h"

namespace bigbird::apps {

struct TokenAttention {
  ModelConfig config;  // checked
  std::int64_t blocks = 0;
  std::int64_t layer = 0;
  std::int64_t head_drawn = 0;
  bool lists = false;     // the keys of every token, printed and in the file
  std::string svg, json;  // files; empty: none; json "-": stdout instead of the table
};

void show_token_attention(const TokenAttention& request, const Verb& verb);

}  // namespace bigbird::apps
