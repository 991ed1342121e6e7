// promoter finetune, predict, evaluate and scan: windows alone, exact resume, own sequences, what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/support.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_encoder.h"

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
  std::string line;
  std::getline(in, line);  // the names
  while (std::getline(in, line)) values.push_back(line.substr(line.rfind('\t') + 1));
  return values;
}

// The rows of a table as columns, without comments and names; those of a BED, which has no names.
std::vector<std::vector<std::string>> table_rows(const std::string& table, bool has_names = true) {
  std::istringstream in(without_comments(table));
  std::vector<std::vector<std::string>> rows;
  std::string line;
  if (has_names) std::getline(in, line);
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    auto& row = rows.emplace_back();
    for (std::string field; std::getline(fields, field, '\t');) row.push_back(field);
  }
  return rows;
}

// One small genome, vocabulary, encoder and example folder for all tests of the file.
class PromoterModel : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    make_tiny_encoder(folder_->path());
    must({"promoter", "build", "--tss", path("genome/promoters.tss.bed"), "-f", path("genome/genome.fa.gz"),
          "-o", path("examples"), "--left", "500", "--right", "300", "--negatives", "random"});
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

// Not in the bytes either: how much was run at once is no part of the command that an output keeps.
TEST_F(PromoterModel, BatchesOfAnySpellingLeaveTheSameBytes) {
  const std::string data = path("examples/test.tsv");
  const RunResult plain = run_bigbird(predict({"--data", data, "--provenance", "inline"}));
  ASSERT_EQ(plain.status, 0) << plain.err;
  EXPECT_NE(plain.out.find("##bigbird_command="), std::string::npos);
  EXPECT_EQ(plain.out, run_bigbird(predict({"--data", data, "--batch", "3", "--provenance=inline"})).out);
  EXPECT_EQ(plain.out, run_bigbird(predict({"--data", data, "--batch=1", "--provenance=inline"})).out);
  EXPECT_EQ(plain.out,
            run_bigbird(predict({"--data", data, "--batch-tokens", "2k", "--provenance=inline"})).out);
  const auto evaluate = [&](const char* option, const char* value) {
    const RunResult run =
        run_bigbird({"promoter", "evaluate", "-m", path("tuned/final"), "--data", data, option, value});
    EXPECT_EQ(run.status, 0) << run.err;
    return run.out;
  };
  EXPECT_EQ(evaluate("--batch", "2"), evaluate("--batch-tokens", "5k"));
  refused(predict({"--data", data, "--batch", "2", "--batch-tokens", "64"}), 2, "--batch");
}

// The same words as in every verb that scores; both strands are the mean of one and the other.
TEST_F(PromoterModel, StrandsAreReadAsAsked) {
  const std::string data = path("examples/test.tsv");
  const auto scores = [&](const std::string& option, const std::string& strands) {
    return last_column(run_bigbird(predict({"--data", data, option, strands})).out);
  };
  const std::vector<std::string> plus = scores("--strands", "+"), minus = scores("--strands", "-"),
                                 both = scores("--strands", "both");
  ASSERT_GT(plus.size(), 3u);
  ASSERT_EQ(minus.size(), plus.size());
  EXPECT_EQ(last_column(run_bigbird(predict({"--data", data})).out), both);
  EXPECT_EQ(scores("--strands", "auto"), plus);
  EXPECT_EQ(scores("--strand", "forward"), plus);
  EXPECT_EQ(scores("--strands", "reverse"), minus);
  EXPECT_NE(plus, minus);
  for (std::size_t i = 0; i < plus.size(); ++i)
    EXPECT_NEAR(std::stod(both[i]), (std::stod(plus[i]) + std::stod(minus[i])) / 2, 1e-8);
  refused(predict({"--data", data, "--strands", "left"}), 2, "left");
  const RunResult help = run_bigbird({"promoter", "predict", "--help"});
  EXPECT_NE(help.out.find("--strands"), std::string::npos);
  EXPECT_EQ(help.out.find("--strand "), std::string::npos) << "old spellings are not shown";
  EXPECT_EQ(help.out.find("--batch "), std::string::npos) << "old spellings are not shown";
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
    if (line.starts_with("id\t")) continue;
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
  const RunResult from_fasta = run_bigbird(predict({path("windows.fa"), "--provenance", "inline"}));
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

TEST_F(PromoterModel, WindowsRichInNAreNotScored) {
  const std::string bases(800, 'A'), unknown(80, 'N');
  const auto table = [&](const std::string& file, const std::vector<std::string>& sequences) {
    std::string text = "sequence\tlabel\n";
    for (std::size_t i = 0; i < sequences.size(); ++i)
      text += sequences[i] + "\t" + std::to_string(i % 2) + "\n";
    write_text(path(file), text);
  };
  const std::string tenth = bases.substr(0, 720) + unknown, more = bases.substr(0, 719) + unknown;
  table("n.tsv", {bases, more, tenth, bases});
  table("few.tsv", {bases, bases});
  const RunResult run = run_bigbird(predict({"--data", path("n.tsv"), "--batch", "2", "--no-provenance"}));
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_NE(run.err.find("1 of 4 windows have a larger fraction of N than 0.1"), std::string::npos)
      << run.err;
  const std::vector<std::string> scores = last_column(run.out);
  ASSERT_EQ(scores.size(), 4u);
  EXPECT_EQ(scores[1], "NA");
  EXPECT_EQ(scores[0], scores[3]);
  EXPECT_NE(scores[2], "NA");
  EXPECT_EQ(std::vector<std::string>(2, scores[0]),
            last_column(run_bigbird(predict({"--data", path("few.tsv")})).out));

  write_text(path("n_scores.tsv"), run.out);
  const std::vector<std::vector<std::string>> ways = {
      {"promoter", "evaluate", "--no-provenance", "--predictions", path("n_scores.tsv")},
      {"promoter", "evaluate", "--no-provenance", "-m", path("tuned/final"), "--data", path("n.tsv")}};
  for (const auto& way : ways) {
    const auto json = nlohmann::json::parse(run_bigbird(way).out);
    EXPECT_EQ(json.at("left_out"), 1);
    EXPECT_EQ(json.at("tp").get<int>() + json.at("fn").get<int>(), 1);
    EXPECT_EQ(json.at("fp").get<int>() + json.at("tn").get<int>(), 2);
  }
}

TEST_F(PromoterModel, TwoAndTwoStepsAreFourSteps) {
  std::vector<std::string> four = {"--steps", "4", "--save-every", "2", "--final", "last"};
  must(finetune("straight", four));
  std::filesystem::create_directories(path("halves"));
  std::filesystem::copy(path("straight/checkpoint-2"), path("halves/checkpoint-2"),
                        std::filesystem::copy_options::recursive);
  four.push_back("--resume");
  must(finetune("halves", four));
  EXPECT_EQ(read_text(path("straight/final/model.safetensors")),
            read_text(path("halves/final/model.safetensors")));
}

// Over the end of an epoch, where the negatives change.
TEST_F(PromoterModel, FreshNegativesAreMadeAnewInEachEpochAndWhenARunGoesOn) {
  const auto rows = table_rows(read_text(path("examples/train.tsv")));
  const std::string epoch = std::to_string((rows.size() + 3) / 4),
                    steps = std::to_string((rows.size() + 3) / 4 + 4);
  const std::vector<std::string> fresh = {
      "--steps", steps,  "--save-every", epoch,  "--keep-last",       "0",
      "--lr",    "1e-3", "--final",      "last", "--fresh-negatives", "random"};
  const auto weights = [](const std::string& run) {
    return read_text(path(run + "/final/model.safetensors"));
  };
  must(finetune("fresh", fresh));
  std::filesystem::create_directories(path("fresh-parts"));
  std::filesystem::copy(path("fresh/checkpoint-" + epoch), path("fresh-parts/checkpoint-" + epoch),
                        std::filesystem::copy_options::recursive);
  const auto resumed = [&](const std::string& kind) {
    std::vector<std::string> words = fresh;
    words.back() = kind;
    words.push_back("--resume");
    return finetune("fresh-parts", words);
  };
  refused(resumed("permute"), 2, "--fresh-negatives was random, is permute");
  must(resumed("random"));
  EXPECT_EQ(weights("fresh"), weights("fresh-parts"));
  EXPECT_NE(read_text(path("fresh/final/README.md")).find("random, anew in each epoch"), std::string::npos);

  // The training side's own negatives do not matter: here there are none.
  std::string text = "id\tsequence\tlabel\n", fasta;
  std::size_t promoters = 0;
  for (const auto& row : rows) {
    if (row[5] != "1") continue;
    text += row[0] + "\t" + row[7] + "\t1\n";
    fasta += ">" + row[0] + "\n" + row[7] + "\n";
    ++promoters;
  }
  EXPECT_EQ(2 * promoters, rows.size());
  write_text(path("promoters.tsv"), text);
  write_text(path("promoters.fa"), fasta);
  for (const std::string format : {"tsv", "fa"}) {
    std::vector<std::string> alone = finetune("fresh-" + format, fresh);
    for (std::size_t i = 0; i < alone.size(); ++i) {
      if (alone[i] == "--data") alone[i] = "--train", alone[i + 1] = path("promoters." + format);
    }
    alone.insert(alone.end(), {"--valid", path("examples/valid.tsv")});
    must(alone);
    EXPECT_EQ(weights("fresh"), weights("fresh-" + format));
  }
}

TEST_F(PromoterModel, FreshNegativesOfOtherDataAndKindsAreRefused) {
  refused(finetune("no", {"--fresh-negatives", "genomic"}), 2, "--fresh-negatives genomic");
  refused(finetune("no", {"--fresh-negatives", "none"}), 2, "'none' is not a choice of negatives");
  const auto train = [&](const std::string& file, const std::string& text) {
    write_text(path(file), text);
    return std::vector<std::string>{"promoter",        "finetune", "--train",  path(file),          "--init",
                                    path("run/final"), "-o",       path("no"), "--fresh-negatives", "random"};
  };
  const std::string bases(400, 'A');
  refused(
      train("short.tsv", "id\tsequence\tlabel\nfirst\t" + bases + "\t1\nsecond\tACGTACGTACGTACGTACG\t1\n"), 1,
      "short.tsv: second: a window of 19 bases cannot be cut into 20 blocks");
  refused(train("classes.tsv", "sequence\tlabel\n" + bases + "\t2\n" + bases + "\t1\n"), 1,
          "classes.tsv: has 3 classes");
  EXPECT_FALSE(std::filesystem::exists(path("no")));
}

TEST_F(PromoterModel, ARunIsNeverOverwrittenUnasked) {
  refused(finetune("tuned", {"--steps", "4"}), 1, "tuned");
  refused(finetune("tuned", {"--steps", "4", "--resume", "--force"}), 2, "--resume and --force");
  refused(finetune("tuned", {"--steps", "9", "--resume"}), 2, "--steps");
  refused(finetune("tuned", {"--steps", "4", "--beta2", "0.99", "--resume"}), 2, "--beta2");
}

TEST_F(PromoterModel, WrongModelsAndInputsAreNamed) {
  refused({"promoter", "predict", "-m", path("run/final"), path("genome/genome.fa.gz")}, 1,
          "the model has no classifier, its head is pretraining");
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

TEST_F(PromoterModel, TheModelKeepsItsWindowAndTheEvaluationTheKindOfItsNegatives) {
  const auto window = nlohmann::json::parse(read_text(path("tuned/final/window.json")));
  EXPECT_EQ(window.at("task"), "promoter");
  EXPECT_EQ(window.at("length"), 800);
  EXPECT_EQ(window.at("target_offset"), 500);
  EXPECT_EQ(read_text(path("tuned/final/profiles.tsv")),
            "##train_prior=0.5\nindex\tname\tgroup\n0\tpromoter\tNA\n");
  must(predict({"--data", path("examples/test.tsv"), "-o", path("kind.tsv")}));
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"-m", path("tuned/final"), "--data", path("examples/test.tsv")},
                                             {"--predictions", path("kind.tsv")}}) {
    std::vector<std::string> command = {"promoter", "evaluate"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const RunResult run = run_bigbird(command);
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(nlohmann::json::parse(run.out).at("negatives"), "random");
  }
}

// A genome of one contig without N.
std::string small_genome() {
  std::string bases;
  std::uint32_t state = 7;
  for (int i = 0; i < 3000; ++i) {
    state = state * 1664525 + 1013904223;
    bases += "ACGT"[state >> 30];
  }
  return ">chr1\n" + bases + "\n";
}

TEST_F(PromoterModel, AScanGivesTheScoresOfPredictOnBothStrands) {
  write_text(path("small.fa"), small_genome());
  write_text(path("small.tss.bed"), "chr1\t700\t701\tA_1\t1\t+\nchr1\t2500\t2501\tB_1\t1\t-\n");
  // Trained for four steps a model says nearly the same of every window; one a base aside must be told here.
  TinyClassifier sharp;
  sharp.problem = ProblemType::single_label;
  sharp.profiles.clear();
  sharp.labels = 2;
  sharp.window = {"promoter", 800, 500, 1};
  sharp.input_length = 512;
  write_tiny_classifier(path("sharp"), sharp);
  const auto scan = [&](const std::string& out, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {
        "promoter",        "scan",   "-m",      path("sharp"),  "-f",      path("small.fa"),    "-r",
        "chr1:401-1300",   "--step", "100",     "--threshold",  "0",       "--merge-distance",  "150",
        "--no-provenance", "-o",     path(out), "--per-strand", "--calls", path(out + ".calls")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_bigbird(arguments);
  };
  const RunResult run =
      scan("scan.bedgraph", {"-@", "1", "--batch-tokens", "64", "--tss", path("small.tss.bed")});
  ASSERT_EQ(run.status, 0) << run.err;
  // Positions 400, 500 ... 1200. On + the windows begin at 0, 100 ... from p = 500 on; on - at p - 299.
  std::string bed;
  for (int p = 500; p <= 1200; p += 100)
    bed += "chr1\t" + std::to_string(p - 500) + "\t" + std::to_string(p + 300) + "\t.\t0\t+\n";
  for (int p = 400; p <= 1200; p += 100)
    bed += "chr1\t" + std::to_string(p - 299) + "\t" + std::to_string(p + 501) + "\t.\t0\t-\n";
  write_text(path("scan.bed"), bed);
  const auto scores_of = [&](const char* windows) {
    const RunResult predicted =
        run_bigbird({"promoter", "predict", "-m", path("sharp"), "-f", path("small.fa"), "-R", path(windows),
                     "--strands", "+", "--no-provenance"});
    EXPECT_EQ(predicted.status, 0) << predicted.err;
    return last_column(predicted.out);
  };
  const std::vector<std::string> scores = scores_of("scan.bed");
  ASSERT_EQ(scores.size(), 17u);
  std::string aside;
  for (int p = 400; p <= 1200; p += 100)
    aside += "chr1\t" + std::to_string(p - 300) + "\t" + std::to_string(p + 500) + "\t.\t0\t-\n";
  write_text(path("aside.bed"), aside);
  const std::vector<std::string> moved = scores_of("aside.bed");
  for (std::size_t i = 0; i < 9; ++i)
    ASSERT_GT(std::abs(std::stod(moved[i]) - std::stod(scores[8 + i])), 1e-6) << "told by no number";
  const auto plus = table_rows(read_text(path("scan.plus.bedgraph")));
  const auto minus = table_rows(read_text(path("scan.minus.bedgraph")));
  const auto both = table_rows(read_text(path("scan.bedgraph")));
  ASSERT_TRUE(plus.size() == 8 && minus.size() == 9 && both.size() == 9);
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(both[i][1], std::to_string(400 + 100 * i));
    EXPECT_EQ(both[i][2], std::to_string(500 + 100 * i));
    EXPECT_NEAR(std::stod(minus[i][3]), std::stod(scores[8 + i]), 1e-7);
    double higher = std::stod(minus[i][3]);
    if (i > 0) {
      EXPECT_NEAR(std::stod(plus[i - 1][3]), std::stod(scores[i - 1]), 1e-7);
      higher = std::max(higher, std::stod(plus[i - 1][3]));
    }
    EXPECT_EQ(std::stod(both[i][3]), higher);
  }
  const auto summary = nlohmann::json::parse(read_text(path("scan.bedgraph.summary.json")));
  EXPECT_EQ(summary.at("positions"), 9);
  EXPECT_EQ(summary.at("windows_scored"), 17);
  EXPECT_EQ(summary.at("windows_beyond_contig"), 1);
  EXPECT_EQ(summary.at("evaluation").at("tss_outside_regions"), 1);
  EXPECT_EQ(summary.at("evaluation").at("any_strand").at("tss"), 1);
  EXPECT_EQ(summary.at("evaluation").at("any_strand").at("recall"), 1.0);  // the threshold is 0
  const auto& by_threshold = summary.at("evaluation").at("by_threshold");
  EXPECT_EQ(by_threshold.size(), 24u);  // the threshold and those above it
  EXPECT_EQ(by_threshold.at(0).at("threshold"), 0);
  EXPECT_EQ(by_threshold.at(0).at("calls"), summary.at("calls"));
  EXPECT_EQ(by_threshold.at(0).at("tss_found"), 1);
  const auto calls = table_rows(read_text(path("scan.bedgraph.calls")), false);
  ASSERT_FALSE(calls.empty());
  EXPECT_EQ(summary.at("calls"), calls.size());
  EXPECT_EQ(calls[0].size(), 8u);
  EXPECT_EQ(calls[0][3], "call1");
  EXPECT_EQ(calls[0][6], calls[0][1]);
  EXPECT_EQ(std::stoi(calls[0][7]), std::stoi(calls[0][6]) + 1);

  ASSERT_EQ(scan("again.bedgraph", {"-@", "2", "--batch-tokens", "4k"}).status, 0);
  for (const char* suffix : {".bedgraph", ".plus.bedgraph", ".minus.bedgraph", ".bedgraph.calls"}) {
    EXPECT_EQ(read_text(path("again" + std::string(suffix))), read_text(path("scan" + std::string(suffix))))
        << suffix;
  }
  ASSERT_EQ(scan("scan.bw", {}).status, 0);
  EXPECT_EQ(read_text(path("scan.bw")).substr(0, 4), "\x26\xFC\x8F\x88");  // bigWig's magic number
  EXPECT_TRUE(std::filesystem::exists(path("scan.minus.bw")));
}

TEST_F(PromoterModel, AScanRefusesWhatItCannotScore) {
  write_text(path("small.fa"), small_genome());
  const std::vector<std::string> scan = {"promoter",          "scan", "-m",
                                         path("tuned/final"), "-f",   path("small.fa")};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = scan;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  refused(with({"-r", "chr1:1-300", "--strands", "+"}), 1,
          "none of the windows can be scored: 3 pass the end");
  refused(with({"-r", "chr1:2-50"}), 1, "no multiple of the step 100");
  refused(with({"-r", "chr1:2-2000", "--left", "400"}), 2, "500 bp before the TSS and 300");
  refused(with({"-r", "chrQ"}), 1, "chrQ");
  refused(with({"-r", "chr1:1001-1300", "--step", "0"}), 2, "--step 0");
  refused(with({"-r", "chr1:1001-1300", "--per-strand"}), 2, "--per-strand");
  refused(with({"-r", "chr1:1001-1300", "-o", "/dev/full"}), 1, "/dev/full");
  write_text(path("beyond-scan.bed"), "chr1\t100\t999999999\n");
  refused(with({"-R", path("beyond-scan.bed")}), 1, "beyond-scan.bed:1");
  write_text(path("n.fa"), ">chr1\n" + std::string(3000, 'N') + "\n");
  refused({"promoter", "scan", "-m", path("tuned/final"), "-f", path("n.fa"), "-o", path("n.bedgraph")}, 1,
          "hold too many N");
  EXPECT_FALSE(std::filesystem::exists(path("n.bedgraph")));
}

TEST_F(PromoterModel, LearnsFromOwnTablesOfSeveralClassesAndFromFastaPairs) {
  std::string table = "sequence,label\n", positives, negatives;
  for (int i = 0; i < 12; ++i) {
    const std::string sequence = std::string(static_cast<std::size_t>(20 + i), "ACG"[i % 3]) + "TTTGACCA";
    table += sequence + "," + std::to_string(i % 3) + "\n";
    (i % 2 == 0 ? positives : negatives) += ">s" + std::to_string(i) + "\n" + sequence + "\n";
  }
  std::filesystem::create_directories(path("gue"));
  write_text(path("gue/train.csv"), table);
  write_text(path("gue/dev.csv"), table);
  write_text(path("p.fa"), positives);
  write_text(path("q.fa"), negatives);
  const RunResult run = run_bigbird({"promoter", "finetune", "--data", path("gue"), "--init",
                                     path("run/final"), "-o", path("own"), "--batch", "4", "--steps", "2"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_NE(run.err.find("not independent: 24 x equal sequence"), std::string::npos) << run.err;
  EXPECT_FALSE(std::filesystem::exists(path("own/final/window.json")));
  must(
      {"promoter", "predict", "-m", path("own/final"), "--data", path("gue/dev.csv"), "-o", path("own.tsv")});
  const std::string predictions = read_text(path("own.tsv"));
  EXPECT_NE(predictions.find("id\tchrom\tstart\tend\tstrand\tlabel\tn_share\tp0\tp1\tp2\n"),
            std::string::npos);
  for (const auto& row : table_rows(predictions)) {
    EXPECT_NEAR(std::stod(row[7]) + std::stod(row[8]) + std::stod(row[9]), 1.0, 1e-6);
  }
  const RunResult evaluated =
      run_bigbird({"promoter", "evaluate", "--predictions", path("own.tsv"), "--no-provenance"});
  const RunResult again = run_bigbird(
      {"promoter", "evaluate", "-m", path("own/final"), "--data", path("gue/dev.csv"), "--no-provenance"});
  ASSERT_EQ(evaluated.status, 0) << evaluated.err;
  EXPECT_EQ(evaluated.out, again.out);
  EXPECT_EQ(nlohmann::json::parse(evaluated.out).at("classes"), 3);

  must({"promoter", "finetune", "--train", path("p.fa"), "--train-negatives", path("q.fa"), "--init",
        path("run/final"), "-o", path("pair"), "--batch", "4", "--steps", "2"});
  const RunResult pair = run_bigbird({"promoter", "evaluate", "-m", path("pair/final"), "--data",
                                      path("p.fa"), "--data-negatives", path("q.fa")});
  ASSERT_EQ(pair.status, 0) << pair.err;
  EXPECT_EQ(nlohmann::json::parse(pair.out).at("examples"), 12);
  EXPECT_FALSE(nlohmann::json::parse(pair.out).contains("negatives"));

  refused({"promoter", "evaluate", "-m", path("pair/final"), "--data", path("gue/dev.csv")}, 1, "2 classes");
  refused({"promoter", "predict", "-m", path("pair/final"), "--data", path("p.fa")}, 1,
          "p.fa:1: a FASTA file");
  refused({"promoter", "scan", "-m", path("pair/final"), "-f", path("genome/genome.fa.gz")}, 2,
          "has no window");
  refused({"promoter", "scan", "-m", path("own/final"), "-f", path("genome/genome.fa.gz")}, 1,
          "it has 3 outputs");
  refused({"promoter", "finetune", "--init", path("run/final"), "-o", path("x")}, 2, "in one way");
  refused({"promoter", "finetune", "--train", path("gue/train.csv"), "--data", path("gue"), "--init",
           path("run/final"), "-o", path("x")},
          2, "in one way");
  refused({"promoter", "finetune", "--data", path("run"), "--init", path("run/final"), "-o", path("x")}, 1,
          "holds no train side");
}

// What the training said of the validation set after its last step, what predict makes of the same sequences,
// and what evaluate says: all of it counted here.
TEST_F(PromoterModel, AccuraciesAreCounted) {
  std::string table = "sequence,label\n";
  for (int i = 0; i < 45; ++i) {
    // Class 1 is rich in T, but for every fifth sequence.
    const bool rich = i % 2 == 0;
    for (int b = 0; b < 60; ++b) table += rich && (b + i) % 3 > 0 ? 'T' : "ACGC"[(b * (i + 3) + i) % 4];
    table += (rich != (i % 5 == 0) ? ",1\n" : ",0\n");
  }
  write_text(path("rich.csv"), table);
  must({"promoter",     "finetune",
        "--train",      path("rich.csv"),
        "--valid",      path("rich.csv"),
        "--init",       path("run/final"),
        "-o",           path("counted"),
        "--batch",      "15",
        "--accumulate", "2",
        "--steps",      "30",
        "--lr",         "0.01",
        "--device",     "cpu",
        "-@",           "1"});
  must({"promoter", "predict", "-m", path("counted/final"), "--data", path("rich.csv"), "-o",
        path("counted.tsv"), "--device", "cpu", "-@", "1"});
  std::map<std::string, int> counts = {{"tp", 0}, {"fp", 0}, {"tn", 0}, {"fn", 0}};
  for (const auto& row : table_rows(read_text(path("counted.tsv")))) {
    const bool called = std::stod(row.back()) >= 0.5;
    ++counts[row[5] == "1" ? (called ? "tp" : "fn") : (called ? "fp" : "tn")];
  }
  for (const auto& [name, count] : counts) EXPECT_GT(count, 0) << name;
  // #step, loss, class_loss, class_accuracy
  const auto validations = table_rows(read_text(path("counted/valid.tsv")));
  EXPECT_NEAR(std::stod(validations.back()[3]), (counts["tp"] + counts["tn"]) / 45.0, 1e-6);
  for (const auto& from :
       std::vector<std::vector<std::string>>{{"--predictions", path("counted.tsv")},
                                             {"-m", path("counted/final"), "--data", path("rich.csv")}}) {
    std::vector<std::string> words = {"promoter", "evaluate"};
    words.insert(words.end(), from.begin(), from.end());
    const RunResult run = run_bigbird(words);
    ASSERT_EQ(run.status, 0) << run.err;
    const auto json = nlohmann::json::parse(run.out);
    for (const auto& [name, count] : counts) EXPECT_EQ(json.at(name), count) << name;
  }
}

TEST_F(PromoterModel, AFailedWriteIsAnError) {
  refused(predict({"--data", path("examples/test.tsv"), "-o", "/dev/full"}), 1, "/dev/full");
}

}  // namespace
}  // namespace bigbird::testing
