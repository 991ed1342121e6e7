// train-bpe and tokenize as a user runs them: what is written, the same bytes for any thread count, tokens
// that join back to the sequence, and one line with a hint for every bad input.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "lib/core/rng.h"
#include "lib/data/token_shards.h"
#include "lib/io/genome/fasta.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using testing::read_text;
using testing::run_bigbird;
using testing::RunResult;
using testing::TemporaryFolder;
using testing::write_text;

std::string random_bases(std::uint64_t index, std::size_t length) {
  CounterRng rng(8, Purpose::test, index);
  std::string bases;
  while (bases.size() < length) {
    if (bases.size() > 200 && rng.below(4) == 0) {
      bases += bases.substr(static_cast<std::size_t>(rng.below(bases.size() - 100)), 80);
    } else {
      for (int i = 0; i < 30; ++i) bases += "ACGT"[rng.below(4)];
    }
  }
  bases.resize(length);
  return bases;
}

std::string fasta_record(const std::string& name, const std::string& bases) {
  std::string text = ">" + name + "\n";
  for (std::size_t i = 0; i < bases.size(); i += 60) text += bases.substr(i, 60) + "\n";
  return text;
}

// A genome of two contigs, three documents (one on strand -) and a tokenizer, made once.
class TokenizeTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    contigs_ = {{"chr1", random_bases(1, 60000)}, {"chr2", random_bases(2, 40000)}};
    contigs_["chr2"].replace(5000, 300, std::string(300, 'N'));
    write_text(at("genome.fa"),
               fasta_record("chr1", contigs_["chr1"]) + fasta_record("chr2", contigs_["chr2"]));
    write_text(at("documents.bed"),
               "chr1\t1000\t3000\tdoc1\t0\t+\t1000\t3000\t0\t3\t500,700,800,\t0,500,1200,\n"
               "chr2\t4000\t6000\tdoc2\t0\t-\t4000\t6000\t0\t2\t900,1100,\t0,900,\n"
               "chr1\t10000\t59000\tdoc3\t0\t+\t10000\t59000\t0\t2\t20000,29000,\t0,20000,\n");
    const RunResult trained =
        run_bigbird({"train-bpe", "-f", at("genome.fa"), "-d", at("documents.bed"), "-o", at("tokenizer"),
                     "--vocab-size", "600", "--max-piece-length", "32"});
    ASSERT_EQ(trained.status, 0) << trained.err;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string at(const std::string& name) { return (*folder_ / name).string(); }

  static std::string bases_of(const std::string& contig, std::int64_t begin, std::int64_t end, bool reverse) {
    const std::string bases =
        contigs_[contig].substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    return reverse ? reverse_complement(bases) : bases;
  }

  static void expect_error(const std::vector<std::string>& arguments, int status,
                           const std::string& message) {
    const RunResult run = run_bigbird(arguments);
    EXPECT_EQ(run.status, status) << run.err;
    EXPECT_NE(run.err.find("error: "), std::string::npos) << run.err;
    EXPECT_NE(run.err.find(message), std::string::npos) << run.err;
    EXPECT_NE(run.err.find("hint: "), std::string::npos) << run.err;
  }

  static TemporaryFolder* folder_;
  static std::map<std::string, std::string> contigs_;
};

TemporaryFolder* TokenizeTest::folder_ = nullptr;
std::map<std::string, std::string> TokenizeTest::contigs_;

TEST_F(TokenizeTest, TrainBpeWritesTheFolderOfVerbs) {
  for (const char* name : {"spiece.model", "spiece.vocab", "tokenizer_config.json", "report.json"}) {
    EXPECT_TRUE(std::filesystem::exists(at("tokenizer") + "/" + name)) << name;
  }
  const auto report = nlohmann::json::parse(read_text(at("tokenizer") + "/report.json"));
  EXPECT_EQ(report["trainer"], "exact, adjacent pairs");
  EXPECT_EQ(report["vocab_size"], 600);
  EXPECT_EQ(report["sample_bases"], 53000);  // all there is
  EXPECT_EQ(report["sample_n_bases"], 300);
  EXPECT_GT(report["bases_per_token"], 2.0);
  EXPECT_GT(report["n_pieces"], 0);
  EXPECT_LE(report["longest_piece_length"], 32);
  EXPECT_TRUE(report.contains("provenance"));
  const auto config = nlohmann::json::parse(read_text(at("tokenizer") + "/tokenizer_config.json"));
  EXPECT_EQ(config["tokenizer_class"], "PreTrainedTokenizerFast");
  EXPECT_EQ(config["do_lower_case"], false);
  EXPECT_EQ(read_text(at("tokenizer") + "/spiece.vocab")
                .rfind("[PAD]\t0\n[UNK]\t0\n[CLS]\t0\n[SEP]\t0\n[MASK]\t0\nA\t", 0),
            0u);
}

TEST_F(TokenizeTest, TrainBpeIsAFunctionOfTheSeed) {
  std::vector<std::string> models;
  for (const std::string run : {"a", "b", "c"}) {
    const RunResult trained =
        run_bigbird({"train-bpe", "-f", at("genome.fa"), "-d", at("documents.bed"), "-o", at("seed_" + run),
                     "--vocab-size", "100", "--sample-bp", "1k", "--seed", run == "c" ? "2" : "1", "-@",
                     run == "a" ? "1" : "2"});
    ASSERT_EQ(trained.status, 0) << trained.err;
    models.push_back(read_text(at("seed_" + run) + "/spiece.model"));
  }
  EXPECT_EQ(models[0], models[1]);
  EXPECT_NE(models[0], models[2]);
}

TEST_F(TokenizeTest, AVocabularyOfTenIsSingleBases) {
  for (const char* trainer : {"exact", "sentencepiece"}) {
    const std::string folder = at(std::string("bases_") + trainer);
    const RunResult trained = run_bigbird({"train-bpe", "-f", at("genome.fa"), "-d", at("documents.bed"),
                                           "-o", folder, "--vocab-size", "10", "--trainer", trainer});
    ASSERT_EQ(trained.status, 0) << trained.err;
    const auto report = nlohmann::json::parse(read_text(folder + "/report.json"));
    EXPECT_EQ(report["vocab_size"], 10);
    EXPECT_EQ(report["bases_per_token"], 1.0);
    write_text(at("bases.txt"), "ACGTNAAC\n");
    const RunResult ids =
        run_bigbird({"tokenize", "-m", folder, "--lines", at("bases.txt"), "--print", "ids"});
    EXPECT_EQ(ids.out, "5 6 7 8 9 5 5 6\n") << ids.err;
  }
}

TEST_F(TokenizeTest, TrainBpeRefusesAFolderThatHoldsSomething) {
  const std::vector<std::string> arguments{
      "train-bpe",    "-f", at("genome.fa"), "-d", at("documents.bed"), "-o", at("tokenizer_twice"),
      "--vocab-size", "50"};
  EXPECT_EQ(run_bigbird(arguments).status, 0);
  EXPECT_EQ(run_bigbird(arguments).status, 1);
  std::vector<std::string> forced = arguments;
  forced.push_back("--force");
  EXPECT_EQ(run_bigbird(forced).status, 0);
}

TEST_F(TokenizeTest, ShardsHoldTheIdsThatArePrinted) {
  const RunResult written = run_bigbird({"tokenize", "-m", at("tokenizer"), "-f", at("genome.fa"), "-d",
                                         at("documents.bed"), "-o", at("shards")});
  ASSERT_EQ(written.status, 0) << written.err;
  const RunResult printed = run_bigbird({"tokenize", "-m", at("tokenizer"), "-f", at("genome.fa"), "-d",
                                         at("documents.bed"), "--print", "ids"});
  const TokenShards shards(at("shards"));
  EXPECT_EQ(shards.document_count(), 3u);
  EXPECT_EQ(shards.sentence_count(), 7u);
  EXPECT_EQ(shards.base_count(), 53000u);
  std::istringstream lines(printed.out);
  std::string line;
  for (std::uint64_t s = 0; s < shards.sentence_count(); ++s) {
    ASSERT_TRUE(std::getline(lines, line));
    std::string expected;
    for (std::size_t i = 0; i < shards.sentence(s).size(); ++i) {
      expected += (i == 0 ? "" : " ") + std::to_string(shards.sentence(s)[i]);
    }
    EXPECT_EQ(line, expected);
  }
  EXPECT_FALSE(std::getline(lines, line));
}

TEST_F(TokenizeTest, GivesTheSameBytesForAnyNumberOfThreads) {
  for (const std::string threads : {"1", "2", "5"}) {
    const RunResult run =
        run_bigbird({"tokenize", "-m", at("tokenizer"), "-f", at("genome.fa"), "-d", at("documents.bed"),
                     "-o", at("threads_" + threads), "-@", threads, "--no-provenance"});
    ASSERT_EQ(run.status, 0) << run.err;
  }
  for (const std::string suffix : {".bin", ".idx"}) {
    EXPECT_EQ(read_text(at("threads_1") + suffix), read_text(at("threads_2") + suffix));
    EXPECT_EQ(read_text(at("threads_1") + suffix), read_text(at("threads_5") + suffix));
  }
}

TEST_F(TokenizeTest, BedTokensCoverTheSequenceOnBothStrands) {
  const RunResult run = run_bigbird({"tokenize", "-m", at("tokenizer"), "-f", at("genome.fa"), "-d",
                                     at("documents.bed"), "--print", "bed"});
  ASSERT_EQ(run.status, 0) << run.err;
  std::istringstream lines(run.out);
  std::string contig, piece, score, strand;
  std::int64_t begin = 0, end = 0;
  std::int64_t covered = 0;
  std::int64_t next_down = 6000;  // doc2 is read from its last base down
  while (lines >> contig >> begin >> end >> piece >> score >> strand) {
    EXPECT_EQ(bases_of(contig, begin, end, strand == "-"), piece);
    covered += end - begin;
    if (contig == "chr2") {
      EXPECT_EQ(strand, "-");
      EXPECT_EQ(end, next_down);
      next_down = begin;
    }
  }
  EXPECT_EQ(covered, 53000);
  EXPECT_EQ(next_down, 4000);
}

TEST_F(TokenizeTest, ReadsWindowsRecordsAndTextAlike) {
  write_text(at("windows.bed"), "chr1\t0\t60000\nchr2\t0\t40000\n");
  write_text(at("sentences.txt"), contigs_["chr1"] + "\n\n" + contigs_["chr2"] + "\n");
  const std::vector<std::string> common{"tokenize", "-m", at("tokenizer"), "--print", "pieces"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), common.begin(), common.end());
    const RunResult run = run_bigbird(more);
    EXPECT_EQ(run.status, 0) << run.err;
    return run.out;
  };
  const std::string records = with({"-f", at("genome.fa")});
  EXPECT_EQ(records, with({"-f", at("genome.fa"), "-R", at("windows.bed")}));
  EXPECT_EQ(records, with({"--lines", at("sentences.txt")}));
  std::string joined = records;
  joined.erase(std::remove(joined.begin(), joined.end(), ' '), joined.end());
  EXPECT_EQ(joined, contigs_["chr1"] + "\n" + contigs_["chr2"] + "\n");
}

TEST_F(TokenizeTest, SplitsIntoShardsThatReadAsOne) {
  const RunResult run = run_bigbird({"tokenize", "-m", at("tokenizer"), "-f", at("genome.fa"), "-d",
                                     at("documents.bed"), "-o", at("split"), "--shard-tokens", "500"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(std::filesystem::exists(at("split.00000.bin")));
  EXPECT_FALSE(std::filesystem::exists(at("split.bin")));
  const TokenShards shards(at("split"));
  EXPECT_GT(shards.shard_count(), 1u);
  EXPECT_EQ(shards.document_count(), 3u);
}

TEST_F(TokenizeTest, BadInputIsOneLineAndAHint) {
  write_text(at("unknown.bed"), "chr9\t0\t100\n");
  write_text(at("beyond.bed"), "chr1\t0\t60001\n");
  write_text(at("three.bed"), "chr1\t0\t100\n");
  write_text(at("empty.bed"), "");
  write_text(at("bad.txt"), "ACGT\nACG-T\n");
  const std::string fasta = at("genome.fa");
  const std::string tokenizer = at("tokenizer");
  expect_error({"tokenize", "-m", tokenizer, "-f", fasta, "-R", at("unknown.bed"), "-o", at("x")}, 1,
               "unknown.bed:1");
  expect_error({"tokenize", "-m", tokenizer, "-f", fasta, "-R", at("beyond.bed"), "-o", at("x")}, 1,
               "beyond.bed:1");
  expect_error({"tokenize", "-m", tokenizer, "-f", fasta, "-d", at("three.bed"), "-o", at("x")}, 1,
               "three.bed:1");
  expect_error({"tokenize", "-m", tokenizer, "-f", fasta, "-d", at("empty.bed"), "-o", at("x")}, 1,
               "no documents");
  expect_error({"tokenize", "-m", tokenizer, "--lines", at("bad.txt"), "-o", at("x")}, 1,
               "bad.txt:2: column 4");
  expect_error({"tokenize", "-m", at("nothing"), "-f", fasta, "-o", at("x")}, 1, "nothing");
  expect_error({"tokenize", "-m", tokenizer, "-f", fasta}, 2, "somewhere to write");
  expect_error({"tokenize", "-m", tokenizer, "-o", at("x")}, 2, "no input");
  expect_error({"tokenize", "-m", tokenizer, "--lines", at("bad.txt"), "--print", "bed"}, 2, "BED");
  for (const auto& entry : std::filesystem::directory_iterator(folder_->path())) {
    EXPECT_NE(entry.path().filename().string().rfind('x', 0), 0u) << entry.path();
  }
}

TEST_F(TokenizeTest, TrainBpeRefusesWhatHoldsNothingToLearn) {
  write_text(at("n_only.bed"), "chr2\t5000\t5300\tdoc\t0\t+\t5000\t5300\t0\t1\t300,\t0,\n");
  write_text(at("no_lines.txt"), "\n\n");
  write_text(at("no_documents.bed"), "# nothing\n");
  const std::string fasta = at("genome.fa");
  expect_error({"train-bpe", "-f", fasta, "-d", at("n_only.bed"), "-o", at("y")}, 1, "nothing but N");
  expect_error({"train-bpe", "--lines", at("no_lines.txt"), "-o", at("y")}, 1, "no sentences");
  expect_error({"train-bpe", "-f", fasta, "-d", at("no_documents.bed"), "-o", at("y")}, 1, "no sentences");
  expect_error({"train-bpe", "-f", fasta, "-o", at("y")}, 2, "needs a genome and its documents");
  expect_error({"train-bpe", "-f", fasta, "-d", at("documents.bed"), "-o", at("y"), "--vocab-size", "9"}, 2,
               "--vocab-size 9");
  EXPECT_FALSE(std::filesystem::exists(at("y")));
}

TEST_F(TokenizeTest, NoticesThatStdoutIsFull) {
  const RunResult run = testing::run_program({"sh", "-c",
                                              testing::bigbird_binary() + " tokenize -m " + at("tokenizer") +
                                                  " -f " + at("genome.fa") + " --print pieces > /dev/full"});
  EXPECT_EQ(run.status, 1) << run.err;
}

TEST_F(TokenizeTest, HelpNamesTheOptionsAndHasExamples) {
  for (const char* verb : {"train-bpe", "tokenize"}) {
    const RunResult run = run_bigbird({verb, "--help"});
    EXPECT_EQ(run.status, 0);
    EXPECT_NE(run.out.find(std::string("bigbird ") + verb + " "), std::string::npos);
  }
}

}  // namespace
}  // namespace bigbird
