// promoter finetune, predict and evaluate on a small simulated genome: scores that depend on nothing but the
// window, exact resume, and inputs that must be refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/support.h"

namespace bigbird::testing {
namespace {

std::string without_comments(const std::string& text) {
  std::istringstream in(text);
  std::string result;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("##")) result += line + "\n";
  }
  return result;
}

std::vector<std::string> last_column(const std::string& table) {
  std::istringstream in(without_comments(table));
  std::vector<std::string> values;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("#")) values.push_back(line.substr(line.rfind('\t') + 1));
  }
  return values;
}

// One small genome, vocabulary, encoder and example folder for all tests of the file.
class PromoterModel : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    must({"simulate", "-o", path("genome"), "--bp", "600k", "--chromosomes", "2", "--seed", "3"});
    must({"chunk", "-f", path("genome/genome.fa.gz"), "-o", path("docs.bed"), "--passes", "1"});
    must({"train-bpe", "-f", path("genome/genome.fa.gz"), "-d", path("docs.bed"), "-o", path("tokenizer"),
          "--vocab-size", "200", "--sample-bp", "100k"});
    must({"tokenize", "-m", path("tokenizer"), "-f", path("genome/genome.fa.gz"), "-d", path("docs.bed"),
          "-o", path("shards")});
    must({"pretrain",
          "--train",
          path("shards"),
          "-m",
          path("tokenizer"),
          "-o",
          path("run"),
          "--layers",
          "1",
          "--width",
          "16",
          "--heads",
          "2",
          "--intermediate",
          "32",
          "--block-size",
          "16",
          "--random-mode",
          "hf-train",
          "--length",
          "128",
          "--max-positions",
          "256",
          "--batch",
          "2",
          "--steps",
          "2"});
    must({"promoter", "build", "--tss", path("genome/promoters.tss.bed"), "-f", path("genome/genome.fa.gz"),
          "-o", path("examples"), "--left", "500", "--right", "300"});
    must(finetune("tuned", {"--steps", "4"}));
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static std::string path(const std::string& name) { return (folder_->path() / name).string(); }
  static void must(const std::vector<std::string>& arguments) {
    const RunResult run = run_bigbird(arguments);
    ASSERT_EQ(run.status, 0) << run.err;
  }
  static std::vector<std::string> finetune(const std::string& run, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {
        "promoter",        "finetune", "--data",  path("examples"), "--init",
        path("run/final"), "-o",       path(run), "--batch",        "4"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  static std::vector<std::string> predict(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"promoter", "predict", "-m", path("tuned/final")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  static RunResult refused(const std::vector<std::string>& arguments, int status, const std::string& words) {
    const RunResult run = run_bigbird(arguments);
    EXPECT_EQ(run.status, status) << run.err;
    EXPECT_NE(run.err.find(words), std::string::npos) << run.err;
    return run;
  }

  static TemporaryFolder* folder_;
};

TemporaryFolder* PromoterModel::folder_ = nullptr;

TEST_F(PromoterModel, ScoresDependOnNeitherThreadsNorBatch) {
  const std::string data = path("examples/test.tsv");
  const RunResult one = run_bigbird(predict({"--data", data, "-@", "1", "--batch", "1", "--no-provenance"}));
  const RunResult two = run_bigbird(predict({"--data", data, "-@", "2", "--batch", "8", "--no-provenance"}));
  const RunResult three =
      run_bigbird(predict({"--data", data, "-@", "3", "--batch", "3", "--no-provenance"}));
  ASSERT_EQ(one.status, 0) << one.err;
  EXPECT_EQ(one.out, two.out);
  EXPECT_EQ(one.out, three.out);
  const std::vector<std::string> scores = last_column(one.out);
  ASSERT_GT(scores.size(), 3u);
  EXPECT_GT(*std::max_element(scores.begin(), scores.end()), *std::min_element(scores.begin(), scores.end()));
}

TEST_F(PromoterModel, BedFastaAndExampleFileGiveTheSameScores) {
  const RunResult from_data = run_bigbird(predict({"--data", path("examples/test.tsv"), "--no-provenance"}));
  ASSERT_EQ(from_data.status, 0) << from_data.err;
  // The positives as BED windows over the genome, and as FASTA records.
  std::ifstream rows(path("examples/test.tsv"));
  std::ofstream bed(path("windows.bed")), fasta(path("windows.fa"));
  std::vector<std::string> expected;
  std::istringstream scored(without_comments(from_data.out));
  std::string score_line;
  std::getline(scored, score_line);  // header
  for (std::string line; std::getline(rows, line);) {
    if (line.starts_with("#")) continue;
    std::getline(scored, score_line);
    std::istringstream fields(line);
    std::string id, chrom, start, end, strand, label, split, sequence;
    fields >> id >> chrom >> start >> end >> strand >> label >> split >> sequence;
    if (label != "1") continue;
    bed << chrom << '\t' << start << '\t' << end << '\t' << id << "\t0\t" << strand << '\n';
    fasta << '>' << id << " some text\n" << sequence << '\n';
    expected.push_back(score_line.substr(score_line.rfind('\t') + 1));
  }
  bed.close();
  fasta.close();
  ASSERT_FALSE(expected.empty());
  const RunResult from_bed =
      run_bigbird(predict({"-f", path("genome/genome.fa.gz"), "-R", path("windows.bed"), "--no-provenance"}));
  const RunResult from_fasta = run_bigbird(predict({path("windows.fa")}));
  EXPECT_EQ(last_column(from_bed.out), expected) << from_bed.err;
  EXPECT_EQ(last_column(from_fasta.out), expected) << from_fasta.err;
  EXPECT_NE(from_fasta.out.find("##bigbird_command="), std::string::npos);
  EXPECT_EQ(from_bed.out.find("##"), std::string::npos);
}

TEST_F(PromoterModel, EvaluateFromModelEqualsEvaluateFromPredictions) {
  must(predict({"--data", path("examples/test.tsv"), "-o", path("predictions.tsv")}));
  const RunResult from_file =
      run_bigbird({"promoter", "evaluate", "--predictions", path("predictions.tsv"), "--no-provenance"});
  const RunResult from_model = run_bigbird({"promoter", "evaluate", "-m", path("tuned/final"), "--data",
                                            path("examples/test.tsv"), "--no-provenance"});
  ASSERT_EQ(from_file.status, 0) << from_file.err;
  ASSERT_EQ(from_model.status, 0) << from_model.err;
  const auto one = nlohmann::json::parse(from_file.out);
  const auto other = nlohmann::json::parse(from_model.out);
  for (const char* key : {"tp", "fp", "tn", "fn", "auroc", "auprc", "f1", "mcc", "precision", "recall"}) {
    EXPECT_EQ(one.at(key), other.at(key)) << key;
  }
}

TEST_F(PromoterModel, TwoAndTwoStepsAreFourSteps) {
  must(finetune("straight", {"--steps", "4", "--save-every", "2", "--keep-last", "0"}));
  std::filesystem::create_directories(path("halves"));
  std::filesystem::copy(path("straight/checkpoint-2"), path("halves/checkpoint-2"),
                        std::filesystem::copy_options::recursive);
  must(finetune("halves", {"--steps", "4", "--save-every", "2", "--keep-last", "0", "--resume"}));
  EXPECT_EQ(read_text(path("straight/final/model.safetensors")),
            read_text(path("halves/final/model.safetensors")));
}

TEST_F(PromoterModel, ARunIsNeverOverwrittenUnasked) {
  refused(finetune("tuned", {"--steps", "4"}), 1, "tuned");
  refused(finetune("tuned", {"--steps", "4", "--resume", "--force"}), 2, "--resume and --force");
  refused(finetune("tuned", {"--steps", "9", "--resume"}), 2, "--steps");
  refused(finetune("tuned", {"--steps", "4", "--beta2", "0.99", "--resume"}), 2, "--beta2");
}

TEST_F(PromoterModel, WrongModelsAndInputsAreNamed) {
  refused({"promoter", "predict", "-m", path("run/final"), path("genome/genome.fa.gz")}, 1,
          "not a promoter classifier");
  refused({"promoter", "predict", "-m", path("nowhere"), path("genome/genome.fa.gz")}, 1, "nowhere");
  refused(predict({}), 2, "give the windows in one way");
  refused(predict({"-R", path("docs.bed")}), 2, "give the windows in one way");
  write_text(path("beyond.bed"), "chr1\t100\t900\nchr1\t299000\t999999999\n");
  refused(predict({"-f", path("genome/genome.fa.gz"), "-R", path("beyond.bed")}), 1,
          "beyond.bed:2: 299000-999999999");
  write_text(path("unknown.bed"), "chrQ\t100\t900\n");
  refused(predict({"-f", path("genome/genome.fa.gz"), "-R", path("unknown.bed")}), 1, "unknown contig chrQ");
  write_text(path("empty.bed"), "");
  refused(predict({"-f", path("genome/genome.fa.gz"), "-R", path("empty.bed")}), 1, "no windows");
  refused(finetune("other", {"--length", "100k"}), 2, "--length");
  EXPECT_FALSE(std::filesystem::exists(path("other")));
}

TEST_F(PromoterModel, ATokenizerOfAnotherModelIsRefused) {
  must({"train-bpe", "-f", path("genome/genome.fa.gz"), "-d", path("docs.bed"), "-o", path("other-tokenizer"),
        "--vocab-size", "200", "--sample-bp", "50k", "--seed", "9"});
  std::filesystem::copy(path("tuned/final"), path("mixed"), std::filesystem::copy_options::recursive);
  std::filesystem::copy(path("other-tokenizer/spiece.model"), path("mixed/spiece.model"),
                        std::filesystem::copy_options::overwrite_existing);
  refused({"promoter", "predict", "-m", path("mixed"), path("genome/genome.fa.gz")}, 1,
          "is not the one of the model");
}

TEST_F(PromoterModel, AFailedWriteIsAnError) {
  refused(predict({"--data", path("examples/test.tsv"), "-o", "/dev/full"}), 1, "/dev/full");
}

}  // namespace
}  // namespace bigbird::testing
