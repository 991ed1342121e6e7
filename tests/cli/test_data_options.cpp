// Options of the verbs that make data and models, each by its effect: simulate, chunk, train-bpe, attention,
// convert, evaluate, liftover; and the options of all verbs that no other test passes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lib/core/rng.h"
#include "lib/io/genome/bed.h"
#include "tests/support/support.h"
#include "tests/support/tiny_training_data.h"

namespace bigbird::testing {
namespace {

class DataOptions : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  static RunResult must(const std::vector<std::string>& arguments, const std::string& input = {}) {
    const RunResult run = run_bigbird(arguments, input);
    EXPECT_EQ(run.status, 0) << run.err;
    return run;
  }
  // A contig of random bases without N.
  std::string genome(std::size_t size) const {
    CounterRng rng(4, Purpose::test, 0);
    std::string bases;
    while (bases.size() < size) bases += "ACGT"[rng.below(4)];
    write_text(path("genome.fa"), ">chr1\n" + bases + "\n");
    return path("genome.fa");
  }
  // Lines that are no comments.
  static std::vector<std::string> rows(const std::string& text) {
    std::vector<std::string> found;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      if (!line.empty() && line[0] != '#') found.push_back(line);
    }
    return found;
  }

  TemporaryFolder folder_;
};

TEST_F(DataOptions, SimulateMakesSoManyBasesAndPromoters) {
  const auto simulate = [&](const std::string& name, const std::string& density) {
    must({"simulate", "-o", path(name), "--bp", "600K", "--chromosome-count", "2", "--promoters-per-mb",
          density});
    return static_cast<double>(rows(read_text(path(name + "/promoters.tss.bed"))).size());
  };
  const double few = simulate("few", "30"), many = simulate("many", "120");
  EXPECT_NEAR(few, 18, 4);
  EXPECT_NEAR(many / few, 4, 0.8);
  std::int64_t bases = 0;
  for (const std::string& line : rows(read_text(path("few/genome.fa.gz.fai"))))
    bases += std::stoll(line.substr(line.find('\t') + 1));
  EXPECT_EQ(bases, 600000);
}

// What lies beside an output is no longer of it when a shell has written another there.
TEST_F(DataOptions, ProvenanceIsOfTheFileThatItWasWrittenWith) {
  const std::string fasta = genome(60000), bed = path("d.bed");
  must({"chunk", "-f", fasta, "-o", bed, "--seed", "7"});
  EXPECT_NE(must({"info", bed}).out.find("bigbird chunk"), std::string::npos);
  testing::write_text(bed, must({"chunk", "-f", fasta, "--passes", "1"}).out);
  const RunResult later = must({"info", bed});
  EXPECT_EQ(later.out.find("bigbird chunk"), std::string::npos) << later.out;
  EXPECT_NE(later.err.find("d.bed.provenance.json is not read: it was written with a file of"),
            std::string::npos)
      << later.err;
}

TEST_F(DataOptions, ChunkKeepsTheRecipeThatIsTyped) {
  const std::string fasta = genome(60000);
  must({"chunk", "-f", fasta, "-o", path("d.bed"), "--passes", "4", "--seed", "7", "--max-start", "0",
        "--min-sentences", "3", "--max-sentences", "5", "--min-sentence-length", "80",
        "--max-sentence-length", "90"});
  const std::string text = read_text(path("d.bed"));
  EXPECT_TRUE(text.starts_with("chr1\t")) << text.substr(0, 400);
  EXPECT_NE(read_text(path("d.bed.provenance.json")).find("\"seed\":7"), std::string::npos);
  int at_the_begin = 0;
  for (const BedRecord& record : read_bed(path("d.bed"))) {
    at_the_begin += record.begin == 0 ? 1 : 0;
    if (record.end == 60000) continue;  // the contig's end cuts its last sentence and document
    EXPECT_GE(record.blocks.size(), 3u);
    EXPECT_LE(record.blocks.size(), 5u);
    for (const BedBlock& block : record.blocks) {
      EXPECT_GE(block.length, 80);
      EXPECT_LE(block.length, 90);
    }
  }
  EXPECT_EQ(at_the_begin, 4) << "every pass begins at base 0";
  const std::string later =
      must({"chunk", "-f", fasta, "--passes", "4", "--max-start", "5000", "--min-sentences", "3",
            "--max-sentences", "5", "--min-sentence-length", "80", "--max-sentence-length", "90"})
          .out;
  EXPECT_EQ(later.find("chr1\t0\t"), std::string::npos);
}

TEST_F(DataOptions, TrainBpeTakesTheTrainerThatIsTyped) {
  std::string sentences;
  CounterRng rng(4, Purpose::test, 1);
  for (int i = 0; i < 60; ++i) {
    for (int k = 0; k < 200; ++k) sentences += "ACGT"[rng.below(4)];
    sentences += "\n";
  }
  write_text(path("sentences.txt"), sentences);
  for (const char* trainer : {"exact", "apart", "sentencepiece"}) {
    must({"train-bpe", "--lines", path("sentences.txt"), "-o", path(trainer), "--vocab-size", "40",
          "--max-piece-length", "16", "--trainer", trainer});
    const auto report = nlohmann::json::parse(read_text(path(std::string(trainer) + "/report.json")));
    EXPECT_TRUE(report.at("trainer").get<std::string>().starts_with(trainer)) << report.at("trainer");
    EXPECT_EQ(report.at("vocab_size"), 40);
  }
  EXPECT_EQ(
      run_bigbird({"train-bpe", "--lines", path("sentences.txt"), "-o", path("x"), "--trainer", "other"})
          .status,
      2);
}

TEST_F(DataOptions, AttentionOfALayerIsDrawnForThatLayer) {
  const auto lists = [](const char* layer) {
    return must({"attention", "--length", "2048", "--heads", "2", "--layer", layer, "-o", "-",
                 "--no-provenance"})
        .out;
  };
  const auto rows_of = [&](const char* layer) {
    return nlohmann::json::parse(lists(layer)).at("heads")[1].at("rows");
  };
  EXPECT_EQ(rows_of("0"),
            nlohmann::json::parse(must({"attention", "--length", "2048", "--heads", "2", "-o", "-"}).out)
                .at("heads")[1]
                .at("rows"));
  EXPECT_NE(rows_of("0"), rows_of("3"));
  EXPECT_EQ(rows_of("3"), rows_of("3"));
}

TEST_F(DataOptions, LiftoverKeepsColumnsThatAreNotBed) {
  write_text(path("x.chain"), "chain 10 a 200 + 0 100 b 300 + 50 150 1\n100\n");
  const std::string line = "a\t10\t20\tx\tno score\t?\t5\n";
  const std::vector<std::string> lift = {"liftover", "--chain", path("x.chain"), "-", "--no-provenance"};
  EXPECT_EQ(run_bigbird(lift, line).status, 1) << "column 5 of BED is a number";
  std::vector<std::string> plus = lift;
  plus.insert(plus.end(), {"--bed-plus", "4"});
  EXPECT_EQ(must(plus, line).out, "b\t60\t70\tx\tno score\t?\t5\n");
}

TEST_F(DataOptions, VerboseSaysMoreThanNothingAndQuietLess) {
  write_tiny_tokenizer(path("tokenizer"));
  write_tiny_shards(path("train"), path("tokenizer"));
  must({"pretrain",
        "--train",
        path("train"),
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
        "--length",
        "64",
        "--block-size",
        "16",
        "--random-blocks",
        "1",
        "--random-mode",
        "hf-train",
        "--batch",
        "2",
        "--steps",
        "1",
        "-q"});
  const std::string fasta = genome(50);
  const auto messages = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"embed", "-m", path("run/final"), "-o", path("x.npy"), fasta};
    words.insert(words.end(), more.begin(), more.end());
    return must(words).err;
  };
  const std::string detail = "MiB for the model and batches";
  EXPECT_EQ(messages({}).find(detail), std::string::npos);
  for (const char* option : {"-v", "--verbose"}) {
    std::filesystem::remove(path("x.npy"));
    EXPECT_NE(messages({option}).find(detail), std::string::npos);
  }
  EXPECT_EQ(messages({"--quiet"}), "");
}

// A model of one step and held-out shards.
class EvaluateOptions : public DataOptions {
 protected:
  EvaluateOptions() {
    write_tiny_tokenizer(path("tokenizer"));
    write_tiny_shards(path("train"), path("tokenizer"), {40, 20, 20, 1});
    write_tiny_shards(path("valid"), path("tokenizer"), {6, 20, 20, 2});
    must({"pretrain",
          "--train",
          path("train"),
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
          "--length",
          "128",
          "--block-size",
          "16",
          "--random-blocks",
          "1",
          "--random-mode",
          "hf-train",
          "--batch",
          "4",
          "--steps",
          "1"});
  }
  nlohmann::json evaluate(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"evaluate",    "-m",       path("run/final"), "--data",
                                      path("valid"), "--no-nsp", "--no-provenance"};
    words.insert(words.end(), more.begin(), more.end());
    return nlohmann::json::parse(must(words).out);
  }
};

TEST_F(EvaluateOptions, MaskProbabilityIsTheShareOfTokensThatArePredicted) {
  const auto share = [&](const char* probability) {
    const auto json = evaluate({"--mask-probability", probability});
    return json.at("masked_tokens").get<double>() / json.at("tokens").get<double>();
  };
  EXPECT_EQ(evaluate({}), evaluate({"--mask-probability", "0.15"}));
  EXPECT_NEAR(share("0.15"), 0.15, 0.02);
  EXPECT_NEAR(share("0.4"), 0.4, 0.03);
}

TEST_F(EvaluateOptions, SeedChoosesSamplesAndMasks) {
  const auto one = evaluate({"--samples", "4", "--seed", "1"});
  EXPECT_EQ(one, evaluate({"--samples", "4"}));
  EXPECT_NE(one.at("mlm_loss"), evaluate({"--samples", "4", "--seed", "2"}).at("mlm_loss"));
}

TEST_F(EvaluateOptions, BaselinesCountSoManyTokens) {
  const auto all = evaluate({"--baseline-from", path("train"), "--baseline-tokens", "0"}).at("baseline");
  const auto some = evaluate({"--baseline-from", path("train"), "--baseline-tokens", "1K"}).at("baseline");
  EXPECT_GT(all.at("tokens"), 5000);
  EXPECT_NEAR(some.at("tokens").get<double>(), 1000, 400);  // whole documents
  EXPECT_NE(all.at("bigram").at("bits_per_base"), some.at("bigram").at("bits_per_base"));
}

}  // namespace
}  // namespace bigbird::testing
