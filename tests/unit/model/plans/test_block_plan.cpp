// Block plans: patterns, transpose, the cache, and graph facts. When attention is full:
// test_full_attention.cpp.
#include "lib/model/plans/block_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "lib/core/error.h"
#include "lib/model/plans/plan_table.h"

namespace bigbird {
namespace {

// hf-train, because google takes full attention up to 512 tokens: 32 of these blocks.
ModelConfig small_config() {
  ModelConfig config;
  config.num_attention_heads = 2;
  config.block_size = 16;
  config.random_mode = RandomMode::hf_train;
  return config;
}

TEST(BlockPlan, TransposeListsTheSamePairsWithRepeats) {
  const BlockPlan plan({{{0, 1, 1}, {1}, {0, 2, 0}}, {{2}, {2, 2}, {1}}});
  const kernels::BlockPlanView& view = plan.view();
  std::map<std::vector<int>, int> forward, transposed;
  for (int h = 0; h < 2; ++h) {
    for (int i = 0; i < 3; ++i) {
      for (int at = view.row_offsets[h * 3 + i]; at < view.row_offsets[h * 3 + i + 1]; ++at) {
        ++forward[{h, i, view.key_blocks[at]}];
      }
      for (int at = view.column_offsets[h * 3 + i]; at < view.column_offsets[h * 3 + i + 1]; ++at) {
        ++transposed[{h, view.query_blocks[at], i}];
      }
    }
  }
  EXPECT_EQ(forward, transposed);
  EXPECT_EQ((forward[{0, 2, 0}]), 2);
}

TEST(BlockPlan, ItcRowsHaveTheSpecifiedKeyCounts) {
  PlanCache cache(small_config());
  const std::int64_t n = 20, r = 3;
  const kernels::BlockPlanView& view = cache.plan(0, n).view();
  for (std::int64_t h = 0; h < 2; ++h) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t count = view.row_offsets[h * n + i + 1] - view.row_offsets[h * n + i];
      const std::int64_t expected = i == 0 || i == n - 1 ? n : i == 1 || i == n - 2 ? 4 + r : 5 + r;
      EXPECT_EQ(count, expected) << "row " << i;
    }
  }
}

TEST(BlockPlan, LayersAndHeadsDifferAndRepeatCallsAgree) {
  PlanCache cache(small_config());
  const auto keys = [&](std::int64_t layer) {
    const kernels::BlockPlanView& view = cache.plan(layer, 20).view();
    return std::vector<std::int32_t>(view.key_blocks, view.key_blocks + view.row_offsets[40]);
  };
  EXPECT_NE(keys(0), keys(1));
  EXPECT_EQ(keys(0), keys(0));
}

TEST(BlockPlan, HfEvalRepeatsBlockZero) {
  ModelConfig config = small_config();
  config.random_mode = RandomMode::hf_eval;
  PlanCache cache(config);
  const kernels::BlockPlanView& view = cache.plan(0, 20).view();
  EXPECT_EQ(std::count(view.key_blocks + view.row_offsets[5], view.key_blocks + view.row_offsets[6], 0),
            1 + 3);
}

TEST(BlockPlan, ModeNoneListsGlobalBlocksAndWindowAlone) {
  ModelConfig config = small_config();
  config.random_mode = RandomMode::none;
  PlanCache cache(config);
  const kernels::BlockPlanView& view = cache.plan(3, 6).view();
  EXPECT_EQ(view.row_offsets[3] - view.row_offsets[2], 5);
}

TEST(BlockPlan, ModeFileTakesTheListsOfThePlan) {
  const PlanTable::Heads first{{{0}, {1, 1, 0}}, {{1}, {0}}}, second{{{1}, {1}}, {{0}, {0, 1}}};
  ModelConfig config = small_config();
  config.random_mode = RandomMode::file;
  config.plan = std::make_shared<const PlanTable>(16, std::vector<PlanTable::Heads>{first, second}, "here");
  PlanCache cache(config);
  const auto lists = [&](std::int64_t layer) {
    const kernels::BlockPlanView& view = cache.plan(layer, 2).view();
    return std::vector<std::int32_t>(view.key_blocks, view.key_blocks + view.row_offsets[4]);
  };
  EXPECT_EQ(lists(0), (std::vector<std::int32_t>{0, 1, 1, 0, 1, 0}));
  EXPECT_EQ(lists(1), (std::vector<std::int32_t>{1, 1, 0, 0, 1}));
  EXPECT_FALSE(cache.full_attention(2));  // however short
  EXPECT_THROW(cache.plan(0, 3), Error);
}

// The paper's 128 tokens are two blocks: each sees all once, and no row lists one of them twice for it.
TEST(BlockPlan, FirstBlocksAreMadeGlobalAndTheRestOfARowStays) {
  const ModelConfig config = small_config();
  const std::int64_t blocks = 24;
  const auto published = plan_rows(config, 0, blocks, false);
  auto rows = published;
  make_first_blocks_global(rows, 0);
  EXPECT_EQ(rows, published);
  make_first_blocks_global(rows, 2);
  for (std::size_t head = 0; head < rows.size(); ++head) {
    for (std::size_t row = 0; row < rows[head].size(); ++row) {
      const std::vector<std::int32_t>& keys = rows[head][row];
      const std::vector<std::int32_t>& before = published[head][row];
      if (row < 2) {
        EXPECT_EQ(keys.size(), 24u);
        for (std::int32_t block = 0; block < 24; ++block)
          EXPECT_EQ(std::count(keys.begin(), keys.end(), block), 1);
        continue;
      }
      ASSERT_GE(keys.size(), before.size());
      EXPECT_TRUE(std::equal(before.begin(), before.end(), keys.begin()));
      for (const std::int32_t block : {0, 1}) {
        const auto listed = std::count(before.begin(), before.end(), block);
        EXPECT_EQ(std::count(keys.begin(), keys.end(), block), std::max<std::ptrdiff_t>(listed, 1));
      }
      EXPECT_LE(keys.size(), before.size() + 1) << "block 0 is global already";
    }
  }
  make_first_blocks_global(rows, 100);  // more than there are
  EXPECT_EQ(rows[0][23].size(), 24u);
}

TEST(BlockPlan, PatternsWithoutGlobalBlocks) {
  const std::int64_t n = 16;
  const auto random =
      random_blocks_for(AttentionPattern::window_random, n, 16, 2, 3, 5, RandomMode::google, 4096);
  const auto rows = pattern_rows(AttentionPattern::window_random, n, 2, random);
  for (const auto& head : rows) {
    for (std::int64_t i = 0; i < n; ++i) {
      auto keys = head[static_cast<std::size_t>(i)];
      EXPECT_EQ(keys.size(), (i == 0 || i == n - 1 ? 2u : 3u) + 3u);
      std::sort(keys.begin(), keys.end());
      EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end()) << "no repeats";
    }
  }
  const auto window = pattern_rows(AttentionPattern::window, 5, 1, {});
  EXPECT_EQ(window[0][0], (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(window[0][4], (std::vector<std::int32_t>{3, 4}));
}

TEST(BlockPlan, InfeasibleLengthsSayWhatWorks) {
  try {
    random_blocks(9, 64, 12, 3, 0, RandomMode::google, 4096);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("9 blocks with 3 random"), std::string::npos);
    EXPECT_NE(error.hint().find("12 blocks or more"), std::string::npos);
  }
  EXPECT_THROW(random_blocks(64, 64, 12, 13, 0, RandomMode::google, 4096), Error);  // old plan: at most 12
  EXPECT_NO_THROW(random_blocks(64, 64, 12, 12, 0, RandomMode::google, 4096));
}

TEST(PlanStatistics, ItcHoldsAStarAndShortPaths) {
  PlanCache cache(small_config());
  const auto rows = pattern_rows(AttentionPattern::bigbird, 30, 1,
                                 random_blocks(30, 16, 1, 3, 0, RandomMode::google, 4096));
  const PlanStatistics itc = plan_statistics(rows[0]);
  EXPECT_EQ(itc.star_centres, (std::vector<std::int64_t>{0, 29}));
  EXPECT_EQ(itc.longest_path, 2);
  EXPECT_EQ(itc.unreachable_pairs, 0);
  EXPECT_EQ(itc.listed, 2 * 30 + 2 * 7 + 26 * 8);

  const PlanStatistics window = plan_statistics(pattern_rows(AttentionPattern::window, 5, 1, {})[0]);
  EXPECT_TRUE(window.star_centres.empty());
  EXPECT_EQ(window.longest_path, 4);
  EXPECT_DOUBLE_EQ(window.mean_path, 2.0);  // of a line of five: (4*1 + 3*2 + 2*3 + 1*4) / 10
  EXPECT_EQ(window.min_in, 2);
  EXPECT_EQ(window.max_in, 3);
}

TEST(PlanStatistics, CountsUnreachablePairs) {
  const PlanStatistics facts = plan_statistics({{0}, {0, 1}, {2}});
  EXPECT_EQ(facts.unreachable_pairs, 5);  // only 1 -> 0 is connected
}

}  // namespace
}  // namespace bigbird
