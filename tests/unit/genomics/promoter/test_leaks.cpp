// The leak check: each kind of leak is found and counted, and nothing else is.
#include "lib/genomics/promoter/leaks.h"

#include <gtest/gtest.h>

#include <string>

#include "lib/core/rng.h"
#include "lib/genomes/simulate/composition.h"
#include "lib/io/genome/fasta.h"

namespace bigbird {
namespace {

Window leak_window(const std::string& id, const std::string& chrom, std::int64_t begin, std::int64_t end,
                   const std::string& sequence) {
  return {id, chrom, begin, end, '+', 1, sequence};
}

std::string bases(std::uint64_t index) {
  CounterRng rng(3, Purpose::test, index);
  return draw_bases(40, 50, rng);
}

TEST(LeakCheck, FindsNothingInSidesThatHaveNothingInCommon) {
  LeakCheck check;
  check.add("train", leak_window("A", "1", 0, 40, bases(1)));
  check.add("train", leak_window("A:negative", "1", 0, 40, bases(2)));
  check.add("train", leak_window("A2", "1", 10, 50, bases(1)));  // leaks do not lie within a side
  check.add("test", leak_window("B", "1", 50, 90, bases(3)));
  check.add("valid", leak_window("C", "2", 0, 40, bases(4)));
  const LeakReport report = check.report();
  EXPECT_FALSE(report.any()) << report.text();
  EXPECT_EQ(report.examples, 5);
}

TEST(LeakCheck, CountsOverlapsOfAnyTwoSidesOnBothOfThem) {
  LeakCheck check;
  check.add("train", leak_window("A", "1", 0, 400, bases(1)));
  check.add("train", leak_window("B", "1", 100, 140, bases(2)));  // within A, of its own side
  check.add("valid", leak_window("C", "1", 399, 439, bases(3)));  // the last base of A
  check.add("test", leak_window("D", "1", 439, 479, bases(4)));   // touches C
  check.add("test", leak_window("E", "2", 0, 40, bases(5)));
  const LeakReport report = check.report();
  EXPECT_EQ(report.count(Leak::overlapping_windows), 2);  // A and C
  EXPECT_EQ(report.text(), "2 x overlapping window (valid C, train A)");
}

TEST(LeakCheck, FindsAnOverlapBehindAShorterWindow) {
  LeakCheck check;
  check.add("test", leak_window("far", "1", 0, 1000, bases(1)));
  check.add("test", leak_window("short", "1", 10, 20, bases(2)));
  check.add("train", leak_window("late", "1", 900, 940, bases(3)));
  EXPECT_EQ(check.report().count(Leak::overlapping_windows), 2);
}

TEST(LeakCheck, FindsEqualSequencesAndReverseComplementsWithoutAPlace) {
  LeakCheck check;
  check.add("train", leak_window("a", ".", 0, 40, bases(1)));
  check.add("train", leak_window("b", ".", 0, 40, bases(2)));
  check.add("valid", leak_window("a", ".", 0, 40, bases(1)));
  check.add("test", leak_window("d", ".", 0, 40, reverse_complement(bases(2))));
  check.add("train", leak_window("c", ".", 0, 40, bases(3)));
  check.add("valid", leak_window("f", ".", 0, 40, reverse_complement(bases(3))));
  check.add("test", leak_window("e", ".", 0, 4, "ACGT"));  // its own reverse complement
  const LeakReport report = check.report();
  EXPECT_EQ(report.count(Leak::equal_sequence), 2);
  EXPECT_EQ(report.count(Leak::reverse_complement), 4);  // another number than that of equal ones
  EXPECT_EQ(report.count(Leak::shared_promoter), 0);     // ids of unplaced windows say nothing
  EXPECT_EQ(report.count(Leak::overlapping_windows), 0);
}

TEST(LeakCheck, FindsSharedPromotersAndNegativesApartFromTheirs) {
  LeakCheck check;
  check.add("train", leak_window("A", "1", 0, 40, bases(1)));
  check.add("test", leak_window("A:negative", "1", 200, 240, bases(2)));
  check.add("train", leak_window("B", "1", 400, 440, bases(3)));
  check.add("valid", leak_window("B", "1", 600, 640, bases(4)));
  const LeakReport report = check.report();
  EXPECT_EQ(report.count(Leak::parted_negative), 1);
  EXPECT_EQ(report.count(Leak::shared_promoter), 2);
  EXPECT_NE(report.text().find("negative apart from its promoter (train A, test A:negative)"),
            std::string::npos);
}

TEST(LeakCheck, FindsEachOfSeveralNegativesApartFromTheirPromoter) {
  LeakCheck check;
  check.add("train", leak_window("A", "1", 0, 40, bases(1)));
  check.add("train", leak_window("A:negative:random", "1", 0, 40, bases(2)));
  check.add("test", leak_window("A:negative:genomic", "1", 200, 240, bases(3)));
  check.add("test", leak_window("A:other", "1", 400, 440, bases(4)));
  const LeakReport report = check.report();
  EXPECT_EQ(report.count(Leak::parted_negative), 1);
  EXPECT_NE(report.text().find("(train A, test A:negative:genomic)"), std::string::npos);
}

TEST(SequenceKey, IsThatOfBothStrands) {
  EXPECT_EQ(sequence_key(bases(7)), sequence_key(reverse_complement(bases(7))));
  EXPECT_NE(sequence_key(bases(7)), sequence_key(bases(8)));
}

}  // namespace
}  // namespace bigbird
