// See causal_keys.h.
#include "lib/model/plans/causal_keys.h"

#include <algorithm>
#include <utility>

#include "lib/core/error.h"
#include "lib/model/plans/block_plan.h"

namespace bigbird {
namespace {

bool covers(const KeyGroup& group, std::int64_t head) {
  return head >= group.first_head && head < group.first_head + group.heads;
}

}  // namespace

bool has_causal_keys(AttentionPattern pattern) {
  switch (pattern) {
    case AttentionPattern::full:
    case AttentionPattern::sparse_fixed:
    case AttentionPattern::sparse_strided:
    case AttentionPattern::longformer:
    case AttentionPattern::transformer_xl:
    case AttentionPattern::adaptive_span:
      return true;
    case AttentionPattern::bigbird:
    case AttentionPattern::window:
    case AttentionPattern::random:
    case AttentionPattern::window_random:
    case AttentionPattern::star:
    case AttentionPattern::blockbert:
    case AttentionPattern::etc:
    case AttentionPattern::compressive:  // what rows are compressed to is not known token by token
    case AttentionPattern::bpt:          // keys are nodes of spans, whose keys change with each token
    case AttentionPattern::performer:    // keys are in sums
    case AttentionPattern::reformer:     // and here a sequence's own tokens decide
    case AttentionPattern::routing:
      break;
  }
  return false;
}

CausalKeys::CausalKeys(const ModelConfig& config, std::span<const std::int64_t> reaches)
    : config_(config), layers_(static_cast<std::size_t>(config.num_hidden_layers)) {
  if (!config.causal || !has_causal_keys(config.attention) || has_dynamic_spans(config)) {
    throw_runtime("attention " + name_of(config.attention) +
                  (config.causal ? " is not known one token at a time" : " that sees what is ahead"));
  }
  const std::int64_t heads = config.num_attention_heads;
  const std::int64_t blocks = (config.max_position_embeddings + config.block_size - 1) / config.block_size;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    if (is_recurrent(config)) {
      List list;
      list.before = remembered_rows(config);
      if (rows_before(config) >= 0) list.before = std::min(list.before, rows_before(config));
      if (!reaches.empty()) list.before = std::min(list.before, reaches[static_cast<std::size_t>(layer)]);
      list.itself = !has_spans(config);
      add(layer, 0, heads, std::move(list));
    } else if (decided_by_tokens(config.attention)) {
      const std::vector<KeyGroup> groups = key_groups(config, layer);
      for (std::int64_t head = 0; head < heads; ++head) {
        List list;
        for (const KeyGroup& group : groups) {
          if (!covers(group, head)) continue;
          list.groups.push_back(group);
          list.groups.back().first_head = 0;  // lists of other heads are the same
          list.groups.back().heads = 1;
        }
        add(layer, head, 1, std::move(list));
      }
    } else if (!full_attention_reason(config, blocks).empty()) {
      List list;
      list.all = true;
      add(layer, 0, heads, std::move(list));
    } else {
      auto rows = plan_rows(config, layer, blocks, false);
      for (std::int64_t head = 0; head < heads; ++head) {
        List list;
        list.blocks = std::move(rows[static_cast<std::size_t>(head)]);
        add(layer, head, 1, std::move(list));
      }
    }
  }
}

void CausalKeys::add(std::int64_t layer, std::int64_t first, std::int64_t count, List list) {
  // As many lists whatever spans have become: memory is planned before they are known.
  const auto found = has_spans(config_) ? lists_.end() : std::find(lists_.begin(), lists_.end(), list);
  const auto number = static_cast<std::size_t>(found - lists_.begin());
  if (found == lists_.end()) lists_.push_back(std::move(list));
  std::vector<Heads>& of_layer = layers_[static_cast<std::size_t>(layer)];
  if (!of_layer.empty() && of_layer.back().list == number) {
    of_layer.back().count += count;
  } else {
    of_layer.push_back({first, count, number});
  }
}

void CausalKeys::append(std::size_t number, std::int64_t query, std::vector<std::int32_t>& keys) const {
  const List& list = lists_[number];
  const auto append_range = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t key = begin; key < end; ++key) keys.push_back(static_cast<std::int32_t>(key));
  };
  if (list.all) return append_range(0, query + 1);
  if (list.before >= 0) {
    return append_range(std::max<std::int64_t>(0, query - list.before), list.itself ? query + 1 : query);
  }
  if (!list.blocks.empty()) {
    const std::int64_t block = config_.block_size;
    for (const std::int32_t seen : list.blocks[static_cast<std::size_t>(query / block)])
      append_range(seen * block, std::min<std::int64_t>((seen + 1) * block, query + 1));
    return;
  }
  const TokenNumbers tokens = token_numbers(config_, query + 1);
  for (const KeyGroup& group : list.groups) {
    const std::vector<std::int32_t> of_group = keys_of(group, tokens, query);
    keys.insert(keys.end(), of_group.begin(), of_group.end());
  }
}

}  // namespace bigbird
