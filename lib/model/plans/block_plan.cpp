// See block_plan.h.
#include "lib/model/plans/block_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <numeric>
#include <set>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/rng.h"
#include "lib/model/plans/patterns.h"
#include "lib/model/plans/plan_table.h"

namespace bigbird {
namespace {

std::atomic<std::uint64_t> plans_made{0};

using Rows = std::vector<std::vector<std::vector<std::int32_t>>>;

bool in_window(std::int64_t row, std::int64_t block) {
  return block >= row - 1 && block <= row + 1;
}

std::vector<std::int32_t> itc_row(std::int64_t i, std::int64_t n,
                                  const std::vector<std::vector<std::int32_t>>& random) {
  std::vector<std::int32_t> keys;
  const auto push = [&](std::int64_t block) { keys.push_back(static_cast<std::int32_t>(block)); };
  if (i == 0 || i == n - 1) {
    for (std::int64_t block = 0; block < n; ++block) push(block);
    return keys;
  }
  const auto& drawn = random[static_cast<std::size_t>(i - 1)];
  // Rows 1 and n-2 have a global block inside their window: it is listed once (docs/specification.md 1.1).
  push(0);
  for (std::int64_t block = i - 1; block <= i + 1; ++block) {
    if (block != 0 && block != n - 1) push(block);
  }
  keys.insert(keys.end(), drawn.begin(), drawn.end());
  push(n - 1);
  return keys;
}

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

BlockPlan::BlockPlan(const Rows& rows, std::int64_t key_blocks) {
  const std::size_t heads = rows.size();
  const std::size_t n = heads == 0 ? 0 : rows[0].size();
  row_offsets_.push_back(0);
  const std::size_t key_count = key_blocks > 0 ? static_cast<std::size_t>(key_blocks) : n;
  std::vector<std::vector<std::int32_t>> columns(heads * key_count);
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t i = 0; i < n; ++i) {
      for (const std::int32_t key : rows[h][i]) {
        key_blocks_.push_back(key);
        columns[h * key_count + static_cast<std::size_t>(key)].push_back(static_cast<std::int32_t>(i));
      }
      row_offsets_.push_back(static_cast<std::int32_t>(key_blocks_.size()));
    }
  }
  column_offsets_.push_back(0);
  for (const auto& column : columns) {
    query_blocks_.insert(query_blocks_.end(), column.begin(), column.end());
    column_offsets_.push_back(static_cast<std::int32_t>(query_blocks_.size()));
  }
  view_ = {
      ++plans_made,       static_cast<std::int64_t>(heads), static_cast<std::int64_t>(n), row_offsets_.data(),
      key_blocks_.data(), column_offsets_.data(),           query_blocks_.data(),         key_blocks};
}

RandomBlocks uniform_random_blocks(std::int64_t blocks, std::int64_t heads, std::int64_t random_per_row,
                                   std::uint32_t seed) {
  RandomBlocks plan(static_cast<std::size_t>(heads));
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t row = 0; row < blocks; ++row) {
      std::vector<std::int32_t> candidates;
      for (std::int64_t block = 0; block < blocks; ++block) {
        if (!in_window(row, block)) candidates.push_back(static_cast<std::int32_t>(block));
      }
      if (static_cast<std::int64_t>(candidates.size()) < random_per_row) {
        throw_bad_input(fmt::format("no attention plan for {} blocks with {} random blocks a row", blocks,
                                    random_per_row),
                        fmt::format("at least {} blocks are needed", random_per_row + 3));
      }
      CounterRng rng(seed, Purpose::attention_pattern, static_cast<std::uint64_t>(head * blocks + row));
      shuffle(candidates, rng);
      candidates.resize(static_cast<std::size_t>(random_per_row));
      plan[static_cast<std::size_t>(head)].push_back(std::move(candidates));
    }
  }
  return plan;
}

Rows pattern_rows(AttentionPattern pattern, std::int64_t blocks, std::int64_t heads,
                  const RandomBlocks& random) {
  if (pattern == AttentionPattern::bigbird && blocks < 4) {
    throw_bad_input(fmt::format("the bigbird pattern needs at least 4 blocks, not {}", blocks),
                    message("use `attention` full or a smaller block size"));
  }
  Rows rows(static_cast<std::size_t>(heads));
  for (std::int64_t head = 0; head < heads; ++head) {
    auto& lists = rows[static_cast<std::size_t>(head)];
    for (std::int64_t i = 0; i < blocks; ++i) {
      if (pattern == AttentionPattern::bigbird) {
        lists.push_back(itc_row(i, blocks, random.at(static_cast<std::size_t>(head))));
        continue;
      }
      std::vector<std::int32_t> keys;
      for (std::int64_t block = 0; block < blocks; ++block) {
        const bool windowed =
            pattern == AttentionPattern::window || pattern == AttentionPattern::window_random;
        const bool listed = pattern == AttentionPattern::full || (windowed && in_window(i, block)) ||
                            (pattern == AttentionPattern::random && block == i);
        if (listed) keys.push_back(static_cast<std::int32_t>(block));
      }
      if (pattern == AttentionPattern::random || pattern == AttentionPattern::window_random) {
        const auto& drawn = random.at(static_cast<std::size_t>(head)).at(static_cast<std::size_t>(i));
        keys.insert(keys.end(), drawn.begin(), drawn.end());
      }
      lists.push_back(std::move(keys));
    }
  }
  return rows;
}

RandomBlocks random_blocks_for(AttentionPattern pattern, std::int64_t blocks, std::int64_t block_size,
                               std::int64_t heads, std::int64_t random_per_row, std::uint32_t seed,
                               RandomMode mode, std::int64_t max_position_embeddings) {
  switch (pattern) {
    case AttentionPattern::bigbird:
      return random_blocks(blocks, block_size, heads, random_per_row, seed, mode, max_position_embeddings);
    case AttentionPattern::random:
    case AttentionPattern::window_random:
      return uniform_random_blocks(blocks, heads, mode == RandomMode::none ? 0 : random_per_row, seed);
    case AttentionPattern::full:
    case AttentionPattern::window:
    case AttentionPattern::star:
    case AttentionPattern::blockbert:
    case AttentionPattern::sparse_fixed:
    case AttentionPattern::sparse_strided:
    case AttentionPattern::longformer:
    case AttentionPattern::etc:
    case AttentionPattern::bpt:
    case AttentionPattern::transformer_xl:
    case AttentionPattern::adaptive_span:
    case AttentionPattern::compressive:
    case AttentionPattern::performer:
    case AttentionPattern::reformer:
    case AttentionPattern::routing:
      break;
  }
  return {};
}

Rows plan_rows(const ModelConfig& config, std::int64_t layer, std::int64_t blocks, bool full) {
  if (config.random_mode == RandomMode::file && !full) return config.plan->rows(layer, blocks);
  const AttentionPattern pattern = full ? AttentionPattern::full : config.attention;
  if (system_of(pattern).by_own_length) return own_length_rows(config, layer, blocks);
  if (config.causal) return causal_rows(blocks, config.num_attention_heads);
  const RandomBlocks random = random_blocks_for(
      pattern, blocks, config.block_size, config.num_attention_heads, config.num_random_blocks,
      static_cast<std::uint32_t>(layer), config.random_mode, config.max_position_embeddings);
  return pattern_rows(pattern, blocks, config.num_attention_heads, random);
}

void make_first_blocks_global(Rows& rows, std::int64_t count) {
  for (auto& head : rows) {
    const auto blocks = static_cast<std::int32_t>(head.size());
    const std::int32_t global = static_cast<std::int32_t>(std::min<std::int64_t>(count, blocks));
    for (std::int32_t row = 0; row < blocks; ++row) {
      auto& keys = head[static_cast<std::size_t>(row)];
      if (row < global) {
        keys.resize(head.size());
        std::iota(keys.begin(), keys.end(), 0);
        continue;
      }
      for (std::int32_t block = 0; block < global; ++block) {
        if (std::find(keys.begin(), keys.end(), block) == keys.end()) keys.push_back(block);
      }
    }
  }
}

PlanCache::PlanCache(const ModelConfig& config) : config_(config) {}

const std::string& PlanCache::reason(std::int64_t blocks) {
  const auto found = reasons_.find(blocks);
  if (found != reasons_.end()) return found->second;
  return reasons_.emplace(blocks, full_attention_reason(config_, blocks)).first->second;
}

bool PlanCache::full_attention(std::int64_t blocks) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return !reason(blocks).empty();
}

bool PlanCache::full_attention(std::int64_t blocks, std::int64_t length) {
  return full_attention(planned_blocks(config_, blocks, length));
}

const BlockPlan& PlanCache::plan(std::int64_t layer, std::int64_t blocks) {
  return plan(layer, blocks, blocks * config_.block_size);
}

const BlockPlan& PlanCache::plan(std::int64_t layer, std::int64_t blocks, std::int64_t length) {
  const std::int64_t own = planned_blocks(config_, blocks, length);
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool full = !reason(own).empty();
  // Full attention is the same in every layer, and whatever of the blocks is padding.
  auto& slot = plans_[{full ? -1 : planned_layer(config_, layer), blocks, full ? blocks : own}];
  if (slot) return *slot;
  if (full && config_.attention != AttentionPattern::full) {
    log_info_once("full attention for " + reason(own));
  }
  Rows rows = plan_rows(config_, layer, full ? blocks : own, full);
  // Routed heads ask for no list; where no other is, there is one that nobody asks for.
  if (routed_heads(config_) > 0)
    rows.resize(static_cast<std::size_t>(std::max<std::int64_t>(local_heads(config_), 1)));
  // Nobody asks for what blocks of padding see; a list has one block at least.
  for (auto& head : rows) {
    while (static_cast<std::int64_t>(head.size()) < blocks)
      head.push_back({static_cast<std::int32_t>(head.size())});
  }
  slot = std::make_unique<BlockPlan>(rows);
  return *slot;
}

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
    case AttentionPattern::star:
    case AttentionPattern::blockbert:
    case AttentionPattern::sparse_fixed:
    case AttentionPattern::sparse_strided:
    case AttentionPattern::longformer:
    case AttentionPattern::etc:
    case AttentionPattern::bpt:
    case AttentionPattern::transformer_xl:
    case AttentionPattern::adaptive_span:
    case AttentionPattern::compressive:
    case AttentionPattern::performer:
    case AttentionPattern::reformer:
    case AttentionPattern::routing:
      return own_length_reason(config, blocks);
    case AttentionPattern::bigbird:
      break;
  }
  if (config.random_mode == RandomMode::file) return {};
  if (std::string reason = short_sequence_reason(config, blocks); !reason.empty()) return reason;
  const std::string why = obstacle(config, blocks);
  if (why.empty()) return {};
  return fmt::format("sequences of {} tokens: {}", blocks * config.block_size, why);
}

PlanStatistics plan_statistics(const std::vector<std::vector<std::int32_t>>& rows) {
  const std::size_t n = rows.size();
  PlanStatistics result;
  result.blocks = static_cast<std::int64_t>(n);
  if (n == 0) return result;
  std::vector<std::int64_t> in(n, 0);
  std::vector<std::set<std::int32_t>> seen(n), seen_by(n);
  result.min_out = static_cast<std::int64_t>(rows[0].size());
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t out = static_cast<std::int64_t>(rows[i].size());
    result.listed += out;
    result.min_out = std::min(result.min_out, out);
    result.max_out = std::max(result.max_out, out);
    for (const std::int32_t key : rows[i]) {
      ++in[static_cast<std::size_t>(key)];
      seen[i].insert(key);
      seen_by[static_cast<std::size_t>(key)].insert(static_cast<std::int32_t>(i));
    }
  }
  result.mean_out = static_cast<double>(result.listed) / static_cast<double>(n);
  result.min_in = *std::min_element(in.begin(), in.end());
  result.max_in = *std::max_element(in.begin(), in.end());
  std::int64_t reached_pairs = 0, path_sum = 0;
  for (std::size_t start = 0; start < n; ++start) {
    result.distinct += static_cast<std::int64_t>(seen[start].size());
    if (seen[start].size() == n && seen_by[start].size() == n) {
      result.star_centres.push_back(static_cast<std::int64_t>(start));
    }
    std::vector<std::int64_t> distance(n, -1);
    distance[start] = 0;
    std::vector<std::size_t> queue{start};
    for (std::size_t head = 0; head < queue.size(); ++head) {
      for (const std::int32_t next : seen[queue[head]]) {
        std::int64_t& d = distance[static_cast<std::size_t>(next)];
        if (d >= 0) continue;
        d = distance[queue[head]] + 1;
        queue.push_back(static_cast<std::size_t>(next));
      }
    }
    for (std::size_t end = 0; end < n; ++end) {
      if (end == start) continue;
      if (distance[end] < 0) {
        ++result.unreachable_pairs;
        continue;
      }
      ++reached_pairs;
      path_sum += distance[end];
      result.longest_path = std::max(result.longest_path, distance[end]);
    }
  }
  if (reached_pairs > 0)
    result.mean_path = static_cast<double>(path_sum) / static_cast<double>(reached_pairs);
  return result;
}

}  // namespace bigbird
