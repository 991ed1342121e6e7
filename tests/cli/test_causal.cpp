// A left-to-right objective as a user meets it: `pretrain --objective clm`, `evaluate` beside n-grams, what
// goes on, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/sanitizer.h"
#include "tests/support/support.h"
#include "tests/support/tiny_training_data.h"

namespace bigbird {
namespace {

namespace fs = std::filesystem;
using testing::run_bigbird;
using testing::RunResult;

class Causal : public ::testing::Test {
 protected:
  Causal() {
    testing::write_tiny_tokenizer(folder_ / "tokenizer");
    testing::write_tiny_shards(path("train"), folder_ / "tokenizer", {40, 20, 20, 1});
    testing::write_tiny_shards(path("valid"), folder_ / "tokenizer", {6, 20, 20, 2});
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  // `more` takes the place of the options of the same names.
  RunResult pretrain(const std::string& run, const std::vector<std::string>& more) const {
    const std::vector<std::pair<std::string, std::string>> usual = {{"--train", path("train")},
                                                                    {"--valid", path("valid")},
                                                                    {"-m", path("tokenizer")},
                                                                    {"-o", path(run)},
                                                                    {"--objective", "clm"},
                                                                    {"--layers", "2"},
                                                                    {"--width", "64"},
                                                                    {"--heads", "2"},
                                                                    {"--length", "64"},
                                                                    {"--block-size", "16"},
                                                                    {"--batch", "8"},
                                                                    {"--lr", "1e-3"},
                                                                    {"-@", "1"}};
    std::vector<std::string> all = {"pretrain"};
    for (const auto& option : usual) {
      if (std::find(more.begin(), more.end(), option.first) == more.end())
        all.insert(all.end(), {option.first, option.second});
    }
    all.insert(all.end(), more.begin(), more.end());
    return run_bigbird(all);
  }
  testing::TemporaryFolder folder_;
};

TEST_F(Causal, LearnsWhatBigramsKnow) {
  if (testing::under_sanitizer) GTEST_SKIP() << "300 updates; the other tests train less";
  const RunResult trained = pretrain("run", {"--attention", "full", "--steps", "300", "--lr", "3e-3"});
  ASSERT_EQ(trained.status, 0) << trained.err;
  const RunResult result = run_bigbird(
      {"evaluate", "-m", path("run") + "/final", "--data", path("valid"), "--baseline-from", path("train")});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  const double bits = json.at("bits_per_base");
  EXPECT_LT(bits, json.at("baseline").at("unigram").at("bits_per_base").get<double>());
  // In these documents the token before tells nearly all that can be known.
  EXPECT_LT(bits, 1.1 * json.at("baseline").at("bigram").at("bits_per_base").get<double>());
  EXPECT_EQ(json.at("predicted_tokens"), json.at("tokens"));
  EXPECT_FALSE(json.contains("masks"));
  EXPECT_FALSE(json.contains("nsp_loss"));

  const RunResult other = run_bigbird({"evaluate", "-m", path("run") + "/final", "--data", path("valid"),
                                       "--batch", "3", "-@", "2", "--no-provenance"});
  EXPECT_EQ(nlohmann::json::parse(other.out).at("clm_accuracy"), json.at("clm_accuracy"));

  // What was trained goes on with its objective; no mask is filled, and none is asked for.
  const RunResult on = run_bigbird({"pretrain", "--train", path("train"), "-m", path("tokenizer"), "--init",
                                    path("run") + "/final", "-o", path("more"), "--length", "64", "--batch",
                                    "8", "--steps", "2", "-@", "1"});
  ASSERT_EQ(on.status, 0) << on.err;
  EXPECT_NE(testing::read_text(folder_ / "more/metrics.tsv").find("clm_loss"), std::string::npos);
  const RunResult fill = run_bigbird({"fill-mask", "-m", path("run") + "/final", "ACGT[MASK]ACGT"});
  EXPECT_NE(fill.status, 0);
  EXPECT_NE(fill.err.find("reads left to right"), std::string::npos) << fill.err;
  const RunResult masks =
      run_bigbird({"evaluate", "-m", path("run") + "/final", "--data", path("valid"), "--masks", "all"});
  EXPECT_EQ(masks.status, 2);
  EXPECT_NE(masks.err.find("nothing is masked"), std::string::npos) << masks.err;
  const RunResult checked = run_bigbird({"check", path("run") + "/final"});
  EXPECT_EQ(checked.status, 0) << checked.err << checked.out;
  const RunResult info = run_bigbird({"info", path("run") + "/final"});
  EXPECT_NE(info.out.find("causal"), std::string::npos) << info.out;
}

TEST_F(Causal, ARunInPartsIsTheRunInOnePiece) {
  for (const char* attention : {"full", "sparse-fixed", "transformer-xl", "adaptive-span"}) {
    const std::vector<std::string> of = {"--attention", attention, "--save-every", "3", "--seed", "5"};
    const std::string one = std::string("one-") + attention, two = std::string("two-") + attention;
    const auto with = [&](std::vector<std::string> more) {
      std::vector<std::string> all = of;
      if (attention == std::string("sparse-fixed")) all.insert(all.end(), {"--stride", "32"});
      if (attention == std::string("transformer-xl")) all.insert(all.end(), {"--memory", "48"});
      if (attention == std::string("adaptive-span"))
        all.insert(all.end(), {"--max-span", "40", "--ramp", "8"});
      all.insert(all.end(), more.begin(), more.end());
      return all;
    };
    ASSERT_EQ(pretrain(one, with({"--steps", "6"})).status, 0);
    ASSERT_EQ(pretrain(two, with({"--steps", "6"})).status, 0);
    fs::remove_all(path(two) + "/checkpoint-6");
    fs::remove_all(path(two) + "/final");
    const RunResult resumed = pretrain(two, with({"--steps", "6", "--resume"}));
    ASSERT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_EQ(testing::read_text(path(one) + "/final/model.safetensors"),
              testing::read_text(path(two) + "/final/model.safetensors"))
        << attention;
    if (attention == std::string("transformer-xl") || attention == std::string("adaptive-span")) {
      for (const std::string& run : {one, two})
        EXPECT_TRUE(fs::exists(path(run) + "/checkpoint-6/streams.safetensors"));
      EXPECT_EQ(testing::read_text(path(one) + "/checkpoint-6/streams.safetensors"),
                testing::read_text(path(two) + "/checkpoint-6/streams.safetensors"));
      // Streams are the sequences of the batch: with others it is another run.
      const RunResult others = pretrain(two, with({"--steps", "6", "--resume", "--batch", "4"}));
      EXPECT_EQ(others.status, 2);
      EXPECT_NE(others.err.find("--batch"), std::string::npos) << others.err;
    }
    // Another objective is another run.
    std::vector<std::string> mlm = with({"--steps", "6", "--resume", "--objective", "mlm"});
    const RunResult other = pretrain(two, mlm);
    EXPECT_NE(other.status, 0);
  }
}

// What a token sees of its own segment, by groups of tokens; a model takes another memory than it had.
TEST_F(Causal, ATransformerXlIsCountedAndConverted) {
  const std::vector<std::string> options = {"--attention", "transformer-xl", "--memory", "24",      "--clamp",
                                            "30",          "--same-length",  "on",       "--untie", "on"};
  std::vector<std::string> count = {"attention", "--length", "64", "--heads", "1", "--block-size", "16"};
  count.insert(count.end(), options.begin(), options.end());
  const RunResult counted = run_bigbird(count);
  ASSERT_EQ(counted.status, 0) << counted.err;
  // Up to 24 tokens, the own one among them: 1 + 2 + ... + 24, and 24 of each of the 40 others.
  EXPECT_NE(counted.out.find("visible_pairs\t1260\n"), std::string::npos) << counted.out;
  std::vector<std::string> few = options;
  few.insert(few.end(), {"--steps", "2"});
  const RunResult trained = pretrain("xl", few);
  ASSERT_EQ(trained.status, 0) << trained.err;
  const RunResult converted =
      run_bigbird({"convert", path("xl") + "/final", path("other"), "--attention", "transformer-xl",
                   "--memory", "40", "--clamp", "0", "--same-length", "off", "--untie", "on"});
  ASSERT_EQ(converted.status, 0) << converted.err;
  const RunResult evaluated =
      run_bigbird({"evaluate", "-m", path("other"), "--data", path("valid"), "--length", "32"});
  EXPECT_EQ(evaluated.status, 0) << evaluated.err;
  const RunResult back = run_bigbird({"convert", path("xl") + "/final", path("tied"), "--untie", "off"});
  EXPECT_NE(back.status, 0) << "biases of every layer became one pair";
}

TEST_F(Causal, PatternsThatLookAheadAreRefusedByName) {
  for (const char* attention : {"bigbird", "window", "random", "window+random", "star", "blockbert", "etc"}) {
    const RunResult result = pretrain("refused", {"--attention", attention, "--steps", "1"});
    EXPECT_EQ(result.status, 2) << attention;
    EXPECT_NE(result.err.find(std::string("attention ") + attention + " looks ahead"), std::string::npos)
        << result.err;
    EXPECT_NE(result.err.find("full, sparse-fixed"), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(path("refused")));
  }
  const RunResult globals =
      pretrain("refused", {"--attention", "longformer", "--global", "first:2", "--steps", "1"});
  EXPECT_EQ(globals.status, 2);
  EXPECT_NE(globals.err.find("--global none"), std::string::npos) << globals.err;
  const RunResult masks = pretrain("refused", {"--attention", "full", "--mask-probability", "0.2"});
  EXPECT_EQ(masks.status, 2);
  EXPECT_NE(masks.err.find("masks nothing"), std::string::npos) << masks.err;
  const RunResult both_ways = pretrain("refused", {"--attention", "transformer-xl", "--objective", "mlm"});
  EXPECT_EQ(both_ways.status, 2);
  EXPECT_NE(both_ways.err.find("reads left to right"), std::string::npos) << both_ways.err;
  const RunResult many = pretrain("refused", {"--attention", "transformer-xl", "--batch", "64"});
  EXPECT_EQ(many.status, 2);
  EXPECT_NE(many.err.find("each sequence is a stream of documents"), std::string::npos) << many.err;
  const RunResult chosen = pretrain("refused", {"--attention", "transformer-xl", "--batch", "auto"});
  EXPECT_EQ(chosen.status, 2);
  EXPECT_NE(chosen.err.find("--batch auto with attention transformer-xl"), std::string::npos) << chosen.err;
  const RunResult large = pretrain("refused", {"--attention", "transformer-xl", "--memory", "16000",
                                               "--memory-limit", "64M", "--steps", "1"});
  EXPECT_EQ(large.status, 3) << large.err;
  EXPECT_NE(large.err.find("memory of"), std::string::npos) << large.err;
  const RunResult unknown = pretrain("refused", {"--objective", "left"});
  EXPECT_EQ(unknown.status, 2);
}

}  // namespace
}  // namespace bigbird
