// From a block plan to pieces of tile lists; see schedule.h.
#include "kernels/cuda/attention/schedule.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace bigbird::kernels::cuda {
namespace {

Index rounded_up_quotient(Index count, Index part) {
  return (count + part - 1) / part;
}

// The list of one row of blocks, as ascending tiles with how often each is named; the same for every tile of
// the row's block.
void append_list(const std::int32_t* blocks, Index count, Index tiles_per_block,
                 std::vector<ListedTile>& tiles) {
  std::vector<std::int32_t> sorted(blocks, blocks + count);
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t end = i;
    while (end < sorted.size() && sorted[end] == sorted[i]) ++end;
    const float log2_count = std::log2(static_cast<float>(end - i));
    for (Index part = 0; part < tiles_per_block; ++part) {
      tiles.push_back({static_cast<std::int32_t>(sorted[i] * tiles_per_block + part), log2_count});
    }
    i = end;
  }
}

// Lists of one direction, of queries' blocks or of keys': offsets [heads * blocks + 1] into other_blocks.
// Lists longer than anywhere near the mean are cut into pieces of at most `piece` tiles, or of more when the
// slots would not do.
AttentionLists make_lists(Index heads, Index blocks, const std::int32_t* offsets,
                          const std::int32_t* other_blocks, Index tiles_per_block, Index piece,
                          Index slots_per_head) {
  constexpr Index short_list = 16;  // not worth cutting
  AttentionLists lists;
  struct List {
    Index first, count;
  };
  const Index tiles = blocks * tiles_per_block;
  std::vector<List> all;  // [head][block]; the tiles of a block share theirs
  Index entries = 0;
  for (Index row = 0; row < heads * blocks; ++row) {
    const Index first = static_cast<Index>(lists.tiles.size());
    append_list(other_blocks + offsets[row], offsets[row + 1] - offsets[row], tiles_per_block, lists.tiles);
    const Index count = static_cast<Index>(lists.tiles.size()) - first;
    all.push_back({first, count});
    entries += count;
  }
  const Index mean = heads * blocks > 0 ? entries / (heads * blocks) : 0;
  const Index longest_whole = std::max(short_list, mean + mean / 2);
  piece = std::max(piece, mean);
  for (Index head = 0; head < heads; ++head) {
    const List* const of_head = all.data() + head * blocks;
    const auto slots_of = [&](const List& list, Index length) {
      return list.count > std::max(longest_whole, length) ? rounded_up_quotient(list.count, length) : 0;
    };
    Index length = piece;
    for (;; length += 1 + length / 4) {
      Index slots = 0;
      for (Index block = 0; block < blocks; ++block)
        slots += tiles_per_block * slots_of(of_head[block], length);
      if (slots <= slots_per_head) break;
    }
    for (Index tile = 0; tile < tiles; ++tile) {
      const List& list = of_head[tile / tiles_per_block];
      const Index slots = slots_of(list, length);
      if (slots == 0) continue;
      lists.cuts.push_back({static_cast<std::int32_t>(head), static_cast<std::int32_t>(tile), lists.slots,
                            static_cast<std::int32_t>(slots)});
      for (Index i = 0; i < slots; ++i) {
        const Index begin = list.count * i / slots, end = list.count * (i + 1) / slots;
        lists.pieces.push_back({static_cast<std::int32_t>(head), static_cast<std::int32_t>(tile),
                                static_cast<std::int32_t>(list.first + begin),
                                static_cast<std::int32_t>(end - begin), lists.slots++});
      }
    }
    for (Index tile = 0; tile < tiles; ++tile) {
      const List& list = of_head[tile / tiles_per_block];
      if (slots_of(list, length) > 0) continue;
      lists.pieces.push_back({static_cast<std::int32_t>(head), static_cast<std::int32_t>(tile),
                              static_cast<std::int32_t>(list.first), static_cast<std::int32_t>(list.count),
                              -1});
    }
  }
  return lists;
}

}  // namespace

AttentionSchedule::AttentionSchedule(const BlockPlanView& plan, Index block_size) {
  if (block_size <= 0 || block_size % 16 != 0) {
    throw std::logic_error("attention schedule for blocks of " + std::to_string(block_size));
  }
  tile_rows = attention_tile_rows(block_size);
  const Index tiles_per_block = block_size / tile_rows;
  const Index key_blocks = plan.key_count > 0 ? plan.key_count : plan.blocks;
  tiles = static_cast<std::int32_t>(plan.blocks * tiles_per_block);
  key_tiles = static_cast<std::int32_t>(key_blocks * tiles_per_block);
  by_query = make_lists(plan.heads, plan.blocks, plan.row_offsets, plan.key_blocks, tiles_per_block, 12,
                        query_slots_per_head(tiles));
  by_key = make_lists(plan.heads, key_blocks, plan.column_offsets, plan.query_blocks, tiles_per_block, 16,
                      key_slots_per_head(key_tiles));
}

}  // namespace bigbird::kernels::cuda
