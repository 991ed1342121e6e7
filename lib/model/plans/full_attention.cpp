// See full_attention.h.
#include "lib/model/plans/full_attention.h"

#include <fmt/format.h>

#include "lib/core/error.h"
#include "lib/model/plans/block_plan.h"

namespace bigbird {
namespace {

// max_encoder_length up to which google-research/bigbird takes full attention.
constexpr std::int64_t google_full_tokens = 512;
// Rows 1 and n - 2 of the BigBird pattern must be two rows (docs/specification.md 1.1).
constexpr std::int64_t least_blocks = 4;

// What keeps the published code from drawing a plan; empty when it draws one. Layer and further heads do not
// matter: a draw fails by its length, its block size and r alone.
std::string obstacle(const ModelConfig& config, std::int64_t blocks) {
  try {
    random_blocks(blocks, config.block_size, 1, config.num_random_blocks, 0, config.random_mode,
                  config.max_position_embeddings);
  } catch (const Error& error) {
    return error.message();
  }
  return {};
}

// The rule of the BigBird pattern by the number of blocks alone.
std::string short_sequence_reason(const ModelConfig& config, std::int64_t blocks) {
  if (config.random_mode == RandomMode::google) {
    if (blocks * config.block_size <= google_full_tokens) {
      return fmt::format("sequences of at most {} tokens (random mode google)", google_full_tokens);
    }
    if (blocks < least_blocks) return fmt::format("sequences of fewer than {} blocks", least_blocks);
    return {};
  }
  const std::int64_t random = config.random_mode == RandomMode::none ? 0 : config.num_random_blocks;
  if (blocks > 5 + 2 * random) return {};
  return fmt::format("sequences of at most {} blocks of {} tokens (random mode {}, {} random blocks)",
                     5 + 2 * random, config.block_size, name_of(config.random_mode), random);
}

}  // namespace

std::string full_attention_reason(const ModelConfig& config, std::int64_t blocks) {
  switch (config.attention) {
    case AttentionPattern::full:
      return "every sequence (attention full)";
    case AttentionPattern::window:
      return {};
    case AttentionPattern::random:
    case AttentionPattern::window_random: {
      const std::int64_t needed = 2 * config.num_random_blocks + 6;
      if (blocks >= needed) return {};
      return fmt::format("sequences of fewer than {} blocks of {} tokens ({} random blocks need that many)",
                         needed, config.block_size, config.num_random_blocks);
    }
    case AttentionPattern::bigbird:
      break;
  }
  if (config.random_mode == RandomMode::file) return {};
  if (std::string reason = short_sequence_reason(config, blocks); !reason.empty()) return reason;
  const std::string why = obstacle(config, blocks);
  if (why.empty()) return {};
  return fmt::format("sequences of {} tokens: {}", blocks * config.block_size, why);
}

}  // namespace bigbird
