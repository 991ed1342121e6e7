// Regions that are left out: what touches them, under which names, and files that are of another genome.
#include "lib/io/genome/excluded_regions.h"

#include <gtest/gtest.h>

#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::TemporaryFolder;
using testing::write_text;

class RegionsLeftOut : public ::testing::Test {
 protected:
  std::string bed(const std::string& text) {
    const auto path = folder_ / ("r" + std::to_string(++files_) + ".bed");
    write_text(path, text);
    return path;
  }

  TemporaryFolder folder_;
  int files_ = 0;
  const ContigNames genome_{{{"chr1", 100}, {"chr2", 50}, {"chrII", 70}}};
};

TEST_F(RegionsLeftOut, ATouchIsOneBaseOfHalfOpenIntervals) {
  const ExcludedRegions regions({bed("chr1\t10\t20\tname\t0\t+\n1\t30\t30\n"), bed("#c\nchr2\t0\t1\n")},
                                genome_);
  EXPECT_FALSE(regions.empty());
  EXPECT_EQ(regions.bases(), 11);
  EXPECT_FALSE(regions.touch(0, 0, 10));
  EXPECT_TRUE(regions.touch(0, 0, 11));
  EXPECT_TRUE(regions.touch(0, 19, 25));
  EXPECT_FALSE(regions.touch(0, 20, 40)) << "an empty region is touched by nothing";
  EXPECT_FALSE(regions.touch(0, 15, 15)) << "and nothing by what has no base";
  EXPECT_TRUE(regions.touch(0, 5, 90));
  EXPECT_TRUE(regions.touch(1, 0, 1));
  EXPECT_FALSE(regions.touch(2, 0, 70));
  EXPECT_TRUE(regions.touch("1", 12, 13)) << "contigs have all their names";
  EXPECT_FALSE(regions.touch("chrIII", 0, 100));
  EXPECT_EQ(regions.of(0).bases(), 10);
}

TEST_F(RegionsLeftOut, WithoutAGenomeContigsAreThoseOfTheFiles) {
  const ExcludedRegions regions({bed("chr1\t10\t20\nchrIV\t0\t1000000\n1\t50\t60\n"), bed("chr1\t70\t80\n")});
  for (const char* const name : {"chr1", "1"}) {
    EXPECT_TRUE(regions.touch(name, 10, 11)) << name;
    EXPECT_TRUE(regions.touch(name, 55, 56)) << name;
    EXPECT_TRUE(regions.touch(name, 79, 90)) << name;
    EXPECT_FALSE(regions.touch(name, 60, 70)) << name;
  }
  EXPECT_TRUE(regions.touch("chrIV", 999'999, 1'000'000));
  EXPECT_FALSE(regions.touch("chrV", 0, 10));
}

TEST_F(RegionsLeftOut, NothingAtAll) {
  EXPECT_TRUE(ExcludedRegions().empty());
  EXPECT_FALSE(ExcludedRegions().touch("chr1", 0, 10));
  EXPECT_FALSE(ExcludedRegions().touch(0, 0, 10));
  EXPECT_TRUE(ExcludedRegions({bed("##bigbird_version=1\n#chrom\tstart\n")}, genome_).empty());
  EXPECT_TRUE(ExcludedRegions(std::vector<std::string>{}, genome_).empty());
}

TEST_F(RegionsLeftOut, FilesOfAnotherGenome) {
  const std::string beyond = bed("chr1\t10\t20\nchr1\t101\t120\n");
  expect_bad_input(error_of([&] { ExcludedRegions({beyond}, genome_); }), beyond + ":2",
                   "beyond the end of chr1");
  const std::string elsewhere = bed("chrX\t10\t20\n");
  expect_bad_input(error_of([&] { ExcludedRegions({elsewhere}, genome_); }), elsewhere, "no contig");
  const ExcludedRegions cut({bed("chr1\t90\t1000\nchrX\t0\t5\n")}, genome_);
  EXPECT_EQ(cut.bases(), 10);
}

}  // namespace
}  // namespace bigbird
