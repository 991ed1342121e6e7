// Compressive Transformer as a user meets it: runs with every compression, one that is killed and goes on,
// folders there and back, and what is refused.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/sanitizer.h"
#include "tests/support/support.h"
#include "tests/support/tiny_training_data.h"

namespace bigbird {
namespace {

using testing::run_bigbird;
using testing::RunResult;

class CompressiveRuns : public ::testing::Test {
 protected:
  CompressiveRuns() {
    testing::write_tiny_tokenizer(folder_ / "tokenizer");
    testing::write_tiny_shards(path("train"), folder_ / "tokenizer", {40, 20, 20, 1});
    testing::write_tiny_shards(path("valid"), folder_ / "tokenizer", {6, 20, 20, 2});
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
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
                                    "compressive",
                                    "--layers",
                                    "2",
                                    "--width",
                                    "64",
                                    "--heads",
                                    "2",
                                    "--length",
                                    "16",
                                    "--block-size",
                                    "16",
                                    "--batch",
                                    "8",
                                    "--lr",
                                    "3e-3"};
    all.insert(all.end(), more.begin(), more.end());
    return run_bigbird(all);
  }
  testing::TemporaryFolder folder_;
};

// G11: what is held out becomes less surprising than letters are by their frequencies.
TEST_F(CompressiveRuns, LearnsAndIsShown) {
  if (testing::under_sanitizer) GTEST_SKIP() << "300 updates; the other tests train less";
  const RunResult trained = pretrain("run", {"--steps", "300", "--memory", "32", "--compressed", "16"});
  ASSERT_EQ(trained.status, 0) << trained.err;
  const std::string model = path("run") + "/final";
  const RunResult result =
      run_bigbird({"evaluate", "-m", model, "--data", path("valid"), "--baseline-from", path("train")});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_LT(json.at("bits_per_base").get<double>(),
            json.at("baseline").at("unigram").at("bits_per_base").get<double>());
  EXPECT_NE(testing::read_text(folder_ / "run/metrics.tsv").find("\tcompression_loss\t"), std::string::npos);
  const RunResult info = run_bigbird({"info", model});
  EXPECT_NE(info.out.find("memory 32, compressed 16, rate 2, compression conv"), std::string::npos)
      << info.out;
  ASSERT_EQ(run_bigbird({"check", model}).status, 0);
  ASSERT_EQ(run_bigbird({"convert", model, path("bf16"), "--dtype", "bf16", "--compressed", "32"}).status, 0);
  EXPECT_EQ(run_bigbird({"evaluate", "-m", path("bf16"), "--data", path("valid")}).status, 0);
  ASSERT_EQ(run_bigbird({"convert", model, path("mean"), "--compression", "mean"}).status, 0);
  EXPECT_EQ(run_bigbird({"evaluate", "-m", path("mean"), "--data", path("valid")}).status, 0);
  const RunResult counted =
      run_bigbird({"attention", "--attention", "compressive", "--memory", "16", "--compressed", "8", "--rate",
                   "4", "--compression", "max", "--length", "64", "--heads", "2"});
  EXPECT_EQ(counted.status, 0) << counted.err;
  // Weights of two tokens are none of three.
  EXPECT_NE(run_bigbird({"convert", model, path("other"), "--rate", "3"}).status, 0);
}

TEST_F(CompressiveRuns, EveryCompressionRunsAndGoesOn) {
  for (const char* how : {"conv", "dilated", "mean", "max", "most-used"}) {
    const std::string one = std::string("one-") + how, two = std::string("two-") + how;
    const std::vector<std::string> of = {"--compression", how, "--memory",     "24", "--compressed", "8",
                                         "--steps",       "6", "--save-every", "3",  "-@",           "1"};
    const RunResult made = pretrain(one, of);
    ASSERT_EQ(made.status, 0) << made.err;
    ASSERT_EQ(pretrain(two, of).status, 0);
    std::filesystem::remove_all(path(two) + "/checkpoint-6");
    std::filesystem::remove_all(path(two) + "/final");
    std::vector<std::string> again = of;
    again.emplace_back("--resume");
    const RunResult resumed = pretrain(two, again);
    ASSERT_EQ(resumed.status, 0) << resumed.err;
    for (const char* file : {"/final/model.safetensors", "/checkpoint-6/streams.safetensors"})
      EXPECT_EQ(testing::read_text(path(one) + file), testing::read_text(path(two) + file)) << how;
    // C5: all weight is somewhere, and whose batch a stream is in does not matter.
    std::vector<std::string> results;
    for (const char* batch : {"8", "4"}) {
      const RunResult evaluated =
          run_bigbird({"evaluate", "-m", path(one) + "/final", "--data", path("valid"), "--attention-buckets",
                       "--batch", batch, "--no-provenance"});
      ASSERT_EQ(evaluated.status, 0) << evaluated.err;
      results.push_back(evaluated.out);
    }
    EXPECT_EQ(results[0], results[1]);
    const auto buckets = nlohmann::json::parse(results[0]).at("attention_buckets");
    EXPECT_EQ(buckets.at("rows"), (nlohmann::json{{"compressed", 8}, {"memory", 24}, {"segment", 16}}));
    EXPECT_GT(buckets.at("segments"), 0);
    ASSERT_EQ(buckets.at("layers").size(), 2u);
    for (const auto& layer : buckets.at("layers")) {
      double sum = 0.0;
      for (const char* group : {"compressed", "memory", "segment"}) {
        ASSERT_EQ(layer.at(group).size(), 6u);
        for (const double part : layer.at(group)) sum += part;
      }
      EXPECT_NEAR(sum, 1.0, 1e-5) << how;
    }
  }
}

TEST_F(CompressiveRuns, RefusesWhatItIsNot) {
  const auto refused = [&](const std::vector<std::string>& more, const std::string& words, int status) {
    const RunResult result = pretrain("refused", more);
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(path("refused")));
  };
  refused({"--rate", "0"}, "--rate: '0' is not a whole number within 1..", 2);
  refused({"--compressed", "0"}, "--compressed", 2);
  refused({"--compression", "sum"}, "one of: conv, dilated, mean, max, most-used", 2);
  refused({"--memory", "4", "--rate", "8"}, "memory 4 with rate 8", 2);
  refused({"--memory", "15000", "--memory-limit", "64M", "--steps", "1"}, "the limit is 61.0 MiB", 3);
  refused({"--clamp", "3"}, "--clamp", 2);
}

}  // namespace
}  // namespace bigbird
