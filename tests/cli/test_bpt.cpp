// BP-Transformer as a user meets it: pretraining on DNA and text, killed and resumed, fine-tuning, prediction
// in any batch, int8, evaluation, convert, check and info, what is refused, and what `bigbird attention`
// counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/cli/text_fixture.h"
#include "tests/support/sanitizer.h"
#include "tests/support/tiny_encoder.h"

namespace bigbird::testing {
namespace {

class BptVerbs : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    make_tiny_encoder(folder_->path());
  }
  static Words pretrain(const std::string& run, const Words& more, const std::string& shards = "shards",
                        const std::string& tokenizer = "tokenizer") {
    const Words shape = {"--layers",       "2",   "--width",       "16",  "--heads",      "2",
                         "--intermediate", "32",  "--batch",       "4",   "--block-size", "16",
                         "--length",       "128", "--device",      "cpu", "--attention",  "bpt",
                         "--contextual",   "2",   "--clip-levels", "3"};
    return Words{"pretrain", "--train", path(shards), "-m", path(tokenizer), "-o", path(run)} + shape + more;
  }
  static std::string weights(const std::string& folder) {
    return read_text(path(folder + "/model.safetensors"));
  }
  // Without the header, which says where they come from.
  static std::string values_of(const std::string& folder) {
    const std::string all = weights(folder);
    std::uint64_t header = 0;  // bytes of JSON behind these eight
    std::memcpy(&header, all.data(), sizeof header);
    return all.substr(sizeof header + static_cast<std::size_t>(header));
  }
  static nlohmann::json config(const std::string& folder) {
    return nlohmann::json::parse(read_text(path(folder + "/config.json")));
  }
};

TEST_F(BptVerbs, G5G7ThreadsKillsAndResumingGiveEqualBytes) {
  const Words steps = {"--steps", "40", "--save-every", "2", "--dropout", "0.1"};
  must(pretrain("whole", steps + Words{"-@", "1"}));
  must(pretrain("threads", steps + Words{"-@", "2"}));
  const std::string trained = weights("whole/final");
  EXPECT_TRUE(trained == weights("threads/final"));
  const Words again = pretrain("killed", steps + Words{"-@", "1"});
  // Killed as soon as there is a checkpoint.
  const char* const script =
      R"("$@" 2> "$0.log" & p=$!; while [ ! -d "$0/checkpoint-2" ]; do kill -0 $p || exit 1; sleep 0.01; done; kill -9 $p; wait $p)";
  const RunResult killed = run_program(Words{"sh", "-c", script, path("killed"), bigbird_binary()} + again);
  ASSERT_EQ(killed.status, 128 + 9) << killed.err;
  ASSERT_FALSE(std::filesystem::exists(path("killed/final")));
  must(again + Words{"--resume"});
  EXPECT_TRUE(trained == weights("killed/final"));
  EXPECT_TRUE(read_text(path("whole/final/config.json")) == read_text(path("killed/final/config.json")));
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
  must(pretrain("encoder", {"--steps", "2"}));
  must({"promoter", "build", "--tss", path("genome/promoters.tss.bed"), "-f", path("genome/genome.fa.gz"),
        "-o", path("examples"), "--left", "500", "--right", "300"});
  must({"promoter", "finetune", "--data", path("examples"), "--init", path("encoder/final"), "-o",
        path("promoters"), "--batch", "4", "--steps", "2", "--device", "cpu"});
  must({"quantize", path("promoters/final"), "-o", path("int8"), "--data", path("examples"), "--max-loss",
        "1", "--effect-samples", "4"});
  for (const char* model : {"promoters/final", "int8"}) {
    const auto scores = [&](const char* threads, const char* batch) {
      return must({"promoter", "predict", "-m", path(model), "--data", path("examples/test.tsv"), "-@",
                   threads, "--batch", batch, "--device", "cpu", "--no-provenance"})
          .out;
    };
    EXPECT_EQ(scores("1", "1"), scores("2", "8")) << model;
  }
  const RunResult evaluated = must({"evaluate", "-m", path("encoder/final"), "--data", path("shards"),
                                    "--samples", "8", "--device", "cpu"});
  EXPECT_TRUE(holds(evaluated.out, "bits_per_base")) << evaluated.out;
  EXPECT_FALSE(must({"fill-mask", "-m", path("encoder/final"), "-f", path("genome/genome.fa.gz"), "-r",
                     "chr1:1000-1100", "--device", "cpu"})
                   .out.empty());
}

TEST_F(BptVerbs, TextIsPretrainedAndClassified) {
  write_text_task();
  must(pretrain("reader", {"--steps", "2"}, "text", "pieces"));
  must({"text", "classify", "finetune", "--train", path("table.csv"), "--init", path("reader/final"), "-o",
        path("classes"), "--steps", "2", "--batch", "4", "--device", "cpu"});
  const auto scores = [&](const char* batch) {
    return must({"text", "classify", "predict", "-m", path("classes/final"), path("table.csv"),
                 "--batch-tokens", batch, "--device", "cpu", "--no-provenance"})
        .out;
  };
  EXPECT_EQ(scores("8"), scores("4k"));
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

// Of one chromosome, measured on the other; in both directions, and left to right.
TEST_F(BptVerbs, G11ItLearnsMoreThanTheUnigrams) {
  if (under_sanitizer) GTEST_SKIP() << "400 updates; the other tests train less";
  const auto of = [](const char* what, const char* which) { return path(std::string(what) + which); };
  for (const char* chromosome : {"1", "2"}) {
    must({"chunk", "-f", path("genome/genome.fa.gz"), "-o", of("docs.bed", chromosome), "--passes", "1",
          "--chromosomes", chromosome});
    must({"tokenize", "-m", path("tokenizer"), "-f", path("genome/genome.fa.gz"), "-d",
          of("docs.bed", chromosome), "-o", of("shards", chromosome)});
  }
  const Words shape = {"--layers",       "2",   "--width",  "64",  "--heads",     "2",
                       "--intermediate", "128", "--batch",  "8",   "--length",    "128",
                       "--block-size",   "16",  "--steps",  "400", "--lr",        "1e-3",
                       "--dropout",      "0",   "--device", "cpu", "--attention", "bpt",
                       "--contextual",   "2"};
  for (const char* objective : {"mlm", "clm"}) {
    must(Words{"pretrain", "--train", path("shards1"), "-m", path("tokenizer"), "-o",
               of("learned", objective), "--objective", objective} +
         shape);
    const auto json = nlohmann::json::parse(
        must({"evaluate", "-m", of("learned", objective) + "/final", "--data", path("shards2"),
              "--baseline-from", path("shards1"), "--samples", "200", "--device", "cpu"})
            .out);
    const double bits = json.at("bits_per_base"),
                 unigram = json.at("baseline").at("unigram").at("bits_per_base");
    EXPECT_LT(bits, unigram) << objective;
  }
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
