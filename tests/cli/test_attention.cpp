// bigbird attention: JSON, text and picture of a plan; infeasible lengths.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/support.h"

namespace bigbird::testing {
namespace {

TEST(AttentionVerb, JsonHoldsTheListsAndTheFacts) {
  const RunResult run = run_bigbird({"attention", "--length", "768", "--heads", "2", "-o", "-"});
  ASSERT_EQ(run.status, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json.at("blocks"), 12);
  ASSERT_EQ(json.at("heads").size(), 2u);
  EXPECT_EQ(json.at("heads")[0].at("rows")[5],
            (std::vector<int>{0, 4, 5, 6, 8, 1, 2, 11}));  // docs/specification.md 1.8
  EXPECT_EQ(json.at("heads")[0].at("star_centres"), (std::vector<int>{0, 11}));
  EXPECT_EQ(json.at("heads")[1].at("paths").at("longest"), 2);
  EXPECT_TRUE(json.contains("provenance"));
  const RunResult bare = run_bigbird({"attention", "--length", "768", "-o", "-", "--no-provenance"});
  EXPECT_FALSE(nlohmann::json::parse(bare.out).contains("provenance"));
}

TEST(AttentionVerb, TokensOfAQuestionAreGlobalInWholeBlocks) {
  const auto rows_with = [](const char* tokens) {
    const RunResult run =
        run_bigbird({"attention", "--length", "768", "--heads", "2", "--global-tokens", tokens, "-o", "-"});
    EXPECT_EQ(run.status, 0) << run.err;
    return nlohmann::json::parse(run.out).at("heads")[0].at("rows");
  };
  EXPECT_EQ(rows_with("0")[5], (std::vector<int>{0, 4, 5, 6, 8, 1, 2, 11}));
  const auto rows = rows_with("100");
  EXPECT_EQ(rows, rows_with("128"));
  EXPECT_EQ(rows[5], (std::vector<int>{0, 4, 5, 6, 8, 1, 2, 11}));
  EXPECT_EQ(rows[1].size(), 12u);
  for (const auto& row : rows) EXPECT_NE(std::find(row.begin(), row.end(), 1), row.end()) << row;
  EXPECT_EQ(run_bigbird({"attention", "--length", "768", "--global-tokens", "-1"}).status, 2);
}

TEST(AttentionVerb, LastBlockListedTwiceAt1024KeepsTheRepeat) {
  const RunResult run = run_bigbird({"attention", "--length", "1k", "-o", "-"});
  ASSERT_EQ(run.status, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  ASSERT_EQ(json.at("blocks"), 16);  // 1k is 1000 tokens, rounded up to 1024
  int repeats = 0;
  for (const auto& head : json.at("heads")) {
    repeats += head.at("degrees").at("listed").get<int>() - head.at("degrees").at("distinct").get<int>();
  }
  EXPECT_GT(repeats, 0);  // block 15 is a candidate of the published plan and the last global block
}

TEST(AttentionVerb, TextAndPicture) {
  const TemporaryFolder folder;
  const std::string svg = (folder / "plan.svg").string();
  const RunResult run = run_bigbird({"attention", "--length", "192", "--block-size", "16", "--random-blocks",
                                     "1", "--heads", "1", "--lists", "--svg", svg});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_NE(run.out.find("\n0\t0\t0 1 2 3 4 5 6 7 8 9 10 11\n"), std::string::npos);
  EXPECT_EQ(read_text(svg).find("<svg"), 0u);
}

TEST(AttentionVerb, ItsJsonIsReadAsAPlan) {
  const TemporaryFolder folder;
  const std::string plan = (folder / "plan.json").string();
  const RunResult written = run_bigbird({"attention", "--length", "768", "--heads", "2", "-o", plan});
  ASSERT_EQ(written.status, 0) << written.err;
  const RunResult read = run_bigbird({"attention", "--random-mode", "file", "--plan", plan, "-o", "-"});
  ASSERT_EQ(read.status, 0) << read.err;
  const auto before = nlohmann::json::parse(read_text(plan)), after = nlohmann::json::parse(read.out);
  EXPECT_EQ(after.at("random_mode"), "file");
  EXPECT_EQ(after.at("block_size"), 64);
  EXPECT_EQ(after.at("provenance").at("inputs")[0].at("path"), plan);
  ASSERT_EQ(after.at("heads").size(), 2u);
  for (std::size_t head = 0; head < 2; ++head) {
    EXPECT_EQ(after.at("heads")[head].at("rows"), before.at("heads")[head].at("rows"));
  }
  const RunResult corner = run_bigbird({"attention", "--plan", plan, "--length", "300", "--lists"});
  ASSERT_EQ(corner.status, 0) << corner.err;
  EXPECT_NE(corner.out.find("\n0\t0\t0 1 2 3 4\n"), std::string::npos);
  EXPECT_EQ(run_bigbird({"attention", "--plan", plan, "--length", "1k", "-q"}).status, 1);
}

TEST(AttentionVerb, APlanAndWhatContradictsItAreUsageErrors) {
  const TemporaryFolder folder;
  const std::string plan = (folder / "plan.json").string();
  ASSERT_EQ(run_bigbird({"attention", "--length", "768", "--heads", "2", "-o", plan}).status, 0);
  const auto refused = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"attention", "-q"});
    const RunResult run = run_bigbird(more);
    EXPECT_EQ(run.status, 2) << run.err;
    return run.err;
  };
  EXPECT_NE(refused({"--plan", plan, "--random-mode", "google"}).find("--random-mode google"),
            std::string::npos);
  EXPECT_NE(refused({"--plan", plan, "--heads", "2"}).find("--heads with a plan"), std::string::npos);
  EXPECT_NE(refused({"--random-mode", "file", "--length", "768"}).find("needs a plan"), std::string::npos);
  EXPECT_NE(refused({"--plan", plan, "--head", "2"}).find("2 heads"), std::string::npos);
  EXPECT_EQ(run_bigbird({"attention", "--plan", (folder / "none.json").string(), "-q"}).status, 1);
}

TEST(AttentionVerb, SaysAtWhichLengthsAttentionIsFull) {
  const auto line = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"attention", "--length", "4096"});
    const std::string out = run_bigbird(more).out;
    const std::size_t begin = out.find("full_attention_lengths\t") + 23;
    return out.substr(begin, out.find('\n', begin) - begin);
  };
  EXPECT_EQ(line({}), "1-704");
  EXPECT_EQ(line({"--block-size", "16"}), "1-512");
  EXPECT_EQ(line({"--random-mode", "hf-eval", "--random-blocks", "1"}), "1-448");
  EXPECT_EQ(line({"--random-mode", "none"}), "1-320");
  EXPECT_EQ(line({"--attention", "window"}), "none");
  EXPECT_EQ(line({"--attention", "full"}), "all");
  EXPECT_NE(run_bigbird({"attention", "--length", "500"}).out.find("note\ta model takes full attention here"),
            std::string::npos);
}

TEST(AttentionVerb, AnInfeasibleLengthIsOneErrorAndOneHint) {
  const RunResult run = run_bigbird({"attention", "--length", "576", "-q"});
  EXPECT_EQ(run.status, 1);
  EXPECT_NE(run.err.find("9 blocks with 3 random"), std::string::npos);
  EXPECT_NE(run.err.find("hint: 12 blocks or more"), std::string::npos);
  EXPECT_TRUE(run.out.empty());
}

TEST(AttentionVerb, WrongWordsAreUsageErrors) {
  EXPECT_EQ(run_bigbird({"attention", "--length", "768", "--random-mode", "googel"}).status, 2);
  EXPECT_EQ(run_bigbird({"attention", "--length", "768", "--head", "12"}).status, 2);
  EXPECT_EQ(run_bigbird({"attention"}).status, 2);
}

}  // namespace
}  // namespace bigbird::testing
