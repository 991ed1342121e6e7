// Schedules of attention: every entry of a plan is worked off once, in even pieces, within the slots that the
// workspace counts.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "tests/cuda/attention_test.h"
#include "tests/kernels/decoder_attention.h"

namespace bigbird::kernels::cuda::testing {
namespace {

using Entry = std::tuple<int, int, int>;  // head, tile of the direction, listed tile

// How often each pair of tiles is named by the pieces of one direction, and that the pieces are sound.
std::map<Entry, Index> entries_of(const AttentionLists& lists, Index heads, Index tiles) {
  std::map<Entry, Index> found;
  std::map<std::pair<int, int>, Index> pieces_of_tile;
  std::set<int> slots;
  for (const AttentionPiece& piece : lists.pieces) {
    ++pieces_of_tile[{piece.head, piece.tile}];
    for (int i = piece.first; i < piece.first + piece.count; ++i) {
      const ListedTile& listed = lists.tiles[static_cast<std::size_t>(i)];
      if (i > piece.first) {
        EXPECT_GT(listed.tile, lists.tiles[static_cast<std::size_t>(i - 1)].tile) << "not ascending";
      }
      EXPECT_TRUE(found
                      .insert({{piece.head, piece.tile, listed.tile},
                               std::lround(std::exp2(static_cast<double>(listed.log2_count)))})
                      .second)
          << "listed twice";
    }
    if (piece.slot >= 0) {
      EXPECT_TRUE(slots.insert(piece.slot).second) << "two pieces in one slot";
    }
  }
  EXPECT_EQ(pieces_of_tile.size(), static_cast<std::size_t>(heads * tiles)) << "tiles left out";
  EXPECT_EQ(static_cast<Index>(slots.size()), lists.slots);
  if (!slots.empty()) {
    EXPECT_EQ(*slots.rbegin(), lists.slots - 1);
  }
  for (const CutTile& cut : lists.cuts) {
    EXPECT_EQ((pieces_of_tile[{cut.head, cut.tile}]), cut.slots);
    EXPECT_GT(cut.slots, 1);
    int slot = cut.first_slot;
    for (const AttentionPiece& piece : lists.pieces) {
      if (piece.head == cut.head && piece.tile == cut.tile) {
        EXPECT_EQ(piece.slot, slot++);
      }
    }
  }
  for (const AttentionPiece& piece : lists.pieces) {
    EXPECT_EQ(piece.slot < 0, (pieces_of_tile[{piece.head, piece.tile}]) == 1)
        << "a whole list needs no slot";
  }
  return found;
}

void check_against_plan(const PlanLists& plan, Index block_size) {
  const AttentionSchedule schedule(plan.view, block_size);
  const int ratio = static_cast<int>(block_size / schedule.tile_rows);
  ASSERT_EQ(schedule.tiles, plan.view.blocks * ratio);
  std::map<Entry, Index> by_query, by_key;
  for (std::size_t h = 0; h < plan.lists.size(); ++h) {
    for (std::size_t row = 0; row < plan.lists[h].size(); ++row) {
      for (const std::size_t key : plan.lists[h][row]) {
        for (int i = 0; i < ratio; ++i) {
          for (int j = 0; j < ratio; ++j) {
            const int query_tile = static_cast<int>(row) * ratio + i;
            const int key_tile = static_cast<int>(key) * ratio + j;
            ++by_query[{static_cast<int>(h), query_tile, key_tile}];
            ++by_key[{static_cast<int>(h), key_tile, query_tile}];
          }
        }
      }
    }
  }
  EXPECT_EQ(entries_of(schedule.by_query, plan.view.heads, schedule.tiles), by_query);
  EXPECT_EQ(entries_of(schedule.by_key, plan.view.heads, schedule.key_tiles), by_key);
  EXPECT_LE(schedule.by_query.slots, plan.view.heads * query_slots_per_head(schedule.tiles));
  EXPECT_LE(schedule.by_key.slots, plan.view.heads * key_slots_per_head(schedule.tiles));
}

TEST(AttentionSchedule, WorksOffEveryEntryOfThePlanOnce) {
  for (const Index block_size : {16, 32, 48, 64, 128, 192}) {
    for (const Index blocks : {4, 5, 17, 40}) {
      SCOPED_TRACE(std::to_string(blocks) + " blocks of " + std::to_string(block_size));
      check_against_plan(PlanLists(random_plan(2, blocks, 3)), block_size);
      check_against_plan(PlanLists(random_plan(2, blocks, 4, 2)), block_size);
      check_against_plan(PlanLists(every_block(1, blocks)), block_size);
    }
  }
}

TEST(AttentionSchedule, ListsThatNameNothingHaveAPiece) {
  reference::AttentionPlan lists = every_block(1, 5);
  for (auto& row : lists[0]) row = {1, 1};
  lists[0][2].clear();
  const PlanLists plan(lists);
  check_against_plan(plan, 64);
  const AttentionSchedule schedule(plan.view, 64);
  EXPECT_EQ(schedule.by_key.pieces.size(), 5u);
}

// Of a decoder: keys of other rows, more or fewer than queries, and causal attention.
TEST(AttentionSchedule, RectanglesAndTrianglesAreWorkedOffOnce) {
  struct Shape {
    Index queries, keys;
    bool causal;
  };
  for (const Index block_size : {16, 48, 64}) {
    for (const Shape& shape :
         {Shape{2, 50, false}, Shape{50, 2, false}, Shape{1, 1, false}, Shape{40, 40, true}}) {
      SCOPED_TRACE(std::to_string(shape.queries) + " by " + std::to_string(shape.keys));
      const DecoderPlan plan(2, shape.queries, shape.keys, shape.causal);
      const AttentionSchedule schedule(plan.view, block_size);
      const auto ratio = static_cast<int>(block_size / schedule.tile_rows);
      ASSERT_EQ(schedule.tiles, shape.queries * ratio);
      ASSERT_EQ(schedule.key_tiles, shape.keys * ratio);
      std::map<Entry, Index> by_query, by_key;
      for (int head = 0; head < 2; ++head) {
        for (int query = 0; query < schedule.tiles; ++query) {
          for (int key = 0; key < (shape.causal ? (query / ratio + 1) * ratio : schedule.key_tiles); ++key)
            by_query[{head, query, key}] = by_key[{head, key, query}] = 1;
        }
      }
      EXPECT_EQ(entries_of(schedule.by_query, 2, schedule.tiles), by_query);
      EXPECT_EQ(entries_of(schedule.by_key, 2, schedule.key_tiles), by_key);
      EXPECT_LE(schedule.by_query.slots, 2 * query_slots_per_head(schedule.tiles));
      EXPECT_LE(schedule.by_key.slots, 2 * key_slots_per_head(schedule.key_tiles));
    }
  }
}

// BigBird at 4096 tokens with the published distribution of random blocks (performance notes: busiest 18
// typically).
TEST(AttentionSchedule, BigBirdIsCutIntoEvenPieces) {
  const PlanLists plan(random_plan(12, 64, 5, 16));
  const AttentionSchedule schedule(plan.view, 64);
  // Two global rows of 64 tiles in pieces of 10 and 11; all others are whole.
  EXPECT_EQ(schedule.by_query.cuts.size(), 24u);
  EXPECT_EQ(schedule.by_query.slots, 24 * 6);
  EXPECT_EQ(schedule.by_query.pieces.size(), 12u * (62 + 2 * 6));
  for (const AttentionPiece& piece : schedule.by_query.pieces) EXPECT_LE(piece.count, 12);
  for (const AttentionPiece& piece : schedule.by_key.pieces) EXPECT_LE(piece.count, 16);
}

TEST(AttentionSchedule, FullAttentionIsNotCut) {
  const AttentionSchedule schedule(PlanLists(every_block(2, 40)).view, 64);
  EXPECT_TRUE(schedule.by_query.cuts.empty());
  EXPECT_TRUE(schedule.by_key.cuts.empty());
}

TEST(AttentionSchedule, ManyLongListsGetLongerPiecesInsteadOfMoreSlots) {
  reference::AttentionPlan lists = every_block(1, 64);
  for (std::size_t row = 0; row < 40; ++row) lists[0][row] = {row};
  const PlanLists plan(lists);
  check_against_plan(plan, 64);
}

TEST(AttentionSchedule, WorkspaceCoversEverySplitOfTheTokensIntoSequences) {
  for (const Index block_size : {16, 64, 128}) {
    AttentionProblem problem{3, 32, block_size, {}};
    for (const Index blocks : {4, 31, 17, 4, 64, 23})
      problem.add(random_plan(3, blocks, 9, 4), blocks * block_size);
    AttentionLimits limits;
    limits.sequences = 6;
    limits.tokens = problem.tokens();
    limits.heads = 3;
    limits.head_size = 32;
    limits.block_size = block_size;
    limits.training = true;
    const AttentionWorkspace workspace(limits, true);
    Index query_slots = 0, key_slots = 0, query_bound = 0, key_bound = 0;
    for (const auto& sequence : problem.sequences) {
      const AttentionSchedule schedule(sequence.plan->view, block_size);
      query_slots += schedule.by_query.slots;
      key_slots += schedule.by_key.slots;
      query_bound += 3 * query_slots_per_head(schedule.tiles);
      key_bound += 3 * key_slots_per_head(schedule.tiles);
    }
    EXPECT_LE(query_slots, query_bound);
    EXPECT_LE(query_bound, workspace.query_slots);
    EXPECT_LE(key_slots, key_bound);
    EXPECT_LE(key_bound, workspace.key_slots);
    const std::size_t tile_bytes = static_cast<std::size_t>(attention_tile_rows(block_size)) * 32 * 4;
    EXPECT_GE(workspace.partial_statistics - workspace.partial_rows,
              static_cast<std::size_t>(workspace.query_slots) * tile_bytes);
    EXPECT_GE(workspace.query_gradients - workspace.partial_keys,
              static_cast<std::size_t>(workspace.key_slots) * 2 * tile_bytes);
    limits.training = false;
    EXPECT_LT(attention_workspace_bytes(limits, true), workspace.bytes);
  }
}

TEST(AttentionSchedule, ShapesThatTheDeviceCannotServeSayWhy) {
  EXPECT_EQ(attention_refusal(64, 64), "");
  EXPECT_EQ(attention_refusal(128, 16), "");
  EXPECT_EQ(attention_refusal(63, 24), "");
  EXPECT_EQ(attention_refusal(129, 64), "CUDA attention has heads of at most 128 columns, not 129");
  EXPECT_EQ(
      attention_refusal(128, 24),
      "CUDA attention has heads of at most 127 columns for blocks of no multiple of 16 tokens, not 128");
  EXPECT_THROW(AttentionSchedule(PlanLists(every_block(1, 4)).view, 24), std::logic_error);
}

}  // namespace
}  // namespace bigbird::kernels::cuda::testing
