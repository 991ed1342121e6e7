// Key lists of star, BlockBERT and the fixed Sparse Transformer against their sets, written out pair by pair
// (the numbered checks of the specification's sections on them), and what models they refuse. Against
// DeepSpeed's lists: tests/golden/test_sparse_fixed.cpp; computed: tests/unit/model/network.
#include "lib/model/plans/patterns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "lib/core/error.h"
#include "lib/model/network/validate_config.h"
#include "lib/model/plans/block_plan.h"

namespace bigbird {
namespace {

using Sees = std::function<bool(std::int64_t head, std::int64_t row, std::int64_t key)>;

// Lists are exactly the blocks that are seen, each once and ascending.
void expect_lists(const KeyLists& lists, std::int64_t heads, std::int64_t blocks, const Sees& sees) {
  ASSERT_EQ(lists.size(), static_cast<std::size_t>(heads));
  for (std::int64_t head = 0; head < heads; ++head) {
    const auto& rows = lists[static_cast<std::size_t>(head)];
    ASSERT_EQ(rows.size(), static_cast<std::size_t>(blocks));
    for (std::int64_t row = 0; row < blocks; ++row) {
      std::vector<std::int32_t> expected;
      for (std::int64_t key = 0; key < blocks; ++key) {
        if (sees(head, row, key)) expected.push_back(static_cast<std::int32_t>(key));
      }
      EXPECT_EQ(rows[static_cast<std::size_t>(row)], expected) << "head " << head << ", row " << row;
    }
  }
}

ModelConfig config_with(AttentionPattern attention, std::int64_t heads = 12, std::int64_t block_size = 16) {
  ModelConfig config;
  config.attention = attention;
  config.num_attention_heads = heads;
  config.hidden_size = 12 * heads;
  config.block_size = block_size;
  config.max_position_embeddings = 64 * block_size;
  config.attention_options.sparse.stride = 4 * block_size;
  return config;
}

std::string refusal(const ModelConfig& config) {
  try {
    validate(config, "here");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_FALSE(error.hint().empty());
    return error.message();
  }
  return {};
}

TEST(Star, ListsAreTheGraphOfDefinition1) {
  for (const std::int64_t blocks : {1, 2, 3, 9}) {
    expect_lists(star_rows(blocks, 2), 2, blocks, [](std::int64_t, std::int64_t row, std::int64_t key) {
      return row == 0 || key == 0 || key == row;
    });
  }
  const PlanStatistics facts = plan_statistics(star_rows(9, 1)[0]);
  EXPECT_EQ(facts.star_centres, std::vector<std::int64_t>{0});
  EXPECT_EQ(facts.longest_path, 2);
  EXPECT_EQ(facts.distinct, 3 * 9 - 2);
}

TEST(Star, NeverTakesFullAttention) {
  const ModelConfig config = config_with(AttentionPattern::star);
  for (std::int64_t blocks = 1; blocks <= 64; ++blocks) EXPECT_EQ(full_attention_reason(config, blocks), "");
}

TEST(BlockBert, B2HeadsAreSplitAsPublished) {
  ModelConfig config = config_with(AttentionPattern::blockbert);
  const auto heads_of = [&](std::int64_t heads, std::int64_t parts, std::vector<std::int64_t> split = {}) {
    config.num_attention_heads = heads;
    config.attention_options.blockbert = {parts, std::move(split)};
    return blockbert_heads(config);
  };
  using Counts = std::vector<std::int64_t>;
  EXPECT_EQ(heads_of(12, 2), (Counts{10, 2}));
  EXPECT_EQ(heads_of(12, 3), (Counts{10, 1, 1}));
  EXPECT_EQ(heads_of(12, 1), Counts{12});
  EXPECT_EQ(heads_of(12, 2, {11, 1}), (Counts{11, 1}));
  EXPECT_EQ(heads_of(12, 3, {8, 2, 2}), (Counts{8, 2, 2}));
  // Other numbers of heads: the same shares, rounded, identity first.
  EXPECT_EQ(heads_of(4, 2), (Counts{3, 1}));
  EXPECT_EQ(heads_of(24, 3), (Counts{20, 2, 2}));
  EXPECT_EQ(heads_of(4, 4, {1, 1, 1, 1}), (Counts{1, 1, 1, 1}));
  EXPECT_EQ(heads_of(2, 3), (Counts{1, 1}));
  EXPECT_EQ(heads_of(1, 2), Counts{1});
  for (const std::int64_t heads : {1, 2, 3, 5, 8, 16, 25}) {
    for (const std::int64_t parts : {1, 2, 3, 4, 7, 16}) {
      const Counts counts = heads_of(heads, parts);
      std::int64_t sum = 0;
      for (const std::int64_t count : counts) sum += count;
      EXPECT_EQ(sum, heads) << parts;
      EXPECT_GE(*std::min_element(counts.begin(), counts.end()), 1) << heads << " " << parts;
      EXPECT_LE(counts.size(), static_cast<std::size_t>(parts));
    }
  }
}

TEST(BlockBert, B2ListsOfTheSplit) {
  // 10:2 of 8 blocks in 2 parts: ten heads see their own half, two the other one.
  expect_lists(blockbert_rows(8, 2, {10, 2}), 12, 8,
               [](std::int64_t head, std::int64_t row, std::int64_t key) {
                 return (key / 4 == row / 4) == (head < 10);
               });
  // (1 2 3), (2 3 1), (3 1 2), the last part shorter.
  expect_lists(
      blockbert_rows(8, 3, {1, 1, 1}), 3, 8,
      [](std::int64_t head, std::int64_t row, std::int64_t key) { return key / 3 == (row / 3 + head) % 3; });
}

TEST(BlockBert, B3EveryRowHasKeysAndEveryBlockIsSeen) {
  for (const std::int64_t parts : {1, 2, 3, 4, 5}) {
    for (std::int64_t blocks = parts; blocks <= 3 * parts; ++blocks) {
      const KeyLists lists =
          blockbert_rows(blocks, parts, std::vector<std::int64_t>(static_cast<std::size_t>(parts), 1));
      for (const auto& head : lists) {
        std::vector<int> seen(static_cast<std::size_t>(blocks), 0);
        for (const auto& row : head) {
          EXPECT_FALSE(row.empty()) << blocks << " blocks, " << parts << " parts";
          for (const std::int32_t key : row) ++seen.at(static_cast<std::size_t>(key));
        }
        EXPECT_GT(*std::min_element(seen.begin(), seen.end()), 0) << blocks << " blocks, " << parts;
      }
    }
  }
}

TEST(BlockBert, TakesFullAttentionBelowAsManyBlocksAsParts) {
  ModelConfig config = config_with(AttentionPattern::blockbert);
  config.attention_options.blockbert.parts = 3;
  EXPECT_EQ(full_attention_reason(config, 2), "sequences of fewer than 3 blocks of 16 tokens (3 parts)");
  EXPECT_EQ(full_attention_reason(config, 3), "");
}

// What a token sees in the fixed pattern: its own chunk, and the columns of the head's summary.
bool sparse_sees(const SparseFixed& of, std::int64_t head, std::int64_t row, std::int64_t key, bool local,
                 bool summary) {
  const std::int64_t from_end = of.chunk - 1 - key % of.chunk;
  return (local && row / of.chunk == key / of.chunk) ||
         (summary && from_end / of.summary == head % of.patterns);
}

TEST(SparseTransformer, FixedListsAreTheirSets) {
  for (const SparseFixed& of : {SparseFixed{4, 1, 1}, SparseFixed{4, 1, 4}, SparseFixed{4, 2, 2},
                                SparseFixed{6, 2, 3}, SparseFixed{3, 1, 2}}) {
    for (const std::int64_t blocks : {1, 3, 4, 7, 8, 13}) {
      for (const bool causal : {false, true}) {
        const auto rows = causal ? sparse_fixed_causal_rows : sparse_fixed_rows;
        const auto sees = [&](bool local, bool summary) {
          return [&of, causal, local, summary](std::int64_t head, std::int64_t row, std::int64_t key) {
            return (!causal || key <= row) && sparse_sees(of, head, row, key, local, summary);
          };
        };
        SparseFixed how = of;
        expect_lists(rows(how, blocks, 5, 0), 5, blocks, sees(true, true));
        how.heads_as = HeadsAs::layers;
        expect_lists(rows(how, blocks, 5, 0), 5, blocks, sees(true, false));
        expect_lists(rows(how, blocks, 5, 3), 5, blocks, sees(false, true));
        how.heads_as = HeadsAs::split;  // of five heads three have the chunk
        expect_lists(rows(how, blocks, 5, 1), 5, blocks, [&](auto head, auto row, auto key) {
          return sees(head < 3, head >= 3)(head, row, key);
        });
      }
    }
  }
}

TEST(SparseTransformer, S2NothingStandsAboveTheDiagonal) {
  for (const SparseFixed& of : {SparseFixed{4, 2, 2}, SparseFixed{8, 4, 2}, SparseFixed{6, 2, 3}}) {
    for (const auto& head : sparse_fixed_causal_rows(of, 21, 4, 0)) {
      for (std::size_t row = 0; row < head.size(); ++row) {
        EXPECT_EQ(head[row].back(), static_cast<std::int32_t>(row));  // its own block
        EXPECT_TRUE(std::is_sorted(head[row].begin(), head[row].end()));
      }
    }
  }
}

// Blocks of one token, a stride of sqrt(T).
TEST(SparseTransformer, S4AllPairsAreConnectedInTwoLayers) {
  for (const std::int64_t stride : {4, 8, 16}) {
    const std::int64_t tokens = stride * stride;
    const auto rows = sparse_fixed_causal_rows({stride, 1, 1}, tokens, 1, 0)[0];
    std::size_t most = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      most = std::max(most, rows[i].size());
      std::vector<bool> reached(i + 1, false);
      for (const std::int32_t middle : rows[i]) {
        for (const std::int32_t j : rows[static_cast<std::size_t>(middle)])
          reached[static_cast<std::size_t>(j)] = true;
      }
      EXPECT_EQ(std::count(reached.begin(), reached.end(), false), 0) << "token " << i;
    }
    EXPECT_EQ(most, static_cast<std::size_t>(2 * stride - 1));
  }
}

TEST(SparseTransformer, TakesFullAttentionUpToOneStride) {
  const ModelConfig config = config_with(AttentionPattern::sparse_fixed);
  EXPECT_EQ(full_attention_reason(config, 4), "sequences of at most 64 tokens (one stride)");
  EXPECT_EQ(full_attention_reason(config, 5), "");
}

TEST(SparseTransformer, ModelsThatAPlanCannotServeAreRefused) {
  const ModelConfig good = config_with(AttentionPattern::sparse_fixed);
  EXPECT_EQ(refusal(good), "");
  const auto with = [&](const std::function<void(SparseOptions&)>& change) {
    ModelConfig config = good;
    change(config.attention_options.sparse);
    return refusal(config);
  };
  EXPECT_EQ(with([](SparseOptions& o) { o.stride = 72; }),
            "here: stride 72 is not a multiple of block_size 16");
  EXPECT_EQ(with([](SparseOptions& o) { o.summary = 8; }),
            "here: summary 8 is not a multiple of block_size 16");
  EXPECT_EQ(with([](SparseOptions& o) { o.summary_patterns = 5; }),
            "here: summary_patterns 5 of summary 16 are more than the stride 64");
  EXPECT_EQ(with([](SparseOptions& o) { o.summary = 64; }), "here: summary 64 is the whole stride");
  EXPECT_EQ(with([](SparseOptions& o) { o.stride = 1024; }),
            "here: stride 1024 of max_position_embeddings 1024");
  ModelConfig one = config_with(AttentionPattern::sparse_fixed, 1);
  one.attention_options.sparse.heads_as = HeadsAs::split;
  EXPECT_EQ(refusal(one), "here: heads_as split with num_attention_heads 1");
  one.attention_options.sparse.heads_as = HeadsAs::layers;
  one.num_hidden_layers = 1;
  EXPECT_EQ(refusal(one), "here: heads_as layers with num_hidden_layers 1");
}

TEST(BlockBert, ModelsThatAPlanCannotServeAreRefused) {
  ModelConfig config = config_with(AttentionPattern::blockbert, 4);
  EXPECT_EQ(refusal(config), "");
  config.attention_options.blockbert.parts = 65;
  EXPECT_EQ(refusal(config),
            "here: parts 65 of at most 64 blocks (max_position_embeddings 1024, block_size 16)");
  config.attention_options.blockbert = {2, {2, 1, 1}};
  EXPECT_EQ(refusal(config), "here: head_split 2:1:1 has 3 shares for 2 parts");
  config.attention_options.blockbert = {5, {1, 1, 1, 1, 1}};
  EXPECT_EQ(refusal(config),
            "here: head_split 1:1:1:1:1 leaves none of num_attention_heads 4 to its first share");
}

}  // namespace
}  // namespace bigbird
