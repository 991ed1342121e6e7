// Chain files: bases and intervals lifted, the reasons when not, and files that lie.
#include "lib/io/genome/chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "lib/core/rng.h"
#include "lib/io/genome/bed.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::TemporaryFolder;
using testing::write_text;

ChainFile parse_chain(const std::string& text) {
  const TemporaryFolder folder;
  write_text(folder / "x.chain", text);
  return ChainFile(folder / "x.chain");
}

// Blocks 100-110 -> 200-210 and 115-125 -> 213-223; then a chain of lower score over 105-135 to chr9,
// reversed.
const char* const two_chains =
    "# a comment\n"
    "chain 50 chr1 1000 + 105 135 chr9 500 - 10 40 2\n"
    "30\n"
    "\n"
    "chain 1000 chr1 1000 + 100 125 chr1 2000 + 200 223 1\n"
    "10\t5\t3\n"
    "10\n"
    "\n";

TEST(Chain, BaseInABlockLiftsAndTheHighestScoreWins) {
  const ChainFile chain = parse_chain(two_chains);
  const Lifted first = chain.lift_base("chr1", 105);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first.chrom, "chr1");
  EXPECT_EQ(first.begin, 205);
  EXPECT_EQ(first.end, 206);
  EXPECT_FALSE(first.reversed);
  EXPECT_EQ(chain.lift_base("chr1", 115).begin, 213);
  EXPECT_EQ(chain.lift_base("chr1", 124).begin, 222);
}

TEST(Chain, ReverseStrandCountsFromTheOtherEnd) {
  const ChainFile chain = parse_chain(two_chains);
  // 112 lies in the first chain's gap: the second chain holds it at q position 10 + 7 = 17 of 500, so 500 - 1
  // - 17.
  const Lifted gap = chain.lift_base("chr1", 112);
  ASSERT_TRUE(gap.ok());
  EXPECT_EQ(gap.chrom, "chr9");
  EXPECT_EQ(gap.begin, 482);
  EXPECT_TRUE(gap.reversed);
  const Lifted interval = chain.lift_interval("chr1", 126, 130);
  EXPECT_EQ(interval.begin, 500 - 35);
  EXPECT_EQ(interval.end, 500 - 31);
}

TEST(Chain, EmptyIntervalsStayEmpty) {
  const ChainFile chain = parse_chain(two_chains);
  const Lifted forward = chain.lift_interval("chr1", 105, 105);
  EXPECT_EQ(forward.begin, 205);
  EXPECT_EQ(forward.end, 205);
  const Lifted reversed = chain.lift_interval("chr1", 112, 112);
  EXPECT_EQ(reversed.begin, 483)
      << "the point before base 112 is the point after base 482 of the other strand";
  EXPECT_EQ(reversed.end, 483);
}

TEST(Chain, ReasonsWhenNothingIsLifted) {
  const ChainFile chain = parse_chain(two_chains);
  EXPECT_EQ(chain.lift_base("chr1", 99).outcome, LiftOutcome::deleted);
  EXPECT_EQ(chain.lift_base("chr1", 135).outcome, LiftOutcome::deleted);
  EXPECT_EQ(chain.lift_base("chr7", 99).outcome, LiftOutcome::unknown_contig);
  EXPECT_EQ(chain.lift_interval("chr1", 90, 105).outcome, LiftOutcome::partially_deleted);
  EXPECT_EQ(chain.lift_interval("chr1", 100, 135).outcome, LiftOutcome::split)
      << "both chains are needed for 95 %";
  EXPECT_STREQ(lift_outcome_text(LiftOutcome::deleted), "Deleted in new");
  EXPECT_STREQ(lift_outcome_text(LiftOutcome::partially_deleted), "Partially deleted in new");
  EXPECT_STREQ(lift_outcome_text(LiftOutcome::split), "Split in new");
}

TEST(Chain, IntervalRunsFromFirstToLastMappedBase) {
  const ChainFile chain = parse_chain(two_chains);
  const Lifted most = chain.lift_interval("chr1", 98, 120, 0.6);  // 15 of 22 bases map on the best chain
  ASSERT_TRUE(most.ok());
  EXPECT_EQ(most.begin, 200);
  EXPECT_EQ(most.end, 218);
}

TEST(Chain, PartsAreCarriedByOneChain) {
  const ChainFile chain = parse_chain(two_chains);
  // 100-104 and 118-120 on the first chain; its gap 110-115 holds none of them.
  const LiftedParts both = chain.lift_parts("chr1", {{100, 104}, {118, 120}}, ChainInterval{108, 117}, 1.0);
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(both.parts, (std::vector<ChainInterval>{{200, 204}, {216, 218}}));
  EXPECT_EQ(both.inner, (ChainInterval{208, 215})) << "from its first to its last mapped base";
  // A part in the gap has no base on the first chain, whatever share may be lost; the second holds both.
  const LiftedParts other = chain.lift_parts("chr1", {{106, 108}, {111, 113}}, std::nullopt, 0.5);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other.chrom, "chr9");
  EXPECT_TRUE(other.reversed);
  EXPECT_EQ(other.parts, (std::vector<ChainInterval>{{482, 484}, {487, 489}}));
  EXPECT_EQ(chain.lift_parts("chr1", {{100, 104}, {111, 113}}, std::nullopt, 0.5).outcome,
            LiftOutcome::split);
  EXPECT_EQ(chain.lift_parts("chr1", {{100, 104}, {118, 120}}, ChainInterval{111, 113}, 1.0).inner,
            std::nullopt);
}

// Intervals that reach over the borders of the stretches by which chains are found.
TEST(Chain, LongContigsAndManyChains) {
  std::string text;
  for (int i = 0; i < 40; ++i) {  // 40 chains of 100,000 bases, the last ones score highest
    const int begin = i * 100000;
    text += "chain " + std::to_string(i + 1) + " a 9000000 + " + std::to_string(begin) + " " +
            std::to_string(begin + 100000) + " b 9000000 + " + std::to_string(begin + 7) + " " +
            std::to_string(begin + 100007) + " 1\n100000\n\n";
  }
  text += "chain 1000 a 9000000 + 0 4000000 b 9000000 + 5000000 9000000 2\n1000\t3998000\t3998000\n1000\n";
  const ChainFile chain = parse_chain(text);
  for (const std::int64_t position : {1000, 131071, 131072, 262144, 3998999}) {
    EXPECT_EQ(chain.lift_base("a", position).begin, position + 7);
  }
  EXPECT_EQ(chain.lift_base("a", 999).begin, 5000999) << "the chain of the highest score";
  EXPECT_EQ(chain.lift_base("a", 3999000).begin, 8999000);
  EXPECT_EQ(chain.lift_interval("a", 120000, 180000).begin, 120007);
  EXPECT_EQ(chain.lift_interval("a", 120000, 280000).outcome, LiftOutcome::split);
  EXPECT_EQ(chain.lift_base("a", 8999999).outcome, LiftOutcome::deleted);
}

TEST(Chain, NamesAreReconciled) {
  const ChainFile chain = parse_chain(two_chains);
  EXPECT_EQ(chain.lift_base("1", 105).begin, 205);
  EXPECT_EQ(chain.from().size(), 1u);
  EXPECT_EQ(chain.to()[0].name, "chr9");
}

TEST(Chain, MissingIdAndNoFinalBlankLine) {
  const ChainFile chain = parse_chain("chain 1 a 10 + 0 5 b 10 + 5 10\n5");
  EXPECT_EQ(chain.lift_base("a", 4).begin, 9);
}

TEST(ChainBadInput, FilesThatLie) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "holds no chain"},
      {"chain 1 a 10 + 0 5 b 10 +\n5\n", "starts with: chain"},
      {"chr1\t1\t2\n", "starts with: chain"},
      {"chain x a 10 + 0 5 b 10 + 5 10 1\n5\n", "chain score is not a number"},
      {"chain 1 a 10 + 0 y b 10 + 5 10 1\n5\n", "chain field is not a whole number"},
      {"chain 1 a 10 - 0 5 b 10 + 5 10 1\n5\n", "impossible strands"},
      {"chain 1 a 10 + 0 5 b 10 * 5 10 1\n5\n", "impossible strands"},
      {"chain 1 a 10 + 0 11 b 20 + 5 16 1\n11\n", "positions in a chain header"},
      {"chain 1 a 10 + -1 5 b 20 + 5 11 1\n6\n", "positions in a chain header"},
      {"chain 1 a 10 + 0 5 b 10 + 5 10 1\n6\n", "beyond its chain"},
      {"chain 1 a 10 + 0 5 b 10 + 5 10 1\n4\n", "do not reach"},
      {"chain 1 a 10 + 0 5 b 10 + 5 10 1\n-5\n", "beyond its chain"},
      {"chain 1 a 10 + 0 5 b 10 + 5 10 1\n2 1 9223372036854775807\n2\n", "beyond its chain"},
      {"chain 1 a 10 + 0 5 b 10 + 5 10 1\n2 1\n2\n", "1 or 3 numbers"},
      {"chain 1 a 10 + 0 5 b 10 + 5 10 1\n2 1 1\n", "ends inside a chain"},
      {"chain 1 a 10 + 0 5 b 10 + 5 10 1\n5\n\nchain 1 a 11 + 0 5 b 10 + 5 10 1\n5\n", "two lengths"},
  };
  for (const auto& bad : cases) {
    SCOPED_TRACE(bad.first);
    expect_bad_input(error_of([&] { parse_chain(bad.first); }), "x.chain", bad.second);
  }
}

TEST(SharedChain, SanitySetAndAllPromoters) {
  BIGBIRD_REQUIRE_SHARED();
  const auto data = *testing::shared_dir() / "data";
  const ChainFile chain(data / "liftover/hg38ToHg19.over.chain.gz");
  const std::pair<std::int64_t, std::int64_t> sanity[] = {{166839349, 166808586}, {166839478, 166808715},
                                                          {166876256, 166845493}, {166975573, 166944810},
                                                          {167090614, 167059851}, {167220885, 167190122}};
  for (const auto& [old_position, new_position] : sanity) {
    const Lifted lifted = chain.lift_base("chr1", old_position);
    EXPECT_TRUE(lifted.ok());
    EXPECT_EQ(lifted.begin, new_position);
    EXPECT_FALSE(lifted.reversed);
  }
  std::map<std::string, BedRecord> expected;
  for (const BedRecord& record : read_bed(data / "promoters/EPDnew_human_006_lifted_hg19.bed.gz")) {
    expected.emplace(record.name, record);
  }
  const std::vector<BedRecord> promoters = read_bed(data / "promoters/EPDnew_human_006_hg38.bed.gz");
  ASSERT_EQ(promoters.size(), 29598u);
  std::vector<std::string> lost;
  std::size_t wrong = 0;
  for (const BedRecord& promoter : promoters) {
    const Lifted lifted = chain.lift_base(promoter.chrom, promoter.begin);
    if (!lifted.ok()) {
      lost.push_back(promoter.name);
      continue;
    }
    const auto found = expected.find(promoter.name);
    const bool same = found != expected.end() && found->second.chrom == lifted.chrom &&
                      found->second.begin == lifted.begin &&
                      (found->second.strand != promoter.strand) == lifted.reversed;
    if (!same) ++wrong;
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(lost, (std::vector<std::string>{"TCRB_1", "TCR8_1", "ANKRD20A3_1"}));
}

TEST(Chain, ScoresAndLengthsThatAreNone) {
  const auto refused = [](const std::string& header, const std::string& what) {
    expect_bad_input(error_of([&] { parse_chain("# one\n" + header + "\n10\n\n"); }), "x.chain:2", what);
  };
  refused("chain 1 chr1 9223372036854775807 + 0 9223372036854775807 chr1 10 + 0 10 1", "a sequence of");
  refused("chain 1 chr1 10 + 0 10 chr1 1099511627777 + 0 10 1", "a sequence of 1099511627777 bases");
  refused("chain nan chr1 10 + 0 10 chr1 10 + 0 10 1", "score");
  refused("chain inf chr1 10 + 0 10 chr1 10 + 0 10 1", "score");
}

// Memory by what they claim would be 25 TB.
TEST(Chain, MemoryGoesByTheChainsAndNotByWhatTheyClaim) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = "c" + std::to_string(i);
    text +=
        "chain 1 " + name + " 1099511627776 + 1099511627000 1099511627776 x 1099511627776 + 0 776 1\n776\n\n";
  }
  const ChainFile chain = parse_chain(text);
  EXPECT_EQ(chain.lift_base("c9999", 1099511627001).begin, 1);
  EXPECT_FALSE(chain.lift_base("c9999", 1099511626999).ok());
}

// Against every chain looked at, one after another.
TEST(Chain, TheSearchFindsTheBestOfManyOverlappingChains) {
  CounterRng rng(20, Purpose::test, 0);
  struct Piece {
    std::int64_t from, to, length;
  };
  std::vector<Piece> pieces;  // the best first
  std::string text;
  for (int i = 0; i < 60; ++i) {
    const std::int64_t length = rng.between(1, i % 7 == 0 ? 400 : 30);
    pieces.push_back({rng.between(0, 600), 1000 * i, length});
    const Piece& piece = pieces.back();
    text += "chain " + std::to_string(1000 - i) + " chr1 2000 + " + std::to_string(piece.from) + " " +
            std::to_string(piece.from + length) + " chr2 100000 + " + std::to_string(piece.to) + " " +
            std::to_string(piece.to + length) + " 1\n" + std::to_string(length) + "\n\n";
  }
  const ChainFile chain = parse_chain(text);
  for (std::int64_t position = 0; position < 1100; ++position) {
    const auto best = std::find_if(pieces.begin(), pieces.end(), [&](const Piece& piece) {
      return piece.from <= position && position < piece.from + piece.length;
    });
    const Lifted lifted = chain.lift_base("chr1", position);
    ASSERT_EQ(lifted.ok(), best != pieces.end()) << position;
    if (best != pieces.end()) {
      EXPECT_EQ(lifted.begin, best->to + position - best->from) << position;
    }
  }
}

}  // namespace
}  // namespace bigbird
