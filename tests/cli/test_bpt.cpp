// BP-Transformer as a user meets it: pretraining on DNA and text, killed and resumed, fine-tuning, prediction
// in any batch, int8, evaluation, convert, check and info, what is refused, and what `bigbird attention`
// counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/cli/system_fixture.h"

namespace bigbird::testing {
namespace {

class BptVerbs : public SystemVerbs {
 protected:
  static nlohmann::json config(const std::string& folder) {
    return nlohmann::json::parse(config_text(folder));
  }
  static Words pretrain(const std::string& run, const Words& more) {
    return SystemVerbs::pretrain(bpt(), run, more);
  }
  static Words bpt() { return {"--attention", "bpt", "--contextual", "2", "--clip-levels", "3"}; }
};

TEST_F(BptVerbs, G5G7ThreadsKillsAndResumingGiveEqualBytes) {
  expect_equal_bytes(bpt(), "", {"--steps", "40", "--save-every", "2", "--dropout", "0.1"});
}

TEST_F(BptVerbs, G8FoldersKeepTheirOptions) {
  must(pretrain("folder", {"--steps", "2"}));
  const nlohmann::json own = config("folder/final").at("bigbird");
  EXPECT_EQ(config("folder/final").at("model_type"), "bigbird_extended");
  EXPECT_EQ(own.at("attention"), "bpt");
  EXPECT_EQ(own.at("attention_options"), nlohmann::json::parse(R"({"contextual": 2, "clip_levels": 3})"));
  EXPECT_EQ(own.at("positions"), "none");
  EXPECT_EQ(config("folder/final").at("hidden_act"), "relu");
  EXPECT_EQ(config("folder/final").at("use_bias"), false);
  EXPECT_EQ(config("folder/final").at("type_vocab_size"), 0);
  EXPECT_EQ(must({"check", path("folder/final")}).out.find("failed"), std::string::npos);
  const RunResult info = must({"info", path("folder/final")});
  EXPECT_TRUE(holds(info.out, "\nattention\tbpt, blocks of 16 tokens, contextual 2, clip_levels 3"))
      << info.out;
  EXPECT_TRUE(holds(info.out, "\nloads_in_transformers\tfalse\n"));

  must({"convert", path("folder/final"), path("copy")});
  EXPECT_TRUE(values_of("copy") == values_of("folder/final"));
  EXPECT_EQ(config("copy"), config("folder/final"));
  nlohmann::json changed = config("copy");
  changed["bigbird"]["attention_options"]["contextuals"] = 3;
  write("copy/config.json", changed.dump());
  refused({"info", path("copy")}, 1, "attention_options: contextuals: attention bpt has no such option");
  refused({"convert", path("folder/final"), path("no"), "--attention", "bigbird"}, 1, "without positions");
}

TEST_F(BptVerbs, TasksScoreAlikeInAnyBatch) {
  expect_same_scores(bpt(), "");
}

TEST_F(BptVerbs, TextIsPretrainedAndClassified) {
  expect_same_classes(bpt());
}

TEST_F(BptVerbs, WhatItHasNotIsRefused) {
  const auto with = [](const Words& words) {
    return Words{"pretrain", "--train",  path("shards"), "-m", path("tokenizer"),
                 "-o",       path("no"), "--attention",  "bpt"} +
           words;
  };
  refused(with({"--contextual", "0"}), 2, "--contextual: '0' is not a whole number within 1..1024");
  refused(with({"--norm", "prenorm"}), 2, "attention bpt with other LayerNorms than its own");
  refused(with({"--position-embedding", "rotary"}), 2, "attention bpt has labels and no positions");
  refused(with({"--parts", "2"}), 2, "--parts is of attention blockbert, not of bpt");
}

TEST_F(BptVerbs, G11ItLearnsMoreThanTheUnigrams) {
  expect_less_than_unigrams({"--attention", "bpt", "--contextual", "2"});
}

// What a token sees, found without a walk: from its own place outwards, of all nodes that begin where the
// last one ended, the largest that the places of its level still allow.
struct CountedNodes {
  std::int64_t edges = 0, most = 0, of_leaves = 0;
};
CountedNodes counted(std::int64_t tokens, std::int64_t contextual) {
  std::vector<std::int64_t> sizes{tokens};
  while (sizes.back() > 1) sizes.push_back((sizes.back() + 1) / 2);
  CountedNodes all;
  for (std::size_t level = 1; level < sizes.size(); ++level) all.edges += tokens;  // spans see their leaves
  for (std::int64_t leaf = 0; leaf < tokens; ++leaf) {
    std::int64_t seen = 1;
    for (const int side : {-1, 1}) {
      // Tokens up to `reached` are seen on this side; a place of level j takes the rest of the level's next
      // node: all of it, or its far half.
      std::int64_t reached = leaf;
      for (std::size_t level = 0; level < sizes.size(); ++level) {
        for (std::int64_t t = 0; t < contextual; ++t) {
          const std::int64_t next = reached + side;
          if (next < 0 || next >= tokens) continue;
          const std::int64_t node = next >> level;
          const std::int64_t end = side > 0 ? ((node + 1) << level) - 1 : node << level;
          reached = std::clamp<std::int64_t>(end, 0, tokens - 1);
          ++seen;
        }
      }
      EXPECT_EQ(reached, side > 0 ? tokens - 1 : 0);
    }
    all.of_leaves += seen;
    all.most = std::max(all.most, seen);
  }
  all.edges += all.of_leaves;
  return all;
}

TEST(AttentionVerb, G9NodesOfBptAreThoseThatCountingThemGives) {
  for (const std::int64_t contextual : {1, 3, 8}) {
    const CountedNodes expected = counted(96, contextual);
    const RunResult run =
        run_bigbird({"attention", "--attention", "bpt", "--contextual", std::to_string(contextual),
                     "--clip-levels", "3", "--length", "96", "--block-size", "8", "--heads", "4", "-o", "-"});
    ASSERT_EQ(run.status, 0) << run.err;
    const auto json = nlohmann::json::parse(run.out);
    EXPECT_EQ(json.at("visible_pairs"), 4 * expected.edges);
    EXPECT_EQ(json.at("span_nodes"), 48 + 24 + 12 + 6 + 3 + 2 + 1);
    EXPECT_EQ(json.at("keys_per_query").at("max"), expected.most);
    EXPECT_DOUBLE_EQ(json.at("keys_per_query").at("mean"), static_cast<double>(expected.of_leaves) / 96);
    const RunResult compared =
        run_bigbird({"attention", "--compare", "full,bpt", "--contextual", std::to_string(contextual),
                     "--length", "96", "--block-size", "8", "--heads", "4", "-o", "-"});
    ASSERT_EQ(compared.status, 0) << compared.err;
    const auto all = nlohmann::json::parse(compared.out).at("systems");
    EXPECT_EQ(all[1].at("visible_pairs"), json.at("visible_pairs"));
    EXPECT_EQ(all[1].at("keys_per_query"), json.at("keys_per_query"));
    EXPECT_EQ(all[1].at("layers_to_connect"), 2);
    EXPECT_EQ(all[1].at("causal"), true);
    EXPECT_EQ(all[1].at("cuda"), true);
  }
}

TEST(AttentionVerb, ListsOfBptArePrintedAndDrawn) {
  const TemporaryFolder folder;
  const std::string svg = (folder / "bpt.svg").string();
  const RunResult run = run_bigbird({"attention", "--attention", "bpt", "--contextual", "1", "--length", "8",
                                     "--block-size", "4", "--heads", "2", "--lists", "--svg", svg});
  ASSERT_EQ(run.status, 0) << run.err;
  // Token 3 sees 2, 3, 4, 5, and of the spans (1,0) and (1,3), whose numbers are 8 and 11.
  EXPECT_TRUE(holds(run.out, "\n0-1\t3\t2 3 4 5 8 11\n")) << run.out;
  EXPECT_TRUE(holds(run.out, "\nspan_nodes\t7\n")) << run.out;
  EXPECT_TRUE(holds(run.out, "\nvisible_pairs\t132\n")) << run.out;
  EXPECT_TRUE(holds(read_text(svg), "(b) spans"));
}

}  // namespace
}  // namespace bigbird::testing
