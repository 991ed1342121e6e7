// Negatives of every epoch: a function of seed, epoch and promoter, of the kind that was asked for.
#include "lib/genomics/promoter/negatives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/genomes/simulate/composition.h"

namespace bigbird {
namespace {

std::vector<std::string> windows(std::size_t count) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) {
    CounterRng rng(6, Purpose::test, i);
    all.push_back(draw_bases(300, 45, rng));
  }
  return all;
}

TEST(FreshNegatives, AreAFunctionOfSeedEpochAndPromoter) {
  const FreshNegatives one(NegativeKind::random, 4, windows(3)), other(NegativeKind::random, 5, windows(3));
  std::set<std::string> all;
  for (std::uint64_t epoch = 0; epoch < 10; ++epoch) {
    for (std::uint64_t i = 0; i < one.promoters(); ++i) {
      EXPECT_EQ(one.negative(epoch, i), one.negative(epoch, i));
      all.insert(one.negative(epoch, i));
      all.insert(other.negative(epoch, i));
    }
  }
  EXPECT_EQ(all.size(), 60u);
}

// Of uniform bases a block of 15 stays as it was once in 4^15.
TEST(FreshNegatives, ChangeTwelveOfTwentyBlocksOfTheirPromoter) {
  const FreshNegatives fresh(NegativeKind::random, 4, windows(5));
  std::set<std::vector<bool>> choices;
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    for (std::uint64_t i = 0; i < fresh.promoters(); ++i) {
      const std::string negative = fresh.negative(epoch, i);
      ASSERT_EQ(negative.size(), 300u);
      std::vector<bool> changed;
      for (std::size_t at = 0; at < 300; at += 15)
        changed.push_back(negative.substr(at, 15) != fresh.promoter(i).substr(at, 15));
      EXPECT_EQ(std::count(changed.begin(), changed.end(), true), 12);
      choices.insert(changed);
    }
  }
  EXPECT_GT(choices.size(), 15u);
}

TEST(FreshNegatives, OfTheOtherKindsKeepWhatThoseKeep) {
  const FreshNegatives permuted(NegativeKind::permute, 1, windows(1)),
      shuffled(NegativeKind::dinucleotide, 1, windows(1));
  const auto letters = [](std::string text) {
    std::sort(text.begin(), text.end());
    return text;
  };
  for (const FreshNegatives* fresh : {&permuted, &shuffled}) {
    EXPECT_NE(fresh->negative(1, 0), fresh->promoter(0));
    EXPECT_NE(fresh->negative(1, 0), fresh->negative(2, 0));
    EXPECT_EQ(letters(fresh->negative(1, 0)), letters(fresh->promoter(0)));
  }
  EXPECT_THROW(FreshNegatives(NegativeKind::genomic, 1, windows(1)), Error);
}

}  // namespace
}  // namespace bigbird
