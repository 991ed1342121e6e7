// Adaptive-Span as a user meets it: a run whose spans grow, the same by any number of threads, spans shown by
// layer and head, folders there and back, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/sanitizer.h"
#include "tests/support/support.h"
#include "tests/support/tiny_training_data.h"

namespace bigbird {
namespace {

using testing::run_bigbird;
using testing::RunResult;

class AdaptiveSpanRuns : public ::testing::Test {
 protected:
  AdaptiveSpanRuns() {
    testing::write_tiny_tokenizer(folder_ / "tokenizer");
    testing::write_tiny_shards(path("train"), folder_ / "tokenizer", {40, 20, 20, 1});
    testing::write_tiny_shards(path("valid"), folder_ / "tokenizer", {6, 20, 20, 2});
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  // `more` takes the place of the longest span.
  RunResult pretrain(const std::string& run, const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"pretrain",
                                    "--train",
                                    path("train"),
                                    "--valid",
                                    path("valid"),
                                    "-m",
                                    path("tokenizer"),
                                    "-o",
                                    path(run),
                                    "--objective",
                                    "clm",
                                    "--attention",
                                    "adaptive-span",
                                    "--ramp",
                                    "8",
                                    "--layers",
                                    "2",
                                    "--width",
                                    "64",
                                    "--heads",
                                    "2",
                                    "--length",
                                    "64",
                                    "--block-size",
                                    "16",
                                    "--batch",
                                    "8",
                                    "--lr",
                                    "3e-3"};
    if (std::find(more.begin(), more.end(), "--max-span") == more.end())
      all.insert(all.end(), {"--max-span", "48"});
    all.insert(all.end(), more.begin(), more.end());
    return run_bigbird(all);
  }
  testing::TemporaryFolder folder_;
};

std::vector<std::string> rows_after(const std::string& text, const std::string& heading) {
  std::vector<std::string> rows;
  std::istringstream in(text.substr(std::min(text.find(heading), text.size())));
  for (std::string row; std::getline(in, row);) rows.push_back(row);
  return rows;
}

// G11: what is held out becomes less surprising than letters are by their frequencies.
TEST_F(AdaptiveSpanRuns, LearnsAndShowsItsSpans) {
  if (testing::under_sanitizer) GTEST_SKIP() << "300 updates; the other tests train less";
  const RunResult trained = pretrain("run", {"--steps", "300", "-@", "1"});
  ASSERT_EQ(trained.status, 0) << trained.err;
  const std::string model = path("run") + "/final";
  const RunResult result =
      run_bigbird({"evaluate", "-m", model, "--data", path("valid"), "--baseline-from", path("train")});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_LT(json.at("bits_per_base").get<double>(),
            json.at("baseline").at("unigram").at("bits_per_base").get<double>());
  const std::string metrics = testing::read_text(folder_ / "run/metrics.tsv");
  EXPECT_NE(metrics.find("\tspan_loss\t"), std::string::npos);

  const RunResult shown = run_bigbird({"attention", "-m", model});
  ASSERT_EQ(shown.status, 0) << shown.err;
  EXPECT_NE(shown.out.find("max_span\t48\nramp\t8\nspan_loss\t2e-06\n"), std::string::npos) << shown.out;
  const std::vector<std::string> rows = rows_after(shown.out, "#layer\thead\tfraction\tspan\treach");
  ASSERT_EQ(rows.size(), 5u) << shown.out;
  EXPECT_EQ(rows[4].substr(0, 4), "1\t1\t");
  EXPECT_EQ(shown.out.find("mean_span\t0.000"), std::string::npos) << "some have grown";

  ASSERT_EQ(run_bigbird({"check", model}).status, 0);
  ASSERT_EQ(run_bigbird({"convert", model, path("bf16"), "--dtype", "bf16", "--span-loss", "1e-5"}).status,
            0);
  EXPECT_EQ(run_bigbird({"attention", "-m", path("bf16")}).status, 0);
  EXPECT_EQ(run_bigbird({"evaluate", "-m", path("bf16"), "--data", path("valid")}).status, 0);
}

TEST_F(AdaptiveSpanRuns, G5ThreadsChangeNoByte) {
  std::string one;
  for (const char* threads : {"1", "2", "4"}) {
    const std::string run = std::string("of-") + threads;
    const RunResult trained = pretrain(run, {"--steps", "12", "-@", threads});
    ASSERT_EQ(trained.status, 0) << trained.err;
    const std::string bytes = testing::read_text(folder_ / run / "final/model.safetensors");
    if (one.empty()) one = bytes;
    EXPECT_EQ(bytes, one) << threads;
  }
}

// Spans of tokens: trained, evaluated and checked; what has no answer for them says so.
TEST_F(AdaptiveSpanRuns, SpansOfTokens) {
  RunResult result = pretrain("run", {"--steps", "12", "--dynamic-span", "on"});
  ASSERT_EQ(result.status, 0) << result.err;
  const std::string model = path("run") + "/final";
  EXPECT_NE(testing::read_text(folder_ / "run/metrics.tsv").find("\tspan_loss\t"), std::string::npos);
  result = run_bigbird({"evaluate", "-m", model, "--data", path("valid")});
  ASSERT_EQ(result.status, 0) << result.err;
  ASSERT_EQ(run_bigbird({"check", model}).status, 0);
  EXPECT_NE(run_bigbird({"info", model}).out.find("dynamic_span on"), std::string::npos);
  result = run_bigbird({"text", "generate", "-m", model, "--prompt", "ACGTACGT", "--max-tokens", "40", "-O",
                        "lines", "--device", "cpu"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_GE(result.out.size(), 41u);
  const auto refused = [&](const std::vector<std::string>& command, const std::string& words) {
    const RunResult of = run_bigbird(command);
    EXPECT_NE(of.status, 0);
    EXPECT_NE(of.err.find(words), std::string::npos) << of.err;
  };
  refused({"attention", "-m", model}, "no head has a span of its own");
  refused({"convert", model, path("other"), "--dynamic-span", "off"}, "tensor bert.encoder.spans is missing");
  EXPECT_FALSE(std::filesystem::exists(path("other")));
}

TEST_F(AdaptiveSpanRuns, RefusesWhatItIsNot) {
  const auto refused = [&](const std::vector<std::string>& more, const std::string& words) {
    const RunResult result = pretrain("refused", more);
    EXPECT_NE(result.status, 0);
    EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(path("refused")));
  };
  refused({"--span-loss", "3"}, "not a number within 0..1");
  refused({"--max-span", "20000"}, "take a smaller max_span");
  RunResult result = run_bigbird({"pretrain", "--train", path("train"), "-m", path("tokenizer"), "-o",
                                  path("refused"), "--attention", "adaptive-span", "--length", "64"});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("adaptive-span"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("reads left to right"), std::string::npos) << result.err;
  result = pretrain("xl", {"--steps", "1"});
  ASSERT_EQ(result.status, 0) << result.err;
  result = run_bigbird({"attention", "-m", path("xl") + "/final", "--length", "64"});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("--length with --model"), std::string::npos) << result.err;
}

// G9: at the longest that spans may become, the tokens before each one.
TEST_F(AdaptiveSpanRuns, AttentionCountsKeysBeforeTheToken) {
  const RunResult result = run_bigbird({"attention", "--attention", "adaptive-span", "--max-span", "20",
                                        "--heads", "2", "--length", "64", "--block-size", "16", "-o", "-"});
  ASSERT_EQ(result.status, 0) << result.err;
  std::int64_t pairs = 0;
  for (std::int64_t query = 0; query < 64; ++query) {
    for (std::int64_t key = 0; key < 64; ++key) pairs += key < query && query - key <= 20 ? 1 : 0;
  }
  EXPECT_EQ(nlohmann::json::parse(result.out).at("visible_pairs"), 2 * pairs);
  const RunResult compared = run_bigbird({"attention", "--compare", "full,adaptive-span", "--max-span", "20",
                                          "--length", "64", "--block-size", "16"});
  ASSERT_EQ(compared.status, 0) << compared.err;
  EXPECT_NE(compared.out.find("\nadaptive-span\t"), std::string::npos) << compared.out;
}

}  // namespace
}  // namespace bigbird
