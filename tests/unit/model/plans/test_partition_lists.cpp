// Lists of BP-Transformer: the worked example and the numbers of docs/specification.md, and by brute force
// that what a token sees is the whole sequence, each token once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "lib/model/plans/partition_lists.h"
#include "lib/model/plans/token_pairs.h"

namespace bigbird {
namespace {

// "(level,node)tLABEL" of what a node sees, as the list has it.
std::string list_of(const BinaryPartition& lists, std::size_t node) {
  std::string text;
  for (std::int32_t entry = lists.offsets[node]; entry < lists.offsets[node + 1]; ++entry) {
    const std::int32_t row = lists.rows[static_cast<std::size_t>(entry)];
    std::size_t level = 0;
    while (row >= lists.level_begins[level + 1]) ++level;
    text += "(" + std::to_string(level) + "," + std::to_string(row - lists.level_begins[level]) + ")t" +
            std::to_string(lists.labels[static_cast<std::size_t>(entry)]) + " ";
  }
  return text;
}

// The tokens under a node.
std::vector<std::int64_t> tokens_under(const BinaryPartition& lists, std::int32_t node, std::int64_t tokens) {
  std::size_t level = 0;
  while (node >= lists.level_begins[level + 1]) ++level;
  const std::int64_t number = node - lists.level_begins[level];
  std::vector<std::int64_t> under;
  for (std::int64_t token = number << level; token < (number + 1) << level && token < tokens; ++token)
    under.push_back(token);
  return under;
}

TEST(Bpt, P1TheListsOfEightTokens) {
  const BinaryPartition lists = binary_partition(8, {1, 5}, false);
  EXPECT_EQ(lists.level_begins, (std::vector<std::int32_t>{0, 8, 12, 14, 15}));
  EXPECT_EQ(lists.rows.size(), 66u);
  EXPECT_EQ(list_of(lists, 0), "(0,0)t0 (0,1)t2 (1,1)t5 (2,1)t8 ");
  EXPECT_EQ(list_of(lists, 3), "(0,3)t0 (0,4)t2 (0,2)t1 (0,5)t5 (1,0)t4 (1,3)t8 ");
  // Token 3 is seen by the spans (1,1), (2,0) and (3,0), whose numbers are 9, 12 and 14.
  EXPECT_EQ(list_of(lists, 9), "(0,2)t3 (0,3)t3 ");
  EXPECT_EQ(list_of(lists, 12), "(0,0)t6 (0,1)t6 (0,2)t6 (0,3)t6 ");
  EXPECT_EQ(list_of(lists, 14), "(0,0)t9 (0,1)t9 (0,2)t9 (0,3)t9 (0,4)t9 (0,5)t9 (0,6)t9 (0,7)t9 ");
  // Levels from clip_levels on share their labels.
  EXPECT_EQ(list_of(binary_partition(8, {1, 1}, false), 3),
            "(0,3)t0 (0,4)t2 (0,2)t1 (0,5)t5 (1,0)t4 (1,3)t5 ");
  EXPECT_EQ(partition_labels({4, 5}), 54);
}

TEST(Bpt, P1EdgesAndTheLargestLists) {
  for (const auto& [tokens, contextual, edges, largest] :
       {std::tuple{512, 4, 28'378, 50}, std::tuple{4096, 4, 336'162, 74},
        std::tuple{4096, 64, 2'477'374, 645}}) {
    const BinaryPartition lists = binary_partition(tokens, {contextual, 5}, false);
    EXPECT_EQ(lists.rows.size(), static_cast<std::size_t>(edges)) << tokens << " " << contextual;
    EXPECT_EQ(lists.labels.size(), lists.rows.size());
    std::int32_t most = 0;  // itself counts
    for (std::size_t leaf = 0; leaf < static_cast<std::size_t>(tokens); ++leaf)
      most = std::max(most, lists.offsets[leaf + 1] - lists.offsets[leaf]);
    EXPECT_EQ(most - 1, largest) << tokens << " " << contextual;
    EXPECT_LT(*std::max_element(lists.labels.begin(), lists.labels.end()), partition_labels({contextual, 5}));
  }
}

// Lengths that are powers of two and others, where an odd level ends with a node of one child.
constexpr std::int64_t lengths[] = {1, 2, 3, 5, 8, 13, 16, 31, 64, 100};
constexpr std::int64_t contexts[] = {1, 2, 3, 4, 8};

TEST(Bpt, P2EveryTokenSeesEveryTokenOnce) {
  for (const std::int64_t tokens : lengths) {
    for (const std::int64_t contextual : contexts) {
      for (const bool causal : {false, true}) {
        const BinaryPartition lists = binary_partition(tokens, {contextual, 5}, causal);
        ASSERT_EQ(lists.nodes(), tokens + partition_spans(tokens));
        ASSERT_EQ(lists.offsets.size(), static_cast<std::size_t>(lists.nodes()) + 1);
        for (std::int64_t leaf = 0; leaf < tokens; ++leaf) {
          std::vector<int> seen(static_cast<std::size_t>(tokens), 0);
          for (std::int32_t entry = lists.offsets[static_cast<std::size_t>(leaf)];
               entry < lists.offsets[static_cast<std::size_t>(leaf) + 1]; ++entry) {
            for (const std::int64_t token :
                 tokens_under(lists, lists.rows[static_cast<std::size_t>(entry)], tokens))
              ++seen[static_cast<std::size_t>(token)];
          }
          for (std::int64_t token = 0; token < tokens; ++token) {
            ASSERT_EQ(seen[static_cast<std::size_t>(token)], causal && token > leaf ? 0 : 1)
                << tokens << " tokens, k " << contextual << ": token " << leaf << " and " << token;
          }
        }
        for (std::int64_t node = tokens; node < lists.nodes(); ++node) {
          std::vector<std::int64_t> listed;
          for (std::int32_t entry = lists.offsets[static_cast<std::size_t>(node)];
               entry < lists.offsets[static_cast<std::size_t>(node) + 1]; ++entry)
            listed.push_back(lists.rows[static_cast<std::size_t>(entry)]);
          EXPECT_EQ(listed, tokens_under(lists, static_cast<std::int32_t>(node), tokens));
        }
        EXPECT_LE(static_cast<std::int64_t>(lists.rows.size()),
                  most_partition_entries(tokens, tokens, {contextual, 5}));
      }
    }
  }
}

// A node is nearer to the token the smaller its level: levels never fall along a walk to one side, and a
// level has no more nodes than there are places, a child besides.
TEST(Bpt, P2LevelsGrowWithTheDistance) {
  const std::int64_t tokens = 100;
  for (const std::int64_t contextual : contexts) {
    const BinaryPartition lists = binary_partition(tokens, {contextual, 5}, false);
    for (std::size_t leaf = 0; leaf < static_cast<std::size_t>(tokens); ++leaf) {
      for (const std::int32_t side : {1, 0}) {  // labels to the left are odd in their level
        std::int32_t last = -1;
        for (std::int32_t entry = lists.offsets[leaf] + 1; entry < lists.offsets[leaf + 1]; ++entry) {
          const std::int32_t label = lists.labels[static_cast<std::size_t>(entry)];
          const auto places = static_cast<std::int32_t>(2 * contextual + 1);
          if (label % places % 2 != side) continue;
          EXPECT_GT(label, label / places < 5 ? last : -1);
          last = label;
        }
      }
    }
  }
}

TEST(Bpt, P4AnyTwoTokensMeetInTwoLayers) {
  for (const std::int64_t tokens : lengths) {
    for (const std::int64_t contextual : contexts) {
      const BinaryPartition lists = binary_partition(tokens, {contextual, 5}, false);
      const auto nodes = static_cast<std::size_t>(lists.nodes());
      // Of one layer what a node has met: itself and what it sees; of the next what these have.
      std::vector<std::set<std::int32_t>> met(nodes);
      for (std::size_t node = 0; node < nodes; ++node) {
        met[node].insert(static_cast<std::int32_t>(node));
        met[node].insert(lists.rows.begin() + lists.offsets[node],
                         lists.rows.begin() + lists.offsets[node + 1]);
      }
      for (std::size_t leaf = 0; leaf < static_cast<std::size_t>(tokens); ++leaf) {
        std::set<std::int32_t> after_two = met[leaf];
        for (const std::int32_t seen : met[leaf])
          after_two.insert(met[static_cast<std::size_t>(seen)].begin(),
                           met[static_cast<std::size_t>(seen)].end());
        for (std::int32_t other = 0; other < tokens; ++other) ASSERT_TRUE(after_two.contains(other));
      }
    }
  }
}

TEST(Bpt, PairsAndKeysAreThoseOfTheLists) {
  ModelConfig config;
  config.num_attention_heads = 3;
  become_bpt(config);
  config.attention_options.bpt = {2, 5};
  const BinaryPartition lists = binary_partition(100, {2, 5}, false);
  EXPECT_EQ(visible_pairs(config, 0, 100), 3 * static_cast<std::int64_t>(lists.rows.size()));
  EXPECT_EQ(token_numbers(config, 100).all, lists.nodes());
  const std::vector<TokenHeads> heads = token_heads(config, 0, 100);
  ASSERT_EQ(heads.size(), 1u);
  EXPECT_EQ(heads[0].heads, 3);
  std::int64_t pairs = 0, of_tokens = 0, in_cells = 0, of_cells = 0;
  for (std::size_t node = 0; node < heads[0].rows.size(); ++node) {
    for (const std::int32_t key : heads[0].rows[node]) {
      ++pairs;
      of_tokens += node < 100 && key < 100 ? 1 : 0;
    }
  }
  EXPECT_EQ(pairs, static_cast<std::int64_t>(lists.rows.size()));
  for (const auto& row : token_cells(config, 0, 0, 100, 8)) {
    for (const TokenCell& cell : row) {
      in_cells += cell.in_window + cell.beyond;
      of_cells += cell.in_window;
    }
  }
  EXPECT_EQ(in_cells, pairs);
  EXPECT_EQ(of_cells, of_tokens);
}

}  // namespace
}  // namespace bigbird
