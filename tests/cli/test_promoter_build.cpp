// bigbird promoter build and promoter evaluate as a user runs them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/support.h"

namespace bigbird::testing {
namespace {

TEST(PromoterBuildCommand, BuildsExamplesFromASimulatedGenomeTheSameForAnyThreads) {
  const TemporaryFolder folder;
  const std::string genome = (folder / "sim").string();
  ASSERT_EQ(run_bigbird({"simulate", "-o", genome, "--bp", "1M", "--chromosome-count", "1"}).status, 0);
  const auto build = [&](const std::string& name, const std::string& threads) {
    return run_bigbird({"promoter", "build", "--tss", genome + "/promoters.tss.bed", "-f",
                        genome + "/genome.fa.gz", "-o", (folder / name).string(), "--negatives", "permute",
                        "--split-by", "gene", "-@", threads});
  };
  const auto one = build("one", "1");
  ASSERT_EQ(one.status, 0) << one.err;
  ASSERT_EQ(build("two", "2").status, 0);
  for (const char* name : {"train.tsv", "valid.tsv", "test.tsv", "dropped.tsv", "manifest.json"}) {
    EXPECT_TRUE(read_text(folder / "one" / name) == read_text(folder / "two" / name)) << name;
  }
  const auto manifest = nlohmann::json::parse(read_text(folder / "one" / "manifest.json"));
  EXPECT_EQ(manifest.at("negatives").at("kind"), "permute");
  EXPECT_EQ(manifest.at("split"), "gene");
  EXPECT_GT(manifest.at("counts").at("positives").get<int>(), 30);
  const std::string test = read_text(folder / "one" / "test.tsv");
  EXPECT_NE(test.find("id\tchrom\tstart\tend\tstrand\tlabel\tsplit\tsequence\n"), std::string::npos);
}

TEST(PromoterBuildCommand, FindsTheWindowsOfTheRealPieces) {
  BIGBIRD_REQUIRE_SHARED();
  const auto data = *shared_dir() / "data" / "human-grch37";
  const TemporaryFolder folder;
  const auto result = run_bigbird({"promoter", "build", "--tss", (data / "epdnew.inside.bed").string(), "-f",
                                   (data / "grch37.sparse.fa.gz").string(), "-o", (folder / "out").string(),
                                   "--negatives", "random"});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto manifest = nlohmann::json::parse(read_text(folder / "out" / "manifest.json"));
  EXPECT_EQ(manifest.at("counts").at("rows"), 92);
  EXPECT_EQ(manifest.at("counts").at("positives"), 90);  // 90 of the 92 have a full window, as SOURCE.md says
}

TEST(PromoterBuildCommand, BuildsEveryKindOfNegativesWithEverySplitWithoutALeak) {
  const TemporaryFolder folder;
  const std::string genome = (folder / "sim").string();
  ASSERT_EQ(run_bigbird({"simulate", "-o", genome, "--bp", "1M", "--chromosome-count", "4"}).status, 0);
  const std::vector<std::vector<std::string>> cases = {{"genomic", "gene"},
                                                       {"genomic", "kfold:3:chromosome"},
                                                       {"genomic", "kfold:5"},
                                                       {"random+genomic", "chromosome"},
                                                       {"dinucleotide", "chromosome"},
                                                       {"random", "kfold:4:gene"}};
  for (const auto& kind : cases) {
    const auto result = run_bigbird({"promoter",
                                     "build",
                                     "--tss",
                                     genome + "/promoters.tss.bed",
                                     "-f",
                                     genome + "/genome.fa.gz",
                                     "-o",
                                     (folder / "out").string(),
                                     "--left",
                                     "300",
                                     "--right",
                                     "100",
                                     "--negatives",
                                     kind[0],
                                     "--split-by",
                                     kind[1],
                                     "--min-distance",
                                     "2k",
                                     "--gc-tolerance",
                                     "0.02",
                                     "--force"});
    ASSERT_EQ(result.status, 0) << kind[0] << ' ' << kind[1] << ": " << result.err;
    EXPECT_NE(result.err.find("kind: " + kind[0]), std::string::npos) << result.err;
    const auto manifest = nlohmann::json::parse(read_text(folder / "out" / "manifest.json"));
    EXPECT_EQ(manifest.at("split"), kind[1]);
    for (const auto& split : manifest.at("splits")) {
      EXPECT_EQ(split.at("leaks").at("examples_checked"),
                (kind[0] == "random+genomic" ? 3 : 2) * manifest.at("counts").at("positives").get<int>());
      EXPECT_EQ(split.at("leaks").at("overlapping window"), 0);
      EXPECT_GT(split.at("test").at("positives"), 0);
    }
    EXPECT_EQ(manifest.at("negatives").at("kind"), kind[0]);
    if (kind[0].ends_with("genomic")) {
      EXPECT_NE(result.err.find("genomic negatives: GC within"), std::string::npos) << result.err;
      EXPECT_EQ(manifest.at("negatives").at("min_distance"), 2000);
      EXPECT_GT(manifest.at("negatives").at("gc_matched").at("within 0.02"), 0);
    }
  }
}

TEST(PromoterBuildCommand, BadInputIsOneLineAndAHint) {
  const TemporaryFolder folder;
  write_text(folder / "g.fa", ">chr1\n" + std::string(3000, 'A') + "\n");
  write_text(folder / "good.bed", "chr1\t1000\t1001\tA_1\t1\t+\n");
  write_text(folder / "two.bed", "chr1\t1000\n");
  write_text(folder / "backwards.bed", "chr1\t1001\t1000\tA_1\t1\t+\n");
  write_text(folder / "unknown.bed", "chr8\t1000\t1001\tA_1\t1\t+\n");
  write_text(folder / "outside.bed", "chr1\t5000\t5001\tA_1\t1\t+\n");
  write_text(folder / "empty.bed", "");
  struct Case {
    std::string tss;
    std::vector<std::string> options;
    int status;
    std::string says;
  };
  const std::vector<Case> cases = {
      {"absent.bed", {}, 1, "absent.bed"},
      {"two.bed", {}, 1, "two.bed:1"},
      {"backwards.bed", {}, 1, "backwards.bed:1"},
      {"unknown.bed", {}, 1, "contig not in the genome"},
      {"outside.bed", {}, 1, "beyond the end"},
      {"empty.bed", {}, 1, "no TSS"},
      {"good.bed", {}, 1, "window beyond its contig"},
      {"good.bed", {"--left", "100", "--right", "100"}, 1, "too few"},
      {"good.bed", {"--negatives", "other"}, 2, "random, permute"},
      {"good.bed", {"--negatives", "random+random"}, 2, "--negatives random+random: names a kind twice"},
      {"good.bed", {"--negatives", "genomic:0"}, 2, "'0' is not a number of negatives"},
      {"good.bed", {"--split-by", "other"}, 2, "kfold"},
      {"good.bed", {"--test", "chr9"}, 1, "--test: region chr9: unknown contig chr9"},
      {"good.bed", {"--chromosomes", "chr9"}, 1, "chr9"},
      {"good.bed",
       {"--split-by", "kfold:3", "--valid", "chr1"},
       2,
       "--test and --valid with --split-by kfold:3"},
      {"good.bed", {"--gc-tolerance", "2"}, 2, "--gc-tolerance 2"},
  };
  for (const Case& bad : cases) {
    std::vector<std::string> command = {"promoter", "build",
                                        "--tss",    (folder / bad.tss).string(),
                                        "-f",       (folder / "g.fa").string(),
                                        "-o",       (folder / "out").string()};
    command.insert(command.end(), bad.options.begin(), bad.options.end());
    const auto result = run_bigbird(command);
    EXPECT_EQ(result.status, bad.status) << bad.tss << ": " << result.err;
    EXPECT_NE(result.err.find(bad.says), std::string::npos) << bad.tss << ": " << result.err;
    EXPECT_NE(result.err.find("hint: "), std::string::npos) << bad.tss << ": " << result.err;
    EXPECT_FALSE(std::filesystem::exists(folder / "out")) << bad.tss;
  }
}

TEST(PromoterEvaluateCommand, WritesTheMetricsOfATsvAsJson) {
  const TemporaryFolder folder;
  write_text(folder / "p.tsv", "##note\n#id\tlabel\tscore\na\t1\t0.9\nb\t1\t0.4\nc\t0\t0.6\nd\t0\t0.1\n");
  const auto result = run_bigbird({"promoter", "evaluate", "--predictions", (folder / "p.tsv").string()});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json.at("tp"), 1);
  EXPECT_EQ(json.at("fp"), 1);
  EXPECT_EQ(json.at("tn"), 1);
  EXPECT_EQ(json.at("fn"), 1);
  EXPECT_DOUBLE_EQ(json.at("auroc"), 0.75);
  EXPECT_TRUE(json.contains("provenance"));
  write_text(folder / "unlabelled.tsv", "#id\tscore\na\t0.9\n");
  const auto unlabelled =
      run_bigbird({"promoter", "evaluate", "--predictions", (folder / "unlabelled.tsv").string()});
  EXPECT_EQ(unlabelled.status, 1);
  EXPECT_NE(unlabelled.err.find("label"), std::string::npos);
  write_text(folder / "bad.tsv", "#id\tlabel\tscore\na\t1\tnan\n");
  EXPECT_EQ(run_bigbird({"promoter", "evaluate", "--predictions", (folder / "bad.tsv").string()}).status, 1);
}

}  // namespace
}  // namespace bigbird::testing
