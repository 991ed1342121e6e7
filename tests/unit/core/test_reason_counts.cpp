// Counts under names: their order, their sums and their words.
#include "lib/core/reason_counts.h"

#include <gtest/gtest.h>

namespace bigbird {
namespace {

std::vector<std::string> names(const ReasonCounts& counts) {
  std::vector<std::string> list;
  for (const auto& [reason, count] : counts) list.push_back(reason);
  return list;
}

TEST(ReasonCounts, AreInTheOrderOfTheAlphabetWhateverComesFirst) {
  ReasonCounts counts;
  counts.add("too many N");
  counts.add("blacklist", 12);
  counts.add("too many N");
  counts.add("contig");
  EXPECT_EQ(names(counts), (std::vector<std::string>{"blacklist", "contig", "too many N"}));
  EXPECT_EQ(counts.count("too many N"), 2u);
  EXPECT_EQ(counts.count("blacklist"), 12u);
  EXPECT_EQ(counts.count("never"), 0u);
  EXPECT_EQ(counts.total(), 15u);
  EXPECT_EQ(counts.text(), "blacklist 12, contig 1, too many N 2");
  EXPECT_EQ(counts.text(": "), "blacklist: 12, contig: 1, too many N: 2");
}

TEST(ReasonCounts, ListedReasonsComeFirstAndAsListed) {
  ReasonCounts counts({"symbolic", "edge"});
  counts.add("edge");
  counts.add("zebra");
  counts.add("apple");
  counts.add("symbolic");
  EXPECT_EQ(names(counts), (std::vector<std::string>{"symbolic", "edge", "apple", "zebra"}));
}

TEST(ReasonCounts, NothingCountedLeavesNoTrace) {
  ReasonCounts counts({"edge"});
  counts.add("edge", 0);
  EXPECT_TRUE(counts.empty());
  EXPECT_EQ(counts.size(), 0u);
  EXPECT_EQ(counts.total(), 0u);
  EXPECT_EQ(counts.text(), "");
  EXPECT_EQ(counts.most_frequent(), "");
}

TEST(ReasonCounts, TheMostFrequentIsTheFirstOfEquals) {
  ReasonCounts counts({"late", "early"});
  counts.add("early", 3);
  counts.add("late", 3);
  counts.add("rare");
  EXPECT_EQ(counts.most_frequent(), "late");
  counts.add("rare", 4);
  EXPECT_EQ(counts.most_frequent(), "rare");
}

TEST(ReasonCounts, OfPartsAddUpInTheOrderOfTheWhole) {
  ReasonCounts whole({"b", "a"}), part;
  whole.add("a");
  part.add("a", 2);
  part.add("b", 5);
  part.add("c");
  whole.add(part);
  EXPECT_EQ(whole.text(), "b 5, a 3, c 1");
  EXPECT_EQ(part.text(), "a 2, b 5, c 1");
}

}  // namespace
}  // namespace bigbird
