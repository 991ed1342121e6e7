// Routing Transformer as a user meets it: pretraining both ways, killed and resumed, fine-tuning, prediction
// in any batch, int8, evaluation, convert, check and info, a task of text, what is refused, and what `bigbird
// attention` counts.
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/system_fixture.h"

namespace bigbird::testing {
namespace {

class RoutingVerbs : public SystemVerbs {
 protected:
  static nlohmann::json config(const std::string& folder) {
    return nlohmann::json::parse(config_text(folder));
  }
  static Words pretrain(const std::string& run, const Words& more) {
    return SystemVerbs::pretrain(routing(), run, more);
  }
  static Words routing() {
    return {"--attention", "routing", "--clusters", "4", "--cluster-window", "24", "--local-window", "12"};
  }
};

TEST_F(RoutingVerbs, G5G7ThreadsKillsAndResumingGiveEqualBytes) {
  for (const char* objective : {"mlm", "clm"}) {
    expect_equal_bytes(routing(), objective,
                       {"--steps", "12", "--save-every", "2", "--dropout", "0.1", "--objective", objective,
                        "--centroid-decay", "0.9"});
  }
  EXPECT_TRUE(holds(read_text(path("wholemlm/metrics.tsv")), "\tcommitment_loss"));
}

TEST_F(RoutingVerbs, G8FoldersKeepTheirOptions) {
  must(pretrain("folder", {"--steps", "2", "--commitment-loss", "1e-3"}));
  const nlohmann::json own = config("folder/final").at("bigbird");
  EXPECT_EQ(config("folder/final").at("model_type"), "bigbird_extended");
  EXPECT_EQ(own.at("attention"), "routing");
  EXPECT_EQ(
      own.at("attention_options"),
      nlohmann::json::parse(R"({"clusters": 4, "cluster_window": 24, "local_heads": 1, "local_window": 12,
                                      "commitment_loss": 0.001, "centroid_decay": 0.999})"));
  EXPECT_NE(weights("folder/final").find("layer.1.attention.self.centroids.counts"), std::string::npos);
  EXPECT_EQ(must({"check", path("folder/final")}).out.find("failed"), std::string::npos);
  const RunResult info = must({"info", path("folder/final")});
  EXPECT_TRUE(
      holds(info.out,
            "\nattention\trouting, blocks of 16 tokens, clusters 4, cluster_window 24, local_heads 1, "
            "local_window 12, commitment_loss 0.001, centroid_decay 0.999"))
      << info.out;
  must({"convert", path("folder/final"), path("copy")});
  EXPECT_TRUE(values_of("copy") == values_of("folder/final"));
  EXPECT_EQ(config("copy"), config("folder/final"));
  must({"convert", path("folder/final"), path("wider"), "--cluster-window", "48", "--local-heads", "1",
        "--centroid-decay", "0.99"});
  EXPECT_TRUE(values_of("wider") == values_of("folder/final"));
  EXPECT_EQ(config("wider").at("bigbird").at("attention_options").at("cluster_window"), 48);
  nlohmann::json changed = config("copy");
  changed["bigbird"]["attention_options"]["rows"] = 3;
  write("copy/config.json", changed.dump());
  refused({"info", path("copy")}, 1, "attention_options: rows: attention routing has no such option");
  // A model of other attention has no centroids: they are drawn. The other way they are left out.
  must({"convert", path("run/final"), path("routed"), "--attention", "routing", "--clusters", "3"});
  EXPECT_NE(weights("routed").find("self.centroids.sums"), std::string::npos);
  must({"convert", path("routed"), path("back"), "--attention", "full"});
  EXPECT_EQ(weights("back").find("self.centroids"), std::string::npos);
  refused({"convert", path("folder/final"), path("more"), "--clusters", "5"}, 1, "centroids.sums");
}

TEST_F(RoutingVerbs, TasksScoreAlikeInAnyBatch) {
  expect_same_scores(routing(), "");
  write("windows.bed", "chr1\t1000\t1200\n");
  must({"embed", "-m", path("encoder/final"), "-f", path("genome/genome.fa.gz"), "-R", path("windows.bed"),
        "-o", path("vectors.npy"), "--device", "cpu"});
  EXPECT_TRUE(holds(read_text(path("vectors.npy")), "(1, 16)"));
}

TEST_F(RoutingVerbs, TextIsPretrainedAndClassified) {
  expect_same_classes(routing() + Words{"--local-heads", "0"});
}

TEST_F(RoutingVerbs, WhatItHasNotIsRefused) {
  const auto with = [](const Words& words) {
    return Words{"pretrain", "--train",  path("shards"), "-m",     path("tokenizer"),
                 "-o",       path("no"), "--attention",  "routing"} +
           words;
  };
  refused(with({"--clusters", "0"}), 2, "--clusters: '0' is not a whole number within 1..1024");
  refused(with({"--commitment-loss", "2"}), 2, "--commitment-loss: '2' is not a number within 0..1");
  refused(with({"--local-heads", "4", "--heads", "4"}), 2, "--local-heads 4 of --heads 4");
  refused(with({"--hashes", "2"}), 2, "--hashes is of attention reformer, not of routing");
  must(pretrain("next", {"--steps", "2", "--objective", "clm"}));
  const std::string bases = must({"text", "generate", "-m", path("next/final"), "-O", "lines", "--prompt",
                                  "ACGT", "--max-tokens", "5", "--device", "cpu"})
                                .out;
  EXPECT_GE(bases.size(), 6u);
  EXPECT_EQ(bases.find_first_not_of("ACGT\n"), std::string::npos) << bases;
}

TEST_F(RoutingVerbs, G11ItLearnsMoreThanTheUnigrams) {
  expect_less_than_unigrams({"--attention", "routing", "--clusters", "4", "--cluster-window", "32"});
}

// Of clusters only how many pairs they have is known beforehand; of local heads each.
TEST(AttentionVerb, G9PairsOfRoutingAreThoseOfItsClustersAndWindows) {
  for (const bool causal : {false, true}) {
    Words words{"attention",
                "--compare",
                "full,routing",
                "--clusters",
                "3",
                "--cluster-window",
                "32",
                "--local-window",
                "10",
                "--length",
                "96",
                "--block-size",
                "8",
                "--heads",
                "4",
                "-o",
                "-"};
    if (causal) words = words + Words{"--left-to-right"};
    const RunResult compared = run_bigbird(words);
    ASSERT_EQ(compared.status, 0) << compared.err;
    const auto all = nlohmann::json::parse(compared.out);
    const auto& routing = all.at("systems")[1];
    std::int64_t local = 0;
    for (std::int64_t i = 0; i < 96; ++i) {
      for (std::int64_t j = 0; j < 96; ++j) local += j >= i - 10 && j <= (causal ? i : i + 10) ? 1 : 0;
    }
    const std::int64_t routed = 3 * (causal ? 32 * 33 / 2 : 32 * 32);
    EXPECT_EQ(routing.at("visible_pairs"), 2 * local + 2 * routed);
    const std::int64_t size = all.at("width").get<std::int64_t>() / 4;
    EXPECT_EQ(routing.at("multiply_adds"),
              2 * size * 2 * local + 2 * size * (96 * (2 * routed / 96) + 96 * 3 * (causal ? 1 : 2)));
    EXPECT_EQ(routing.at("causal"), true);
    EXPECT_EQ(routing.at("cuda"), false);
  }
  const TemporaryFolder folder;
  const std::string svg = (folder / "routing.svg").string();
  const RunResult run = run_bigbird({"attention", "--attention", "routing", "--length", "64", "--block-size",
                                     "8", "--heads", "2", "--head", "1", "--svg", svg, "--local-heads", "1",
                                     "--commitment-loss", "0", "--centroid-decay", "0.5"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(holds(run.out, "the tokens decide which keys a query has"));
  EXPECT_TRUE(holds(read_text(svg), "every token"));
}

}  // namespace
}  // namespace bigbird::testing
