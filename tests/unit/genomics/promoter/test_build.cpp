// promoter build end to end on a small genome: windows, strands, negatives, drops, splits.
#include "lib/genomics/promoter/build.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/genomes/simulate/composition.h"
#include "lib/genomics/promoter/examples.h"
#include "lib/genomics/promoter/labelled_sequences.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/fasta.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

// A contig of 30,000 bases with N in 3000..3400, and windows of -200..+100.
class PromoterBuild : public ::testing::Test {
 protected:
  PromoterBuild() {
    CounterRng rng(8, Purpose::test, 0);
    bases_ = draw_bases(30000, 45, rng);
    bases_.replace(3000, 400, 400, 'N');
    testing::write_text(folder_ / "genome.fa", ">chr1 text\n" + bases_ + "\n");
    options_.fasta = (folder_ / "genome.fa").string();
    options_.tss = (folder_ / "tss.bed").string();
    options_.output = (folder_ / "out").string();
    options_.left = 200;
    options_.right = 100;
    options_.negatives = {{NegativeKind::random, 1}};
  }

  void write_tss(const std::vector<std::pair<int, char>>& sites) {
    std::string text;
    for (std::size_t i = 0; i < sites.size(); ++i) {
      text += "1\t" + std::to_string(sites[i].first) + "\t" + std::to_string(sites[i].first + 1) + "\tG" +
              std::to_string(i) + "_1\t1\t" + sites[i].second + "\n";
    }
    testing::write_text(options_.tss, text);
  }

  std::vector<PromoterExample> examples(const std::string& name) const {
    std::vector<PromoterExample> list;
    PromoterExampleReader reader(options_.output + "/" + name);
    PromoterExample example;
    while (reader.next(example)) list.push_back(example);
    return list;
  }

  std::vector<PromoterExample> all_examples() const {
    std::vector<PromoterExample> list;
    for (const char* side : {"train", "valid", "test"}) {
      for (PromoterExample& example : examples(std::string(side) + ".tsv")) {
        EXPECT_EQ(example.split, side);
        list.push_back(std::move(example));
      }
    }
    return list;
  }

  testing::TemporaryFolder folder_;
  std::string bases_;
  PromoterBuildOptions options_;
};

TEST_F(PromoterBuild, PutsTheTssAtTheSameOffsetOnBothStrands) {
  write_tss({{500, '+'}, {1000, '-'}, {2000, '+'}});
  const auto summary = build_promoters(options_);
  EXPECT_EQ(summary.promoters, 3);
  int seen = 0;
  for (const PromoterExample& example : all_examples()) {
    if (example.label == 0) continue;
    ++seen;
    ASSERT_EQ(example.sequence.size(), 300u);
    const std::string genome = bases_.substr(static_cast<std::size_t>(example.start), 300);
    EXPECT_EQ(example.sequence, example.strand == '+' ? genome : reverse_complement(genome));
    if (example.id == "G0_1") {
      EXPECT_EQ(example.start, 300);
    }
    if (example.id == "G1_1") {
      EXPECT_EQ(example.start, 1000 - 99);
      EXPECT_EQ(example.end, 1000 + 201);
      EXPECT_EQ(example.sequence.substr(200, 1), reverse_complement(bases_.substr(1000, 1)));
    }
  }
  EXPECT_EQ(seen, 3);
}

TEST_F(PromoterBuild, CountsWindowsThatLeaveTheContigOrHoldN) {
  write_tss({{500, '+'}, {1000, '-'}, {2000, '+'}, {100, '+'}, {29950, '+'}, {3100, '+'}, {29990, '-'}});
  const auto summary = build_promoters(options_);
  EXPECT_EQ(summary.promoters, 3);
  EXPECT_EQ(summary.dropped.count("window beyond its contig"), 3u);
  EXPECT_EQ(summary.dropped.count("too many N"), 1u);
  const auto manifest = nlohmann::json::parse(testing::read_text(options_.output + "/manifest.json"));
  EXPECT_EQ(manifest.at("counts").at("rows"), 7);
  EXPECT_EQ(manifest.at("counts").at("positives"), 3);
  EXPECT_EQ(manifest.at("counts").at("dropped"), 4);
  EXPECT_EQ(manifest.at("dropped").at("too many N"), 1);
  EXPECT_EQ(manifest.at("negatives").at("kind"), "random");
  EXPECT_NE(testing::read_text(options_.output + "/dropped.tsv")
                .find("G3_1\tchr1\t100\t+\twindow beyond its contig"),
            std::string::npos);
}

TEST_F(PromoterBuild, KeepsEachNegativeBesideItsPromoterForEveryKind) {
  std::vector<std::pair<int, char>> sites;
  for (int i = 0; i < 20; ++i) sites.push_back({4000 + 620 * i, i % 2 == 0 ? '+' : '-'});
  write_tss(sites);
  for (const NegativeKind kind :
       {NegativeKind::random, NegativeKind::permute, NegativeKind::dinucleotide, NegativeKind::genomic}) {
    options_.negatives = {{kind, 1}};
    options_.min_distance = 150;
    options_.replace = true;
    build_promoters(options_);
    for (const char* side : {"train.tsv", "valid.tsv", "test.tsv"}) {
      const auto list = examples(side);
      ASSERT_EQ(list.size() % 2, 0u);
      EXPECT_GE(list.size(), 4u);
      for (std::size_t i = 0; i < list.size(); i += 2) {
        EXPECT_EQ(list[i].label, 1);
        EXPECT_EQ(list[i + 1].label, 0);
        EXPECT_EQ(list[i + 1].id, list[i].id + ":negative");
        EXPECT_EQ(list[i + 1].sequence.size(), 300u);
        EXPECT_NE(list[i + 1].sequence, list[i].sequence);
        if (kind == NegativeKind::genomic) {
          for (const auto& [tss, strand] : sites)
            EXPECT_FALSE(list[i + 1].start < tss + 150 && tss < list[i + 1].end + 149);
          const std::string genome = bases_.substr(static_cast<std::size_t>(list[i + 1].start), 300);
          EXPECT_EQ(list[i + 1].sequence, list[i + 1].strand == '+' ? genome : reverse_complement(genome));
        }
      }
    }
  }
}

// Each is that of a data set of its kind alone, and none of them lies on another side than its promoter.
TEST_F(PromoterBuild, SeveralKindsGiveEveryPromoterOneOfEach) {
  std::vector<std::pair<int, char>> sites;
  for (int i = 0; i < 20; ++i) sites.push_back({4000 + 620 * i, i % 2 == 0 ? '+' : '-'});
  write_tss(sites);
  options_.min_distance = 150;
  options_.replace = true;
  std::map<std::string, PromoterExample> alone;  // by the ids of several
  for (const NegativeKind kind : {NegativeKind::random, NegativeKind::genomic}) {
    options_.negatives = {{kind, 1}};
    build_promoters(options_);
    for (PromoterExample& example : all_examples()) {
      const auto id = parse_negative_id(example.id);
      alone[id ? negative_id({id->promoter, kind}) : example.id] = example;
    }
  }
  options_.negatives = parse_negative_plan("random+genomic");
  const auto summary = build_promoters(options_);
  EXPECT_EQ(summary.promoters, 20);
  EXPECT_EQ(summary.leaks.at(0).examples, 60);
  const auto list = all_examples();
  ASSERT_EQ(list.size(), 60u);
  for (std::size_t i = 0; i < list.size(); i += 3) {
    EXPECT_EQ(list[i + 1].id, list[i].id + ":negative:random");
    EXPECT_EQ(list[i + 2].id, list[i].id + ":negative:genomic");
    for (std::size_t k = i; k < i + 3; ++k) {
      const PromoterExample& expected = alone.at(list[k].id);
      EXPECT_EQ(list[k].label, k == i ? 1 : 0);
      EXPECT_EQ(list[k].sequence, expected.sequence) << list[k].id;
      EXPECT_EQ(list[k].start, expected.start) << list[k].id;
      EXPECT_EQ(list[k].split, list[i].split) << list[k].id;
    }
  }
  const auto manifest = nlohmann::json::parse(testing::read_text(options_.output + "/manifest.json"));
  EXPECT_EQ(manifest.at("negatives").at("kind"), "random+genomic");
  EXPECT_EQ(manifest.at("negatives").at("blocks"), 20);
  EXPECT_EQ(manifest.at("negatives").at("min_distance"), 150);
  EXPECT_EQ(manifest.at("counts").at("positives"), 20);
  EXPECT_EQ(manifest.at("counts").at("negatives"), 40);
  EXPECT_EQ(manifest.at("splits").at(0).at("train").at("negatives").get<int>(),
            2 * manifest.at("splits").at(0).at("train").at("positives").get<int>());
}

TEST_F(PromoterBuild, SeveralOfAKindHaveIdsOfTheirOwnAndTheFirstIsTheOneAlone) {
  std::vector<std::pair<int, char>> sites;
  for (int i = 0; i < 12; ++i) sites.push_back({4000 + 1900 * i, i % 2 == 0 ? '+' : '-'});
  write_tss(sites);
  options_.replace = true;
  std::map<std::string, std::string> alone;  // sequences
  for (const NegativeKind kind : {NegativeKind::random, NegativeKind::genomic}) {
    options_.negatives = {{kind, 1}};
    build_promoters(options_);
    for (const PromoterExample& example : all_examples()) {
      if (const auto id = parse_negative_id(example.id))
        alone[negative_id({id->promoter, kind, 1})] = example.sequence;
    }
  }
  options_.negatives = parse_negative_plan("random:2+genomic:3");
  const auto summary = build_promoters(options_);
  EXPECT_EQ(summary.genomic.drawn + summary.genomic.without_room, 36);
  EXPECT_FALSE(summary.leaks.at(0).any());
  std::set<std::string> ids, sequences;
  std::int64_t found = 0;
  std::map<std::string, std::string> side_of;
  for (const PromoterExample& example : all_examples()) {
    EXPECT_TRUE(ids.insert(example.id).second) << example.id;
    sequences.insert(example.sequence);
    const auto id = parse_negative_id(example.id);
    EXPECT_EQ(side_of.emplace(id ? id->promoter : example.id, example.split).first->second, example.split);
    if (!id || id->number != 1) continue;
    ++found;
    EXPECT_EQ(example.sequence, alone.at(example.id)) << example.id;
  }
  EXPECT_EQ(found, 24);
  EXPECT_EQ(sequences.size(), ids.size());
  const auto manifest = nlohmann::json::parse(testing::read_text(options_.output + "/manifest.json"));
  EXPECT_EQ(manifest.at("negatives").at("kind"), "random:2+genomic:3");
  EXPECT_EQ(manifest.at("negatives").at("per_promoter").at("genomic"), 3);
  EXPECT_EQ(manifest.at("counts").at("negatives"), ids.size() - 12);
  EXPECT_DOUBLE_EQ(manifest.at("counts").at("prior").get<double>(), 12.0 / static_cast<double>(ids.size()));
  const auto& train = manifest.at("splits").at(0).at("train");
  EXPECT_DOUBLE_EQ(*read_promoter_facts(options_.output).prior, train.at("prior").get<double>());
}

// Yeast has a gene every 2 kb: the default leaves room between them for windows of 300 bases and of 2 kb.
TEST_F(PromoterBuild, TheDefaultDistanceIsHalfAWindow) {
  EXPECT_EQ(negative_distance(options_), 150);
  PromoterBuildOptions large;
  EXPECT_EQ(negative_distance(large), 4000);
  large.left = 20'000;
  EXPECT_EQ(negative_distance(large), 5000);
  large.min_distance = 7;
  EXPECT_EQ(negative_distance(large), 7);
  std::vector<std::pair<int, char>> sites;
  for (int i = 0; i < 12; ++i) sites.push_back({4000 + 2000 * i, i % 2 == 0 ? '+' : '-'});
  write_tss(sites);
  options_.negatives = parse_negative_plan("genomic:2");
  const auto summary = build_promoters(options_);
  EXPECT_EQ(summary.promoters, 12);
  EXPECT_EQ(summary.genomic.drawn, 24);
  for (const PromoterExample& example : all_examples()) {
    for (const auto& [tss, strand] : sites) {
      if (example.label == 1) continue;
      EXPECT_TRUE(tss - (example.end - 1) >= 150 || example.start - tss >= 150) << example.id;
    }
  }
}

TEST_F(PromoterBuild, NamedSidesTakeWhatLiesInThemAndTheirNegatives) {
  std::vector<std::pair<int, char>> sites;
  for (int i = 0; i < 24; ++i) sites.push_back({4000 + 1000 * i, i % 2 == 0 ? '+' : '-'});
  sites.push_back({15050, '+'});  // its window begins before base 15,000
  write_tss(sites);
  options_.negatives = parse_negative_plan("genomic:2+random");
  options_.sides = {"chr1:15001-20,000", "chr1:20001-25000", ""};
  const auto summary = build_promoters(options_);
  // Those of 15,000 and 20,000 on - and + lie across a border too.
  EXPECT_EQ(summary.dropped.count("window across the border of a side"), 4u);
  EXPECT_EQ(summary.leaks.at(0).count(Leak::overlapping_windows), 0);
  std::map<std::string, int> seen;
  for (const PromoterExample& example : all_examples()) {
    ++seen[example.split];
    const bool in_test = example.start >= 15000 && example.end <= 20000;
    const bool in_valid = example.start >= 20000 && example.end <= 25000;
    EXPECT_EQ(example.split == "test", in_test) << example.id << ' ' << example.start;
    EXPECT_EQ(example.split == "valid", in_valid) << example.id << ' ' << example.start;
    EXPECT_TRUE(in_test || in_valid || example.end <= 15000 || example.start >= 25000);
  }
  EXPECT_EQ(seen.size(), 3u);
  const auto manifest = nlohmann::json::parse(testing::read_text(options_.output + "/manifest.json"));
  EXPECT_EQ(manifest.at("sides").at("test"), "chr1:15001-20,000");
}

TEST_F(PromoterBuild, ASideThatIsNotNamedIsDrawnFromTheRest) {
  std::vector<std::pair<int, char>> sites;
  for (int i = 0; i < 20; ++i) sites.push_back({4500 + 1000 * i, '+'});
  write_tss(sites);
  options_.sides.test = "chr1:20001-30000";
  build_promoters(options_);
  std::map<std::string, int> seen;
  for (const PromoterExample& example : all_examples()) {
    ++seen[example.split];
    EXPECT_EQ(example.split == "test", example.start >= 20000);
  }
  EXPECT_EQ(seen["test"], 8);
  EXPECT_EQ(seen["valid"], 4);
  options_.replace = true;
  options_.sides.valid = "chr1:29001-30000";
  EXPECT_THROW(build_promoters(options_), Error);  // shares bases with test
  options_.sides = {"chr1:20001-30000", "chr1:3001-4000", ""};
  try {
    build_promoters(options_);
    FAIL() << "a side without a promoter was accepted";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("on the valid side"), std::string::npos) << error.message();
  }
  options_.sides = {"chr1:20001-30000", "", ""};
  options_.split = parse_split("kfold:3");
  EXPECT_THROW(build_promoters(options_), Error);
}

// A promoter whose sequence stands on a named side too would leak.
TEST_F(PromoterBuild, ASequenceOfAnotherNamedSideIsDropped) {
  testing::write_text(folder_ / "copies.fa",
                      ">chr1\n" + bases_ + "\n>chr2\n" + bases_ + "\n>chr3\n" + bases_ + "\n");
  options_.fasta = (folder_ / "copies.fa").string();
  std::string text;
  const auto tss = [&](const std::string& chrom, int at) {
    text += chrom + "\t" + std::to_string(at) + "\t" + std::to_string(at + 1) + "\t" + chrom + "_" +
            std::to_string(at) + "\t1\t+\n";
  };
  for (const int at : {5000, 6000, 7000, 8000}) tss("chr1", at);
  for (const int at : {5000, 9000}) tss("chr2", at);
  for (const int at : {9000, 10000}) tss("chr3", at);
  testing::write_text(options_.tss, text);
  options_.sides.test = "chr2";
  options_.chromosomes = {"chr1", "chr2"};
  const auto summary = build_promoters(options_);
  EXPECT_EQ(summary.promoters, 5);
  EXPECT_EQ(summary.dropped.count("sequence of another side"), 1u);
  EXPECT_EQ(summary.dropped.count("chromosome not chosen"), 2u);
  EXPECT_FALSE(summary.leaks.at(0).any());
}

// A negative whose sequence stands on another side too goes alone where its promoter has others.
TEST_F(PromoterBuild, OfSeveralNegativesTheOneOfAnotherSideGoesAlone) {
  // Room for a negative at base 550 of chr1, and from 540 to 550 of chr2, which is the same.
  const std::string twice = bases_.substr(5000, 850);
  testing::write_text(folder_ / "copies.fa", ">chr1\n" + twice + "\n>chr2\n" + twice + "\n>chr3\n" +
                                                 bases_.substr(10000, 5000) + "\n");
  options_.fasta = (folder_ / "copies.fa").string();
  testing::write_text(options_.tss,
                      "chr1\t400\t401\tA_1\t1\t+\nchr2\t390\t391\tB_1\t1\t+\nchr3\t400\t401\tC_1\t1\t+\n");
  options_.negatives = parse_negative_plan("genomic:60");
  options_.sides = {"chr2", "chr3", ""};
  const auto summary = build_promoters(options_);
  EXPECT_EQ(summary.promoters, 3);
  EXPECT_GT(summary.genomic.elsewhere, 0);
  EXPECT_FALSE(summary.leaks.at(0).any());
  EXPECT_EQ(summary.sides.at(0).at("train").negatives, 60);
  EXPECT_EQ(summary.sides.at(0).at("test").negatives, 60 - summary.genomic.elsewhere);
  std::set<std::string> ids;
  for (const PromoterExample& example : examples("test.tsv")) {
    EXPECT_TRUE(ids.insert(example.id).second);
    EXPECT_NE(example.start, 550);
  }
}

TEST_F(PromoterBuild, NoNegativeFromTheGenomeTouchesWhatIsExcluded) {
  std::vector<std::pair<int, char>> sites;
  for (int i = 0; i < 12; ++i) sites.push_back({4000 + 1000 * i, '+'});
  write_tss(sites);
  testing::write_text(folder_ / "excluded.bed", "chr1\t17000\t29000\n");
  options_.exclude = {(folder_ / "excluded.bed").string()};
  options_.negatives = parse_negative_plan("genomic:4");
  build_promoters(options_);
  for (const PromoterExample& example : all_examples())
    EXPECT_TRUE(example.end <= 17000 || example.start >= 29000) << example.id;
}

// Where both sides are named, nothing is parted between the chromosomes of the rest.
TEST_F(PromoterBuild, EqualSequencesOfTwoTrainingChromosomesStayWhereNoSideIsDrawn) {
  testing::write_text(folder_ / "copies.fa",
                      ">chr1\n" + bases_ + "\n>chr2\n" + bases_ + "\n>chr3\n" + bases_ + "\n");
  options_.fasta = (folder_ / "copies.fa").string();
  std::string text;
  for (const auto& [chrom, at] : std::vector<std::pair<std::string, int>>{
           {"chr1", 5000}, {"chr1", 6000}, {"chr3", 5000}, {"chr3", 7000}, {"chr2", 9000}, {"chr2", 12000}}) {
    text += chrom + "\t" + std::to_string(at) + "\t" + std::to_string(at + 1) + "\t" + chrom + "_" +
            std::to_string(at) + "\t1\t+\n";
  }
  testing::write_text(options_.tss, text);
  options_.split = parse_split("chromosome");
  options_.sides = {"chr2:1-10000", "chr2:10001-30000", ""};
  const auto summary = build_promoters(options_);
  EXPECT_EQ(summary.promoters, 6);
  EXPECT_FALSE(summary.leaks.at(0).any());
  EXPECT_EQ(summary.sides.at(0).at("train").promoters, 4);
}

TEST_F(PromoterBuild, ANegativeDoesNotDependOnTheOtherPromotersOrThreads) {
  write_tss({{500, '+'}, {1000, '-'}, {2000, '+'}, {4000, '+'}});
  kernels::set_thread_count(1);
  build_promoters(options_);
  std::map<std::string, std::string> first;
  for (const PromoterExample& example : all_examples()) first[example.id] = example.sequence;
  write_tss({{500, '+'}, {1000, '-'}, {2000, '+'}});
  options_.replace = true;
  kernels::set_thread_count(3);
  build_promoters(options_);
  kernels::set_thread_count(0);
  for (const PromoterExample& example : all_examples()) EXPECT_EQ(example.sequence, first.at(example.id));
}

TEST_F(PromoterBuild, WritesAFolderForEachFold) {
  std::vector<std::pair<int, char>> sites;
  for (int i = 0; i < 9; ++i) sites.push_back({300 + 320 * i, '+'});
  write_tss(sites);
  options_.split = parse_split("kfold:3");
  build_promoters(options_);
  std::set<std::string> tested;
  for (const char* fold : {"fold1", "fold2", "fold3"}) {
    for (const PromoterExample& example : examples(std::string(fold) + "/test.tsv"))
      EXPECT_TRUE(tested.insert(example.id).second);
  }
  EXPECT_EQ(tested.size(), 18u);
}

TEST_F(PromoterBuild, OverlappingWindowsStayTogetherAndASplitThatPartsThemIsRefused) {
  std::vector<std::pair<int, char>> sites;  // ten pairs of promoters whose windows overlap, on two strands
  for (int i = 0; i < 10; ++i) {
    sites.push_back({4000 + 1000 * i, '+'});
    sites.push_back({4100 + 1000 * i, '-'});
  }
  write_tss(sites);
  auto summary = build_promoters(options_);
  EXPECT_EQ(summary.groups, 10);
  EXPECT_FALSE(summary.leaks.at(0).any());
  EXPECT_EQ(summary.leaks.at(0).examples, 40);

  options_.output += "-unjoined";
  options_.join = false;
  try {
    build_promoters(options_);
    FAIL() << "a split that leaks was accepted";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("leaks between its sides"), std::string::npos) << error.message();
    EXPECT_NE(error.hint().find("`allow_leaks`"), std::string::npos);
  }
  EXPECT_FALSE(folder_exists(options_.output));
  options_.allow_leaks = true;
  summary = build_promoters(options_);
  const auto manifest = nlohmann::json::parse(testing::read_text(options_.output + "/manifest.json"));
  const auto& leaks = manifest.at("splits").at(0).at("leaks");
  EXPECT_GT(leaks.at("overlapping window"), 0);
  EXPECT_EQ(leaks.at("equal sequence"), 0);
  EXPECT_EQ(leaks.at("examples_checked"), 40);
}

TEST_F(PromoterBuild, EqualSequencesElsewhereStayOnOneSideOrGo) {
  // chr1 stands twice more in the genome: as it is, and on the other strand.
  testing::write_text(folder_ / "copies.fa", ">chr1\n" + bases_ + "\n>chr2\n" + bases_ + "\n>chr3\n" +
                                                 reverse_complement(bases_) + "\n>chr4\n" +
                                                 bases_.substr(15000) + bases_.substr(0, 1000) + "\n");
  options_.fasta = (folder_ / "copies.fa").string();
  std::string text;
  const auto tss = [&](const std::string& chrom, int at, const std::string& name, char strand) {
    text += chrom + "\t" + std::to_string(at) + "\t" + std::to_string(at + 1) + "\t" + name + "\t1\t" +
            strand + "\n";
  };
  tss("chr1", 5000, "A_1", '+');
  tss("chr1", 9000, "B_1", '+');
  tss("chr1", 12000, "C_1", '-');
  tss("chr2", 5000, "D_1", '+');
  tss("chr3", 29999 - 9000, "E_1", '-');
  tss("chr4", 8000, "F_1", '+');
  tss("chr4", 12000, "G_1", '+');
  testing::write_text(options_.tss, text);
  const auto summary = build_promoters(options_);
  EXPECT_EQ(summary.promoters, 7);
  EXPECT_EQ(summary.groups, 5);  // A with D, B with E
  options_.replace = true;
  options_.split = parse_split("chromosome");
  options_.join = false;
  EXPECT_THROW(build_promoters(options_), Error);  // D is A, whatever the seed
  options_.join = true;
  try {
    build_promoters(options_);
    FAIL() << "two chromosomes were split in three";
  } catch (const Error& error) {  // D and E are gone, and two chromosomes are too few
    EXPECT_NE(error.message().find("2 groups are too few"), std::string::npos) << error.message();
  }
}

TEST_F(PromoterBuild, RefusesAnOutputFolderInUseAndLeavesNothingBehindOnFailure) {
  write_tss({{100, '+'}, {50, '-'}});
  EXPECT_THROW(build_promoters(options_), Error);  // no window fits
  EXPECT_FALSE(file_exists(options_.output));
  EXPECT_FALSE(folder_exists(options_.output));
  write_tss({{500, '+'}, {1000, '-'}, {2000, '+'}});
  build_promoters(options_);
  EXPECT_THROW(build_promoters(options_), Error);
  options_.left = 0;
  options_.right = 5;
  options_.replace = true;
  EXPECT_THROW(build_promoters(options_), Error);
  EXPECT_EQ(all_examples().size(), 6u);  // the first result is still there
}

TEST(PromoterExamples, BadRowsAreNamedByLine) {
  const testing::TemporaryFolder folder;
  const auto message = [&](const std::string& row) -> std::string {
    testing::write_text(folder / "x.tsv",
                        "#id\tchrom\tstart\tend\tstrand\tlabel\tsplit\tsequence\n" + row + "\n");
    try {
      PromoterExampleReader reader((folder / "x.tsv").string());
      PromoterExample example;
      reader.next(example);
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  };
  EXPECT_EQ(message("a\tc\t0\t4\t+\t1\ttest\tacgt"), "");
  EXPECT_NE(message("a\tc\t0\t4\t+\t2\ttest\tACGT").find("x.tsv:2: label"), std::string::npos);
  EXPECT_NE(message("a\tc\t0\t4\t?\t1\ttest\tACGT").find("strand"), std::string::npos);
  EXPECT_NE(message("a\tc\t0\t4\t+\t1\ttest\tACQT").find("'Q'"), std::string::npos);
  EXPECT_NE(message("a\tc\t0\tx\t+\t1\ttest\tACGT").find("end"), std::string::npos);
  EXPECT_NE(message("a\tc\t0\t4\t+\t1\ttest").find("x.tsv:2"), std::string::npos);
}

}  // namespace
}  // namespace bigbird
