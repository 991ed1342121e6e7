// When attention is full: the rule of every random mode, per call, said once for each reason.

#include <gtest/gtest.h>

#include "lib/core/log.h"
#include "lib/model/plans/block_plan.h"
#include "tests/support/sanitizer.h"

namespace bigbird {
namespace {

ModelConfig config_of(RandomMode mode, std::int64_t block_size = 64, std::int64_t random = 3) {
  ModelConfig config;
  config.num_attention_heads = 2;
  config.block_size = block_size;
  config.num_random_blocks = random;
  config.random_mode = mode;
  return config;
}

// The numbers of blocks up to `most` at which attention is full.
std::vector<std::int64_t> full_lengths(const ModelConfig& config, std::int64_t most) {
  std::vector<std::int64_t> full;
  for (std::int64_t blocks = 1; blocks <= most; ++blocks) {
    if (!full_attention_reason(config, blocks).empty()) full.push_back(blocks);
  }
  return full;
}

std::vector<std::int64_t> range(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> all;
  for (std::int64_t value = first; value <= last; ++value) all.push_back(value);
  return all;
}

TEST(FullAttention, GoogleTakesItUpTo512TokensAndWhereItsCodeFails) {
  EXPECT_EQ(full_lengths(config_of(RandomMode::google), 64), range(1, 11));         // 9, 10, 11 fail
  EXPECT_EQ(full_lengths(config_of(RandomMode::google, 64, 2), 64), range(1, 9));   // 9 fails
  EXPECT_EQ(full_lengths(config_of(RandomMode::google, 64, 0), 64), range(1, 8));   // nothing to draw
  EXPECT_EQ(full_lengths(config_of(RandomMode::google, 16), 256), range(1, 32));    // 512 tokens
  EXPECT_EQ(full_lengths(config_of(RandomMode::google, 256, 0), 16), range(1, 3));  // at least four blocks
  const ModelConfig config = config_of(RandomMode::google);
  EXPECT_EQ(full_attention_reason(config, 8), "sequences of at most 512 tokens (random mode google)");
  EXPECT_EQ(
      full_attention_reason(config, 9).find("sequences of 576 tokens: no attention plan for 9 blocks with 3"),
      0u);
  // The "old" plan of 1024 tokens has too few candidates for blocks of 256.
  EXPECT_NE(full_attention_reason(config_of(RandomMode::google, 256), 4).find("block size 256"),
            std::string::npos);
}

TEST(FullAttention, HuggingFaceTakesItUpToFiveAndTwiceTheRandomBlocks) {
  for (const RandomMode mode : {RandomMode::hf_train, RandomMode::hf_eval}) {
    EXPECT_EQ(full_lengths(config_of(mode), 64), range(1, 11));
    EXPECT_EQ(full_lengths(config_of(mode, 16), 256), range(1, 11));
    EXPECT_EQ(full_lengths(config_of(mode, 64, 1), 64), range(1, 7));
    EXPECT_EQ(full_lengths(config_of(mode, 64, 0), 64), range(1, 5));
  }
  EXPECT_EQ(full_attention_reason(config_of(RandomMode::hf_eval), 11),
            "sequences of at most 11 blocks of 64 tokens (random mode hf-eval, 3 random blocks)");
}

TEST(FullAttention, WithoutRandomBlocksFiveBlocksAreFull) {
  EXPECT_EQ(full_lengths(config_of(RandomMode::none), 64), range(1, 5));
  EXPECT_EQ(full_lengths(config_of(RandomMode::none, 16), 64), range(1, 5));
}

TEST(FullAttention, APlanFromAFileIsNeverReplaced) {
  EXPECT_TRUE(full_lengths(config_of(RandomMode::file), 64).empty());
}

TEST(FullAttention, OtherPatternsHaveRulesOfTheirOwn) {
  ModelConfig config = config_of(RandomMode::google);
  config.attention = AttentionPattern::full;
  EXPECT_EQ(full_lengths(config, 64), range(1, 64));
  config.attention = AttentionPattern::window;
  EXPECT_TRUE(full_lengths(config, 64).empty());
  for (const AttentionPattern pattern : {AttentionPattern::random, AttentionPattern::window_random}) {
    config.attention = pattern;
    EXPECT_EQ(full_lengths(config, 64), range(1, 11));
  }
}

// Every length is served, in every mode: by its plan, or by full attention.
TEST(FullAttention, NoLengthIsWithoutAPlan) {
  constexpr std::int64_t step = testing::under_sanitizer ? 60 : 4;
  for (const RandomMode mode :
       {RandomMode::google, RandomMode::hf_train, RandomMode::hf_eval, RandomMode::none}) {
    for (const std::int64_t block_size : {16, 64, 128, 256, 512}) {
      for (const std::int64_t random : {0, 1, 2, 3, 5, 13}) {
        PlanCache cache(config_of(mode, block_size, random));
        for (std::int64_t blocks = 1; blocks <= 4096 / block_size; blocks += blocks < 20 ? 1 : step) {
          EXPECT_NO_THROW(cache.plan(1, blocks)) << name_of(mode) << " " << block_size << " " << random;
        }
      }
    }
  }
}

TEST(FullAttention, IsDecidedPerCallAndSaidOnceForEachReason) {
  std::vector<std::string> said;
  set_log_sink([&](LogLevel, const std::string& message) { said.push_back(message); });
  PlanCache cache(config_of(RandomMode::google, 64, 4));
  const auto listed = [&](std::int64_t blocks) {
    return cache.plan(0, blocks).view().row_offsets[2 * blocks];
  };
  EXPECT_EQ(listed(8), 2 * 8 * 8);
  EXPECT_LT(listed(16), 2 * 16 * 16);
  EXPECT_EQ(listed(7), 2 * 7 * 7);
  EXPECT_EQ(listed(12), 2 * 12 * 12);
  EXPECT_LT(listed(15), 2 * 15 * 15);  // short calls before it change nothing
  EXPECT_EQ(listed(12), 2 * 12 * 12);
  set_log_sink({});
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[0], "full attention for sequences of at most 512 tokens (random mode google)");
  EXPECT_EQ(said[1].find("full attention for sequences of 768 tokens: no attention plan"), 0u);
}

}  // namespace
}  // namespace bigbird
