// Pretraining samples: every token in one piece, pairs as labelled, and everything a function of the draw.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "lib/core/error.h"
#include "lib/data/pretrain_sampler.h"
#include "tests/support/support.h"
#include "tests/support/tiny_training_data.h"

namespace bigbird {
namespace {

using testing::TemporaryFolder;

// Documents of sentences of the given lengths; every token of the shards is a different id, from 5 up, so
// that a token tells where it came from.
class Numbered {
 public:
  explicit Numbered(const std::vector<std::vector<std::uint32_t>>& documents) {
    std::uint32_t next = 5;
    TokenShardWriter writer((folder_ / "p").string(), 100000);
    for (std::size_t d = 0; d < documents.size(); ++d) {
      std::vector<std::uint32_t> ids;
      for (const std::uint32_t length : documents[d]) {
        sentence_ends.insert(static_cast<std::int32_t>(next + length));
        for (std::uint32_t i = 0; i < length; ++i) {
          document_of[static_cast<std::int32_t>(next)] = d;
          ids.push_back(next++);
        }
      }
      writer.add_document(ids, documents[d], ids.size());
    }
    writer.finish("digest", nullptr);
    shards = std::make_unique<TokenShards>((folder_ / "p").string());
  }
  std::map<std::int32_t, std::size_t> document_of;
  std::set<std::int32_t> sentence_ends;  // one past the last id
  std::unique_ptr<TokenShards> shards;

 private:
  TemporaryFolder folder_;
};

std::vector<std::vector<std::uint32_t>> many_documents() {
  std::vector<std::vector<std::uint32_t>> documents;
  for (std::uint32_t d = 0; d < 30; ++d) documents.push_back(std::vector<std::uint32_t>(12, 6 + d % 7));
  return documents;
}

struct Pair {
  std::vector<std::int32_t> a, b;
};

Pair split(const PretrainSample& sample) {
  const SpecialIds special;
  EXPECT_EQ(sample.ids.front(), static_cast<std::int32_t>(special.cls));
  EXPECT_EQ(sample.ids.back(), static_cast<std::int32_t>(special.sep));
  const auto sep = std::find(sample.ids.begin(), sample.ids.end(), static_cast<std::int32_t>(special.sep));
  Pair pair;
  pair.a.assign(sample.ids.begin() + 1, sep);
  pair.b.assign(sep + 1, sample.ids.end() - 1);
  for (std::size_t i = 0; i < sample.ids.size(); ++i) {
    EXPECT_EQ(sample.types[i], static_cast<std::ptrdiff_t>(i) <= sep - sample.ids.begin() ? 0 : 1);
  }
  return pair;
}

bool consecutive(const std::vector<std::int32_t>& ids) {
  for (std::size_t i = 1; i < ids.size(); ++i) {
    if (ids[i] != ids[i - 1] + 1) return false;
  }
  return !ids.empty();
}

TEST(PretrainSampler, WithoutPairsAnEpochShowsEveryTokenOnce) {
  // A sentence longer than the budget, single tokens and empty sentences among them.
  const Numbered data({{7, 9, 50, 3}, {1}, {0, 4, 0}, {30, 30, 30}});
  const PretrainSampler sampler(*data.shards, {}, {20, false, 3});
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::int32_t> seen;
    for (std::uint64_t i = 0; i < sampler.size(); ++i) {
      const PretrainSample sample = sampler.training_sample(epoch * sampler.size() + i);
      ASSERT_LE(sample.ids.size(), 20u);
      EXPECT_EQ(sample.types, std::vector<std::int32_t>(sample.ids.size(), 0));
      seen.insert(seen.end(), sample.ids.begin() + 1, sample.ids.end() - 1);
    }
    std::sort(seen.begin(), seen.end());
    ASSERT_EQ(seen.size(), data.shards->token_count());
    for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], static_cast<std::int32_t>(5 + i));
  }
}

TEST(PretrainSampler, PiecesArePackedFromWholeSentences) {
  const Numbered data({{8, 8, 8, 8, 8}, {8, 8}});
  const PretrainSampler sampler(*data.shards, {}, {22, false, 1});  // budget 20: two sentences of 8
  ASSERT_EQ(sampler.size(), 4u);
  EXPECT_EQ(sampler.sample(0, 0).ids.size(), 18u);
  EXPECT_EQ(sampler.sample(2, 0).ids.size(), 10u);
  EXPECT_EQ(sampler.sample(3, 0).ids.size(), 18u);
}

TEST(PretrainSampler, ATrueNextFollowsAndARandomOneComesFromAnotherDocument) {
  const Numbered data(many_documents());
  const PretrainSampler sampler(*data.shards, {}, {40, true, 5});
  std::int64_t random = 0;
  const std::uint64_t draws = 2000;
  std::set<std::size_t> partners;
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    const PretrainSample sample = sampler.training_sample(draw);
    ASSERT_LE(sample.ids.size(), 40u);
    const Pair pair = split(sample);
    ASSERT_TRUE(consecutive(pair.a));
    ASSERT_TRUE(consecutive(pair.b));
    // A ends at a sentence boundary, and B begins at one.
    EXPECT_TRUE(data.sentence_ends.count(pair.a.back() + 1) == 1);
    EXPECT_TRUE(pair.b.front() == 5 || data.sentence_ends.count(pair.b.front()) == 1);
    if (sample.next_label == 0) {
      EXPECT_EQ(pair.b.front(), pair.a.back() + 1);
      EXPECT_EQ(data.document_of.at(pair.a.front()), data.document_of.at(pair.b.front()));
    } else {
      ++random;
      EXPECT_NE(data.document_of.at(pair.a.front()), data.document_of.at(pair.b.front()));
      EXPECT_EQ(data.document_of.at(pair.b.front()), data.document_of.at(pair.b.back()));
      partners.insert(data.document_of.at(pair.b.front()));
    }
  }
  // Five standard deviations around one half.
  EXPECT_NEAR(static_cast<double>(random) / static_cast<double>(draws), 0.5, 0.056);
  EXPECT_EQ(partners.size(), 30u);
}

TEST(PretrainSampler, APieceOfOneSentenceIsSplitInsideIt) {
  const Numbered data({{37, 37}, {37, 37}});
  const PretrainSampler sampler(*data.shards, {}, {40, true, 5});
  std::set<std::size_t> splits;
  for (std::uint64_t draw = 0; draw < 400; ++draw) {
    const Pair pair = split(sampler.training_sample(draw));
    ASSERT_FALSE(pair.a.empty());
    ASSERT_FALSE(pair.b.empty());
    splits.insert(pair.a.size());
  }
  EXPECT_GT(splits.size(), 30u);
}

TEST(PretrainSampler, ADrawIsAFunctionOfSeedAndNumberAndEpochsDiffer) {
  const Numbered data(many_documents());
  const PretrainSampler one(*data.shards, {}, {40, true, 5});
  const PretrainSampler same(*data.shards, {}, {40, true, 5});
  const PretrainSampler other(*data.shards, {}, {40, true, 6});
  int differ_by_seed = 0;
  int differ_by_epoch = 0;
  for (std::uint64_t draw = one.size(); draw-- > 0;) {  // backwards: no state is carried
    EXPECT_EQ(one.training_sample(draw).ids, same.training_sample(draw).ids);
    differ_by_seed += one.training_sample(draw).ids != other.training_sample(draw).ids ? 1 : 0;
    differ_by_epoch += one.training_sample(draw).ids != one.training_sample(draw + one.size()).ids ? 1 : 0;
  }
  EXPECT_GT(differ_by_seed, static_cast<int>(one.size()) * 3 / 4);
  EXPECT_GT(differ_by_epoch, static_cast<int>(one.size()) * 3 / 4);
}

TEST(PretrainSampler, OneDocumentHasNoRandomNext) {
  const Numbered data({{8, 8, 8}});
  EXPECT_THROW(PretrainSampler(*data.shards, {}, {20, true, 1}), Error);
  EXPECT_NO_THROW(PretrainSampler(*data.shards, {}, {20, false, 1}));
}

TEST(PretrainSampler, ALengthWithoutRoomIsAUsageError) {
  const Numbered data({{8, 8, 8}, {8}});
  try {
    const PretrainSampler sampler(*data.shards, {}, {4, true, 1});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
  }
}

}  // namespace
}  // namespace bigbird
