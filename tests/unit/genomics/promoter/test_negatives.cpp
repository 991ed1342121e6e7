// Negatives: how much of a window changes, what stays, and what is kept.
#include "lib/genomics/promoter/negatives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "lib/core/error.h"
#include "lib/genomes/simulate/composition.h"

namespace bigbird {
namespace {

std::string window_of(std::size_t length, std::uint64_t index) {
  CounterRng rng(5, Purpose::test, index);
  return draw_bases(length, 45, rng);
}

std::vector<bool> changed_blocks(const std::string& a, const std::string& b, std::size_t block) {
  std::vector<bool> changed;
  for (std::size_t i = 0; i < 20; ++i)
    changed.push_back(a.substr(i * block, block) != b.substr(i * block, block));
  return changed;
}

TEST(ReplaceBlocks, ChangesTwelveOfTwentyBlocksAndNoOther) {
  const std::string window = window_of(8000, 1);
  CounterRng rng(1, Purpose::promoter_negatives, 1);
  const std::string negative = replace_blocks(window, rng);
  ASSERT_EQ(negative.size(), window.size());
  const auto changed = changed_blocks(window, negative, 400);
  EXPECT_EQ(std::count(changed.begin(), changed.end(), true), 12);
  for (const char base : {'A', 'C', 'G', 'T'}) {  // the new bases are uniform: 4800 of them, sd 30 each
    std::int64_t count = 0;
    for (std::size_t i = 0; i < 20; ++i) {
      if (changed[i])
        count += std::count(negative.begin() + static_cast<long>(i * 400),
                            negative.begin() + static_cast<long>((i + 1) * 400), base);
    }
    EXPECT_NEAR(static_cast<double>(count), 1200, 150);
  }
}

TEST(ReplaceBlocks, ChoosesDifferentBlocksForDifferentExamplesAndEveryBlockAtTimes) {
  const std::string window = window_of(2000, 2);
  std::vector<int> times(20, 0);
  for (std::uint64_t example = 0; example < 400; ++example) {
    CounterRng rng(1, Purpose::promoter_negatives, example);
    const auto changed = changed_blocks(window, replace_blocks(window, rng), 100);
    for (std::size_t i = 0; i < 20; ++i) times[i] += changed[i] ? 1 : 0;
  }
  for (const int count : times) EXPECT_NEAR(count, 240, 60);  // 12/20 of 400, six standard deviations
}

TEST(ReplaceBlocks, LeavesTheRestOfAnUnevenLengthInPlace) {
  const std::string window = window_of(2019, 3);
  CounterRng rng(1, Purpose::promoter_negatives, 9);
  EXPECT_EQ(replace_blocks(window, rng).substr(2000), window.substr(2000));
  EXPECT_THROW(replace_blocks("ACGT", rng), Error);
}

TEST(PermuteBlocks, KeepsEveryBlockAndMovesAtMostTwelve) {
  const std::string window = window_of(8000, 4);
  CounterRng rng(1, Purpose::promoter_negatives, 4);
  const std::string negative = permute_blocks(window, rng);
  const auto changed = changed_blocks(window, negative, 400);
  const auto count = std::count(changed.begin(), changed.end(), true);
  EXPECT_GE(count, 8);  // a permutation of 12 leaves one in place on average
  EXPECT_LE(count, 12);
  const auto blocks = [](const std::string& text) {
    std::vector<std::string> list;
    for (std::size_t i = 0; i < 20; ++i) list.push_back(text.substr(i * 400, 400));
    std::sort(list.begin(), list.end());
    return list;
  };
  EXPECT_EQ(blocks(window), blocks(negative));
}

TEST(ShuffleDinucleotides, KeepsEveryCountAndBothEnds) {
  for (std::uint64_t index = 0; index < 20; ++index) {
    const std::string window = window_of(500 + static_cast<std::size_t>(index), index) + "NNNACNA";
    CounterRng rng(1, Purpose::promoter_negatives, index);
    const std::string shuffled = shuffle_dinucleotides(window, rng);
    EXPECT_NE(shuffled, window);
    const auto counts = [](const std::string& text) {
      std::map<std::string, int> map;
      for (std::size_t i = 0; i + 1 < text.size(); ++i) ++map[text.substr(i, 2)];
      return map;
    };
    EXPECT_EQ(counts(window), counts(shuffled));
    EXPECT_EQ(shuffled.front(), window.front());
    EXPECT_EQ(shuffled.back(), window.back());
  }
}

TEST(NegativeKind, NamesGoBothWaysAndOthersAreUsageErrors) {
  for (const char* name : {"random", "permute", "dinucleotide", "genomic", "hard"}) {
    EXPECT_STREQ(negative_kind_name(parse_negative_kind(name)), name);
  }
  EXPECT_THROW(parse_negative_kind("shuffled"), Error);
}

TEST(NegativePlans, AreTypedAndWrittenWithAPlusBetween) {
  EXPECT_EQ(parse_negative_plan("random"), (NegativePlan{{NegativeKind::random, 1}}));
  const NegativePlan both = parse_negative_plan("genomic+dinucleotide");
  EXPECT_EQ(both, (NegativePlan{{NegativeKind::genomic, 1}, {NegativeKind::dinucleotide, 1}}));
  EXPECT_EQ(negative_plan_name(both), "genomic+dinucleotide");
  const NegativePlan counted = parse_negative_plan("random:2+genomic:8+hard");
  EXPECT_EQ(negative_plan_name(counted), "random:2+genomic:8+hard");
  EXPECT_EQ(negatives_of(counted, NegativeKind::genomic), 8);
  EXPECT_EQ(negatives_of(counted, NegativeKind::hard), 1);
  EXPECT_EQ(negatives_of(counted, NegativeKind::permute), 0);
  EXPECT_EQ(negative_plan_name(parse_negative_plan("genomic:1")), "genomic");
  for (const char* bad :
       {"", "+", "random+", "+random", "random+other", "random+random", "random,genomic", "random:2+random",
        "genomic:", "genomic:0", "genomic:-1", "genomic:x", "genomic:2:3", "genomic:1001", ":2"})
    EXPECT_THROW(parse_negative_plan(bad), Error) << bad;
}

TEST(NegativeIds, TellThePromoterAndOfSeveralTheKindAndTheNumber) {
  const NegativePlan one = parse_negative_plan("random"), kinds = parse_negative_plan("random+genomic"),
                     counts = parse_negative_plan("random+genomic:3");
  EXPECT_EQ(negative_id("G:1", one, one[0], 0), "G:1:negative");
  EXPECT_EQ(negative_id("G:1", kinds, kinds[0], 0), "G:1:negative:random");
  EXPECT_EQ(negative_id("G:1", counts, counts[0], 0), "G:1:negative:random");
  EXPECT_EQ(negative_id("G:1", counts, counts[1], 0), "G:1:negative:genomic:1");
  EXPECT_EQ(negative_id("G:1", counts, counts[1], 2), "G:1:negative:genomic:3");
  struct Case {
    const char* id;
    std::optional<NegativeKind> kind;
    int number;
  };
  for (const Case& known : {Case{"G:1:negative", std::nullopt, 0},
                            {"G:1:negative:genomic", NegativeKind::genomic, 0},
                            {"G:1:negative:hard:12", NegativeKind::hard, 12}}) {
    const auto id = parse_negative_id(known.id);
    ASSERT_TRUE(id) << known.id;
    EXPECT_EQ(id->promoter, "G:1");
    EXPECT_EQ(id->kind, known.kind);
    EXPECT_EQ(id->number, known.number);
    EXPECT_EQ(negative_id(*id), known.id);
  }
  for (const char* other : {"G", "G:genomic", "G:negative:other", "negative", "G:negative:", "G:negative:3",
                            "G:genomic:3", "G:negative:genomic:0", "G:negative:genomic:x"})
    EXPECT_FALSE(parse_negative_id(other)) << other;
}

}  // namespace
}  // namespace bigbird
