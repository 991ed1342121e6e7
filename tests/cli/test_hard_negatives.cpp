// `promoter build --hard-negatives`: what a model takes for promoters on the training side, and nowhere else.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "lib/genomics/promoter/examples.h"
#include "lib/genomics/promoter/negatives.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/tables/tsv.h"
#include "tests/support/support.h"
#include "tests/support/tiny_encoder.h"

namespace bigbird::testing {
namespace {

// The tiny encoder's genome of two chromosomes; the last quarter of the first is held out.
class HardNegativesCommand : public ::testing::Test {
 protected:
  HardNegativesCommand() {
    make_tiny_encoder(folder_.path());
    Fasta fasta(path("genome/genome.fa.gz"));
    for (std::size_t i = 0; i < fasta.contigs().size(); ++i) {
      const Contig& contig = fasta.contigs()[i];
      bases_[contig.name] = fasta.fetch(i, 0, contig.length);
    }
    border_ = fasta.contigs()[0].length * 3 / 4;
    must(build("plain", path("genome/genome.fa.gz"), {"--negatives", "genomic:2"}));
    must(run_bigbird({"promoter", "finetune", "--data", path("plain"), "--init", path("run/final"), "-o",
                      path("tuned"), "--steps", "12", "--batch", "4", "--lr", "1e-3", "--final", "last"}));
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  static void must(const RunResult& done) { ASSERT_EQ(done.status, 0) << done.err; }

  RunResult build(const std::string& output, const std::string& fasta,
                  const std::vector<std::string>& more) const {
    std::vector<std::string> words = {
        "promoter", "build",      "--tss",  path("genome/promoters.tss.bed"),     "-f", fasta,
        "-o",       path(output), "--test", "chr1:" + std::to_string(border_ + 1)};
    if (std::find(more.begin(), more.end(), "--left") == more.end())
      words.insert(words.end(), {"--left", "300", "--right", "100"});
    words.insert(words.end(), more.begin(), more.end());
    return run_bigbird(words);
  }

  std::map<std::string, PromoterExample> examples(const std::string& output, const std::string& side) const {
    std::map<std::string, PromoterExample> list;
    PromoterExampleReader reader(path(output + "/" + side + ".tsv"));
    PromoterExample example;
    while (reader.next(example)) EXPECT_TRUE(list.emplace(example.id, example).second) << example.id;
    return list;
  }

  TemporaryFolder folder_;
  std::int64_t border_ = 0;  // on chr1
  std::map<std::string, std::string> bases_;
};

std::map<std::string, PromoterExample> hard_ones(const std::map<std::string, PromoterExample>& all) {
  std::map<std::string, PromoterExample> list;
  for (const auto& [id, example] : all) {
    const auto parsed = parse_negative_id(id);
    if (parsed && parsed->kind == NegativeKind::hard) list.emplace(id, example);
  }
  return list;
}

TEST_F(HardNegativesCommand, AreFalseCallsOfTheTrainingSideAlone) {
  const std::string genome = path("genome/genome.fa.gz");
  const RunResult built =
      build("hard", genome, {"--negatives", "genomic:2+hard:2", "--hard-negatives", path("tuned/final")});
  must(built);
  EXPECT_NE(built.err.find("hard negatives: "), std::string::npos) << built.err;
  const auto train = examples("hard", "train"), hard = hard_ones(train);
  ASSERT_GT(hard.size(), 10u);
  std::set<std::string> held_out;  // sequences
  for (const char* side : {"valid", "test"}) {
    const auto all = examples("hard", side);
    EXPECT_TRUE(hard_ones(all).empty());
    for (const auto& [id, example] : all) held_out.insert(example.sequence);
  }
  std::map<std::string, std::vector<std::int64_t>> sites;
  LineReader lines(path("genome/promoters.tss.bed"));
  for (std::string_view line; lines.next(line);) {
    if (line.starts_with("#")) continue;
    std::vector<std::string_view> fields;
    split_tabs(line, fields);
    sites[std::string(fields[0])].push_back(std::stoll(std::string(fields[1])));
  }
  ASSERT_EQ(sites.size(), 2u);
  const auto manifest = nlohmann::json::parse(read_text(path("hard/manifest.json")));
  EXPECT_EQ(manifest.at("negatives").at("hard").at("taken"), hard.size());
  for (const auto& [id, example] : hard) {
    EXPECT_EQ(example.label, 0);
    EXPECT_TRUE(example.chrom != "chr1" || example.end <= border_) << id;
    EXPECT_EQ(example.end - example.start, 400);
    const std::string there = bases_.at(example.chrom).substr(static_cast<std::size_t>(example.start), 400);
    EXPECT_EQ(example.sequence, example.strand == '+' ? there : reverse_complement(there));
    EXPECT_EQ(held_out.count(example.sequence), 0u);
    const std::int64_t called = example.strand == '+' ? example.start + 300 : example.start + 99;
    EXPECT_EQ(called % 100, 0);
    for (const std::int64_t site : sites.at(example.chrom)) EXPECT_GT(std::abs(called - site), 200) << id;
  }
  // The rest is what it was without them, and each of a training promoter's is on its side.
  const auto plain = examples("plain", "train");
  EXPECT_EQ(train.size(), plain.size() + hard.size());
  for (const auto& [id, example] : plain) EXPECT_EQ(train.at(id).sequence, example.sequence);

  // Calls are ranked: those of one for each promoter are the better half.
  must(build("fewer", genome, {"--negatives", "genomic:2", "--hard-negatives", path("tuned/final")}));
  const auto fewer = nlohmann::json::parse(read_text(path("fewer/manifest.json")));
  EXPECT_EQ(fewer.at("negatives").at("kind"), "genomic:2+hard");
  EXPECT_GE(fewer.at("negatives").at("hard").at("lowest_score").get<double>(),
            manifest.at("negatives").at("hard").at("lowest_score").get<double>());
  EXPECT_LT(fewer.at("negatives").at("hard").at("taken"), hard.size());

  // Fine-tuning takes them as they are.
  const RunResult tuned = run_bigbird({"promoter", "finetune", "--data", path("hard"), "--init",
                                       path("tuned/final"), "-o", path("again"), "--steps", "2"});
  must(tuned);
}

// Other bases on the held-out side, the same hard negatives; and on any number of threads.
TEST_F(HardNegativesCommand, ReadNoBaseOfTheHeldOutSide) {
  const std::vector<std::string> more = {"--negatives", "genomic+hard:2", "--hard-negatives",
                                         path("tuned/final"), "--no-provenance"};
  must(build("one", path("genome/genome.fa.gz"), more));
  std::string changed = bases_.at("chr1");
  for (std::size_t i = static_cast<std::size_t>(border_); i < changed.size(); ++i) {
    if (changed[i] != 'N') changed[i] = "CGTA"[std::string("ACGT").find(changed[i])];
  }
  write_text(folder_ / "changed.fa", ">chr1\n" + changed + "\n>chr2\n" + bases_.at("chr2") + "\n");
  std::vector<std::string> threads = more;
  threads.insert(threads.end(), {"-@", "1"});
  must(build("two", path("changed.fa"), threads));
  const auto one = hard_ones(examples("one", "train")), two = hard_ones(examples("two", "train"));
  ASSERT_EQ(one.size(), two.size());
  for (const auto& [id, example] : one) {
    ASSERT_TRUE(two.contains(id));
    EXPECT_EQ(two.at(id).start, example.start);
    EXPECT_EQ(two.at(id).sequence, example.sequence);
  }
}

TEST_F(HardNegativesCommand, BadOptionsAreOneLineAndAHint) {
  const std::string genome = path("genome/genome.fa.gz"), model = path("tuned/final");
  struct Case {
    std::vector<std::string> options;
    int status;
    std::string says;
  };
  for (const Case& bad : std::vector<Case>{
           {{"--negatives", "genomic+hard"}, 2, "no model finds the hard ones"},
           {{"--negatives", "hard:3", "--hard-negatives", model}, 2, "would have none"},
           {{"--hard-negatives", model, "--step", "0"}, 2, "--step 0"},
           {{"--hard-negatives", path("run/final")}, 1, "has no classifier"},
           {{"--hard-negatives", path("nothing")}, 1, "nothing"},
           {{"--hard-negatives", model, "--left", "200", "--right", "200"}, 2, "300 bp before the TSS"}}) {
    const RunResult result = build("no", genome, bad.options);
    EXPECT_EQ(result.status, bad.status) << result.err;
    EXPECT_NE(result.err.find(bad.says), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("hint: "), std::string::npos) << result.err;
    EXPECT_FALSE(folder_exists(path("no")));
  }
  const RunResult folds = run_bigbird({"promoter", "build", "--tss", path("genome/promoters.tss.bed"), "-f",
                                       genome, "-o", path("no"), "--left", "300", "--right", "100", "--split",
                                       "kfold:3", "--hard-negatives", model});
  EXPECT_EQ(folds.status, 2);
  EXPECT_NE(folds.err.find("has seen what others test"), std::string::npos) << folds.err;
}

}  // namespace
}  // namespace bigbird::testing
