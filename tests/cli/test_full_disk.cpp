// Outputs of several files on a disk that is full: all of them or none, whichever of them it is that does not
// fit. A limit of a file's size stands for the disk (SIGXFSZ ignored, a write that passes it fails).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "lib/genomics/chromatin/dataset.h"
#include "lib/io/tables/npy.h"
#include "tests/support/sanitizer.h"
#include "tests/support/support.h"
#include "tests/support/tiny_classifier.h"

namespace bigbird::testing {
namespace {

class FullDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    if (under_sanitizer)
      GTEST_SKIP() << "clang's OpenMP keeps a file of its own, and ends where it may not grow";
  }
  std::string in(const std::string& name) const { return (inputs_ / name).string(); }

  // Runs the verb with its outputs ("OUT/..." in `arguments`) in an empty folder, under limits that double.
  void expect_all_or_none(const std::vector<std::string>& arguments) const {
    SCOPED_TRACE(arguments[0] + " " + arguments[1]);
    const auto run = [&](const std::string& limit, const std::string& out) {
      std::vector<std::string> command = {"bash", "-c", "trap '' XFSZ; ulimit -f $0; exec \"$@\"", limit,
                                          bigbird_binary()};
      for (std::string argument : arguments) {
        if (argument.starts_with("OUT/")) argument = out + argument.substr(3);
        command.push_back(argument);
      }
      return run_program(command);
    };
    const auto files = [](const std::string& out) {
      std::map<std::string, std::uintmax_t> sizes;
      for (const auto& entry : std::filesystem::recursive_directory_iterator(out)) {
        // Finished parts are kept: there may be room when the run goes on.
        if (entry.path().string().find(".parts") == std::string::npos)
          sizes[entry.path().string().substr(out.size())] = entry.is_regular_file() ? entry.file_size() : 0;
      }
      return sizes;
    };
    const TemporaryFolder whole;
    const RunResult done = run("unlimited", whole.path().string());
    ASSERT_EQ(done.status, 0) << done.err;
    const auto expected = files(whole.path().string());
    ASSERT_GT(expected.size(), 1U);
    std::uintmax_t largest = 0;
    for (const auto& [name, size] : expected) largest = std::max(largest, size);
    int failed = 0;
    for (std::uintmax_t limit = 0; limit * 1024 < largest; limit = limit == 0 ? 1 : limit * 2) {
      const TemporaryFolder out;
      const RunResult result = run(std::to_string(limit), out.path().string());
      if (result.status == 0) continue;  // a picture may be made of fewer bytes: names of folders differ
      ++failed;
      EXPECT_EQ(result.status, 1) << result.err;
      EXPECT_NE(result.err.find("cannot write"), std::string::npos) << result.err;
      EXPECT_TRUE(files(out.path().string()).empty())
          << limit << " KiB: " << files(out.path().string()).begin()->first << " is left\n"
          << result.err;
    }
    EXPECT_GT(failed, 0);
  }

  TemporaryFolder inputs_;
};

TEST_F(FullDisk, LiftoverOfBothKinds) {
  write_text(in("x.chain"), "chain 10 a 200 + 0 100 b 300 + 50 150 1\n100\n");
  std::string lifted, lost;
  for (int i = 0; i < 2000; ++i) {
    lifted += fmt::format("a\t{}\t{}\n", i % 90, i % 90 + 1);
    lost += fmt::format("a\t{}\t{}\n", 110 + i % 80, 111 + i % 80);
  }
  write_text(in("mostly.bed"), lifted + "a\t150\t151\n");
  write_text(in("hardly.bed"), lost + "a\t50\t51\n");
  for (const char* bed : {"mostly.bed", "hardly.bed"}) {
    expect_all_or_none(
        {"liftover", "--chain", in("x.chain"), in(bed), "-o", "OUT/o.bed", "--unmapped", "OUT/u.bed"});
  }
}

TEST_F(FullDisk, AttentionsPictureAndLists) {
  expect_all_or_none({"attention", "--length", "2048", "-o", "OUT/p.json", "--svg", "OUT/p.svg"});
  // And one name for both is refused, whatever it is spelt like.
  const RunResult twice = run_bigbird({"attention", "--length", "768", "-o", in("p"), "--svg", in("./p")});
  EXPECT_EQ(twice.status, 2);
  EXPECT_NE(twice.err.find("name the same file"), std::string::npos) << twice.err;
  EXPECT_FALSE(std::filesystem::exists(in("p")));
}

TEST_F(FullDisk, ReportsAndMultiqc) {
  std::string table = "#label\tscore\n";
  for (int i = 0; i < 400; ++i) table += fmt::format("{}\t0.{:03}\n", i % 3 == 0 ? 1 : 0, i);
  write_text(in("p.tsv"), table);
  expect_all_or_none({"report", in("p.tsv"), "--multiqc", "OUT/multiqc", "-o", "OUT/p.html"});
}

TEST_F(FullDisk, ClassifyEvaluate) {
  std::string gold = "id\ttext\tlabel\n", predictions = "#id\tlabel\tscore\tp.A\tp.B\n";
  for (int i = 0; i < 40; ++i) {
    gold += fmt::format("{}\tword\t{}\n", i, i % 2 == 0 ? "A" : "B");
    predictions += fmt::format("{}\tA\t0.75\t0.75\t0.25\n", i);
  }
  write_text(in("gold.tsv"), gold);
  write_text(in("predicted.tsv"), predictions);
  expect_all_or_none({"text", "classify", "evaluate", "--data", in("gold.tsv"), "--predictions",
                      in("predicted.tsv"), "--table", "OUT/classes.tsv", "--svg", "OUT/confusion.svg", "-o",
                      "OUT/scores.json"});
}

TEST_F(FullDisk, ChromatinEvaluate) {
  ChromatinDatasetWriter writer(in("data"), false, {{"chr1", 100'000}}, {{"a", "TF"}, {"b", "DHS"}},
                                ModelWindow{"chromatin", 1000, 400, 200}, {});
  std::vector<float> scores;
  for (std::int64_t i = 0; i < 60; ++i) {
    const auto labels = static_cast<std::uint8_t>(i % 4);
    writer.write({0, Split::test, 1000 + 200 * i}, {&labels, 1});
    for (const int step : {7, 11}) scores.push_back(static_cast<float>(i * step % 60) / 60);
  }
  writer.commit("genome.fa", "{}");
  write_npy(in("scores.npy"), scores, {60, 2});
  expect_all_or_none({"chromatin", "evaluate", "--predictions", in("scores.npy"), "--data", in("data"),
                      "--table", "OUT/p.tsv", "--svg", "OUT/svg", "-o", "OUT/s.json"});
}

TEST_F(FullDisk, OfAModelOverAGenome) {
  std::string bases;
  for (int i = 0; i < 60; ++i) bases += i % 7 == 3 ? "GATTA" : i % 5 == 1 ? "CCGTA" : "ATGCC";
  write_text(in("g.fa"), ">chr1\n" + bases + "\n");
  ASSERT_EQ(run_program({"samtools", "faidx", in("g.fa")}).status, 0);
  write_tiny_classifier(in("model"));
  expect_all_or_none({"ism", "-m", in("model"), "-f", in("g.fa"), "-r", "chr1:101-180", "-o", "OUT/x.npy",
                      "--svg", "OUT/x.svg"});
  std::string windows, variants = "#CHROM\tPOS\tID\tREF\tALT\n";
  for (int i = 0; i < 80; ++i) {
    windows += fmt::format("chr1\t{}\t{}\n", 50 + i, 150 + i);
    const char ref = bases[100 + static_cast<std::size_t>(i)];
    variants += fmt::format("chr1\t{}\tv{}\t{}\t{}\n", 101 + i, i, ref, ref == 'A' ? 'C' : 'A');
  }
  write_text(in("w.bed"), windows);
  write_text(in("v.vcf"), variants);
  expect_all_or_none({"embed", "-m", in("model"), "-f", in("g.fa"), "-R", in("w.bed"), "-o", "OUT/e.npy"});
  for (const char* format : {"tsv", "npy"}) {
    expect_all_or_none({"variants", "-m", in("model"), "-f", in("g.fa"), in("v.vcf"), "-o", "OUT/s", "-O",
                        format, "--summary-prefix", "OUT/r"});
  }
}

}  // namespace
}  // namespace bigbird::testing
