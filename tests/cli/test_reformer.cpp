// Reformer as a user meets it: pretraining both ways, killed and resumed, fine-tuning, prediction in any
// batch, int8, evaluation, convert, check and info, a task of text, what is refused, and what `bigbird
// attention` counts.
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/system_fixture.h"

namespace bigbird::testing {
namespace {

class ReformerVerbs : public SystemVerbs {
 protected:
  static nlohmann::json config(const std::string& folder) {
    return nlohmann::json::parse(config_text(folder));
  }
  static Words pretrain(const std::string& run, const Words& more) {
    return SystemVerbs::pretrain(reformer(), run, more);
  }
  static Words reformer() { return {"--attention", "reformer", "--chunk-length", "16", "--hashes", "3"}; }
};

TEST_F(ReformerVerbs, G5G7ThreadsKillsAndResumingGiveEqualBytes) {
  for (const char* objective : {"mlm", "clm"}) {
    const bool reversible = std::string(objective) == "clm";
    expect_equal_bytes(reformer(), objective,
                       {"--steps", "12", "--save-every", "2", "--dropout", "0.1", "--objective", objective,
                        "--reversible", reversible ? "on" : "off"});
  }
}

TEST_F(ReformerVerbs, G8FoldersKeepTheirOptions) {
  must(pretrain("folder", {"--steps", "2", "--buckets", "4:8"}));
  const nlohmann::json own = config("folder/final").at("bigbird");
  EXPECT_EQ(config("folder/final").at("model_type"), "bigbird_extended");
  EXPECT_EQ(own.at("attention"), "reformer");
  EXPECT_EQ(
      own.at("attention_options"),
      nlohmann::json::parse(R"({"chunk_length": 16, "hashes": 3, "buckets": [4, 8], "reversible": "off"})"));
  EXPECT_EQ(weights("folder/final").find("self.key"), std::string::npos);
  EXPECT_EQ(must({"check", path("folder/final")}).out.find("failed"), std::string::npos);
  const RunResult info = must({"info", path("folder/final")});
  EXPECT_TRUE(holds(
      info.out,
      "\nattention\treformer, blocks of 16 tokens, chunk_length 16, hashes 3, buckets 4:8, reversible off"))
      << info.out;
  must({"convert", path("folder/final"), path("copy")});
  EXPECT_TRUE(values_of("copy") == values_of("folder/final"));
  EXPECT_EQ(config("copy"), config("folder/final"));
  must({"convert", path("folder/final"), path("hashes"), "--hashes", "8", "--buckets", "0", "--chunk-length",
        "32"});
  EXPECT_TRUE(values_of("hashes") == values_of("folder/final"));
  EXPECT_EQ(config("hashes").at("bigbird").at("attention_options").at("hashes"), 8);
  nlohmann::json changed = config("copy");
  changed["bigbird"]["attention_options"]["rows"] = 3;
  write("copy/config.json", changed.dump());
  refused({"info", path("copy")}, 1, "attention_options: rows: attention reformer has no such option");
  // Queries are keys: a model of other attention has one matrix too many, and the other way one too few.
  refused({"convert", path("folder/final"), path("full"), "--attention", "full"}, 1, "key");
  // Heads of two streams read twice as many columns.
  refused({"convert", path("folder/final"), path("streams"), "--reversible", "on"}, 1,
          "has shape [16], config.json asks for [32]");
  refused({"convert", path("run/final"), path("no"), "--attention", "reformer"}, 1,
          "attention reformer with biases of queries and values");
}

TEST_F(ReformerVerbs, TasksScoreAlikeInAnyBatch) {
  write("windows.bed", "chr1\t1000\t1200\n");
  for (const std::string reversible : {"off", "on"}) {
    expect_same_scores(reformer() + Words{"--reversible", reversible}, reversible);
    const std::string vectors = path("vectors" + reversible + ".npy");
    must({"embed", "-m", path("encoder" + reversible + "/final"), "-f", path("genome/genome.fa.gz"), "-R",
          path("windows.bed"), "-o", vectors, "--device", "cpu"});
    // Vectors are those of both streams.
    EXPECT_TRUE(holds(read_text(vectors), reversible == "on" ? "(1, 32)" : "(1, 16)"));
  }
}

TEST_F(ReformerVerbs, TextIsPretrainedAndClassified) {
  expect_same_classes(reformer() + Words{"--reversible", "on"});
}

TEST_F(ReformerVerbs, WhatItHasNotIsRefused) {
  const auto with = [](const Words& words) {
    return Words{"pretrain", "--train",  path("shards"), "-m",      path("tokenizer"),
                 "-o",       path("no"), "--attention",  "reformer"} +
           words;
  };
  refused(with({"--hashes", "0"}), 2, "--hashes: '0' is not a whole number within 1..1024");
  refused(with({"--hashes", "65"}), 2, "hashes 65 of at most 64");
  refused(with({"--buckets", "2097152"}), 2, "buckets 2097152 are more than 1048576");
  refused(with({"--buckets", "7"}), 2, "buckets 7 do not divide into halves");
  refused(with({"--buckets", "2:2:2"}), 2, "buckets 2:2:2 are more than two factors");
  refused(with({"--parts", "2"}), 2, "--parts is of attention blockbert, not of reformer");
  must(pretrain("next", {"--steps", "2", "--objective", "clm"}));
  const std::string bases = must({"text", "generate", "-m", path("next/final"), "-O", "lines", "--prompt",
                                  "ACGT", "--max-tokens", "5", "--device", "cpu"})
                                .out;
  EXPECT_GE(bases.size(), 6u);
  EXPECT_EQ(bases.find_first_not_of("ACGT\n"), std::string::npos) << bases;
}

TEST_F(ReformerVerbs, G11ItLearnsMoreThanTheUnigrams) {
  expect_less_than_unigrams({"--attention", "reformer", "--chunk-length", "16", "--hashes", "2"});
}

// By the places of its chunks: which tokens these hold, the tokens decide.
TEST(AttentionVerb, G9PairsOfReformerAreThoseOfItsChunks) {
  const RunResult compared =
      run_bigbird({"attention", "--compare", "full,reformer", "--chunk-length", "8", "--hashes", "3",
                   "--length", "96", "--block-size", "8", "--heads", "4", "-o", "-"});
  ASSERT_EQ(compared.status, 0) << compared.err;
  const auto all = nlohmann::json::parse(compared.out);
  const auto& reformer = all.at("systems")[1];
  const std::int64_t width = all.at("width");
  EXPECT_EQ(reformer.at("keys_per_query").at("mean"), 2 * 8 * 3);
  EXPECT_EQ(reformer.at("visible_pairs"), 96 * 48 * 4);
  // 16 buckets: 8 columns of each round.
  EXPECT_EQ(reformer.at("multiply_adds"), 96 * width * (2 * 48 + 3 * 8));
  EXPECT_EQ(reformer.at("causal"), true);
  EXPECT_EQ(reformer.at("cuda"), false);
  const TemporaryFolder folder;
  const std::string svg = (folder / "reformer.svg").string();
  const RunResult run =
      run_bigbird({"attention", "--attention", "reformer", "--length", "64", "--block-size", "8", "--heads",
                   "2", "--svg", svg, "--buckets", "4", "--reversible", "on"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(holds(read_text(svg), "every token"));
}

}  // namespace
}  // namespace bigbird::testing
