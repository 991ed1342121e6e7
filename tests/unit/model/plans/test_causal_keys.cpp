// Keys of one token at a time, against the pairs of a pass over all of them.
#include "lib/model/plans/causal_keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/model/plans/block_plan.h"

namespace bigbird {
namespace {

ModelConfig causal_model(AttentionPattern attention) {
  ModelConfig config;
  config.num_hidden_layers = 3;
  config.num_attention_heads = 4;
  config.max_position_embeddings = 48;
  config.block_size = 4;
  config.attention = attention;
  config.causal = true;
  config.head = HeadType::causal_lm;
  return config;
}

std::vector<std::int32_t> keys_of_head(const CausalKeys& keys, std::int64_t layer, std::int64_t head,
                                       std::int64_t query) {
  std::vector<std::int32_t> seen;
  std::int64_t heads = 0;
  for (const CausalKeys::Heads& group : keys.heads(layer)) {
    EXPECT_EQ(group.first, heads);
    heads += group.count;
    if (head >= group.first && head < heads) keys.append(group.list, query, seen);
  }
  EXPECT_EQ(heads, 4);
  return seen;
}

TEST(CausalKeys, OfFullAttentionAreAllBefore) {
  const CausalKeys keys(causal_model(AttentionPattern::full));
  EXPECT_EQ(keys.lists(), 1u);
  EXPECT_EQ(keys_of_head(keys, 2, 3, 3), (std::vector<std::int32_t>{0, 1, 2, 3}));
}

TEST(CausalKeys, OfBlocksAreThoseOfThePlan) {
  for (const HeadsAs heads_as : {HeadsAs::merged, HeadsAs::split, HeadsAs::layers}) {
    ModelConfig config = causal_model(AttentionPattern::sparse_fixed);
    config.attention_options.sparse = {12, 4, 2, heads_as};
    const CausalKeys keys(config);
    PlanCache plans(config);
    for (std::int64_t layer = 0; layer < 3; ++layer) {
      const kernels::BlockPlanView& plan = plans.plan(layer, 12).view();
      for (std::int64_t head = 0; head < 4; ++head) {
        for (std::int64_t query = 0; query < 48; ++query) {
          std::vector<std::int32_t> wanted;
          const std::int64_t row = head * 12 + query / 4;
          for (std::int32_t at = plan.row_offsets[row]; at < plan.row_offsets[row + 1]; ++at) {
            for (std::int32_t key = plan.key_blocks[at] * 4; key < plan.key_blocks[at] * 4 + 4; ++key) {
              if (key <= query) wanted.push_back(key);
            }
          }
          EXPECT_EQ(keys_of_head(keys, layer, head, query), wanted);
        }
      }
    }
  }
}

TEST(CausalKeys, OfTokensAreThoseOfThePairs) {
  ModelConfig strided = causal_model(AttentionPattern::sparse_strided);
  strided.attention_options.sparse.stride = 5;
  ModelConfig split = strided;
  split.attention_options.sparse.heads_as = HeadsAs::split;
  ModelConfig longformer = causal_model(AttentionPattern::longformer);
  longformer.attention_options.longformer.windows = {8, 4, 8};
  longformer.attention_options.longformer.dilations = {1, 2, 1};
  longformer.attention_options.longformer.dilated_heads = 1;
  longformer.attention_options.longformer.global_rule = GlobalRule::none;
  for (const ModelConfig& config : {strided, split, longformer}) {
    const CausalKeys keys(config);
    EXPECT_LE(keys.lists(), 4u);
    for (std::int64_t layer = 0; layer < 3; ++layer) {
      for (const TokenHeads& heads : token_heads(config, layer, 48)) {
        for (std::int64_t query = 0; query < 48; ++query) {
          std::vector<std::int32_t> seen = keys_of_head(keys, layer, heads.first_head, query);
          std::sort(seen.begin(), seen.end());
          EXPECT_EQ(seen, heads.rows[static_cast<std::size_t>(query)]);
        }
      }
    }
  }
}

TEST(CausalKeys, OfAMemoryAreWhatIsRemembered) {
  ModelConfig xl = causal_model(AttentionPattern::transformer_xl);
  xl.attention_options.recurrent.memory = 3;
  become_recurrent(xl);
  EXPECT_EQ(CausalKeys(xl).lists(), 1u);
  EXPECT_EQ(keys_of_head(CausalKeys(xl), 2, 3, 1), (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(keys_of_head(CausalKeys(xl), 2, 3, 60), (std::vector<std::int32_t>{57, 58, 59, 60}));
  xl.attention_options.recurrent.same_length = true;
  EXPECT_EQ(keys_of_head(CausalKeys(xl), 2, 3, 60), (std::vector<std::int32_t>{58, 59, 60}));
  ModelConfig spans = causal_model(AttentionPattern::adaptive_span);
  spans.attention_options.spans.max_span = 5;
  become_recurrent(spans);
  EXPECT_TRUE(keys_of_head(CausalKeys(spans), 0, 0, 0).empty());
  EXPECT_EQ(keys_of_head(CausalKeys(spans), 0, 0, 60), (std::vector<std::int32_t>{55, 56, 57, 58, 59}));
  const std::vector<std::int64_t> reaches{2, 5, 2};
  const CausalKeys learned(spans, reaches);
  EXPECT_EQ(learned.lists(), 3u);
  EXPECT_EQ(keys_of_head(learned, 0, 3, 60), (std::vector<std::int32_t>{58, 59}));
  EXPECT_EQ(keys_of_head(learned, 1, 3, 60), (std::vector<std::int32_t>{55, 56, 57, 58, 59}));
}

TEST(CausalKeys, OtherSystemsAreRefusedByName) {
  for (const AttentionPattern attention :
       {AttentionPattern::bigbird, AttentionPattern::bpt, AttentionPattern::window, AttentionPattern::etc,
        AttentionPattern::star}) {
    EXPECT_FALSE(has_causal_keys(attention));
    try {
      const CausalKeys keys(causal_model(attention));
      ADD_FAILURE() << name_of(attention);
    } catch (const Error& error) {
      EXPECT_NE(error.message().find(name_of(attention)), std::string::npos) << error.message();
    }
  }
  ModelConfig ahead = causal_model(AttentionPattern::full);
  ahead.causal = false;
  EXPECT_THROW(CausalKeys{ahead}, Error);
}

}  // namespace
}  // namespace bigbird
