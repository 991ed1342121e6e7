// Performer as a user meets it: pretraining both ways, killed and resumed, over ranks of processes,
// fine-tuning, prediction in any batch, int8, evaluation, convert, check and info, what is refused, and what
// `bigbird attention` counts.
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/system_fixture.h"

namespace bigbird::testing {
namespace {

class PerformerVerbs : public SystemVerbs {
 protected:
  static nlohmann::json config(const std::string& folder) {
    return nlohmann::json::parse(config_text(folder));
  }
  static Words pretrain(const std::string& run, const Words& more) {
    return SystemVerbs::pretrain(performer(), run, more);
  }
  static Words performer() { return {"--attention", "performer", "--features", "12", "--redraw", "5"}; }
};

TEST_F(PerformerVerbs, G5G7ThreadsKillsAndResumingGiveEqualBytes) {
  for (const char* objective : {"mlm", "clm"}) {
    expect_equal_bytes(performer(), objective,
                       {"--steps", "12", "--save-every", "2", "--dropout", "0.1", "--objective", objective});
  }
}

TEST_F(PerformerVerbs, G8FoldersKeepTheirOptionsAndProjections) {
  must(pretrain("folder", {"--steps", "2"}));
  const nlohmann::json own = config("folder/final").at("bigbird");
  EXPECT_EQ(config("folder/final").at("model_type"), "bigbird_extended");
  EXPECT_EQ(own.at("attention"), "performer");
  EXPECT_EQ(
      own.at("attention_options"),
      nlohmann::json::parse(R"({"features": 12, "kernel": "softmax+", "projection": "gauss", "redraw": 5})"));
  EXPECT_EQ(must({"check", path("folder/final")}).out.find("failed"), std::string::npos);
  const RunResult info = must({"info", path("folder/final")});
  EXPECT_TRUE(holds(info.out,
                    "\nattention\tperformer, blocks of 16 tokens, features 12, kernel softmax+, projection "
                    "gauss, redraw 5"))
      << info.out;
  must({"convert", path("folder/final"), path("copy")});
  EXPECT_TRUE(values_of("copy") == values_of("folder/final"));
  EXPECT_EQ(config("copy"), config("folder/final"));
  nlohmann::json changed = config("copy");
  changed["bigbird"]["attention_options"]["rows"] = 3;
  write("copy/config.json", changed.dump());
  refused({"info", path("copy")}, 1, "attention_options: rows: attention performer has no such option");
  // A model of other attention gets projections, and gives them up again.
  must({"convert", path("folder/final"), path("full"), "--attention", "full"});
  EXPECT_EQ(weights("full").find("self.features"), std::string::npos);
  must({"convert", path("full"), path("again"), "--attention", "performer", "--features", "12"});
  must({"convert", path("full"), path("relu"), "--attention", "performer", "--features", "12", "--kernel",
        "relu", "--projection", "iid"});
  EXPECT_EQ(config("relu").at("bigbird").at("attention_options").at("projection"), "iid");
  EXPECT_NE(weights("again").find("layer.1.attention.self.features.weight"), std::string::npos);
  EXPECT_EQ(must({"check", path("again")}).out.find("failed"), std::string::npos);
}

TEST_F(PerformerVerbs, TasksScoreAlikeInAnyBatch) {
  expect_same_scores(performer(), "");
}

TEST_F(PerformerVerbs, TextIsPretrainedAndClassified) {
  expect_same_classes(performer());
}

TEST_F(PerformerVerbs, EveryKernelAndProjectionIsTrained) {
  for (const Words& of : {Words{"--kernel", "softmax-trig"}, Words{"--kernel", "relu"},
                          Words{"--kernel", "elu1"}, Words{"--kernel", "relu", "--projection", "iid"},
                          Words{"--projection", "givens"}, Words{"--projection", "hadamard"}}) {
    const std::string run = "kernel" + of[1] + of.back();
    must(pretrain(run, Words{"--steps", "6"} + of));
    const bool projects = of.back() != "relu" && of.back() != "elu1";
    EXPECT_EQ(weights(run + "/final").find("self.features") != std::string::npos, projects) << run;
  }
}

TEST_F(PerformerVerbs, WhatItHasNotIsRefused) {
  const auto with = [](const Words& words) {
    return Words{"pretrain", "--train",  path("shards"), "-m",       path("tokenizer"),
                 "-o",       path("no"), "--attention",  "performer"} +
           words;
  };
  refused(with({"--features", "0"}), 2, "--features: '0' is not a whole number within 1..1024");
  refused(with({"--kernel", "softmax"}), 2, "--kernel: 'softmax' is none of its values");
  refused(with({"--projection", "none"}), 2, "projection none of a kernel of softmax");
  refused(with({"--projection", "hadamard", "--width", "24", "--heads", "2"}), 2,
          "projection hadamard with heads of 12 columns");
  refused(with({"--parts", "2"}), 2, "--parts is of attention blockbert, not of performer");
  must(pretrain("next", {"--steps", "2", "--objective", "clm"}));
  const std::string bases = must({"text", "generate", "-m", path("next/final"), "-O", "lines", "--prompt",
                                  "ACGT", "--max-tokens", "5", "--device", "cpu"})
                                .out;
  EXPECT_GE(bases.size(), 6u);
  EXPECT_EQ(bases.find_first_not_of("ACGT\n"), std::string::npos) << bases;
}

TEST_F(PerformerVerbs, G11ItLearnsMoreThanTheUnigrams) {
  expect_less_than_unigrams({"--attention", "performer", "--features", "64", "--redraw", "100"});
}

// Keys are not its measure: every token is seen, and what a token costs is 4 M D multiply-adds a head.
TEST(AttentionVerb, G9MultiplyAddsOfPerformerAreThoseOfItsSums) {
  const RunResult compared = run_bigbird({"attention", "--compare", "full,performer", "--features", "32",
                                          "--length", "96", "--block-size", "8", "--heads", "4", "-o", "-"});
  ASSERT_EQ(compared.status, 0) << compared.err;
  const auto all = nlohmann::json::parse(compared.out);
  const auto& full = all.at("systems")[0];
  const auto& performer = all.at("systems")[1];
  const std::int64_t width = all.at("width");
  EXPECT_EQ(performer.at("visible_pairs"), full.at("visible_pairs"));
  EXPECT_EQ(performer.at("multiply_adds"), 96 * 4 * 32 * width);
  EXPECT_EQ(performer.at("layers_to_connect"), 1);
  EXPECT_EQ(performer.at("causal"), true);
  EXPECT_EQ(performer.at("cuda"), false);
  const TemporaryFolder folder;
  const std::string svg = (folder / "performer.svg").string();
  const RunResult run =
      run_bigbird({"attention", "--attention", "performer", "--length", "64", "--block-size", "8", "--heads",
                   "2", "--svg", svg, "--kernel", "relu", "--projection", "iid", "--redraw", "7"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(holds(read_text(svg), "every token"));
}

}  // namespace
}  // namespace bigbird::testing
