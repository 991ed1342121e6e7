// Options of the verbs that train, each by its effect on the weights, the rows of metrics.tsv and the folders
// that are left: pretrain, promoter finetune, chromatin finetune.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/support.h"
#include "tests/support/tiny_encoder.h"

namespace bigbird::testing {
namespace {

using Words = std::vector<std::string>;

class TrainingOptions : public ::testing::Test {
 protected:
  // A genome, an encoder of two steps, promoter examples of 200 bases and bins with windows of 400.
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    TinyEncoder shape;
    shape.chromosomes = "3";
    make_tiny_encoder(folder_->path(), shape);
    const std::string genome = path("genome/genome.fa.gz");
    for (const Words& command : std::vector<Words>{
             {"promoter", "build", "--tss", path("genome/promoters.tss.bed"), "-f", genome, "-o",
              path("examples"), "--left", "120", "--right", "80"},
             {"chromatin", "build", "--peaks", path("genome/peaks/peaks.tsv"), "-f", genome, "-o",
              path("bins"), "--window", "400", "--keep", "any", "--valid", "chr2", "--test", "chr3"}}) {
      const RunResult run = run_bigbird(command);
      ASSERT_EQ(run.status, 0) << run.err;
    }
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string path(const std::string& name) { return (folder_->path() / name).string(); }

  static Words with(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static Words promoter(const Words& more = {}) {
    return with({"promoter", "finetune", "--data", path("examples"), "--init", path("run/final"), "-o",
                 path("tuned"), "--force", "--batch", "4"},
                more);
  }
  static Words chromatin(const Words& more = {}) {
    return with({"chromatin", "finetune", "--data", path("bins"), "--init", path("run/final"), "-o",
                 path("tuned"), "--force", "--batch", "4", "--valid-bins", "4"},
                more);
  }
  static Words pretrain(const Words& more = {}) {
    return with({"pretrain",        "--train", path("shards"),  "--valid",  path("shards"), "-m",
                 path("tokenizer"), "-o",      path("tuned"),   "--force",  "--width",      "16",
                 "--heads",         "2",       "--layers",      "1",        "--block-size", "16",
                 "--length",        "128",     "--random-mode", "hf-train", "--batch",      "4"},
                more);
  }
  static RunResult must(const Words& arguments) {
    const RunResult run = run_bigbird(arguments);
    EXPECT_EQ(run.status, 0) << run.err;
    return run;
  }
  static std::string weights() { return read_text(path("tuned/final/model.safetensors")); }
  // A column of metrics.tsv or valid.tsv of the run made last.
  static std::vector<double> column(const std::string& file, const std::string& name) {
    std::istringstream in(read_text(path("tuned/" + file)));
    std::vector<double> values;
    std::size_t place = 0;
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("##")) continue;
      std::istringstream fields(line);
      Words row;
      for (std::string field; std::getline(fields, field, '\t');) row.push_back(field);
      if (line[0] == '#') {
        row[0].erase(0, 1);
        place = static_cast<std::size_t>(std::find(row.begin(), row.end(), name) - row.begin());
        EXPECT_LT(place, row.size()) << name;
      } else {
        values.push_back(std::stod(row.at(place)));
      }
    }
    return values;
  }
  static std::ptrdiff_t checkpoints() {
    std::ptrdiff_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path("tuned")))
      count += entry.path().filename().string().starts_with("checkpoint-") ? 1 : 0;
    return count;
  }

  // What every verb that trains does with the options they share.
  static void expect_optimizer_options(const Words& verb) {
    const Words base = with(verb, {"--steps", "4", "--lr", "0.01"});
    must(base);
    const std::string plain = weights();
    EXPECT_EQ(column("metrics.tsv", "lr"), (std::vector<double>{0.01, 0.0075, 0.005, 0.0025}));
    const double loss = column("metrics.tsv", "loss").at(0);
    for (const Words& changing : std::vector<Words>{{"--beta1", "0.5"},
                                                    {"--beta2", "0.5"},
                                                    {"--epsilon", "0.1"},
                                                    {"--weight-decay", "0.5"},
                                                    {"--clip-norm", "0.001"},
                                                    {"--optimizer", "torch"},
                                                    {"--dropout", "0.4"},
                                                    {"--seed", "2"}}) {
      must(with(base, changing));
      EXPECT_TRUE(weights() != plain) << changing[0] << " changes nothing";
      EXPECT_EQ(column("metrics.tsv", "lr").at(1), 0.0075) << changing[0];
    }
    for (const Words& same : std::vector<Words>{{"--grad-checkpoint"},
                                                {"--debug-nan"},
                                                {"--memory-limit", "64G"},
                                                {"--device", "cpu", "--precision", "fp32"},
                                                {"--nondeterministic", "-@", "1"}}) {
      must(with(base, same));
      EXPECT_TRUE(weights() == plain) << same[0] << " changes the weights";
    }
    // Parts of a batch are added up: the same loss but for rounding and the numbers that dropout draws.
    must(with(base, {"--accumulate", "2", "--dropout", "0"}));
    const double in_parts = column("metrics.tsv", "loss").at(0);
    must(with(base, {"--dropout", "0"}));
    EXPECT_NEAR(in_parts, column("metrics.tsv", "loss").at(0), 1e-4);
    EXPECT_NE(in_parts, loss);
    must(with(base, {"--warmup", "2"}));
    EXPECT_EQ(column("metrics.tsv", "lr"), (std::vector<double>{0, 0.005, 0.005, 0.0025}));
    must(with(base, {"--warmup", "2", "--schedule", "huggingface"}));
    EXPECT_EQ(column("metrics.tsv", "lr"), (std::vector<double>{0, 0.005, 0.01, 0.005}));

    const RunResult refused = run_bigbird(with(base, {"--memory-limit", "1K"}));
    EXPECT_EQ(refused.status, 3) << refused.err;
    EXPECT_NE(refused.err.find("the limit is"), std::string::npos) << refused.err;
  }
  static void expect_checkpoint_options(const Words& verb) {
    const Words base = with(verb, {"--steps", "4", "--save-every", "1", "--lr", "0.01"});
    must(with(base, {"--eval-every", "1", "--keep-last", "1", "--keep-best", "0"}));
    EXPECT_EQ(checkpoints(), 1);
    EXPECT_EQ(column("valid.tsv", "step"), (std::vector<double>{1, 2, 3, 4}));
    must(with(base, {"--eval-every", "2", "--keep-last", "3", "--keep-best", "0"}));
    EXPECT_EQ(checkpoints(), 3);
    EXPECT_EQ(column("valid.tsv", "step"), (std::vector<double>{2, 4}));
    must(with(base, {"--eval-every", "1", "--keep-last", "1", "--keep-best", "3"}));
    EXPECT_GE(checkpoints(), 3);  // the newest may be one of the best
    EXPECT_LE(checkpoints(), 4);
    const std::vector<double> losses = column("valid.tsv", "loss");
    const auto best = std::min_element(losses.begin(), losses.end()) - losses.begin() + 1;
    EXPECT_TRUE(std::filesystem::exists(path("tuned/checkpoint-" + std::to_string(best))));
  }

  static inline TemporaryFolder* folder_ = nullptr;
};

TEST_F(TrainingOptions, PretrainTakesThoseOfTheOptimizer) {
  expect_optimizer_options(pretrain({"--eval-every", "0"}));
}

TEST_F(TrainingOptions, PromoterFinetuneTakesThoseOfTheOptimizer) {
  expect_optimizer_options(promoter());
}

TEST_F(TrainingOptions, ChromatinFinetuneTakesThoseOfTheOptimizer) {
  expect_optimizer_options(chromatin());
}

TEST_F(TrainingOptions, PretrainKeepsCheckpointsAsTyped) {
  expect_checkpoint_options(pretrain({"--eval-samples", "4"}));
}

TEST_F(TrainingOptions, PromoterFinetuneKeepsCheckpointsAsTyped) {
  expect_checkpoint_options(promoter());
}

TEST_F(TrainingOptions, ChromatinFinetuneKeepsCheckpointsAsTyped) {
  expect_checkpoint_options(chromatin());
}

TEST_F(TrainingOptions, EpochsAreStepsOverAllSamples) {
  const auto steps = [&](const Words& verb, const char* epochs) {
    must(with(verb, {"--epochs", epochs}));
    return static_cast<double>(column("metrics.tsv", "step").size());
  };
  for (const Words& verb : {promoter(), chromatin()}) {
    const double some = steps(verb, "0.05"), more = steps(verb, "0.2");
    EXPECT_GE(some, 1);
    EXPECT_NEAR(more, 4 * some, 4);
    EXPECT_GT(more, some);
  }
  steps(promoter(), "2");
  EXPECT_EQ(column("valid.tsv", "step").size(), 2u) << "once an epoch";
}

TEST_F(TrainingOptions, LengthIsThatOfTheInput) {
  const auto length = [&] {
    return nlohmann::json::parse(read_text(path("tuned/final/config.json")))
        .at("bigbird")
        .at("input_length")
        .get<int>();
  };
  for (const Words& verb : {promoter({"--steps", "1"}), chromatin({"--steps", "1"})}) {
    must(with(verb, {"--length", "33"}));
    EXPECT_EQ(length(), 48) << "whole blocks of 16";
  }
  const RunResult one = must(chromatin({"--steps", "1", "--length-windows", "1"}));
  EXPECT_NE(one.err.find("the longest of 1 random training windows"), std::string::npos) << one.err;
  const int of_one = length();
  must(chromatin({"--steps", "1", "--length-windows", "500"}));
  EXPECT_LE(of_one, length());
}

TEST_F(TrainingOptions, ValidationMayBeAPairOfFastaFiles) {
  std::string positives, negatives;
  for (int i = 0; i < 8; ++i) {
    const std::string sequence = std::string(static_cast<std::size_t>(20 + i), "ACG"[i % 3]) + "TTTGACCA";
    (i % 2 == 0 ? positives : negatives) += ">s" + std::to_string(i) + "\n" + sequence + "\n";
  }
  write_text(path("p.fa"), positives);
  write_text(path("n.fa"), negatives);
  const Words finetune = {"promoter",
                          "finetune",
                          "--train",
                          path("p.fa"),
                          "--train-negatives",
                          path("n.fa"),
                          "--init",
                          path("run/final"),
                          "-o",
                          path("tuned"),
                          "--force",
                          "--batch",
                          "4",
                          "--steps",
                          "2",
                          "--eval-every",
                          "1"};
  must(finetune);
  EXPECT_TRUE(column("valid.tsv", "step").empty());
  must(with(finetune, {"--valid", path("p.fa"), "--valid-negatives", path("n.fa")}));
  EXPECT_EQ(column("valid.tsv", "step").size(), 2u);
  write_text(path("v.tsv"), "sequence\tlabel\nACGTACGTACGT\t1\nTTTTACGTACGT\t0\n");
  must(with(finetune, {"--valid", path("v.tsv")}));
  EXPECT_EQ(column("valid.tsv", "step").size(), 2u);
}

TEST_F(TrainingOptions, PretrainBuildsAndTrainsTheModelThatIsTyped) {
  const Words base = pretrain({"--steps", "2", "--eval-every", "2"});
  must(base);
  const std::string plain = weights();
  const auto config = [&] { return nlohmann::json::parse(read_text(path("tuned/final/config.json"))); };
  EXPECT_EQ(config().at("bigbird").at("norm_type"), "postnorm");
  must(with(base, {"--norm", "prenorm"}));
  EXPECT_EQ(config().at("bigbird").at("norm_type"), "prenorm");
  EXPECT_TRUE(weights() != plain);
  must(with(base, {"--mask-probability", "0.4"}));
  EXPECT_TRUE(weights() != plain) << "other tokens are predicted";
  // Dropout of attention is of full attention alone.
  must(with(base, {"--attention", "full", "--attention-dropout", "0"}));
  const std::string full = weights();
  EXPECT_EQ(config().at("attention_probs_dropout_prob"), 0.0);
  must(with(base, {"--attention", "full", "--attention-dropout", "0.5"}));
  EXPECT_EQ(config().at("attention_probs_dropout_prob"), 0.5);
  EXPECT_TRUE(weights() != full);
  // Another choice of samples has another loss; the weights do not depend on it.
  must(with(base, {"--eval-samples", "2"}));
  const double two = column("valid.tsv", "loss").at(0);
  EXPECT_TRUE(weights() == plain);
  must(with(base, {"--eval-samples", "3"}));
  EXPECT_NE(two, column("valid.tsv", "loss").at(0));
}

}  // namespace
}  // namespace bigbird::testing
