// Choices of a training run beside those of the optimizer (test_training_options.cpp): how it is computed,
// how long it goes on, what it validates with, and which model pretrain builds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/words.h"
#include "tests/support/support.h"
#include "tests/support/tiny_encoder.h"

namespace bigbird::testing {
namespace {

class TrainingChoices : public ::testing::Test {
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
                 path("tuned"), "--force", "--batch", "4", "--eval-samples", "4"},
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
      if (row[0] == "step" || row[0] == "rate") {
        place = static_cast<std::size_t>(std::find(row.begin(), row.end(), name) - row.begin());
        EXPECT_LT(place, row.size()) << name;
      } else {
        values.push_back(std::stod(row.at(place)));
      }
    }
    return values;
  }

  static inline TemporaryFolder* folder_ = nullptr;
};

// How a run is computed does not decide what it learns.
TEST_F(TrainingChoices, TheWayOfComputingDoesNotChangeTheWeights) {
  for (const Words& verb :
       {pretrain({"--steps", "2"}), promoter({"--steps", "2"}), chromatin({"--steps", "2"})}) {
    must(verb);
    const std::string plain = weights();
    for (const Words& same : std::vector<Words>{{"--grad-checkpoint", "--nondeterministic"},
                                                {"--debug-nan", "--memory-limit", "64G", "-@", "1"},
                                                {"--device", "cpu", "--precision", "fp32"}}) {
      must(with(verb, same));
      EXPECT_TRUE(weights() == plain) << verb[0] << " " << same[0];
    }
    const RunResult refused = run_bigbird(with(verb, {"--memory-limit", "1K"}));
    EXPECT_EQ(refused.status, 3) << refused.err;
    EXPECT_NE(refused.err.find("the limit is"), std::string::npos) << refused.err;
  }
}

TEST_F(TrainingChoices, EpochsAreStepsOverAllSamples) {
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
  must(with(promoter(), {"--epochs", "2", "--eval-every", "epoch"}));
  EXPECT_EQ(column("valid.tsv", "step").size(), 2u);
}

TEST_F(TrainingChoices, LengthIsThatOfTheInput) {
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
  const RunResult one = must(chromatin({"--steps", "1", "--length-samples", "1"}));
  EXPECT_NE(one.err.find("the longest of 1 random training windows"), std::string::npos) << one.err;
  const int of_one = length();
  must(chromatin({"--steps", "1", "--length-samples", "500"}));
  EXPECT_LE(of_one, length());
}

TEST_F(TrainingChoices, OfSeveralRatesTheBestIsKept) {
  const Words base = promoter({"--steps", "6", "--eval-every", "2", "--optimizer", "torch"});
  const Words rates = {"1e-9", "1e-3"};
  must(with(base, {"--lr", rates[0] + "," + rates[1]}));
  const std::string kept = weights();
  const std::vector<double> of_each = column("rates.tsv", "valid_loss");
  ASSERT_EQ(of_each.size(), 2u);
  EXPECT_NE(of_each[0], of_each[1]);
  const std::size_t best = of_each[0] <= of_each[1] ? 0 : 1;
  EXPECT_EQ(column("rates.tsv", "chosen").at(best), 1);
  EXPECT_EQ(column("rates.tsv", "chosen").at(1 - best), 0);
  must(with(base, {"--lr", rates[best]}));
  EXPECT_TRUE(weights() == kept) << "a rate of several is trained as alone";
  const std::vector<double> losses = column("valid.tsv", "loss");
  EXPECT_EQ(*std::min_element(losses.begin(), losses.end()), of_each[best]);
  EXPECT_FALSE(std::filesystem::exists(path("tuned/lr-0.001"))) << "--force removes what was there";
  for (const Words& wrong : std::vector<Words>{{"--lr", "1e-3,2"},
                                               {"--lr", "1e-3,1e-3"},
                                               {"--lr", "1e-3,x"},
                                               {"--lr", "1e-3,1e-4", "--final", "last"}}) {
    const RunResult refused = run_bigbird(with(base, wrong));
    EXPECT_EQ(refused.status, 2) << refused.err;
    EXPECT_NE(refused.err.find("--lr"), std::string::npos) << refused.err;
  }
}

TEST_F(TrainingChoices, ValidationMayBeAPairOfFastaFiles) {
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
  EXPECT_FALSE(std::filesystem::exists(path("tuned/valid.tsv")));
  must(with(finetune, {"--valid", path("p.fa"), "--valid-negatives", path("n.fa")}));
  EXPECT_EQ(column("valid.tsv", "step").size(), 2u);
  write_text(path("v.tsv"), "sequence\tlabel\nACGTACGTACGT\t1\nTTTTACGTACGT\t0\n");
  must(with(finetune, {"--valid", path("v.tsv")}));
  EXPECT_EQ(column("valid.tsv", "step").size(), 2u);
}

TEST_F(TrainingChoices, PretrainBuildsAndTrainsTheModelThatIsTyped) {
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
  must(with(base, {"--position-embedding", "rotary"}));
  EXPECT_EQ(config().at("bigbird").at("positions"), "rotary");
  EXPECT_EQ(config().at("bigbird").at("rotary_dim"), 8) << "a whole head";
  EXPECT_TRUE(weights() != plain);
  const RunResult other =
      run_bigbird(with(base, {"--init", path("run/final"), "--position-embedding", "rotary"}));
  EXPECT_EQ(other.status, 2) << other.err;
  EXPECT_NE(other.err.find("--position-embedding rotary"), std::string::npos) << other.err;
  must(with(base, {"--position-embedding", "absolute"}));
  EXPECT_TRUE(weights() == plain);
  // Another choice of samples has another loss; the weights do not depend on it.
  must(with(base, {"--eval-samples", "2"}));
  const double two = column("valid.tsv", "loss").at(0);
  EXPECT_TRUE(weights() == plain);
  must(with(base, {"--eval-samples", "3"}));
  EXPECT_NE(two, column("valid.tsv", "loss").at(0));
}

}  // namespace
}  // namespace bigbird::testing
