// What a pass is made of before it runs: the key under which devices record it, and the runs of attention.
#include <gtest/gtest.h>

#include <set>

#include "lib/model/network/pass_context.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

class CallKeys : public ::testing::Test {
 protected:
  std::uint64_t key(const Batch& batch, Phase phase = Phase::forward, bool training = true,
                    std::uint64_t model = 1) {
    const auto masked = static_cast<std::int64_t>(batch.masked_rows.size());
    return pass_key({*backend_, config_, batch, runs_, masked, training, nullptr}, model, phase);
  }

  const std::unique_ptr<kernels::Backend> backend_ = kernels::make_cpu_backend();
  ModelConfig config_ = tiny_config();
  std::vector<std::vector<AttentionRun>> runs_;
};

TEST_F(CallKeys, ContentsDoNotCount) {
  const Batch batch = random_batch(config_, {30, 9}, 1);
  Batch other = batch;
  for (std::int32_t& id : other.ids) id = 1 + id % 7;
  for (std::int32_t& type : other.types) type = 1 - type;
  for (std::int32_t& label : other.masked_labels) label = 3;
  for (std::int32_t& label : other.sequence_labels) label = 1 - label;
  other.lengths = {29, 12};
  EXPECT_EQ(key(batch), key(other));
}

TEST_F(CallKeys, EverythingThatDecidesTheOperationsCounts) {
  const Batch batch = random_batch(config_, {30, 9}, 1);
  Batch unlabelled = batch, fewer = batch, alone = batch;
  unlabelled.masked_labels.clear();
  fewer.masked_rows.pop_back();
  fewer.masked_labels.pop_back();
  alone.sequence_labels.clear();
  const std::set<std::uint64_t> keys{key(batch),
                                     key(batch, Phase::backward),
                                     key(batch, Phase::forward, false),
                                     key(batch, Phase::forward, true, 2),
                                     key(unlabelled),
                                     key(fewer),
                                     key(alone),
                                     key(random_batch(config_, {9, 30}, 1)),
                                     key(random_batch(config_, {30}, 1))};
  EXPECT_EQ(keys.size(), 9u);
}

TEST_F(CallKeys, TokensThatCompeteForAnAnswerCount) {
  config_.head = HeadType::question_answering;
  const Batch batch = random_batch(config_, {30}, 1);
  Batch padded = batch;
  padded.given_lengths = {31};
  EXPECT_NE(key(batch), key(padded));
}

TEST_F(CallKeys, GroupsOfTokensCountButNotTheirRows) {
  config_.head = HeadType::structured_answers;
  add_answer_scores(config_);
  const Batch batch = random_batch(config_, {30, 9}, 1);
  Batch others = batch, joined = batch, unlabelled = batch;
  others.token_targets = random_targets(batch, config_.token_scores, 2);
  ASSERT_NE(others.token_targets[1].rows.size(), batch.token_targets[1].rows.size());
  joined.token_targets[0].group_offsets.erase(joined.token_targets[0].group_offsets.begin() + 1);
  unlabelled.token_targets.clear();
  EXPECT_EQ(key(batch), key(others));
  EXPECT_NE(key(batch), key(joined));
  EXPECT_NE(key(batch), key(unlabelled));
}

// Short sequences take full attention (up to 7 blocks of 4 here), where probabilities may be dropped.
TEST(AttentionRuns, ABatchIsCutWhereDropoutOfProbabilitiesBeginsAndEnds) {
  ModelConfig config = tiny_config();
  const Batch batch = random_batch(config, {40, 8, 5, 50, 60}, 1);
  const std::uint64_t seed = 9;
  PlanCache plans(config);
  EXPECT_EQ(attention_runs(config, plans, batch, true, &seed, 0)[0].size(), 1u);
  config.attention_probs_dropout_prob = 0.1;
  EXPECT_EQ(attention_runs(config, plans, batch, false, &seed, 0)[0].size(), 1u);

  const auto layers = attention_runs(config, plans, batch, true, &seed, 0);
  ASSERT_EQ(layers.size(), 2u);
  std::set<kernels::Index> slots;
  std::set<std::uint64_t> sites;
  for (const auto& runs : layers) {
    ASSERT_EQ(runs.size(), 3u);
    EXPECT_EQ(runs[1].first_row(), 40);
    EXPECT_EQ(runs[2].first_row(), 56);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const kernels::AttentionBatch call = runs[i].call();
      slots.insert(call.slot);
      EXPECT_EQ(call.sequences, i == 0 ? 1 : 2);
      EXPECT_EQ(call.token_offsets[0], 0);
      EXPECT_EQ(call.drop_probability > 0, i == 1);
      if (i == 1) {
        EXPECT_EQ(call.token_offsets[2], 16);
        EXPECT_EQ(call.lengths[1], 5);
        EXPECT_EQ(call.dropout_seed, &seed);
        sites.insert(call.dropout_site);
      }
    }
  }
  EXPECT_EQ(slots, (std::set<kernels::Index>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(sites.size(), 2u);
}

TEST(AttentionRuns, PlacesAreLimitedByWhatCanBeMixed) {
  ModelConfig config = tiny_config();
  const BatchLimits limits{128, 3, 0, 64};
  const auto slots = [&](bool training) {
    return attention_limits(config, limits, {.training = training}).slots;
  };
  EXPECT_EQ(slots(true), 2);
  config.attention_probs_dropout_prob = 0.1;
  EXPECT_EQ(slots(true), 2 * 3);
  EXPECT_EQ(slots(false), 2);
  config.attention = AttentionPattern::full;
  EXPECT_EQ(slots(true), 2);
}

}  // namespace
}  // namespace bigbird
