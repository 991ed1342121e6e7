// Splits: shares, groups that stay together, folds.
#include "lib/genomics/promoter/examples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>

#include "lib/core/error.h"

namespace bigbird {
namespace {

std::vector<std::size_t> singles(std::size_t count) {
  std::vector<std::size_t> groups(count);
  std::iota(groups.begin(), groups.end(), std::size_t{0});
  return groups;
}

TEST(SplitPromoters, GivesEightyTenTenAndDependsOnTheSeed) {
  const auto groups = singles(200);
  const auto split = split_promoters(groups, {}, 1);
  ASSERT_EQ(split.size(), 1u);
  EXPECT_EQ(std::count(split[0].begin(), split[0].end(), "test"), 20);
  EXPECT_EQ(std::count(split[0].begin(), split[0].end(), "valid"), 20);
  EXPECT_EQ(std::count(split[0].begin(), split[0].end(), "train"), 160);
  EXPECT_EQ(split, split_promoters(groups, {}, 1));
  EXPECT_NE(split, split_promoters(groups, {}, 2));
}

TEST(SplitPromoters, NeverDividesAGroupAndLeavesNoSideEmpty) {
  std::vector<std::size_t> groups;
  for (std::size_t i = 0; i < 90; ++i) groups.push_back(i % 3);
  const auto split = split_promoters(groups, {SplitUnit::chromosome, 0}, 4);
  std::map<std::size_t, std::set<std::string>> sides;
  for (std::size_t i = 0; i < groups.size(); ++i) sides[groups[i]].insert(split[0][i]);
  for (const auto& [group, names] : sides) EXPECT_EQ(names.size(), 1u);
  EXPECT_EQ(std::set<std::string>(split[0].begin(), split[0].end()).size(), 3u);
}

TEST(SplitPromoters, EverySideHasAGroupHoweverUnequalTheyAre) {
  // Two small groups hold less than a tenth together: in most orders test would take both, and valid the
  // third.
  std::vector<std::size_t> groups(100, 2);
  groups[0] = groups[1] = 0;
  groups[2] = 1;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto split = split_promoters(groups, {SplitUnit::chromosome, 0}, seed);
    EXPECT_EQ(std::set<std::string>(split[0].begin(), split[0].end()).size(), 3u) << seed;
  }
}

// The promoters of a named side are none of these.
TEST(SplitPromoters, ASideThatIsNamedIsNotDrawn) {
  const auto groups = singles(50);
  const auto count = [](const std::vector<std::string>& sides, const char* side) {
    return std::count(sides.begin(), sides.end(), side);
  };
  SplitPlan plan;
  plan.draws_test = false;
  const auto valid = split_promoters(groups, plan, 1).at(0);
  EXPECT_EQ(count(valid, "test"), 0);
  EXPECT_EQ(count(valid, "valid"), 5);
  EXPECT_EQ(split_promoters(singles(2), plan, 1).at(0).size(), 2u);
  EXPECT_THROW(split_promoters(singles(1), plan, 1), Error);
  plan.draws_valid = false;
  EXPECT_EQ(count(split_promoters(groups, plan, 1).at(0), "train"), 50);
  EXPECT_EQ(count(split_promoters(singles(1), plan, 1).at(0), "train"), 1);
}

TEST(SplitPromoters, FoldsTestEveryPromoterOnce) {
  const auto split = split_promoters(singles(53), {SplitUnit::promoter, 5}, 1);
  ASSERT_EQ(split.size(), 5u);
  for (std::size_t i = 0; i < 53; ++i) {
    int tests = 0;
    int valids = 0;
    for (const auto& fold : split) {
      tests += fold[i] == "test" ? 1 : 0;
      valids += fold[i] == "valid" ? 1 : 0;
    }
    EXPECT_EQ(tests, 1);
    EXPECT_EQ(valids, 1);
  }
}

TEST(SplitPromoters, RefusesTooFewGroups) {
  EXPECT_THROW(split_promoters(singles(2), {}, 1), Error);
  EXPECT_THROW(split_promoters(singles(4), {SplitUnit::promoter, 5}, 1), Error);
}

TEST(GroupPromoters, JoinsWhatBelongsTogether) {
  const std::vector<PromoterPlace> places = {{"1", 10, '+', "A"}, {"1", 10, '+', "B"}, {"1", 900, '+', "B"},
                                             {"1", 10, '-', "C"}, {"2", 10, '+', "D"}, {"2", 50, '+', "A"}};
  EXPECT_EQ(group_promoters(places, SplitUnit::promoter), (std::vector<std::size_t>{0, 0, 1, 2, 3, 4}));
  // A and B share a TSS, B has a second promoter, A a third one: one group.
  EXPECT_EQ(group_promoters(places, SplitUnit::gene), (std::vector<std::size_t>{0, 0, 0, 1, 2, 0}));
  EXPECT_EQ(group_promoters(places, SplitUnit::chromosome), (std::vector<std::size_t>{0, 0, 0, 0, 1, 1}));
}

TEST(GroupPromoters, JoinsOverlapsOnEitherStrandAndEqualSequences) {
  const auto place = [](const char* chrom, PlaceWindow window, std::uint64_t sequence, char strand = '+') {
    return PromoterPlace{chrom, window.begin, strand, "G", {window}, {sequence}};
  };
  std::vector<PromoterPlace> places = {place("1", {0, 100}, 1),  place("1", {100, 200}, 2, '-'),
                                       place("1", {10, 20}, 3),  place("1", {90, 101}, 4, '-'),
                                       place("2", {0, 100}, 5),  place("2", {300, 400}, 5),
                                       place("3", {500, 600}, 6)};
  // 0 holds 2 and meets 3, which meets 1; 4 and 5 are equal; 6 is alone.
  EXPECT_EQ(group_promoters(places, SplitUnit::promoter), (std::vector<std::size_t>{0, 0, 0, 0, 1, 1, 2}));
  places[3].windows = {{90, 100}};  // half-open: it no longer meets 1
  EXPECT_EQ(group_promoters(places, SplitUnit::promoter), (std::vector<std::size_t>{0, 1, 0, 0, 2, 2, 3}));
  places[6].windows.push_back({150, 160});  // another chromosome
  EXPECT_EQ(group_promoters(places, SplitUnit::promoter), (std::vector<std::size_t>{0, 1, 0, 0, 2, 2, 3}));
}

TEST(ParseSplit, KnowsItsWords) {
  for (const char* word : {"promoter", "gene", "chromosome", "kfold:5", "kfold:5:gene", "kfold:3:chromosome"})
    EXPECT_EQ(split_name(parse_split(word)), word);
  for (const char* word : {"", "genes", "kfold", "kfold:", "kfold:1", "kfold:5x", "kfold:-3",
                           "kfold:5:", "kfold:5:genes", "kfold::gene"}) {
    EXPECT_THROW(parse_split(word), Error) << word;
  }
}

}  // namespace
}  // namespace bigbird
