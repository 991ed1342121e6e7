// chromatin build: lists of peaks, the half rule at its edges, rules for keeping bins, sides of the split and
// the gap between them, and the files; on real peaks against labels that were computed elsewhere.
#include "lib/genomics/chromatin/build.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "lib/core/rng.h"
#include "lib/genomics/chromatin/peaks.h"
#include "lib/io/genome/region.h"
#include "lib/io/tables/tsv.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::expect_message;
using testing::read_text;
using testing::TemporaryFolder;
using testing::write_text;

// --- the overlap rule

TEST(ChromatinOverlap, CountsBasesExactly) {
  EXPECT_EQ(least_overlap("0.5", 200, false), 101);
  EXPECT_EQ(least_overlap("0.5", 200, true), 100);
  EXPECT_EQ(least_overlap(".5", 201, false), 101);  // half is 100.5
  EXPECT_EQ(least_overlap("0.5", 201, true), 101);
  EXPECT_EQ(least_overlap("0", 200, false), 1);
  EXPECT_EQ(least_overlap("1", 200, true), 200);
  EXPECT_EQ(least_overlap("1.0", 200, true), 200);
  EXPECT_EQ(least_overlap("0.35", 200, true), 70);  // 0.35 * 200 is 69.999... in floating point
  EXPECT_EQ(least_overlap("0.35", 200, false), 71);
  for (const auto& rule : std::vector<std::pair<std::string, bool>>{{"0", true},
                                                                    {"1", false},
                                                                    {"1.1", true},
                                                                    {"-1", false},
                                                                    {"", false},
                                                                    {".", false},
                                                                    {"0.5x", false}}) {
    const auto error = error_of([&] { least_overlap(rule.first, 200, rule.second); });
    expect_message(error, "`min_overlap`", rule.first);
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->kind(), ErrorKind::usage);
  }
}

std::vector<bool> marked(std::vector<GenomeInterval> intervals, std::int64_t least, std::int64_t begin = 0,
                         std::int64_t bins = 5) {
  merge_intervals(intervals);
  std::vector<std::uint8_t> rows(static_cast<std::size_t>(bins) * 2);
  mark_bins(intervals, {1, begin, bins, 200}, least, 9, 2, rows);
  std::vector<bool> flags;
  for (std::size_t i = 0; i < rows.size(); i += 2) {
    EXPECT_EQ(rows[i], 0);
    flags.push_back(rows[i + 1] == 2);
  }
  return flags;
}

using Flags = std::vector<bool>;

TEST(ChromatinOverlap, MoreThanHalfOrAtLeastHalf) {
  const auto peak = [](std::uint32_t length) {
    return std::vector<GenomeInterval>{{1, 250, 250 + length}};  // 150 bases left of its first bin
  };
  EXPECT_EQ(marked(peak(99), 101), (Flags{0, 0, 0, 0, 0}));
  EXPECT_EQ(marked(peak(100), 101), (Flags{0, 0, 0, 0, 0}));
  EXPECT_EQ(marked(peak(101), 101), (Flags{0, 1, 0, 0, 0}));
  EXPECT_EQ(marked(peak(99), 100), (Flags{0, 0, 0, 0, 0}));
  EXPECT_EQ(marked(peak(100), 100), (Flags{0, 1, 0, 0, 0}));
  EXPECT_EQ(marked(peak(250), 101), (Flags{0, 1, 0, 0, 0}));  // 100 bases of the next bin
  EXPECT_EQ(marked(peak(251), 101), (Flags{0, 1, 1, 0, 0}));
  EXPECT_EQ(marked({{1, 0, 1000}}, 200), (Flags{1, 1, 1, 1, 1}));
}

TEST(ChromatinOverlap, TheUnionOfPeaksCounts) {
  // 60 + 60 bases apart; the same bases twice; two that touch.
  EXPECT_EQ(marked({{1, 300, 360}, {1, 210, 270}}, 101), (Flags{0, 1, 0, 0, 0}));
  EXPECT_EQ(marked({{1, 210, 270}, {1, 210, 271}}, 101), (Flags{0, 0, 0, 0, 0}));
  EXPECT_EQ(marked({{1, 210, 260}, {1, 260, 311}}, 101), (Flags{0, 1, 0, 0, 0}));
  // A bin's count begins anew after a peak that lies in two.
  EXPECT_EQ(marked({{1, 340, 460}, {1, 500, 541}}, 101), (Flags{0, 0, 1, 0, 0}));
  EXPECT_EQ(marked({{1, 340, 460}, {1, 500, 540}}, 101), (Flags{0, 0, 0, 0, 0}));
}

TEST(ChromatinOverlap, OtherContigsAndStretchesDoNotCount) {
  const std::vector<GenomeInterval> peaks = {{0, 0, 1000}, {1, 300, 700}, {2, 0, 1000}};
  EXPECT_EQ(marked(peaks, 101), (Flags{0, 0, 1, 0, 0}));  // 400-600; half of 200-400 and of 600-800
  EXPECT_EQ(marked(peaks, 100), (Flags{0, 1, 1, 1, 0}));
  EXPECT_EQ(marked(peaks, 100, 400, 2), (Flags{1, 1}));
  EXPECT_EQ(marked(peaks, 100, 200, 2), (Flags{1, 1}));
  EXPECT_EQ(marked(peaks, 100, 800, 2), (Flags{0, 0}));
}

TEST(ChromatinOverlap, AgreesWithCountingEveryBase) {
  CounterRng rng(5, Purpose::test, 0);
  for (int round = 0; round < 50; ++round) {
    std::vector<GenomeInterval> peaks;
    std::vector<int> base(3000);
    for (int i = 0; i < 12; ++i) {
      const auto begin = static_cast<std::uint32_t>(rng.between(0, 2900));
      const auto end =
          static_cast<std::uint32_t>(rng.between(begin + 1, std::min<std::int64_t>(3000, begin + 300)));
      peaks.push_back({1, begin, end});
      std::fill(base.begin() + begin, base.begin() + end, 1);
    }
    for (const std::int64_t least : {1, 70, 100, 101, 200}) {
      Flags expected;
      for (int bin = 0; bin < 15; ++bin)
        expected.push_back(std::count(base.begin() + bin * 200, base.begin() + (bin + 1) * 200, 1) >= least);
      EXPECT_EQ(marked(peaks, least, 0, 15), expected);
    }
  }
}

// --- which bins are kept

TEST(ChromatinKeep, RulesOverGroups) {
  const std::vector<Profile> profiles = {{"a", "DHS"}, {"b", "TF"}, {"c", "tf"}, {"d", "HM"}};
  const auto keeps = [&](const std::string& text, std::uint8_t row) {
    return KeepRule(text, profiles).keeps(std::vector<std::uint8_t>{row});
  };
  EXPECT_TRUE(keeps("all", 0));
  EXPECT_FALSE(keeps("any", 0));
  EXPECT_TRUE(keeps("any", 8));
  EXPECT_FALSE(keeps("tf", 1 + 8));
  EXPECT_TRUE(keeps("tf", 4));
  EXPECT_FALSE(keeps("TF:2", 4));
  EXPECT_TRUE(keeps("TF:2", 6));
  EXPECT_FALSE(keeps("tf+dhs", 2));
  EXPECT_TRUE(keeps("tf+dhs", 3));
  EXPECT_TRUE(keeps("tf:2,hm", 8));
  EXPECT_FALSE(keeps("tf:2,hm", 3));
  EXPECT_TRUE(keeps("any:3", 7));
  expect_bad_input(error_of([&] { KeepRule("other", profiles); }), "`keep` other", "0 of the profiles");
  expect_bad_input(error_of([&] { KeepRule("hm:2", profiles); }), "`keep` hm:2", "1 of the profiles");
  for (const char* bad : {"", "tf:", "tf:x", "tf:0", "tf,,hm", "+tf"})
    EXPECT_EQ(error_of([&] { KeepRule(bad, profiles); })->kind(), ErrorKind::usage) << bad;
}

// --- sides

const ContigNames split_contigs({{"chr1", 100'000}, {"chr2", 50'000}, {"chr7", 1000}});

TEST(ChromatinSides, ListsOfContigsAndRegions) {
  EXPECT_EQ(split_region_list("chr8,chr7:1,000-2,000,chr9"),
            (std::vector<std::string>{"chr8", "chr7:1,000-2,000", "chr9"}));
  EXPECT_EQ(split_region_list("chr7:30,508,751-35,296,850,8"),
            (std::vector<std::string>{"chr7:30,508,751-35,296,850", "8"}));
  EXPECT_EQ(split_region_list("a,,b"), (std::vector<std::string>{"a", "", "b"}));
  const ChromatinSplits splits({"", "2", "chr1:1,001-2,000,chr1:5001-6000", ""}, split_contigs);
  EXPECT_EQ(splits.side(1, 0), Split::test);
  EXPECT_EQ(splits.side(0, 999), Split::train);
  EXPECT_EQ(splits.side(0, 1000), Split::valid);
  EXPECT_EQ(splits.side(0, 1999), Split::valid);
  EXPECT_EQ(splits.side(0, 2000), Split::train);
  EXPECT_EQ(splits.side(0, 5500), Split::valid);
  const ChromatinSplits chosen({"", "chr2", "", "chr1"}, split_contigs);
  EXPECT_EQ(chosen.side(0, 5), Split::train);
  EXPECT_EQ(chosen.side(2, 5), Split::none);
}

TEST(GenomeSides, TellWhatIsElsewhere) {
  const GenomeSides sides({"2", "chr1:1,001-2,000,chr1:5001-6000", ""}, split_contigs);
  const auto text = [](const std::vector<Region>& stretches) {
    std::string list;
    for (const Region& stretch : stretches)
      list += std::to_string(stretch.begin) + "-" + std::to_string(stretch.end) + " ";
    return list;
  };
  EXPECT_EQ(text(sides.elsewhere(Split::train, 0)), "1000-2000 5000-6000 ");
  EXPECT_EQ(text(sides.elsewhere(Split::valid, 0)), "0-1000 2000-5000 6000-100000 ");
  EXPECT_EQ(text(sides.elsewhere(Split::test, 0)), "0-100000 ");
  EXPECT_EQ(text(sides.elsewhere(Split::test, 1)), "");
  EXPECT_EQ(text(sides.elsewhere(Split::train, 1)), "0-50000 ");
  EXPECT_FALSE(apart_from(sides.elsewhere(Split::train, 0), 900, 1001));
  EXPECT_TRUE(apart_from(sides.elsewhere(Split::train, 0), 900, 1000));
  EXPECT_TRUE(apart_from(sides.elsewhere(Split::train, 0), 2000, 5000));
}

TEST(ChromatinSides, WhatDoesNotFitIsRefused) {
  const auto error = [&](const ChromatinSplitOptions& options) {
    return error_of([&] { ChromatinSplits splits(options, split_contigs); });
  };
  expect_bad_input(error({"", "chr1", "chr1:5-10", ""}), "chr1:5-10", "share bases");
  expect_bad_input(error({"", "chr9", "", ""}), "`test`", "chr9");
  expect_bad_input(error({"", "", "chr1:1-100001", ""}), "`valid`", "100000");
  expect_bad_input(error({"deepsea", "", "", ""}), "deepsea", "1000 bases");
  EXPECT_EQ(error({"other", "", "", ""})->kind(), ErrorKind::usage);
  EXPECT_EQ(error({"deepsea", "chr1", "", ""})->kind(), ErrorKind::usage);
  EXPECT_EQ(error({"", "chr1,", "", ""})->kind(), ErrorKind::usage);
}

TEST(ChromatinSides, ThePublishedSplitIsAPreset) {
  const ContigNames grch37({{"7", 159'138'663}, {"8", 146'364'022}, {"9", 141'213'431}, {"X", 155'270'560}});
  const ChromatinSplits splits({"deepsea", "", "", ""}, grch37);
  EXPECT_EQ(splits.side(1, 0), Split::test);
  EXPECT_EQ(splits.side(2, 141'213'430), Split::test);
  EXPECT_EQ(splits.side(0, 30'508'749), Split::train);
  EXPECT_EQ(splits.side(0, 30'508'750), Split::valid);
  EXPECT_EQ(splits.side(0, 35'296'849), Split::valid);
  EXPECT_EQ(splits.side(0, 35'296'850), Split::train);
  EXPECT_EQ(splits.side(3, 0), Split::train);
}

std::string sides_after(const std::string& before, const ModelWindow& window, std::int64_t length,
                        std::optional<std::int64_t> gap, std::int64_t step = 200) {
  std::vector<ChromatinBin> bins;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Split split = before[i] == 't'   ? Split::test
                        : before[i] == 'v' ? Split::valid
                        : before[i] == '-' ? Split::none
                                           : Split::train;
    bins.push_back({0, split, static_cast<std::int64_t>(i) * step});
  }
  std::int64_t expected = 0;
  const std::int64_t moved = keep_sides_apart(bins, window, length, gap);
  std::string after;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    after += bins[i].split == Split::test    ? 't'
             : bins[i].split == Split::valid ? 'v'
             : bins[i].split == Split::none  ? '-'
                                             : '.';
    expected += after[i] != before[i] ? 1 : 0;
  }
  EXPECT_EQ(moved, expected);
  return after;
}

TEST(ChromatinSides, WindowsOfTwoSidesDoNotOverlap) {
  // A window of 600: a bin with 200 before and 200 after. Neighbours two bins away share bases, three do not.
  const ModelWindow window{"chromatin", 600, 200, 200};
  EXPECT_EQ(sides_after(".....vv.....", window, 100'000, std::nullopt), "...--vv--...");
  EXPECT_EQ(sides_after(".....vvvvtt.", window, 100'000, std::nullopt), "...--vv--tt-");
  EXPECT_EQ(sides_after("............", window, 100'000, std::nullopt), "............");
  EXPECT_EQ(sides_after(".....vv.....", window, 100'000, 0), ".....vv.....");
  EXPECT_EQ(sides_after(".....vv.....", window, 100'000, 1), "....-vv-....");
  EXPECT_EQ(sides_after(".....vv.....", window, 100'000, 200), "....-vv-....");
  EXPECT_EQ(sides_after(".....vv.....", window, 100'000, 201), "...--vv--...");
  EXPECT_EQ(sides_after("..v..", window, 100'000, std::nullopt, 600), "..v..");  // bins with room between
  // At the start of a contig the first window is moved inwards: it begins with the second and ends later.
  EXPECT_EQ(sides_after("v.....", window, 100'000, std::nullopt), "v---..");
  // And at its end.
  EXPECT_EQ(sides_after(".....v", window, 1200, std::nullopt), "..---v");
}

// --- whole builds

class ChromatinBuild : public ::testing::Test {
 protected:
  ChromatinBuild() {
    write_text(folder_ / "genome.fa.fai",
               "chr1\t10150\t6\t60\t61\nchr2\t4000\t9\t60\t61\nchr3\t500\t9\t60\t61\n");
    write_text(
        folder_ / "a.narrowPeak",
        "track "
        "name=a\nchr1\t200\t301\tx\t10.5\t.\t3.5\t-1\t-1\t50\nchr1\t10000\t10150\tx\t1\t.\t1\t1\t1\t-1\n"
        "chr2\t1000\t1000\tempty\t0\t.\t0\t0\t0\t0\nchrUn_1\t5\t50\tx\t0\t.\t0\t0\t0\t0\n");
    write_text(folder_ / "b.bed", "1\t250\t450\tx\n1\t600\t800\ty\n2\t3800\t4000\ty\n");
    write_text(
        folder_ / "list.tsv",
        "##made by "
        "hand\n#name\tgroup\tfile\ttrack\nA\tTF\ta.narrowPeak\t.\nB\tDHS\tb.bed\tx\nB\tDHS\tb.bed\ty\n");
    options_.peaks = (folder_ / "list.tsv").string();
    options_.fasta = (folder_ / "genome.fa").string();
    options_.output = (folder_ / "out").string();
    options_.keep = "any";
    options_.left = options_.right = 400;
    options_.with_provenance = false;
  }
  std::string bins() const {
    InputStream in((folder_ / "out/bins.bed.gz").string());
    return in.read_all();
  }
  nlohmann::json manifest() const { return nlohmann::json::parse(read_text(folder_ / "out/manifest.json")); }

  TemporaryFolder folder_;
  ChromatinBuildOptions options_;
};

TEST_F(ChromatinBuild, WritesBinsLabelsAndCounts) {
  options_.split.test = "chr2";
  const ChromatinBuildSummary summary = build_chromatin(options_);
  // 10000-10150 is no whole bin; chr3 is shorter than the window of 1000.
  EXPECT_EQ(bins(), "chr1\t200\t400\ttrain\nchr1\t600\t800\ttrain\nchr2\t3800\t4000\ttest\n");
  EXPECT_EQ(read_text(folder_ / "out/labels.npy").substr(128), std::string("\x03\x04\x04"));
  EXPECT_EQ(read_text(folder_ / "out/profiles.tsv"),
            "index\tname\tgroup\ttrain\tvalid\ttest\tnone\n0\tA\tTF\t1\t0\t0\t0\n1\tB\tDHS\t1\t0\t0\t0\n"
            "2\tB\tDHS\t1\t0\t1\t0\n");
  EXPECT_EQ(summary.grid, 50 + 20 + 2);
  EXPECT_EQ(summary.bins, 3);
  EXPECT_EQ(summary.dropped.count("labels that the rule keep does not want"), 67u);
  EXPECT_EQ(summary.dropped.count("contig shorter than the window"), 2u);
  EXPECT_EQ(summary.peaks.lines, 7u);
  EXPECT_EQ(summary.peaks.empty, 1u);
  EXPECT_EQ(summary.peaks.unknown_contigs.at("chrUn_1"), 1u);
  const auto json = manifest();
  EXPECT_EQ(json.at("rules").at("least_bases"), 101);
  EXPECT_EQ(json.at("splits").at("test"), (std::vector<std::string>{"chr2:1-4000"}));
  EXPECT_EQ(json.at("peak_lines").at("on_unknown_contigs").at("chrUn_1"), 1);
  EXPECT_EQ(json.at("reference"), options_.fasta);
  EXPECT_EQ(json.at("window").at("target_offset"), 400);
}

TEST_F(ChromatinBuild, KeepsBinsByRuleAndLeavesOutExcludedRegions) {
  options_.keep = "tf";
  EXPECT_EQ(build_chromatin(options_).bins, 1);
  options_.replace = true;
  options_.keep = "all";
  EXPECT_EQ(build_chromatin(options_).bins, 70);
  write_text(folder_ / "black.bed", "chr1\t399\t400\nchr1\t800\t900\nchr2\t0\t3800\n");
  options_.exclude = {(folder_ / "black.bed").string()};
  options_.keep = "any";
  EXPECT_EQ(build_chromatin(options_).dropped.count("touches an excluded region"), 1u);
  EXPECT_EQ(bins(), "chr1\t600\t800\ttrain\nchr2\t3800\t4000\ttrain\n");
}

TEST_F(ChromatinBuild, ABinIsOnTheSideOfItsMiddle) {
  options_.keep = "all";
  options_.gap = 0;
  options_.chromosomes = {"chr2"};
  options_.split.valid = "chr2:701-1300";  // 0-based 700-1300: the middles of the bins from 600 and to 1400
  build_chromatin(options_);
  const std::string text = bins();
  EXPECT_NE(text.find("chr2\t400\t600\ttrain\nchr2\t600\t800\tvalid\n"), std::string::npos) << text;
  EXPECT_NE(text.find("chr2\t1000\t1200\tvalid\nchr2\t1200\t1400\ttrain\n"), std::string::npos) << text;
}

TEST_F(ChromatinBuild, WindowsWithTooManyNAreDropped) {
  // The index of the fixture is of another file.
  std::filesystem::remove(folder_ / "genome.fa.fai");
  std::string chr1(10150, 'A'), chr2(4000, 'C');
  chr2.replace(2500, 600, 600, 'N');
  write_text(options_.fasta,
             ">chr1\n" + chr1 + "\n>chr2\n" + chr2 + "\n>chr3\n" + std::string(500, 'G') + "\n");
  options_.chromosomes = {"chr2"};
  options_.keep = "all";
  options_.max_n = 0.3;
  const auto summary = build_chromatin(options_);
  std::int64_t expected = 0;
  for (std::size_t bin = 0; bin < 4000; bin += 200) {
    const std::size_t begin = std::min<std::size_t>(bin < 400 ? 0 : bin - 400, 3000);
    const std::string window = chr2.substr(begin, 1000);
    expected += std::count(window.begin(), window.end(), 'N') > 300 ? 1 : 0;
  }
  EXPECT_GT(expected, 0);
  EXPECT_EQ(summary.dropped.count("too many N"), static_cast<std::uint64_t>(expected));
  EXPECT_EQ(summary.bins, 20 - expected);
  ChromatinDataset data(options_.output);
  for (std::size_t row = 0; row < data.bins().size(); ++row) {
    Fasta fasta = data.fasta().clone();
    const std::string window = data.window_sequence(fasta, row);
    EXPECT_LE(std::count(window.begin(), window.end(), 'N'), 300);
  }
}

TEST_F(ChromatinBuild, BadInputNamesFileAndLine) {
  const auto refused = [&](const std::string& place, const std::string& what) {
    expect_bad_input(error_of([&] { build_chromatin(options_); }), place, what);
    EXPECT_FALSE(std::filesystem::exists(options_.output));
  };
  write_text(folder_ / "b.bed", "1\t250\t450\tx\n1\t10100\t10151\ty\n");
  refused("b.bed:2", "beyond the end of chr1");
  options_.clip = true;
  EXPECT_EQ(build_chromatin(options_).peaks.clipped, 1u);
  std::filesystem::remove_all(options_.output);
  write_text(folder_ / "b.bed", "1\t250\t450\tx\n1\t10200\t10251\ty\n");
  refused("b.bed:2", "beyond the end of chr1");
  write_text(folder_ / "b.bed", "");
  refused("b.bed", "no interval");
  write_text(folder_ / "b.bed", "1\t250\t450\tx\n1\t25x\t450\ty\n");
  refused("b.bed:2", "25x");
  std::filesystem::remove(folder_ / "b.bed");
  refused("b.bed", "");
  write_text(folder_ / "b.bed", "chrZ\t250\t450\tx\n");
  write_text(folder_ / "a.narrowPeak", "chrZ\t250\t450\tx\n");
  refused("list.tsv", "none of the 72 bins");
  const std::string head = "#name\tgroup\tfile\n";
  write_text(folder_ / "list.tsv", head + "A\tTF\tb.bed\nB\tTF\tb.bed\n");
  refused("list.tsv:3", "twice");
  write_text(folder_ / "list.tsv", head + "A\tTF\t\n");
  refused("list.tsv:2", "without a file");
  write_text(folder_ / "list.tsv", head);
  refused("list.tsv", "no track");
  write_text(folder_ / "list.tsv", "#name\tfile\nA\tb.bed\n");
  refused("list.tsv", "group");
}

// --- real data

struct ExpectedBin {
  std::set<int> more, equal;  // tracks that cover more than 100 bases, and exactly 100
};

using BinKey = std::pair<std::string, std::int64_t>;

std::set<int> numbers(std::string_view list) {
  std::set<int> result;
  if (list == ".") return result;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    result.insert(static_cast<int>(parse_integer(list.substr(begin, end - begin), "expected", "index")));
    begin = end + 1;
  }
  return result;
}

std::map<BinKey, ExpectedBin> expected_bins(const std::string& path) {
  std::map<BinKey, ExpectedBin> bins;
  TsvReader table(path);
  std::vector<std::string_view> fields;
  while (table.next(fields)) {
    bins[{std::string(fields[0]), parse_integer(fields[1], table.where(), "start")}] = {numbers(fields[3]),
                                                                                        numbers(fields[4])};
  }
  return bins;
}

TEST(ChromatinBuildOnRealPeaks, LabelsEqualTheTruthByBothRules) {
  BIGBIRD_REQUIRE_SHARED();
  const auto data = *testing::shared_dir() / "data" / "peaks-hg19";
  const TemporaryFolder folder;
  // Lengths of GRCh37; the sequence is not needed.
  write_text(
      folder / "hg19.fa.fai",
      "1\t249250621\t3\t60\t61\n17\t81195210\t3\t60\t61\n20\t63025520\t3\t60\t61\n22\t51304566\t3\t60\t61\n");
  std::string list = "#name\tgroup\tfile\ttrack\n";
  {
    LineReader lines((data / "dream_tf.tracks.txt").string());
    for (std::string_view line; lines.next(line);) {
      list += std::string(line) + "\tTF\t" + (data / "dream_tf.inside_grch37_pieces.narrowPeak").string() +
              "\t" + std::string(line) + "\n";
    }
  }
  write_text(folder / "list.tsv", list);
  const auto truth = expected_bins((data / "bins200.expected.tsv.gz").string());
  ASSERT_GT(truth.size(), 2337u);
  // The regions that the truth speaks of (1-based, of the sequence's table); peaks may reach out of them.
  const ContigNames names(
      {{"chr1", 249250621}, {"chr17", 81195210}, {"chr20", 63025520}, {"chr22", 51304566}});
  std::vector<Region> regions;
  for (const char* text : {"chr1:1-1000000", "chr17:1-1000000", "chr17:41060600-41381587",
                           "chr20:1000001-2000000", "chr20:9999901-10270533", "chr22:20000001-21000000"})
    regions.push_back(parse_region(text, names));
  for (const bool at_least : {false, true}) {
    ChromatinBuildOptions options;
    options.peaks = (folder / "list.tsv").string();
    options.fasta = (folder / "hg19.fa").string();
    options.output = (folder / (at_least ? "at_least" : "more_than")).string();
    options.at_least = at_least;
    const auto summary = build_chromatin(options);
    EXPECT_EQ(summary.profiles, 109u);
    std::map<BinKey, std::set<int>> expected, found;
    for (const auto& [key, bin] : truth) {
      std::set<int> tracks = bin.more;
      if (at_least) tracks.insert(bin.equal.begin(), bin.equal.end());
      if (!tracks.empty()) expected[key] = std::move(tracks);
    }
    if (!at_least) {
      EXPECT_EQ(expected.size(), 2337u);
    }
    // Read without the genome, which is not here.
    std::vector<BinKey> rows;
    InputStream in(options.output + "/bins.bed.gz");
    const LabelMatrix labels(options.output + "/labels.npy", static_cast<std::size_t>(summary.bins), 109);
    LineReader lines(options.output + "/bins.bed.gz");
    std::vector<std::string_view> fields;
    for (std::string_view line; lines.next(line);) {
      if (line.starts_with("#")) continue;
      split_tabs(line, fields);
      rows.emplace_back("chr" + std::string(fields[0]), parse_integer(fields[1], lines.where(), "start"));
    }
    ASSERT_EQ(rows.size(), labels.rows());
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const bool inside = std::any_of(regions.begin(), regions.end(), [&](const Region& region) {
        return names[region.contig].name == rows[row].first && rows[row].second >= region.begin &&
               rows[row].second + 200 <= region.end;
      });
      if (!inside) continue;
      for (std::size_t k = 0; k < 109; ++k) {
        if (labels.at(row, k)) found[rows[row]].insert(static_cast<int>(k));
      }
    }
    EXPECT_EQ(found.size(), expected.size());
    EXPECT_TRUE(found == expected);
  }
}

}  // namespace
}  // namespace bigbird
