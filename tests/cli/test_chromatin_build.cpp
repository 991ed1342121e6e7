// bigbird chromatin build as a user runs it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/support.h"

namespace bigbird::testing {
namespace {

class ChromatinBuildCommand : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    genome_ = (*folder_ / "sim").string();
    ASSERT_EQ(run_bigbird({"simulate", "-o", genome_, "--bp", "600K"}).status, 0);
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static RunResult build(const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> command = {
        "chromatin", "build",  "--peaks", genome_ + "/peaks/peaks.tsv", "-f", genome_ + "/genome.fa.gz",
        "-o",        out(name)};
    command.insert(command.end(), more.begin(), more.end());
    return run_bigbird(command);
  }
  static std::string out(const std::string& name) { return (*folder_ / name).string(); }

  static TemporaryFolder* folder_;
  static std::string genome_;
};
TemporaryFolder* ChromatinBuildCommand::folder_ = nullptr;
std::string ChromatinBuildCommand::genome_;

TEST_F(ChromatinBuildCommand, BuildsTheSameFilesForAnyThreadsAndInfoDescribesThem) {
  const std::vector<std::string> options = {"--valid", "chr2", "--test", "chr3", "--max-n", "0.2"};
  const auto with = [&](const char* threads) {
    std::vector<std::string> all = options;
    all.insert(all.end(), {"-@", threads});
    return all;
  };
  const auto one = build("one", with("1"));
  ASSERT_EQ(one.status, 0) << one.err;
  EXPECT_NE(one.err.find("bins kept"), std::string::npos) << one.err;
  const auto two = build("two", with("2"));
  ASSERT_EQ(two.status, 0) << two.err;
  for (const char* name : {"bins.bed.gz", "labels.npy", "profiles.tsv", "manifest.json"})
    EXPECT_TRUE(read_text(out("one") + "/" + name) == read_text(out("two") + "/" + name)) << name;
  const auto manifest = nlohmann::json::parse(read_text(out("one") + "/manifest.json"));
  EXPECT_GT(manifest.at("bins_by_split").at("train").get<int>(), 0);
  EXPECT_GT(manifest.at("bins_by_split").at("test").get<int>(), 0);
  EXPECT_TRUE(manifest.contains("provenance"));
  std::int64_t sum = manifest.at("bins").get<std::int64_t>();
  for (const auto& [reason, count] : manifest.at("dropped").items()) sum += count.get<std::int64_t>();
  EXPECT_EQ(sum, manifest.at("grid_bins"));

  const auto info = run_bigbird({"info", out("one"), "--json"});
  ASSERT_EQ(info.status, 0) << info.err;
  const auto json = nlohmann::json::parse(info.out);
  EXPECT_EQ(json.at("kind"), "chromatin data set");
  EXPECT_EQ(json.at("profiles_by_group").at("DHS"), 1);

  const auto again = build("one", options);
  EXPECT_EQ(again.status, 1);
  EXPECT_NE(again.err.find("not empty"), std::string::npos) << again.err;
}

TEST_F(ChromatinBuildCommand, NeedsNoSequence) {
  const std::string copy = (*folder_ / "alone").string();
  std::filesystem::create_directory(copy);
  std::filesystem::copy_file(genome_ + "/genome.fa.gz.fai", copy + "/genome.fa.gz.fai");
  const std::string peaks = genome_ + "/peaks/peaks.tsv";
  const auto built = run_bigbird({"chromatin", "build", "--peaks", peaks, "-f", copy + "/genome.fa.gz", "-o",
                                  out("alone_out"), "--no-provenance"});
  ASSERT_EQ(built.status, 0) << built.err;
  EXPECT_NE(built.err.find("only its index is there"), std::string::npos) << built.err;
  // A line of the log, whose settings are the options of this verb.
  EXPECT_NE(built.err.find("asked for (--test, --valid, --split-preset)"), std::string::npos) << built.err;
  ASSERT_EQ(build("with_sequence", {"--no-provenance"}).status, 0);
  EXPECT_TRUE(read_text(out("alone_out") + "/labels.npy") == read_text(out("with_sequence") + "/labels.npy"));
  EXPECT_TRUE(read_text(out("alone_out") + "/bins.bed.gz") ==
              read_text(out("with_sequence") + "/bins.bed.gz"));
  const auto refused = run_bigbird({"chromatin", "build", "--peaks", peaks, "-f", copy + "/genome.fa.gz",
                                    "-o", out("refused"), "--max-n", "0.5"});
  EXPECT_EQ(refused.status, 1) << refused.err;
}

TEST_F(ChromatinBuildCommand, BadUsageIsOneLineAndAHint) {
  struct Case {
    std::vector<std::string> options;
    int status;
    std::string says;
  };
  const std::vector<Case> cases = {
      {{"--min-overlap", "half"}, 2, "not a decimal"},
      {{"--min-overlap", "1"}, 2, "--at-least"},
      {{"--keep", "tf:"}, 2, "not a rule"},
      {{"--keep", "histones"}, 1, "DHS, TF"},
      {{"--window", "100"}, 2, "less than a bin"},
      {{"--left", "100"}, 2, "--right"},
      {{"--split-preset", "other"}, 2, "deepsea"},
      {{"--split-preset", "deepsea"}, 1, "chr7"},
      {{"--test", "chr2", "--valid", "chr2:1-1000"}, 1, "share bases"},
      {{"--test", "chr2:1-999,999,999"}, 1, "outside"},
      {{"--chromosomes", "chr9"}, 1, "chr9"},
      {{"--gap", "-5"}, 2, "gap"},
      {{"--max-n", "2"}, 2, "max-n"},
      {{"--bin", "0"}, 2, "bin"},
      {{"--blacklist", "absent.bed"}, 1, "absent.bed"},
      {{"--peaks", "absent.tsv"}, 1, "absent.tsv"},
      {{"-f", "absent.fa"}, 1, "absent.fa"},
  };
  for (const Case& bad : cases) {
    std::vector<std::string> command = {"chromatin", "build", "-o", out("bad")};
    const auto given = [&](const char* name) {
      return std::find(bad.options.begin(), bad.options.end(), name) != bad.options.end();
    };
    if (!given("--peaks")) command.insert(command.end(), {"--peaks", genome_ + "/peaks/peaks.tsv"});
    if (!given("-f")) command.insert(command.end(), {"-f", genome_ + "/genome.fa.gz"});
    command.insert(command.end(), bad.options.begin(), bad.options.end());
    const auto result = run_bigbird(command);
    EXPECT_EQ(result.status, bad.status) << bad.says << ": " << result.err;
    EXPECT_NE(result.err.find(bad.says), std::string::npos) << bad.says << ": " << result.err;
    EXPECT_NE(result.err.find("hint: "), std::string::npos) << bad.says << ": " << result.err;
    EXPECT_FALSE(std::filesystem::exists(out("bad"))) << bad.says;
  }
}

}  // namespace
}  // namespace bigbird::testing
