// See patterns.h.
#include "lib/model/plans/patterns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/numpy_random.h"
#include "lib/model/plans/token_pairs.h"

namespace bigbird {
namespace {

void push_blocks(std::vector<std::int32_t>& list, std::int64_t begin, std::int64_t end) {
  for (std::int64_t block = begin; block < end; ++block) list.push_back(static_cast<std::int32_t>(block));
}

// Which of its two sets a head has.
struct SetsOfHead {
  bool chunk = true;
  bool summary = true;
};
SetsOfHead sets_of(HeadsAs how, std::int64_t head, std::int64_t heads, std::int64_t layer) {
  const bool first = how == HeadsAs::split ? head < (heads + 1) / 2 : layer % 2 == 0;
  return how == HeadsAs::merged ? SetsOfHead{} : SetsOfHead{first, !first};
}

KeyLists sparse_lists(const SparseFixed& of, std::int64_t blocks, std::int64_t heads, std::int64_t layer,
                      bool causal) {
  KeyLists lists(static_cast<std::size_t>(heads));
  for (std::int64_t head = 0; head < heads; ++head) {
    const SetsOfHead sets = sets_of(of.heads_as, head, heads, layer);
    const std::int64_t first = of.chunk - (head % of.patterns + 1) * of.summary;
    for (std::int64_t row = 0; row < blocks; ++row) {
      std::vector<std::int32_t> keys;
      for (std::int64_t key = 0; key < (causal ? row + 1 : blocks); ++key) {
        const bool in_chunk = sets.chunk && key / of.chunk == row / of.chunk;
        const std::int64_t column = key % of.chunk;
        const bool in_summary = sets.summary && column >= first && column < first + of.summary;
        if (in_chunk || in_summary) keys.push_back(static_cast<std::int32_t>(key));
      }
      lists[static_cast<std::size_t>(head)].push_back(std::move(keys));
    }
  }
  return lists;
}

}  // namespace

KeyLists causal_rows(std::int64_t blocks, std::int64_t heads) {
  std::vector<std::vector<std::int32_t>> rows(static_cast<std::size_t>(blocks));
  for (std::int64_t row = 0; row < blocks; ++row)
    push_blocks(rows[static_cast<std::size_t>(row)], 0, row + 1);
  return KeyLists(static_cast<std::size_t>(heads), rows);
}

KeyLists star_rows(std::int64_t blocks, std::int64_t heads) {
  std::vector<std::vector<std::int32_t>> rows(static_cast<std::size_t>(blocks));
  for (std::int64_t row = 0; row < blocks; ++row) {
    auto& keys = rows[static_cast<std::size_t>(row)];
    push_blocks(keys, 0, row == 0 ? blocks : 1);
    if (row > 0) push_blocks(keys, row, row + 1);
  }
  return KeyLists(static_cast<std::size_t>(heads), rows);
}

KeyLists blockbert_rows(std::int64_t blocks, std::int64_t parts, const std::vector<std::int64_t>& heads) {
  const std::int64_t size = (blocks + parts - 1) / parts;
  const std::int64_t present = (blocks + size - 1) / size;
  KeyLists lists;
  for (std::size_t shift = 0; shift < heads.size(); ++shift) {
    std::vector<std::vector<std::int32_t>> rows(static_cast<std::size_t>(blocks));
    for (std::int64_t row = 0; row < blocks; ++row) {
      const std::int64_t seen = (row / size + static_cast<std::int64_t>(shift)) % present;
      push_blocks(rows[static_cast<std::size_t>(row)], seen * size, std::min((seen + 1) * size, blocks));
    }
    lists.insert(lists.end(), static_cast<std::size_t>(heads[shift]), rows);
  }
  return lists;
}

KeyLists sparse_fixed_rows(const SparseFixed& of, std::int64_t blocks, std::int64_t heads,
                           std::int64_t layer) {
  return sparse_lists(of, blocks, heads, layer, false);
}

KeyLists sparse_fixed_causal_rows(const SparseFixed& of, std::int64_t blocks, std::int64_t heads,
                                  std::int64_t layer) {
  return sparse_lists(of, blocks, heads, layer, true);
}

SparseFixed sparse_fixed_of(const ModelConfig& config) {
  const SparseOptions& options = config.attention_options.sparse;
  return {options.stride / config.block_size, sparse_summary(config) / config.block_size,
          options.summary_patterns, options.heads_as};
}

KeyLists token_window_rows(std::int64_t blocks, std::int64_t heads, std::int64_t block_size,
                           std::int64_t before, std::int64_t after) {
  std::vector<std::vector<std::int32_t>> rows(static_cast<std::size_t>(blocks));
  for (std::int64_t row = 0; row < blocks; ++row) {
    const std::int64_t first = std::max<std::int64_t>(row * block_size - before, 0) / block_size;
    const std::int64_t last = std::min(((row + 1) * block_size - 1 + after) / block_size, blocks - 1);
    push_blocks(rows[static_cast<std::size_t>(row)], first, last + 1);
  }
  return KeyLists(static_cast<std::size_t>(heads), rows);
}

std::int64_t residue_class_begin(std::int64_t tokens, std::int64_t step, std::int64_t residue) {
  return tokens / step * residue + std::min(residue, tokens % step);
}

KeyLists residue_class_rows(std::int64_t blocks, std::int64_t heads, std::int64_t block_size,
                            std::int64_t step, std::int64_t before, std::int64_t after) {
  std::vector<std::vector<bool>> met(static_cast<std::size_t>(blocks),
                                     std::vector<bool>(static_cast<std::size_t>(blocks), false));
  for (std::int64_t tokens = (blocks - 1) * block_size + 1; tokens <= blocks * block_size; ++tokens) {
    for (std::int64_t residue = 0; residue < std::min(step, tokens); ++residue) {
      const std::int64_t begin = residue_class_begin(tokens, step, residue);
      const std::int64_t end = residue_class_begin(tokens, step, residue + 1);
      for (std::int64_t place = begin; place < end; ++place) {
        const std::int64_t first = before < 0 ? begin : std::max(place - before, begin);
        const std::int64_t last = after < 0 ? end - 1 : std::min(place + after, end - 1);
        auto& row = met[static_cast<std::size_t>(place / block_size)];
        for (std::int64_t block = first / block_size; block <= last / block_size; ++block)
          row[static_cast<std::size_t>(block)] = true;
      }
    }
  }
  std::vector<std::vector<std::int32_t>> rows(static_cast<std::size_t>(blocks));
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::int64_t block = 0; block < blocks; ++block) {
      if (met[row][static_cast<std::size_t>(block)]) push_blocks(rows[row], block, block + 1);
    }
  }
  return KeyLists(static_cast<std::size_t>(heads), rows);
}

KeyLists etc_random_rows(std::int64_t blocks, std::int64_t heads, std::int64_t block_size,
                         std::int64_t radius, std::int64_t random, std::int64_t layer) {
  NumpyLegacyRandom rng(static_cast<std::uint32_t>(layer));
  KeyLists lists(static_cast<std::size_t>(heads));
  for (auto& head : lists) {
    for (std::int64_t row = 0; row < blocks; ++row) {
      std::vector<std::int32_t> candidates;
      for (std::int64_t block = 0; block < blocks; ++block) {
        const std::int64_t apart = block > row ? block - row : row - block;
        // Of the tokens of two blocks the nearest are (apart - 1) block_size + 1 apart.
        if (apart > 0 && (apart - 1) * block_size + 1 > radius)
          candidates.push_back(static_cast<std::int32_t>(block));
      }
      rng.permute(candidates);
      if (static_cast<std::int64_t>(candidates.size()) > random)
        candidates.resize(static_cast<std::size_t>(random));
      head.push_back(std::move(candidates));
    }
  }
  return lists;
}

KeyLists own_length_rows(const ModelConfig& config, std::int64_t layer, std::int64_t blocks) {
  switch (config.attention) {
    case AttentionPattern::star:
      return star_rows(blocks, config.num_attention_heads);
    case AttentionPattern::blockbert:
      return blockbert_rows(blocks, config.attention_options.blockbert.parts, blockbert_heads(config));
    case AttentionPattern::sparse_fixed:
      return (config.causal ? sparse_fixed_causal_rows : sparse_fixed_rows)(
          sparse_fixed_of(config), blocks, config.num_attention_heads, layer);
    case AttentionPattern::routing: {  // what the other heads may see, by the tokens
      const std::int64_t local = local_heads(config);
      const std::int64_t side = config.attention_options.routing.local_window,
                         all = blocks * config.block_size;
      KeyLists rows = token_window_rows(blocks, local, config.block_size, side, config.causal ? 0 : side);
      KeyLists any =
          token_window_rows(blocks, routed_heads(config), config.block_size, all, config.causal ? 0 : all);
      std::move(any.begin(), any.end(), std::back_inserter(rows));
      return rows;
    }
    case AttentionPattern::sparse_strided:
    case AttentionPattern::longformer: {
      const KeyGroup window = local_groups(config, layer).window;
      // Where no head has one there are lists all the same: a call that nobody makes.
      return token_window_rows(blocks, std::max<std::int64_t>(window.heads, 1), config.block_size,
                               window.heads > 0 ? window.before : 0, window.heads > 0 ? window.after : 0);
    }
    case AttentionPattern::etc: {
      const std::int64_t radius = config.attention_options.etc.radius;
      return token_window_rows(blocks, config.num_attention_heads, config.block_size, radius, radius);
    }
    case AttentionPattern::transformer_xl:
    case AttentionPattern::compressive:
    case AttentionPattern::adaptive_span: {  // of a segment that remembers nothing
      const std::int64_t before = key_groups(config, layer).front().before;
      return token_window_rows(blocks, config.num_attention_heads, config.block_size,
                               before < 0 ? blocks * config.block_size : before, 0);
    }
    case AttentionPattern::performer:  // which needs no lists: what it sees
    case AttentionPattern::reformer:   // and what it may see, by the tokens
      return token_window_rows(blocks, config.num_attention_heads, config.block_size,
                               blocks * config.block_size, config.causal ? 0 : blocks * config.block_size);
    case AttentionPattern::bpt:  // lists of tokens and spans: no blocks
    case AttentionPattern::bigbird:
    case AttentionPattern::full:
    case AttentionPattern::window:
    case AttentionPattern::random:
    case AttentionPattern::window_random:
      break;
  }
  throw_runtime("lists by own length of a system that has none");
}

std::string own_length_reason(const ModelConfig& config, std::int64_t blocks) {
  if (config.attention == AttentionPattern::blockbert) {
    const std::int64_t parts = config.attention_options.blockbert.parts;
    if (blocks < parts)
      return fmt::format("sequences of fewer than {} blocks of {} tokens ({} parts)", parts,
                         config.block_size, parts);
  }
  if (config.attention == AttentionPattern::sparse_fixed) {
    const std::int64_t stride = config.attention_options.sparse.stride;
    if (blocks * config.block_size <= stride)
      return fmt::format("sequences of at most {} tokens (one stride)", stride);
  }
  if (config.attention == AttentionPattern::reformer) {
    const std::int64_t chunk = config.attention_options.reformer.chunk;
    if (blocks * config.block_size <= chunk)
      return fmt::format("sequences of at most {} tokens (one chunk)", chunk);
  }
  return {};
}

std::int64_t planned_blocks(const ModelConfig& config, std::int64_t blocks, std::int64_t length) {
  if (!system_of(config.attention).by_own_length) return blocks;
  // A sequence that is not padded may fill no block.
  const std::int64_t own = std::min((length + config.block_size - 1) / config.block_size, blocks);
  return std::max<std::int64_t>(own, 1);
}

std::int64_t planned_layer(const ModelConfig& config, std::int64_t layer) {
  if (!system_of(config.attention).by_own_length) return layer;
  if (config.attention == AttentionPattern::longformer) {
    for (std::int64_t earlier = 0; earlier < layer; ++earlier) {
      if (longformer_window(config, earlier) == longformer_window(config, layer) &&
          longformer_dilation(config, earlier) == longformer_dilation(config, layer))
        return earlier;
    }
    return layer;
  }
  const bool in_turn = (config.attention == AttentionPattern::sparse_fixed ||
                        config.attention == AttentionPattern::sparse_strided) &&
                       config.attention_options.sparse.heads_as == HeadsAs::layers;
  return in_turn ? layer % 2 : 0;
}

}  // namespace bigbird
