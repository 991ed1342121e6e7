// Reformer as a user meets it: pretraining both ways, killed and resumed, fine-tuning, prediction in any batch,
// int8, evaluation, convert, check and info, a task of text, what is refused, and what `bigbird attention`
// counts.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/text_fixture.h"
#include "tests/support/sanitizer.h"
#include "tests/support/tiny_encoder.h"

namespace bigbird::testing {
namespace {

class ReformerVerbs : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    make_tiny_encoder(folder_->path());
  }
  static Words pretrain(const std::string& run, const Words& more, const char* shards = "shards",
                        const char* tokenizer = "tokenizer") {
    const Words shape = {"--layers",       "2",   "--width",  "16",  "--heads",      "2",
                         "--intermediate", "32",  "--batch",  "4",   "--block-size", "16",
                         "--length",       "128", "--device", "cpu", "--attention",  "reformer",
                         "--chunk",        "16",  "--hashes", "3"};
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

TEST_F(ReformerVerbs, G5G7ThreadsKillsAndResumingGiveEqualBytes) {
  for (const char* objective : {"mlm", "clm"}) {
    const bool next = std::string(objective) == "clm";
    const Words steps = {
        "--steps", "12",           "--save-every",     "2", "--dropout", "0.1", "--objective",
        objective, "--reversible", next ? "on" : "off"};
    const auto of = [&](const char* run) { return std::string(run) + objective; };
    must(pretrain(of("whole"), steps + Words{"-@", "1"}));
    must(pretrain(of("threads"), steps + Words{"-@", "2"}));
    const std::string trained = weights(of("whole") + "/final");
    EXPECT_TRUE(trained == weights(of("threads") + "/final"));
    const Words again = pretrain(of("killed"), steps + Words{"-@", "1"});
    // Killed as soon as there is a checkpoint.
    const char* const script =
        R"("$@" 2> "$0.log" & p=$!; while [ ! -d "$0/checkpoint-2" ]; do kill -0 $p || exit 1; sleep 0.01; done; kill -9 $p; wait $p)";
    const RunResult killed =
        run_program(Words{"sh", "-c", script, path(of("killed")), bigbird_binary()} + again);
    ASSERT_EQ(killed.status, 128 + 9) << killed.err;
    must(again + Words{"--resume"});
    EXPECT_TRUE(trained == weights(of("killed") + "/final"));
    EXPECT_TRUE(read_text(path(of("whole") + "/final/config.json")) ==
                read_text(path(of("killed") + "/final/config.json")));
  }
}

TEST_F(ReformerVerbs, G8FoldersKeepTheirOptions) {
  must(pretrain("folder", {"--steps", "2", "--buckets", "4:8"}));
  const nlohmann::json own = config("folder/final").at("bigbird");
  EXPECT_EQ(config("folder/final").at("model_type"), "bigbird_extended");
  EXPECT_EQ(own.at("attention"), "reformer");
  EXPECT_EQ(own.at("attention_options"),
            nlohmann::json::parse(R"({"chunk": 16, "hashes": 3, "buckets": [4, 8], "reversible": "off"})"));
  EXPECT_EQ(weights("folder/final").find("self.key"), std::string::npos);
  EXPECT_EQ(must({"check", path("folder/final")}).out.find("failed"), std::string::npos);
  const RunResult info = must({"info", path("folder/final")});
  EXPECT_TRUE(
      holds(info.out,
            "\nattention\treformer, blocks of 16 tokens, chunk 16, hashes 3, buckets 4:8, reversible off"))
      << info.out;
  must({"convert", path("folder/final"), path("copy")});
  EXPECT_TRUE(values_of("copy") == values_of("folder/final"));
  EXPECT_EQ(config("copy"), config("folder/final"));
  must({"convert", path("folder/final"), path("hashes"), "--hashes", "8", "--buckets", "0"});
  EXPECT_TRUE(values_of("hashes") == values_of("folder/final"));
  EXPECT_EQ(config("hashes").at("bigbird").at("attention_options").at("hashes"), 8);
  nlohmann::json changed = config("copy");
  changed["bigbird"]["attention_options"]["rows"] = 3;
  write("copy/config.json", changed.dump());
  refused({"info", path("copy")}, 1, "attention_options: rows: attention reformer has no such option");
  // Queries are keys: a model of other attention has one matrix too many, and the other way one too few.
  refused({"convert", path("folder/final"), path("full"), "--attention", "full"}, 1, "key");
  refused({"convert", path("run/final"), path("no"), "--attention", "reformer"}, 1,
          "attention reformer with biases of queries and values");
}

TEST_F(ReformerVerbs, TasksScoreAlikeInAnyBatch) {
  must({"promoter", "build", "--tss", path("genome/promoters.tss.bed"), "-f", path("genome/genome.fa.gz"),
        "-o", path("examples"), "--left", "500", "--right", "300"});
  write("windows.bed", "chr1\t1000\t1200\n");
  for (const std::string reversible : {"off", "on"}) {
    const auto of = [&](const char* what) { return path(what + reversible); };
    must(pretrain("encoder" + reversible, {"--steps", "2", "--reversible", reversible}));
    must({"promoter", "finetune", "--data", path("examples"), "--init", of("encoder") + "/final", "-o",
          of("promoters"), "--batch", "4", "--steps", "2", "--device", "cpu"});
    must({"quantize", of("promoters") + "/final", "-o", of("int8"), "--data", path("examples"), "--max-loss",
          "1", "--effect-samples", "4"});
    for (const std::string& model : {of("promoters") + "/final", of("int8")}) {
      const auto scores = [&](const char* threads, const char* batch) {
        return must({"promoter", "predict", "-m", model, "--data", path("examples/test.tsv"), "-@", threads,
                     "--batch", batch, "--device", "cpu", "--no-provenance"})
            .out;
      };
      EXPECT_EQ(scores("1", "1"), scores("2", "8")) << model;
    }
    EXPECT_EQ(must({"check", of("promoters") + "/final"}).out.find("failed"), std::string::npos);
    const RunResult evaluated = must({"evaluate", "-m", of("encoder") + "/final", "--data", path("shards"),
                                      "--samples", "8", "--device", "cpu"});
    EXPECT_TRUE(holds(evaluated.out, "bits_per_base")) << evaluated.out;
    EXPECT_FALSE(must({"fill-mask", "-m", of("encoder") + "/final", "-f", path("genome/genome.fa.gz"), "-r",
                       "chr1:1000-1100", "--device", "cpu"})
                     .out.empty());
    must({"embed", "-m", of("encoder") + "/final", "-f", path("genome/genome.fa.gz"), "-R",
          path("windows.bed"), "-o", of("vectors") + ".npy", "--device", "cpu"});
    // Vectors are those of both streams.
    EXPECT_TRUE(holds(read_text(of("vectors") + ".npy"), reversible == "on" ? "(1, 32)" : "(1, 16)"));
  }
}

TEST_F(ReformerVerbs, TextIsPretrainedAndClassified) {
  write_text_task();
  must(pretrain("reader", {"--steps", "2", "--reversible", "on"}, "text", "pieces"));
  must({"text", "classify", "finetune", "--train", path("table.csv"), "--init", path("reader/final"), "-o",
        path("classes"), "--steps", "2", "--batch", "4", "--device", "cpu"});
  const auto scores = [&](const char* batch) {
    return must({"text", "classify", "predict", "-m", path("classes/final"), path("table.csv"),
                 "--batch-tokens", batch, "--device", "cpu", "--no-provenance"})
        .out;
  };
  EXPECT_EQ(scores("8"), scores("4k"));
}

TEST_F(ReformerVerbs, WhatItHasNotIsRefused) {
  const auto with = [](const Words& words) {
    return Words{"pretrain", "--train",  path("shards"), "-m",      path("tokenizer"),
                 "-o",       path("no"), "--attention",  "reformer"} +
           words;
  };
  refused(with({"--hashes", "0"}), 2, "--hashes: '0' is not a whole number within 1..64");
  refused(with({"--hashes", "65"}), 2, "--hashes: '65' is not a whole number within 1..64");
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

// Of one chromosome, measured on the other; in both directions, and left to right.
TEST_F(ReformerVerbs, G11ItLearnsMoreThanTheUnigrams) {
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
                       "--dropout",      "0",   "--device", "cpu", "--attention", "reformer",
                       "--chunk",        "16",  "--hashes", "2"};
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

// By the places of its chunks: which tokens these hold, the tokens decide.
TEST(AttentionVerb, G9PairsOfReformerAreThoseOfItsChunks) {
  const RunResult compared =
      run_bigbird({"attention", "--compare", "full,reformer", "--chunk", "8", "--hashes", "3", "--length",
                   "96", "--block-size", "8", "--heads", "4", "-o", "-"});
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
  const RunResult run = run_bigbird({"attention", "--attention", "reformer", "--length", "64", "--block-size",
                                     "8", "--heads", "2", "--svg", svg, "--buckets", "4"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(holds(read_text(svg), "every token"));
}

}  // namespace
}  // namespace bigbird::testing
