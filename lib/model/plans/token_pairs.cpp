// See token_pairs.h.
#include "lib/model/plans/token_pairs.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "lib/core/error.h"
#include "lib/model/plans/partition_lists.h"

namespace bigbird {
namespace {

std::vector<KeyGroup> longformer_groups(const ModelConfig& config, std::int64_t layer) {
  const LongformerOptions& options = config.attention_options.longformer;
  const std::int64_t heads = config.num_attention_heads, side = longformer_window(config, layer) / 2;
  const std::int64_t dilation = longformer_dilation(config, layer);
  const std::int64_t dilated = dilation > 1 ? options.dilated_heads : 0;
  std::vector<KeyGroup> groups;
  groups.push_back({.first_head = 0, .heads = heads - dilated, .before = side, .after = side});
  groups.push_back(
      {.first_head = heads - dilated, .heads = dilated, .step = dilation, .before = side, .after = side});
  if (longformer_globals(config).any()) {
    groups.push_back({.heads = heads, .queries = TokenKind::local, .keys = TokenKind::global});
    groups.push_back({.heads = heads, .queries = TokenKind::global, .keys = TokenKind::all});
  }
  return groups;
}

std::vector<KeyGroup> strided_groups(const ModelConfig& config, std::int64_t layer) {
  const SparseOptions& options = config.attention_options.sparse;
  const std::int64_t heads = config.num_attention_heads, stride = options.stride;
  KeyGroup band{.heads = heads, .before = stride - 1, .after = stride - 1};
  KeyGroup classes{.heads = heads, .step = stride};
  if (options.heads_as == HeadsAs::merged) {
    classes.itself = false;  // the band has it
  } else if (options.heads_as == HeadsAs::split) {
    band.heads = classes.first_head = (heads + 1) / 2;
    classes.heads = heads - band.heads;
  } else {
    (layer % 2 == 0 ? classes : band).heads = 0;
  }
  return {band, classes};
}

std::vector<KeyGroup> etc_groups(const ModelConfig& config) {
  const EtcOptions& options = config.attention_options.etc;
  const std::int64_t heads = config.num_attention_heads;
  return {{.heads = heads, .before = options.radius, .after = options.radius},
          {.heads = heads, .keys = TokenKind::global, .linked = options.hard_l2g},
          {.heads = heads, .queries = TokenKind::global, .keys = TokenKind::global},
          {.heads = heads, .queries = TokenKind::global, .linked = options.hard_g2l}};
}

// Of local heads; what the others see their tokens decide.
std::vector<KeyGroup> routing_groups(const ModelConfig& config) {
  const std::int64_t side = config.attention_options.routing.local_window;
  return {{.heads = local_heads(config), .before = side, .after = side}};
}

// Within a segment; those before it are known to its stream alone.
std::vector<KeyGroup> recurrent_groups(const ModelConfig& config) {
  return {{.heads = config.num_attention_heads,
           .before = rows_before(config),
           .after = 0,
           .itself = !has_spans(config)}};
}

bool asks(const KeyGroup& group, const TokenNumbers& tokens, std::int64_t query) {
  return (query < tokens.globals) == (group.queries == TokenKind::global);
}

// The keys of a query: every step-th number of [begin, end), without `but`.
struct KeyRange {
  std::int64_t begin, end, step, but;

  std::int64_t count() const {
    if (end <= begin) return 0;
    const bool has_own = but >= begin && but < end;  // in the same class
    return (end - begin + step - 1) / step - (has_own ? 1 : 0);
  }
};

KeyRange range_of(const KeyGroup& group, const TokenNumbers& tokens, std::int64_t query) {
  if (!asks(group, tokens, query)) return {0, 0, 1, -1};
  std::int64_t begin = group.keys == TokenKind::local ? tokens.globals : 0;
  std::int64_t end = group.keys == TokenKind::global ? tokens.globals : tokens.all;
  if (group.linked) {
    // Of a global query the tokens of its stretch, of a local one the stretch's global token.
    const bool global = group.queries == TokenKind::global;
    begin = global ? begin + query * tokens.stretch : (query - tokens.globals) / tokens.stretch;
    end = std::min(global ? begin + tokens.stretch : begin + 1, end);
  }
  if (group.before >= 0) begin = std::max(begin, query - group.before * group.step);
  if (group.after >= 0) end = std::min(end, query + group.after * group.step + 1);
  // The first of the query's class.
  const std::int64_t apart = (query - begin) % group.step;
  begin += apart < 0 ? apart + group.step : apart;
  return {begin, end, group.step, group.itself ? -1 : query};
}

// What the nodes of bpt see, ascending.
std::vector<std::vector<std::int32_t>> partition_rows(const ModelConfig& config, std::int64_t length,
                                                      bool causal) {
  const BinaryPartition lists =
      binary_partition(length, config.attention_options.bpt, causal || config.causal);
  std::vector<std::vector<std::int32_t>> rows;
  for (std::size_t node = 0; node + 1 < lists.offsets.size(); ++node) {
    rows.emplace_back(lists.rows.begin() + lists.offsets[node], lists.rows.begin() + lists.offsets[node + 1]);
    std::sort(rows.back().begin(), rows.back().end());
  }
  return rows;
}

}  // namespace

bool decided_by_tokens(AttentionPattern pattern) {
  return pattern == AttentionPattern::sparse_strided || pattern == AttentionPattern::longformer ||
         pattern == AttentionPattern::etc || pattern == AttentionPattern::bpt ||
         pattern == AttentionPattern::transformer_xl || pattern == AttentionPattern::adaptive_span ||
         pattern == AttentionPattern::compressive;
}

TokenNumbers token_numbers(const ModelConfig& config, std::int64_t length) {
  if (config.attention == AttentionPattern::bpt) {
    const std::int64_t spans = partition_spans(length);
    return {0, length + spans, 1, spans};
  }
  if (config.attention == AttentionPattern::longformer)
    return {std::min(longformer_globals(config).first, length), length, 1};
  if (config.attention != AttentionPattern::etc) return {0, length, 1};
  const EtcOptions& options = config.attention_options.etc;
  const std::int64_t stretch = std::max(options.stretch, (length + options.globals - 1) / options.globals);
  const std::int64_t globals = (length + stretch - 1) / stretch;
  return {globals, globals + length, stretch};
}

std::vector<KeyGroup> key_groups(const ModelConfig& config, std::int64_t layer, bool causal) {
  const bool routes = config.attention == AttentionPattern::routing;
  if ((!decided_by_tokens(config.attention) && !routes) || config.attention == AttentionPattern::bpt)
    throw_runtime("groups of keys of attention " + name_of(config.attention));
  std::vector<KeyGroup> groups =
      config.attention == AttentionPattern::longformer       ? longformer_groups(config, layer)
      : config.attention == AttentionPattern::sparse_strided ? strided_groups(config, layer)
      : routes                                               ? routing_groups(config)
      : is_recurrent(config)                                 ? recurrent_groups(config)
                                                             : etc_groups(config);
  std::erase_if(groups, [](const KeyGroup& group) { return group.heads == 0; });
  for (KeyGroup& group : groups) group.after = causal || config.causal ? 0 : group.after;
  return groups;
}

LocalGroups local_groups(const ModelConfig& config, std::int64_t layer, bool causal) {
  LocalGroups local;
  for (const KeyGroup& group : key_groups(config, layer, causal)) {
    if (group.queries == TokenKind::local && group.keys == TokenKind::local)
      (group.step > 1 ? local.classes : local.window) = group;
  }
  return local;
}

kernels::PairRule distances_of(const KeyGroup& group) {
  kernels::PairRule rule;
  rule.before = group.before;
  rule.after = group.after;
  rule.self_last = !group.itself;
  return rule;
}

std::vector<std::int32_t> keys_of(const KeyGroup& group, const TokenNumbers& tokens, std::int64_t query) {
  const KeyRange range = range_of(group, tokens, query);
  std::vector<std::int32_t> keys;
  for (std::int64_t key = range.begin; key < range.end; key += range.step) {
    if (key != range.but) keys.push_back(static_cast<std::int32_t>(key));
  }
  return keys;
}

std::int64_t visible_pairs(const ModelConfig& config, std::int64_t layer, std::int64_t length) {
  if (config.attention == AttentionPattern::bpt) {
    const BinaryPartition lists = binary_partition(length, config.attention_options.bpt, config.causal);
    return config.num_attention_heads * static_cast<std::int64_t>(lists.rows.size());
  }
  return visible_pairs(config, layer, token_numbers(config, length));
}

std::int64_t visible_pairs(const ModelConfig& config, std::int64_t layer, const TokenNumbers& tokens) {
  std::int64_t pairs = 0;
  for (const KeyGroup& group : key_groups(config, layer)) {
    for (std::int64_t query = 0; query < tokens.all; ++query)
      pairs += group.heads * range_of(group, tokens, query).count();
  }
  return pairs;
}

std::vector<TokenHeads> token_heads(const ModelConfig& config, std::int64_t layer, std::int64_t length,
                                    bool causal) {
  const TokenNumbers tokens = token_numbers(config, length);
  if (config.attention == AttentionPattern::bpt)
    return {{0, config.num_attention_heads, partition_rows(config, length, causal)}};
  const std::vector<KeyGroup> groups = key_groups(config, layer, causal);
  std::set<std::int64_t> borders{0, config.num_attention_heads};
  for (const KeyGroup& group : groups) {
    borders.insert(group.first_head);
    borders.insert(group.first_head + group.heads);
  }
  std::vector<TokenHeads> all;
  for (auto first = borders.begin(); std::next(first) != borders.end(); ++first) {
    TokenHeads& alike = all.emplace_back(TokenHeads{*first, *std::next(first) - *first, {}});
    alike.rows.resize(static_cast<std::size_t>(tokens.all));
    for (const KeyGroup& group : groups) {
      if (*first < group.first_head || *first >= group.first_head + group.heads) continue;
      for (std::int64_t query = 0; query < tokens.all; ++query) {
        const std::vector<std::int32_t> keys = keys_of(group, tokens, query);
        std::vector<std::int32_t>& row = alike.rows[static_cast<std::size_t>(query)];
        row.insert(row.end(), keys.begin(), keys.end());
      }
    }
    for (std::vector<std::int32_t>& row : alike.rows) std::sort(row.begin(), row.end());
  }
  return all;
}

std::vector<std::vector<TokenCell>> token_cells(const ModelConfig& config, std::int64_t layer,
                                                std::int64_t head, std::int64_t length,
                                                std::int64_t block_size) {
  const TokenNumbers tokens = token_numbers(config, length);
  const std::int64_t blocks = (tokens.all + block_size - 1) / block_size;
  std::vector<std::vector<TokenCell>> cells(static_cast<std::size_t>(blocks));
  for (auto& row : cells) {
    for (std::int64_t key = 0; key < blocks; ++key) row.push_back({static_cast<std::int32_t>(key), 0, 0});
  }
  const auto count = [&](std::int64_t query, std::int32_t key, bool near) {
    TokenCell& cell =
        cells[static_cast<std::size_t>(query / block_size)][static_cast<std::size_t>(key / block_size)];
    ++(near ? cell.in_window : cell.beyond);
  };
  const bool partition = config.attention == AttentionPattern::bpt;
  const auto lists =
      partition ? partition_rows(config, length, false) : std::vector<std::vector<std::int32_t>>{};
  for (std::size_t query = 0; query < lists.size(); ++query) {
    for (const std::int32_t key : lists[query]) {
      const auto node = static_cast<std::int64_t>(query);
      count(node, key, node < length && key < length);
    }
  }
  for (const KeyGroup& group : partition ? std::vector<KeyGroup>{} : key_groups(config, layer)) {
    if (head < group.first_head || head >= group.first_head + group.heads) continue;
    const bool near =
        group.queries == TokenKind::local && group.keys == TokenKind::local && group.before >= 0;
    for (std::int64_t query = 0; query < tokens.all; ++query) {
      for (const std::int32_t key : keys_of(group, tokens, query)) count(query, key, near);
    }
  }
  for (auto& row : cells)
    std::erase_if(row, [](const TokenCell& cell) { return cell.in_window + cell.beyond == 0; });
  return cells;
}

}  // namespace bigbird
