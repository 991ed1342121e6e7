// Genomic negatives: where they may lie, what they match, and what they do not depend on.
#include "lib/genomics/promoter/negatives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "lib/core/rng.h"
#include "lib/genomes/simulate/composition.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

double gc_share(const std::string& bases) {
  const auto gc = std::count_if(bases.begin(), bases.end(), [](char c) { return c == 'G' || c == 'C'; });
  const auto n = std::count(bases.begin(), bases.end(), 'N');
  return static_cast<double>(gc) / static_cast<double>(static_cast<std::ptrdiff_t>(bases.size()) - n);
}

// chr1: stretches of 5 kb, poor and rich in G and C in turn, with N in 30,000..36,000; chr2: too short.
class GenomicNegatives : public ::testing::Test {
 protected:
  GenomicNegatives() {
    for (std::uint64_t i = 0; i < 40; ++i) {
      CounterRng rng(6, Purpose::test, i);
      bases_ += draw_bases(5000, i % 2 == 0 ? 35 : 60, rng);
    }
    bases_.replace(30000, 6000, 6000, 'N');
    testing::write_text(folder_ / "g.fa", ">chr1\n" + bases_ + "\n>chr2\n" + bases_.substr(0, 300) + "\n");
    options_.length = 400;
    options_.min_distance = 1000;
    options_.gc_tolerance = 0.02;
    for (std::int64_t begin = 1000; begin < 190000; begin += 19000) {
      promoters_.push_back({0, begin, begin + 400, static_cast<std::uint64_t>(begin)});
      tss_[0].push_back(begin + 300);
    }
    tss_[0].push_back(70000);  // dropped, or of another strand: no negative comes near it all the same
  }

  std::vector<std::optional<GenomicNegative>> draw() {
    Fasta fasta((folder_ / "g.fa").string());
    return draw_genomic_negatives(fasta, promoters_, tss_, options_);
  }

  testing::TemporaryFolder folder_;
  std::string bases_;
  std::vector<GenomicRequest> promoters_;
  std::vector<std::vector<std::int64_t>> tss_ = {{}, {}};
  GenomicNegativeOptions options_;
};

TEST_F(GenomicNegatives, KeepTheirDistanceAndMatchTheShareOfGc) {
  const auto negatives = draw();
  ASSERT_EQ(negatives.size(), 10u);
  for (std::size_t i = 0; i < negatives.size(); ++i) {
    ASSERT_TRUE(negatives[i]);
    const GenomicNegative& negative = *negatives[i];
    ASSERT_EQ(negative.end - negative.begin, 400);
    const std::string bases = bases_.substr(static_cast<std::size_t>(negative.begin), 400);
    const std::string promoter = bases_.substr(static_cast<std::size_t>(promoters_[i].begin), 400);
    EXPECT_DOUBLE_EQ(negative.gc, gc_share(bases));
    EXPECT_DOUBLE_EQ(negative.promoter_gc, gc_share(promoter));
    EXPECT_EQ(negative.gc_step, 0u);
    EXPECT_LE(std::abs(gc_share(bases) - gc_share(promoter)), 0.02);
    EXPECT_LE(std::count(bases.begin(), bases.end(), 'N'), 20);
    for (const std::int64_t site : tss_[0]) {
      EXPECT_TRUE(site - (negative.end - 1) >= 1000 || negative.begin - site >= 1000) << site;
    }
    for (const GenomicRequest& other : promoters_) {
      EXPECT_TRUE(negative.end <= other.begin || negative.begin >= other.end);
    }
    for (std::size_t k = 0; k < i; ++k) {
      EXPECT_TRUE(negative.end <= negatives[k]->begin || negative.begin >= negatives[k]->end);
    }
    EXPECT_FALSE(negative.overlapping);
  }
}

TEST_F(GenomicNegatives, DoNotDependOnTheOrderOfThePromotersAndDoOnTheSeed) {
  const auto first = draw();
  std::reverse(promoters_.begin(), promoters_.end());
  auto second = draw();
  std::reverse(second.begin(), second.end());
  options_.seed = 2;
  std::reverse(promoters_.begin(), promoters_.end());
  const auto other = draw();
  bool differs = false;
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i]->begin, second[i]->begin);
    differs = differs || first[i]->begin != other[i]->begin;
  }
  EXPECT_TRUE(differs);
}

TEST_F(GenomicNegatives, AreDrawnWithoutALookAtCompositionWhereTheToleranceIsOne) {
  options_.gc_tolerance = 1;
  double furthest = 0;
  for (const auto& negative : draw()) {
    ASSERT_TRUE(negative);
    EXPECT_EQ(negative->gc_step, 0u);
    furthest = std::max(furthest, std::abs(negative->gc - negative->promoter_gc));
  }
  EXPECT_GT(furthest, 0.15);  // stretches of 35 % and 60 % take turns
}

// The first of each promoter is the one that it has alone.
TEST_F(GenomicNegatives, SeveralOfAPromoterAreApartAndTheFirstStays) {
  options_.gc_tolerance = 1;
  const auto alone = draw();
  std::vector<GenomicRequest> requests;
  for (const GenomicRequest& promoter : promoters_) {
    for (int number = 0; number < 5; ++number) {
      requests.push_back(promoter);
      requests.back().number = number;
      requests.back().key += 1000003u * static_cast<std::uint64_t>(number);
    }
  }
  promoters_ = requests;
  const auto several = draw();
  for (std::size_t i = 0; i < several.size(); ++i) {
    ASSERT_TRUE(several[i]);
    if (requests[i].number == 0) {
      EXPECT_EQ(several[i]->begin, alone[i / 5]->begin);
    }
    for (std::size_t k = 0; k < i; ++k)
      EXPECT_TRUE(several[i]->end <= several[k]->begin || several[i]->begin >= several[k]->end);
  }
}

TEST_F(GenomicNegatives, KeepOffWhatIsClosedToTheirZone) {
  for (std::size_t i = 0; i < promoters_.size(); ++i)
    promoters_[i].zone = promoters_[i].begin < 100000 ? 0 : 1;
  options_.closed = [](std::size_t, int zone) {
    return std::vector<Region>{zone == 0 ? Region{0, 100000, 200000} : Region{0, 0, 100000}};
  };
  const auto negatives = draw();
  for (std::size_t i = 0; i < promoters_.size(); ++i) {
    ASSERT_TRUE(negatives[i]);
    if (promoters_[i].zone == 0) {
      EXPECT_LE(negatives[i]->end, 100000);
    } else {
      EXPECT_GE(negatives[i]->begin, 100000);
    }
  }
}

TEST_F(GenomicNegatives, RelaxTheToleranceInSteps) {
  // With one N among 400 bases a share is a 399th part, which no window without N has: it misses by some
  // 0.0009.
  bases_[1100] = 'N';
  testing::write_text(folder_ / "g.fa", ">chr1\n" + bases_ + "\n>chr2\nACGT\n");
  options_.gc_tolerance = 0.0005;
  options_.max_n = 0;
  const auto negatives = draw();
  EXPECT_EQ(negatives[0]->gc_step, 1u);
  EXPECT_NEAR(negatives[0]->gc, negatives[0]->promoter_gc, 0.00125);
  EXPECT_EQ(negatives[1]->gc_step, 0u);
  EXPECT_EQ(negatives[1]->gc, negatives[1]->promoter_gc);
  promoters_.resize(1);
  bases_.replace(1000, 400, 400, 'G');  // a promoter like nothing else
  testing::write_text(folder_ / "other.fa", ">chr1\n" + bases_ + "\n>chr2\nACGT\n");
  Fasta fasta((folder_ / "other.fa").string());
  const auto closest = draw_genomic_negatives(fasta, promoters_, tss_, options_);
  EXPECT_EQ(closest[0]->gc_step, gc_steps.size());
  EXPECT_GT(closest[0]->gc, 0.6);
}

TEST_F(GenomicNegatives, OverlapEachOtherOnlyForWantOfRoom) {
  // Room for hardly more than one window: 450 bases at the end, everything else near a TSS.
  tss_[0].clear();
  for (std::int64_t site = 0; site <= 198500; site += 900) tss_[0].push_back(site);
  tss_[0].push_back(198550);
  promoters_.resize(3);
  const auto negatives = draw();
  for (const auto& negative : negatives) {
    ASSERT_TRUE(negative);
    EXPECT_GE(negative->begin, 199550);
  }
  EXPECT_FALSE(negatives[0]->overlapping);
  EXPECT_TRUE(negatives[1]->overlapping);
  EXPECT_TRUE(negatives[2]->overlapping);
  promoters_[2].may_overlap = false;
  const auto without = draw();
  EXPECT_TRUE(without[1]);
  EXPECT_FALSE(without[2]);
}

TEST_F(GenomicNegatives, AreNothingWhereThereIsNoRoom) {
  promoters_ = {{1, 0, 300, 5}};
  EXPECT_FALSE(draw()[0]);  // the contig is shorter than a window
  promoters_ = {{0, 1000, 1400, 5}};
  options_.min_distance = 100000;
  EXPECT_FALSE(draw()[0]);
}

}  // namespace
}  // namespace bigbird
