// Which tokens meet, where single tokens decide: pairs, keys and graphs against brute force over i and j, and
// the graph of tokens against the one that all eigenvalues of a dense matrix give.
#include "lib/model/plans/token_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "lib/core/eigenvalues.h"
#include "lib/core/error.h"
#include "lib/model/plans/patterns.h"
#include "lib/model/plans/plan_graph.h"

namespace bigbird {
namespace {

using SeesPair =
    std::function<bool(std::int64_t layer, std::int64_t head, std::int64_t query, std::int64_t key)>;

// Lists, pairs, cells and facts of a system against a formula.
void expect_token_pairs(const ModelConfig& config, std::int64_t length, const SeesPair& sees) {
  const std::int64_t tokens = token_numbers(config, length).all;
  for (std::int64_t layer = 0; layer < 2; ++layer) {
    std::int64_t pairs = 0, heads = 0;
    for (const TokenHeads& alike : token_heads(config, layer, length)) {
      EXPECT_EQ(alike.first_head, heads);
      heads += alike.heads;
      ASSERT_EQ(static_cast<std::int64_t>(alike.rows.size()), tokens);
      for (std::int64_t head = alike.first_head; head < heads; ++head) {
        std::int64_t of_cells = 0;
        for (const auto& row : token_cells(config, layer, head, length, 4)) {
          for (const TokenCell& cell : row) of_cells += cell.in_window + cell.beyond;
        }
        std::int64_t of_head = 0;
        for (std::int64_t i = 0; i < tokens; ++i) {
          std::vector<std::int32_t> keys;
          for (std::int64_t j = 0; j < tokens; ++j) {
            if (sees(layer, head, i, j)) keys.push_back(static_cast<std::int32_t>(j));
          }
          EXPECT_EQ(alike.rows[static_cast<std::size_t>(i)], keys) << layer << ' ' << head << ' ' << i;
          of_head += static_cast<std::int64_t>(keys.size());
        }
        EXPECT_EQ(of_cells, of_head);
        pairs += of_head;
      }
    }
    EXPECT_EQ(heads, config.num_attention_heads);
    EXPECT_EQ(visible_pairs(config, layer, length), pairs) << length;
  }
}

ModelConfig pairs_config(AttentionPattern attention) {
  ModelConfig config;
  config.attention = attention;
  config.num_attention_heads = 4;
  config.num_hidden_layers = 2;
  config.block_size = 4;
  return config;
}

// T (w + 1 + g) + g T pairs, less what the ends of the sequence lack and what stands in both groups.
TEST(Longformer, L7PairsAreCounted) {
  ModelConfig config = pairs_config(AttentionPattern::longformer);
  for (const std::int64_t globals : {0, 1, 7}) {
    for (const std::int64_t window : {2, 6, 40}) {
      for (const std::int64_t dilated : {0, 1, 4}) {
        config.attention_options.longformer = {.windows = {window, 4},
                                               .global_first = globals,
                                               .dilations = {dilated > 0 ? 3 : 1},
                                               .dilated_heads = dilated};
        for (const std::int64_t tokens : {1, 5, 30}) {
          expect_token_pairs(
              config, tokens, [&](std::int64_t layer, std::int64_t head, std::int64_t i, std::int64_t j) {
                const std::int64_t m = head >= 4 - dilated ? 3 : 1;
                return i < globals || j < globals ||
                       ((i - j) % m == 0 && std::abs(i - j) <= m * (layer == 0 ? window : 4) / 2);
              });
        }
      }
    }
  }
  // Of long sequences the ends are w/2 (w/2 + 1) pairs together, and what globals see of their windows stands
  // in both groups.
  config.attention_options.longformer = {.windows = {512}, .global_first = 1};
  constexpr std::int64_t tokens = 4096, window = 512;
  const std::int64_t edges = window / 2 * (window / 2 + 1), in_both = 2 * (window / 2) + 2;
  EXPECT_EQ(visible_pairs(config, 0, tokens), 4 * (tokens * (window + 1 + 1) + tokens - edges - in_both));
}

TEST(Longformer, L7ReceptiveFieldOfLayersIsTheirWindow) {
  ModelConfig config = pairs_config(AttentionPattern::longformer);
  config.attention_options.longformer = {.windows = {6}};
  // 3 tokens a layer and side.
  for (const std::int64_t blocks : {1, 4, 25})
    EXPECT_EQ(attention_facts(config, blocks).layers, (4 * blocks - 1 + 2) / 3) << blocks;
  config.attention_options.longformer = {.windows = {6, 2}};
  EXPECT_EQ(attention_facts(config, 25).layers, 49);  // 99 = 24 (3 + 1) + 3
  config.attention_options.longformer.global_first = 1;
  EXPECT_EQ(attention_facts(config, 25).layers, 2);
}

TEST(SparseTransformer, S3PairsOfStridesAreCounted) {
  ModelConfig config = pairs_config(AttentionPattern::sparse_strided);
  for (const HeadsAs heads_as : {HeadsAs::merged, HeadsAs::split, HeadsAs::layers}) {
    for (const std::int64_t stride : {2, 5, 40}) {
      config.attention_options.sparse = {.stride = stride, .heads_as = heads_as};
      for (const std::int64_t tokens : {1, 5, 31}) {
        expect_token_pairs(config, tokens,
                           [&](std::int64_t layer, std::int64_t head, std::int64_t i, std::int64_t j) {
                             const bool band = std::abs(i - j) < stride, strided = (i - j) % stride == 0;
                             if (heads_as == HeadsAs::merged) return band || strided;
                             return (heads_as == HeadsAs::split ? head < 2 : layer == 0) ? band : strided;
                           });
      }
    }
  }
}

// At l = sqrt(T) some 2 sqrt(T) keys left to right, and twice as many both ways; two layers connect all.
TEST(SparseTransformer, S4StridesConnectAllInTwoLayers) {
  ModelConfig config = pairs_config(AttentionPattern::sparse_strided);
  config.attention_options.sparse.stride = 16;
  const AttentionFacts facts = attention_facts(config, 64);
  EXPECT_EQ(facts.layers, 2);
  EXPECT_EQ(facts.all_heads.unreachable_pairs, 0);
  std::int64_t keys = 0;
  const std::vector<TokenHeads> causal = token_heads(config, 0, 256, true);
  ASSERT_EQ(causal.size(), 1u);
  for (std::size_t i = 0; i < 256; ++i) {
    const auto& row = causal[0].rows[i];
    EXPECT_LE(row.back(), static_cast<std::int32_t>(i));
    keys = std::max(keys, static_cast<std::int64_t>(row.size()));
  }
  EXPECT_EQ(keys, 16 + 15);
  // Two steps back reach every earlier token.
  for (std::size_t i = 0; i < 256; ++i) {
    std::set<std::int32_t> met(causal[0].rows[i].begin(), causal[0].rows[i].end());
    for (const std::int32_t j : causal[0].rows[i])
      met.insert(causal[0].rows[static_cast<std::size_t>(j)].begin(),
                 causal[0].rows[static_cast<std::size_t>(j)].end());
    EXPECT_EQ(met.size(), i + 1);
  }
}

TEST(Etc, PairsOfTwoInputsAreCounted) {
  ModelConfig config = pairs_config(AttentionPattern::etc);
  for (const bool g2l : {false, true}) {
    for (const bool l2g : {false, true}) {
      config.attention_options.etc = {
          .radius = 3, .globals = 5, .stretch = 4, .hard_g2l = g2l, .hard_l2g = l2g};
      for (const std::int64_t length : {1, 8, 29}) {
        const std::int64_t stretch = std::max<std::int64_t>(4, (length + 4) / 5);
        const std::int64_t g = (length + stretch - 1) / stretch;
        EXPECT_EQ(token_numbers(config, length).all, g + length);
        expect_token_pairs(config, length, [&](std::int64_t, std::int64_t, std::int64_t i, std::int64_t j) {
          if (i < g && j < g) return true;
          if (i >= g && j >= g) return std::abs(i - j) <= 3;
          const bool linked = i < g ? (j - g) / stretch == i : (i - g) / stretch == j;
          return linked || !(i < g ? g2l : l2g);
        });
      }
    }
  }
}

TEST(AttentionFacts, BytesOfTokensAreThoseThatBlocksRead) {
  ModelConfig config = pairs_config(AttentionPattern::longformer);
  config.hidden_size = 8;
  config.attention_options.longformer = {.windows = {2}};
  const AttentionFacts facts = attention_facts(config, 2);  // two blocks of 4, and one token beside each
  EXPECT_EQ(facts.bytes_read, 2 * 4 * 8 * (5 + 5));
  EXPECT_EQ(facts.visible_pairs, 4 * (8 * 3 - 2));
  EXPECT_EQ(facts.multiply_adds, 2 * 8 * (8 * 3 - 2));
  EXPECT_DOUBLE_EQ(facts.mean_keys, (8 * 3 - 2) / 8.0);
  EXPECT_EQ(facts.most_keys, 3);
}

// Above 512 nodes only the ends of the spectrum are sought: of crowded ones (a narrow window) and of others.
TEST(Graphs, EndsOfTheSpectrumAreThoseOfAllEigenvalues) {
  ModelConfig config = pairs_config(AttentionPattern::longformer);
  const auto expect_dense = [&](std::int64_t tokens) {
    const auto rows = token_heads(config, 0, tokens)[0].rows;
    const TokenGraph graph = token_graph(rows, 1);
    const auto n = static_cast<std::size_t>(tokens);
    std::vector<double> matrix(n * n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      for (const std::int32_t j : rows[i]) {
        const auto k = static_cast<std::size_t>(j);
        if (k == i) continue;
        matrix[i * n + k] = 1 / std::sqrt(static_cast<double>((rows[i].size() - 1) * (rows[k].size() - 1)));
      }
    }
    const std::vector<double> values = symmetric_eigenvalues(std::move(matrix), n);
    EXPECT_NEAR(graph.gap, 1 - values[n - 2], 1e-9);
    EXPECT_NEAR(graph.two_sided_gap, 1 - std::max(std::abs(values[n - 2]), std::abs(values[0])), 1e-9);
  };
  for (const std::int64_t window : {2, 8, 64}) {
    for (const std::int64_t globals : {0, 2}) {
      config.attention_options.longformer = {.windows = {window}, .global_first = globals};
      expect_dense(515);
    }
  }
}

TEST(Longformer, DilationsThatNoHeadHasAreRefused) {
  const auto refusal = [](std::vector<std::int64_t> dilations, std::int64_t heads) {
    ModelConfig config = pairs_config(AttentionPattern::longformer);
    config.attention_options.longformer.dilations = std::move(dilations);
    config.attention_options.longformer.dilated_heads = heads;
    try {
      check_attention(config, "config.json");
    } catch (const Error& error) {
      return error.message();
    }
    return std::string();
  };
  EXPECT_EQ(refusal({1, 3}, 2), "");
  EXPECT_EQ(refusal({2, 3}, 0), "config.json: dilation 2:3 of no head");
  EXPECT_EQ(refusal({1}, 2), "config.json: dilated_heads 2 with dilation 1");
  EXPECT_EQ(refusal({2}, 5), "config.json: dilated_heads 5 of num_attention_heads 4");
  EXPECT_EQ(refusal({2, 2, 2}, 1), "config.json: dilation names 3 numbers for 2 layers");
}

TEST(SparseTransformer, StridesThatSeeAllAreRefused) {
  ModelConfig config = pairs_config(AttentionPattern::sparse_strided);
  const auto refused = [&] {
    try {
      check_attention(config, "config.json");
    } catch (const Error&) {
      return true;
    }
    return false;
  };
  config.attention_options.sparse = {.stride = 5};
  EXPECT_FALSE(refused());
  config.attention_options.sparse = {.stride = 1};
  EXPECT_TRUE(refused());
  config.attention_options.sparse = {.stride = 4096};
  EXPECT_TRUE(refused());
  config.attention_options.sparse = {.stride = 5, .heads_as = HeadsAs::split};
  config.num_attention_heads = 1;
  EXPECT_TRUE(refused());
}

}  // namespace
}  // namespace bigbird
