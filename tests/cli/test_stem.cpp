// Models with a stem as a user meets them: pretraining on single bases, evaluation, fine-tuning, prediction,
// a folder that can be converted and checked, and what is refused.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/words.h"
#include "tests/support/support.h"

namespace bigbird::testing {
namespace {

namespace fs = std::filesystem;

class Stem : public ::testing::Test {
 protected:
  // A genome cut into single bases, and an encoder of two updates.
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    must({"simulate", "-o", path("genome"), "--bp", "300K", "--chromosome-count", "3"});
    must({"chunk", "-f", genome(), "-o", path("documents.bed"), "--passes", "1", "--chromosomes", "chr1",
          "--min-sentences", "5", "--max-sentences", "10"});
    must({"train-bpe", "-f", genome(), "-d", path("documents.bed"), "-o", path("bases"), "--vocab-size",
          "10"});
    must(
        {"tokenize", "-m", path("bases"), "-f", genome(), "-d", path("documents.bed"), "-o", path("shards")});
    must(pretrain("run", {}));
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static RunResult must(const Words& words) {
    RunResult run = run_bigbird(words);
    EXPECT_EQ(run.status, 0) << run.err;
    return run;
  }
  static std::string path(const std::string& name) { return (folder_->path() / name).string(); }
  static std::string genome() { return path("genome/genome.fa.gz"); }
  // `more` takes the place of what stands here.
  static Words pretrain(const std::string& run, const Words& more) {
    std::map<std::string, std::string> options = {{"--train", path("shards")},
                                                  {"-m", path("bases")},
                                                  {"--layers", "1"},
                                                  {"--width", "16"},
                                                  {"--heads", "2"},
                                                  {"--stem-kernel", "7"},
                                                  {"--stem-channels", "12"},
                                                  {"--stem-stride", "10"},
                                                  {"--block-size", "80"},
                                                  {"--attention", "full"},
                                                  {"--length", "400"},
                                                  {"--batch", "4"},
                                                  {"--accumulate", "2"},
                                                  {"--steps", "4"},
                                                  {"--save-every", "2"},
                                                  {"--lr", "1e-2"},
                                                  {"--device", "cpu"}};
    Words words = {"pretrain", "-o", path(run), "--no-nsp"};
    for (std::size_t i = 0; i < more.size(); ++i) {
      if (more[i] == "--resume") {
        words.push_back(more[i]);
      } else {
        options[more[i]] = more[i + 1];
        ++i;
      }
    }
    for (const auto& [name, value] : options) words = words + Words{name, value};
    return words;
  }
  static std::string weights(const std::string& run) {
    return read_text(path(run + "/final/model.safetensors"));
  }
  static TemporaryFolder* folder_;
};
TemporaryFolder* Stem::folder_ = nullptr;

TEST_F(Stem, PretrainingGivesEqualBytesWithAnyThreadsAndAfterAnInterruption) {
  const std::string trained = weights("run");
  must(pretrain("threads", {"-@", "2"}));
  EXPECT_TRUE(trained == weights("threads"));
  fs::remove_all(path("threads/final"));
  fs::remove_all(path("threads/checkpoint-4"));
  must(pretrain("threads", {"-@", "1", "--resume"}));
  EXPECT_TRUE(trained == weights("threads"));
  must({"pretrain", "--config", path("run/config.toml"), "-o", path("again")});
  EXPECT_TRUE(trained == weights("again"));
  must(pretrain("wider", {"--stem-channels", "16"}));
  EXPECT_FALSE(trained == weights("wider"));
  // On from a folder, whose stem stays.
  must({"pretrain", "--train", path("shards"), "-m", path("bases"), "-o", path("more"), "--init",
        path("run/final"), "--steps", "1", "--batch", "2", "--length", "160", "--no-nsp"});
  EXPECT_FALSE(trained == weights("more"));
  const RunResult other =
      run_bigbird(pretrain("other", {"--init", path("run/final"), "--stem-stride", "20"}));
  EXPECT_EQ(other.status, 2);
  EXPECT_NE(other.err.find("--stem-stride 20"), std::string::npos) << other.err;
}

TEST_F(Stem, AFolderIsKnownCheckedConvertedAndMeasured) {
  const std::string folder = path("run/final");
  const auto config = nlohmann::json::parse(read_text(folder + "/config.json"));
  EXPECT_EQ(config.at("model_type"), "bigbird_extended");
  EXPECT_EQ(config.at("type_vocab_size"), 0);
  EXPECT_EQ(config.at("bigbird").at("positions"), "rotary");
  EXPECT_EQ(config.at("bigbird").at("stem"),
            (nlohmann::json{{"kernel", 7}, {"channels", 12}, {"stride", 10}}));
  must({"check", folder});
  EXPECT_NE(must({"info", folder}).out.find("7 bases, 12 filters, 10 bases a row"), std::string::npos);
  must({"convert", folder, path("bf16"), "--dtype", "bf16"});
  must({"check", path("bf16")});
  const auto evaluated =
      nlohmann::json::parse(must({"evaluate", "-m", folder, "--data", path("shards"), "--no-nsp"}).out);
  EXPECT_GT(evaluated.at("bits_per_base").get<double>(), 1.0);
  EXPECT_LT(evaluated.at("bits_per_base").get<double>(), 4.0);
  // Behind [MASK] alone a model knows less: here no token is shown as it is.
  const auto unseen = nlohmann::json::parse(
      must({"evaluate", "-m", folder, "--data", path("shards"), "--no-nsp", "--masks", "all"}).out);
  EXPECT_EQ(evaluated.at("masks"), "80-10-10");
  EXPECT_EQ(unseen.at("masks"), "all");
  EXPECT_EQ(unseen.at("masked_tokens"), evaluated.at("masked_tokens"));
  EXPECT_NE(unseen.at("mlm_loss"), evaluated.at("mlm_loss"));
  write_text(path("windows.bed"), "chr2\t1000\t1300\n");
  must({"embed", "-m", folder, "-f", genome(), "-R", path("windows.bed"), "-o", path("vectors.npy")});
}

TEST_F(Stem, ItsModelsAreFineTunedAndPredict) {
  must({"promoter", "build", "--tss", path("genome/promoters.tss.bed"), "-f", genome(), "-o",
        path("examples"), "--left", "120", "--right", "80"});
  must({"promoter", "finetune", "--data", path("examples"), "--init", path("run/final"), "-o", path("tuned"),
        "--batch", "4", "--steps", "2", "--pool", "mean"});
  const std::string predicted =
      must({"promoter", "predict", "-m", path("tuned/final"), "--data", path("examples/test.tsv")}).out;
  EXPECT_NE(predicted.find("score"), std::string::npos);
  // One sequence at a time gives the same scores.
  EXPECT_EQ(must({"promoter", "predict", "-m", path("tuned/final"), "--data", path("examples/test.tsv"),
                  "--batch-tokens", "1", "--no-provenance"})
                .out,
            must({"promoter", "predict", "-m", path("tuned/final"), "--data", path("examples/test.tsv"),
                  "--no-provenance"})
                .out);
  must({"promoter", "scan", "-m", path("tuned/final"), "-f", genome(), "-r", "chr2:1-4000", "-o",
        path("scan.bedgraph")});
  must({"ism", "-m", path("tuned/final"), "-f", genome(), "-r", "chr2:2001-2010", "-o", path("ism.tsv")});
  const RunResult refused = run_bigbird({"attribute", "-m", path("tuned/final"), "-f", genome(), "-r",
                                         "chr2:2001-2010", "-o", path("attribution.bedgraph")});
  EXPECT_EQ(refused.status, 1) << refused.err;
  EXPECT_NE(refused.err.find("its stem reads single bases"), std::string::npos) << refused.err;
  EXPECT_FALSE(fs::exists(path("attribution.bedgraph")));
}

// Windows of several bins: equal bytes with any threads and after an interruption, bins predicted one by one.
TEST_F(Stem, OneWindowTeachesSeveralBins) {
  must({"chromatin", "build", "--peaks", path("genome/peaks/peaks.tsv"), "-f", genome(), "-o", path("bins"),
        "--window", "400", "--keep", "all", "--valid", "chr2:1-20000", "--test", "chr3:1-20000"});
  must(pretrain("longer", {"--max-positions", "1600"}));
  const auto finetune = [](const std::string& run, const Words& more) {
    return Words{"chromatin",    "finetune", "--data",         path("bins"), "--init",  path("longer/final"),
                 "-o",           path(run),  "--batch",        "4",          "--steps", "4",
                 "--save-every", "2",        "--eval-samples", "5"} +
           more;
  };
  const Words several = {"--bins-per-window", "5", "--pool", "middle:200"};
  must(finetune("tracks", several + Words{"-@", "1"}));
  const std::string trained = weights("tracks");
  must(finetune("tracks_2", several + Words{"-@", "2", "--accumulate", "2"}));
  EXPECT_TRUE(trained != weights("tracks_2")) << "parts of a batch round otherwise";
  must(finetune("tracks_3", several + Words{"-@", "2"}));
  EXPECT_TRUE(trained == weights("tracks_3"));
  fs::remove_all(path("tracks_3/final"));
  fs::remove_all(path("tracks_3/checkpoint-4"));
  must(finetune("tracks_3", several + Words{"--resume"}));
  EXPECT_TRUE(trained == weights("tracks_3"));
  const auto config = nlohmann::json::parse(read_text(path("tracks/final/config.json")));
  EXPECT_EQ(config.at("bigbird").at("pooling"), "middle:200");
  EXPECT_EQ(config.at("bigbird").at("input_length"), 0);
  must({"check", path("tracks/final")});
  EXPECT_EQ(
      must({"chromatin", "predict", "-m", path("tracks/final"), "--data", path("bins"), "--batch-tokens", "1",
            "--no-provenance"})
          .out,
      must({"chromatin", "predict", "-m", path("tracks/final"), "--data", path("bins"), "--no-provenance"})
          .out);
  must({"variants", "-m", path("tracks/final"), "-f", genome(), path("genome/variants.vcf.gz"), "-r",
        "chr2:1-20000", "-O", "tsv", "-o", path("scored.tsv")});
  // A window for each bin is another training; its head may pool, too.
  must(finetune("single", {"--pool", "mean"}));
  EXPECT_TRUE(trained != weights("single"));
  const auto refused = [&](const Words& more, const std::string& text) {
    const RunResult run = run_bigbird(finetune("none", more));
    EXPECT_EQ(run.status, 2) << run.err;
    EXPECT_NE(run.err.find(text), std::string::npos) << run.err;
  };
  refused({"--bins-per-window", "5"}, "--pool middle:N");
  refused({"--bins-per-window", "40", "--pool", "middle:200"}, "windows of up to");
  refused({"--bins-per-window", "5", "--pool", "middle:200", "--length", "400"}, "leave --length out");
  refused({"--pool", "middle:x"}, "--pool middle:x");
}

TEST_F(Stem, WhatDoesNotFitIsRefusedByName) {
  const auto refused = [](const Words& words, const std::string& text) {
    const RunResult run = run_bigbird(words);
    EXPECT_EQ(run.status, 2) << run.err;
    EXPECT_NE(run.err.find(text), std::string::npos) << run.err;
  };
  refused(pretrain("none", {"--stem-kernel", "8"}), "is even");
  refused(pretrain("none", {"--stem-stride", "7"}), "multiple of the stem's stride 7");
  refused(pretrain("none", {"--position-embedding", "absolute"}), "table of positions");
  refused(pretrain("none", {"--attention", "longformer"}), "a stem before attention longformer");
  must(
      {"train-bpe", "-f", genome(), "-d", path("documents.bed"), "-o", path("pieces"), "--vocab-size", "80"});
  must({"tokenize", "-m", path("pieces"), "-f", genome(), "-d", path("documents.bed"), "-o",
        path("piece_shards")});
  refused(pretrain("none", {"-m", path("pieces"), "--train", path("piece_shards")}),
          "vocabulary of 80 pieces");
  EXPECT_FALSE(fs::exists(path("none")));
}

}  // namespace
}  // namespace bigbird::testing
