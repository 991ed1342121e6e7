// bigbird copies as a user runs it, and what its regions leave out of the verbs that take --exclude.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/core/rng.h"
#include "lib/genomics/chromatin/dataset.h"
#include "lib/io/genome/bed.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/tables/npy.h"
#include "tests/cli/words.h"
#include "tests/support/support.h"
#include "tests/support/tiny_classifier.h"

namespace bigbird::testing {
namespace {

// Of chr1, 4,000 bases, 1,000-1,500 stands in chr2 from 2,000 on, on the other strand.
class CopiesCommand : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    CounterRng random(11, Purpose::test, 0);
    std::string one, two;
    for (int i = 0; i < 4000; ++i) one += "ACGT"[random.below(4)];
    for (int i = 0; i < 6000; ++i) two += "ACGT"[random.below(4)];
    two.replace(2000, 500, reverse_complement(one.substr(1000, 500)));
    write_text(path("genome.fa"), ">chr1\n" + one + "\n>chr2\n" + two + "\n");
    write_text(path("held.bed"), "chr1\t1000\t1500\n");
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string path(const std::string& name) { return (folder_->path() / name).string(); }
  static nlohmann::json json(const std::string& name) { return nlohmann::json::parse(read_text(path(name))); }
  static RunResult must(const std::vector<std::string>& words) {
    const RunResult run = run_bigbird(words);
    EXPECT_EQ(run.status, 0) << run.err;
    return run;
  }
  static void expect_said(const RunResult& run, const std::string& text) {
    EXPECT_NE(run.err.find(text), std::string::npos) << run.err;
  }

  static inline TemporaryFolder* folder_ = nullptr;
};

TEST_F(CopiesCommand, WritesRegionsWithTheirPartners) {
  const std::vector<std::string> words = {"copies", "-f", path("genome.fa"), "--of", "1"};
  const RunResult run =
      must(words + Words{"-o", path("copies.bed"), "--summary", path("copies.json"), "-@", "2"});
  expect_said(run, "chr1: ");
  expect_said(run, "held-out bases");
  const std::vector<BedRecord> regions = read_bed(path("copies.bed"), 6);
  ASSERT_EQ(regions.size(), 1u) << read_text(path("copies.bed"));
  EXPECT_EQ(regions[0].chrom, "chr1");
  EXPECT_LE(std::abs(regions[0].begin - 1000), 50);
  EXPECT_LE(std::abs(regions[0].end - 1500), 50);
  EXPECT_EQ(regions[0].strand, '-');
  EXPECT_EQ(regions[0].score, 1000);
  EXPECT_TRUE(regions[0].name.starts_with("chr2:")) << regions[0].name;
  EXPECT_EQ(json("copies.json").at("regions"), 1);
  EXPECT_EQ(json("copies.json").at("contigs")[0].at("name"), "chr1");
  EXPECT_TRUE(json("copies.json").contains("provenance"));

  const std::string plain = must(words + Words{"--no-provenance"}).out;
  EXPECT_TRUE(plain.starts_with("#chrom\tstart\tend\tpartner\t")) << plain;
  EXPECT_EQ(must(words + Words{"--no-provenance", "-@", "1"}).out, plain);
  // Windows of another size, sides that are typed, and an identity that nothing reaches in a part of it.
  const std::string wide =
      must(words + Words{"--no-provenance", "--window", "200", "--step", "50", "--identity", "1"}).out;
  EXPECT_NE(wide.find("chr1\t1000\t1500\tchr2:2001-2500\t1000\t-\tchr2\t2000\t2500\t1.0000\n"),
            std::string::npos)
      << wide;
  const std::string none = must({"copies", "-f", path("genome.fa"), "--of", "chr1:1-900,chr1:1600-4000",
                                 "--in", "chr2:1-5000", "--no-provenance"})
                               .out;
  EXPECT_EQ(std::count(none.begin(), none.end(), '\n'), 1) << none;
}

TEST_F(CopiesCommand, BadUsageIsOneLineAndAHint) {
  struct Case {
    std::vector<std::string> options;
    int status;
    std::string says;
  };
  const std::vector<Case> cases = {{{"--of", "chr3"}, 1, "--of"},
                                   {{"--of", "chr1", "--in", "chr1:1-5"}, 1, "--of and --in share bases"},
                                   {{"--of", "rest"}, 2, "--of and --in are both the rest"},
                                   {{"--of", "chr1,chr2"}, 2, "--in: no base"},
                                   {{"--of", "chr1", "--identity", "0.5"}, 2, "--identity 0.5"},
                                   {{"--of", "chr1", "--window", "8"}, 2, "--window 8"},
                                   {{"--of", "chr1", "--step", "101"}, 2, "--step 101"},
                                   {{"--of", "chr1", "-o", "/dev/full"}, 1, "/dev/full"}};
  for (const Case& bad : cases) {
    const RunResult run =
        run_bigbird(std::vector<std::string>{"copies", "-f", path("genome.fa")} + bad.options);
    EXPECT_EQ(run.status, bad.status) << bad.says << ": " << run.err;
    EXPECT_NE(run.err.find(bad.says), std::string::npos) << bad.says << ": " << run.err;
  }
}

// Windows of 50 bases: a TSS 20 bases before the region touches it, one 30 bases before it does not.
TEST_F(CopiesCommand, PromotersThatTouchARegionAreDropped) {
  std::string sites;
  for (const int tss : {500, 975, 985, 1200, 1515, 1525, 2500, 2700, 2900, 3100, 3300, 3500, 3700})
    sites += "chr1\t" + std::to_string(tss) + "\t" + std::to_string(tss + 1) + "\tT" + std::to_string(tss) +
             "_1\t1\t+\n";
  write_text(path("tss.bed"), sites);
  const RunResult run =
      must({"promoter", "build", "--tss", path("tss.bed"), "-f", path("genome.fa"), "--left", "25", "--right",
            "25", "--exclude", path("held.bed"), "-o", path("promoters")});
  expect_said(run, "dropped 3: touches an excluded region");
  const std::string dropped = read_text(path("promoters/dropped.tsv"));
  for (const char* name : {"T985_1", "T1200_1", "T1515_1"})
    EXPECT_NE(dropped.find(std::string("\n") + name + "\t"), std::string::npos) << dropped;
  EXPECT_EQ(json("promoters/manifest.json").at("dropped").at("touches an excluded region"), 3);
}

TEST_F(CopiesCommand, PromoterEvaluationLeavesOutExamplesOfBothClasses) {
  write_text(path("scored.tsv"),
             "#id\tchrom\tstart\tend\tlabel\tscore\n"
             "a\tchr1\t900\t1000\t1\t0.9\nb\tchr1\t901\t1001\t1\t0.4\nc\tchr1\t1499\t1599\t0\t0.6\n"
             "d\tchr1\t1500\t1600\t0\t0.1\ne\tchr2\t1000\t1100\t0\t0.1\n");
  const RunResult run = must({"promoter", "evaluate", "--predictions", path("scored.tsv"), "--exclude",
                              path("held.bed"), "-o", path("evaluation.json")});
  expect_said(run, "2 examples touch an excluded region");
  const auto found = json("evaluation.json");
  EXPECT_EQ(found.at("excluded"), 2);
  EXPECT_EQ(found.at("tp"), 1);
  EXPECT_EQ(found.at("tn"), 2);
  EXPECT_EQ(found.at("auroc"), 1.0);
  write_text(path("nowhere.tsv"), "#id\tlabel\tscore\na\t1\t0.9\nb\t0\t0.4\n");
  const RunResult nowhere = run_bigbird(
      {"promoter", "evaluate", "--predictions", path("nowhere.tsv"), "--exclude", path("held.bed")});
  EXPECT_EQ(nowhere.status, 1);
  expect_said(nowhere, "chrom");
}

// A model of random weights: what is counted is known, what it scores is not.
TEST_F(CopiesCommand, AModelsOwnEvaluationAndScanLeaveThemOut) {
  TinyClassifier shape;
  shape.problem = ProblemType::single_label;
  shape.profiles = {{"promoter", "."}};
  shape.labels = 2;
  shape.window = {"promoter", 100, 60, 1};
  write_tiny_classifier(path("promoter"), shape);
  Fasta fasta(path("genome.fa"));
  std::string data = "id\tchrom\tstart\tend\tlabel\tsequence\n";
  for (const int begin : {100, 300, 950, 1450, 2000, 2300})
    data += "w" + std::to_string(begin) + "\tchr1\t" + std::to_string(begin) + "\t" +
            std::to_string(begin + 100) + "\t" + std::to_string(begin % 200 / 100) + "\t" +
            fasta.fetch(0, begin, begin + 100) + "\n";
  write_text(path("data.tsv"), data);
  must({"promoter", "evaluate", "-m", path("promoter"), "--data", path("data.tsv"), "--exclude",
        path("held.bed"), "-o", path("own.json")});
  EXPECT_EQ(json("own.json").at("excluded"), 2);
  EXPECT_EQ(json("own.json").at("examples"), 4);
  write_text(path("bare.tsv"), "sequence\tlabel\n" + std::string(100, 'A') + "\t1\n");
  const RunResult bare = run_bigbird({"promoter", "evaluate", "-m", path("promoter"), "--data",
                                      path("bare.tsv"), "--exclude", path("held.bed")});
  EXPECT_EQ(bare.status, 1);
  expect_said(bare, "has no place");

  // Every position is a call. TSS at 990 lies beside the region and is found by a call within it as well.
  write_text(path("known.bed"),
             "chr1\t500\t501\tA_1\t1\t+\nchr1\t990\t991\tB_1\t1\t+\nchr1\t1200\t1201\tC_1\t1\t+\n");
  const Words scan = {"promoter",       "scan",   "-m", path("promoter"), "-f", path("genome.fa"),  "-r",
                      "chr1",           "--step", "20", "--threshold",    "0",  "--merge-distance", "0",
                      "--no-provenance"};
  const Words evaluated = {"--tss", path("known.bed"), "--within", "15"};
  const RunResult plain = must(scan + Words{"--calls", path("plain.bed")});
  const RunResult left = must(
      scan + evaluated +
      Words{"--exclude", path("held.bed"), "--calls", path("calls.bed"), "--summary", path("left.json")});
  EXPECT_EQ(left.out, plain.out);
  EXPECT_EQ(read_text(path("calls.bed")), read_text(path("plain.bed")));
  must(scan + evaluated + Words{"--summary", path("all.json")});
  const auto of = [](const nlohmann::json& summary, const char* name) {
    return summary.at("evaluation").at("any_strand").at(name).get<int>();
  };
  const auto all = json("all.json"), some = json("left.json");
  std::int64_t inside = 0;
  for (const BedRecord& call : read_bed(path("calls.bed")))
    inside += call.begin >= 1000 && call.begin < 1500 ? 1 : 0;
  EXPECT_GT(inside, 3);
  EXPECT_EQ(some.at("evaluation").at("calls_excluded"), inside);
  EXPECT_EQ(some.at("evaluation").at("tss_excluded"), 1);
  EXPECT_EQ(of(some, "calls"), of(all, "calls") - inside);
  EXPECT_EQ(of(all, "tss"), 3);
  EXPECT_EQ(of(some, "tss"), 2);
  EXPECT_EQ(all.at("evaluation").at("calls_excluded"), 0);
  expect_said(left, "1 TSS and " + std::to_string(inside) + " calls are in excluded regions");
  // Shards keep the regions for the merge.
  for (const char* shard : {"1", "2"})
    must(scan + evaluated +
         Words{"--exclude", path("held.bed"), "--chunk-size", "50", "--shard", std::string(shard) + "/2",
               "-o", path(std::string("part") + shard)});
  must({"merge", path("part1"), path("part2"), "-o", path("merged.bedgraph"), "--summary",
        path("merged.json")});
  EXPECT_EQ(json("merged.json").at("evaluation"), some.at("evaluation"));
}

TEST_F(CopiesCommand, BinsThatTouchARegionAreLeftOut) {
  write_text(path("peaks.bed"), "chr1\t200\t3800\n");
  write_text(path("peaks.tsv"), "#name\tgroup\tfile\nA\tTF\tpeaks.bed\n");
  // 1,000-1,500 and no more: five bins.
  for (const char* option : {"--exclude", "--blacklist"}) {
    const RunResult run = must({"chromatin", "build", "--peaks", path("peaks.tsv"), "-f", path("genome.fa"),
                                "--bin", "100", "--window", "200", "--chromosomes", "chr1", "--test",
                                "chr1:2001-4000", option, path("held.bed"), "-o", path("bins"), "--force"});
    expect_said(run, "dropped 5 bins: touches an excluded region");
  }
  EXPECT_EQ(json("bins/manifest.json").at("dropped").at("touches an excluded region"), 5);

  // Twelve bins of 20 bases from 900 on; those of 1,000 to 1,060 are left out of the test.
  const std::string data = path("data");
  ChromatinDatasetWriter writer(data, false, {{"chr1", 4000}}, {{"A", "TF"}},
                                ModelWindow{"chromatin", 60, 20, 20}, {});
  std::vector<float> scores;
  for (std::int64_t i = 0; i < 12; ++i) {
    const std::uint8_t label = i % 2 == 0 ? 1 : 0;
    writer.write({0, i < 2 ? Split::train : Split::test, 900 + 20 * i}, {&label, 1});
    // Right but for the bins that are left out.
    const bool wrong = i >= 5 && i < 8;
    scores.push_back((label == 1) != wrong ? 0.9F : 0.1F);
  }
  writer.commit(path("genome.fa"), "{}");
  write_text(path("three.bed"), "chr1\t1019\t1060\n");
  write_npy(path("all.npy"), scores, {12, 1});
  write_npy(path("test.npy"), std::vector<float>(scores.begin() + 2, scores.end()), {10, 1});
  for (const char* file : {"all.npy", "test.npy"}) {
    const Words evaluate = {"chromatin", "evaluate", "--predictions", path(file), "--data", data};
    const auto whole = nlohmann::json::parse(must(evaluate).out);
    EXPECT_FALSE(whole.contains("excluded"));
    EXPECT_LT(whole.at("evaluations")[0].at("groups").at("TF").at("median_auroc"), 1.0);
    const RunResult run = must(evaluate + Words{"--exclude", path("three.bed")});
    expect_said(run, "3 bins touch an excluded region and are left out; 7 are scored");
    const auto left = nlohmann::json::parse(run.out);
    EXPECT_EQ(left.at("excluded"), 3);
    EXPECT_EQ(left.at("evaluations")[0].at("rows"), 7) << file;
    EXPECT_EQ(left.at("evaluations")[0].at("groups").at("TF").at("median_auroc"), 1.0) << file;
  }
  write_text(path("every.bed"), "chr1\t0\t4000\n");
  const Words evaluate = {"chromatin", "evaluate", "--predictions", path("test.npy"), "--exclude"};
  EXPECT_EQ(run_bigbird(evaluate + Words{path("every.bed"), "--data", data}).status, 1);
  EXPECT_EQ(run_bigbird(evaluate + Words{path("three.bed"), "--data", data + "/labels.npy"}).status, 2);
}

}  // namespace
}  // namespace bigbird::testing
