// Text regions: 1-based closed outside, 0-based half-open inside.
#include "lib/io/genome/region.h"

#include <gtest/gtest.h>

#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;

const ContigNames contigs_of_regions(
    {{"chr1", 5000}, {"HLA-A*01:01", 300}, {"HLA-A*01", 200}, {"chr20:1001-2000", 1000}});

TEST(Region, FourBases) {
  EXPECT_EQ(parse_region("chr1:3-6", contigs_of_regions), (Region{0, 2, 6}));
}

TEST(Region, WholeContigsOpenEndsAndCommas) {
  EXPECT_EQ(parse_region("chr1", contigs_of_regions), (Region{0, 0, 5000}));
  EXPECT_EQ(parse_region("chr1:3", contigs_of_regions), (Region{0, 2, 5000}));
  EXPECT_EQ(parse_region("chr1:1,000-2,000", contigs_of_regions), (Region{0, 999, 2000}));
  EXPECT_EQ(parse_region("chr1:5000-5000", contigs_of_regions), (Region{0, 4999, 5000}));
  EXPECT_EQ(parse_region("1:3-6", contigs_of_regions), (Region{0, 2, 6})) << "names are reconciled";
}

TEST(Region, NamesThatHoldColons) {
  EXPECT_EQ(parse_region("HLA-A*01:01", contigs_of_regions), (Region{1, 0, 300}))
      << "the longest known name wins";
  EXPECT_EQ(parse_region("HLA-A*01:01:5-9", contigs_of_regions), (Region{1, 4, 9}));
  EXPECT_EQ(parse_region("HLA-A*01:1-9", contigs_of_regions), (Region{2, 0, 9}));
  EXPECT_EQ(parse_region("chr20:1001-2000", contigs_of_regions), (Region{3, 0, 1000}));
  EXPECT_EQ(parse_region("chr20:1001-2000:2-3", contigs_of_regions), (Region{3, 1, 3}));
}

TEST(Region, BeyondTheContigIsAnErrorNotClamped) {
  for (const char* text :
       {"chr1:1-5001", "chr1:5001-5002", "chr1:5001", "chr1:0-5", "chr1:99999999999-999999999999"}) {
    expect_bad_input(error_of([&] { parse_region(text, contigs_of_regions); }), text, "positions 1-5000");
  }
}

TEST(Region, MalformedTextIsAnError) {
  for (const char* text : {"chr1:", "chr1:-", "chr1:a-b", "chr1:3-", "chr1:-6", "chr1:3-6-9", "chr1:3 - 6",
                           "chr1:,3-6", "chr1:99999999999999999999-5"}) {
    expect_bad_input(error_of([&] { parse_region(text, contigs_of_regions); }), text, "CONTIG:START-END");
  }
  expect_bad_input(error_of([&] { parse_region("chr1:6-3", contigs_of_regions); }), "chr1:6-3",
                   "start is after end");
  expect_bad_input(error_of([&] { parse_region("chr9", contigs_of_regions); }), "chr9",
                   "unknown contig chr9");
  expect_bad_input(error_of([&] { parse_region("chr9:1-2", contigs_of_regions); }), "chr9:1-2",
                   "unknown contig chr9");
  EXPECT_TRUE(error_of([&] { parse_region("", contigs_of_regions); }).has_value());
}

TEST(Region, ListsAreToldFromGroupsOfThreeDigits) {
  const std::vector<Region> two = {{0, 0, 100}, {1, 4, 9}};
  EXPECT_EQ(parse_regions("chr1:1-100,HLA-A*01:01:5-9", contigs_of_regions), two);
  EXPECT_EQ(parse_regions("chr1:1,001-2,000", contigs_of_regions), (std::vector<Region>{{0, 1000, 2000}}));
  EXPECT_EQ(parse_regions("chr1:1,001-2,000,chr1,chr1:3", contigs_of_regions),
            (std::vector<Region>{{0, 1000, 2000}, {0, 0, 5000}, {0, 2, 5000}}));
  const ContigNames numbers({{"1", 300'000}, {"2", 500}, {"100", 900}, {"101", 900}});
  EXPECT_EQ(parse_regions("1,100,2", numbers),
            (std::vector<Region>{{0, 0, 300'000}, {2, 0, 900}, {1, 0, 500}}))
      << "no position, no groups of digits";
  EXPECT_EQ(parse_regions("1:5-9,101:5-9", numbers), (std::vector<Region>{{0, 4, 9}, {3, 4, 9}}));
  EXPECT_EQ(parse_regions("1:100,001-200,000", numbers), (std::vector<Region>{{0, 100'000, 200'000}}));
  EXPECT_EQ(parse_region("1:100,001-200000", numbers), (Region{0, 100'000, 200'000}));
  EXPECT_EQ(parse_regions("1:100001-200,000,2", numbers),
            (std::vector<Region>{{0, 100'000, 200'000}, {1, 0, 500}}));
  EXPECT_EQ(parse_regions("1:5-9,2", numbers), (std::vector<Region>{{0, 4, 9}, {1, 0, 500}}));
  for (const char* text :
       {"chr1:1-100,HLA-A*01:5-9", "chr1,chr1", "chr1:1-100,5", "chr1:1-100,chr1:1,000-2,000"})
    expect_bad_input(error_of([&] { parse_region(text, contigs_of_regions); }), text, "2 regions, where one");
  expect_bad_input(error_of([&] { parse_regions("chr1,,chr1", contigs_of_regions); }), "region ",
                   "unknown contig");
}

TEST(Region, FormatIsTheInverse) {
  EXPECT_EQ(format_region("chr1", 2, 6), "chr1:3-6");
  const Region region = parse_region(format_region("chr1", 999, 2000), contigs_of_regions);
  EXPECT_EQ(region, (Region{0, 999, 2000}));
}

}  // namespace
}  // namespace bigbird
