// bigbird chunk as a user runs it.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "lib/core/rng.h"
#include "lib/genomes/simulate/composition.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/bed.h"
#include "lib/io/genome/fasta.h"
#include "tests/support/support.h"

namespace bigbird::testing {
namespace {

// The lengths of GRCh37's chromosomes 1-22, X, Y and MT.
const std::vector<std::pair<std::string, std::int64_t>> grch37 = {
    {"1", 249250621},  {"2", 243199373},  {"3", 198022430},  {"4", 191154276},  {"5", 180915260},
    {"6", 171115067},  {"7", 159138663},  {"8", 146364022},  {"9", 141213431},  {"10", 135534747},
    {"11", 135006516}, {"12", 133851895}, {"13", 115169878}, {"14", 107349540}, {"15", 102531392},
    {"16", 90354753},  {"17", 81195210},  {"18", 78077248},  {"19", 59128983},  {"20", 63025520},
    {"21", 48129895},  {"22", 51304566},  {"X", 155270560},  {"Y", 59373566},   {"MT", 16569}};

std::string fai_text(const std::string& prefix) {
  std::string text;
  std::int64_t offset = 4;
  for (const auto& [name, length] : grch37) {
    text += prefix + name + "\t" + std::to_string(length) + "\t" + std::to_string(offset) + "\t60\t61\n";
    offset += length + length / 60 + 20;
  }
  return text;
}

std::vector<std::string> data_lines(const std::string& text, const std::string& contig = {}) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind('#', 0) == 0) continue;
    if (contig.empty() || line.rfind(contig + "\t", 0) == 0) lines.push_back(line);
  }
  return lines;
}

TEST(ChunkCommand, CutsChromosomesOfGrch37FromTheIndexAlone) {
  const TemporaryFolder folder;
  const std::string all = fai_text("");
  // Chromosomes 20 to 22, and MT, which is left out unless it is named.
  std::string some;
  for (const char* name : {"\n20\t", "\n21\t", "\n22\t", "\nMT\t"}) {
    const std::size_t begin = all.find(name) + 1;
    some += all.substr(begin, all.find('\n', begin) + 1 - begin);
  }
  write_text(folder / "b37.fa.fai", some);
  const auto cut = [&](const std::string& name, const std::string& threads) {
    return run_bigbird(
        {"chunk", "-f", (folder / "b37.fa").string(), "-o", (folder / name).string(), "-@", threads});
  };
  const auto one = cut("one.bed", "1"), two = cut("two.bed", "2");
  ASSERT_EQ(one.status, 0) << one.err;
  ASSERT_EQ(two.status, 0) << two.err;
  const std::string text = read_text(folder / "one.bed");
  EXPECT_TRUE(text == read_text(folder / "two.bed")) << "the bytes depend on the number of threads";
  const auto documents =
      std::count(text.begin(), text.end(), '\n') - std::count(text.begin(), text.end(), '#') / 2;
  // 162.5 Mb of the 3,095.7 that give between 500,000 and 560,000.
  EXPECT_GT(documents, 26'240);
  EXPECT_LT(documents, 29'380);
  EXPECT_NE(one.err.find(std::to_string(documents) + " documents"), std::string::npos) << one.err;
  EXPECT_EQ(text.find("\nMT\t"), std::string::npos);
}

TEST(ChunkCommand, AChromosomeGetsTheSameDocumentsAloneAndUnderAnotherName) {
  const TemporaryFolder folder;
  write_text(folder / "b37.fa.fai", fai_text(""));
  write_text(folder / "hg19.fa.fai", fai_text("chr"));
  const auto both =
      run_bigbird({"chunk", "-f", (folder / "b37.fa").string(), "--chromosomes", "22,21", "--passes", "2"});
  const auto alone =
      run_bigbird({"chunk", "-f", (folder / "hg19.fa").string(), "--chromosomes", "chr21", "--passes", "2"});
  ASSERT_EQ(both.status, 0) << both.err;
  ASSERT_EQ(alone.status, 0) << alone.err;
  const auto strip = [](const std::vector<std::string>& lines) {
    std::vector<std::string> places;  // without chromosome and name
    for (const std::string& line : lines) {
      const std::size_t first = line.find('\t');
      places.push_back(line.substr(first, line.find("\tdoc") - first) + line.substr(line.find("\t0\t+")));
    }
    return places;
  };
  const auto of_both = strip(data_lines(both.out, "21"));
  ASSERT_GT(of_both.size(), 1000u);
  EXPECT_EQ(of_both, strip(data_lines(alone.out, "chr21")));
}

class SmallGenome : public ::testing::Test {
 protected:
  SmallGenome() {
    CounterRng rng(2, Purpose::test, 0);
    bases_ = draw_bases(400'000, 45, rng);
    bases_.replace(100'000, 20'000, 20'000, 'N');
    write_text(folder_ / "genome.fa", ">chr1\n" + bases_ + "\n>other\nACGTACGTAC\n");
  }
  std::string fasta() const { return (folder_ / "genome.fa").string(); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  TemporaryFolder folder_;
  std::string bases_;
};

TEST_F(SmallGenome, WritesValidBed12AndTheSameSentencesAsText) {
  const auto bed =
      run_bigbird({"chunk", "-f", fasta(), "-o", path("d.bed"), "--passes", "1", "--strands", "both"});
  ASSERT_EQ(bed.status, 0) << bed.err;
  const auto text = run_bigbird({"chunk", "-f", fasta(), "--passes", "1", "--strands", "both", "-O", "text"});
  ASSERT_EQ(text.status, 0) << text.err;
  std::string expected;
  std::int64_t number = 0;
  for (const BedRecord& record : read_bed(path("d.bed"))) {
    EXPECT_EQ(record.name, "doc" + std::to_string(++number));
    EXPECT_EQ(record.strand, number % 2 == 1 ? '+' : '-');
    std::vector<std::string> sentences;
    std::int64_t next = 0;
    for (const BedBlock& block : record.blocks) {
      EXPECT_EQ(block.begin, next);
      next += block.length;
      sentences.push_back(bases_.substr(static_cast<std::size_t>(record.begin + block.begin),
                                        static_cast<std::size_t>(block.length)));
    }
    EXPECT_EQ(record.begin + next, record.end);
    if (record.strand == '-') {
      std::reverse(sentences.begin(), sentences.end());
      for (std::string& sentence : sentences) sentence = reverse_complement(sentence);
    }
    for (const std::string& sentence : sentences) expected += sentence + "\n";
    expected += "\n";
  }
  EXPECT_GT(number, 5);
  EXPECT_TRUE(text.out == expected);
}

TEST_F(SmallGenome, LeavesOutExcludedRegionsAndSentencesOfN) {
  write_text(folder_ / "held_out.bed", "1\t200000\t250000\n");
  const auto result = run_bigbird({"chunk", "-f", fasta(), "-o", path("d.bed.gz"), "--exclude",
                                   path("held_out.bed"), "--max-n-sentence", "0.5"});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto records = read_bed(path("d.bed.gz"));
  EXPECT_GT(records.size(), 20u);
  std::set<std::int64_t> starts;
  for (const BedRecord& record : records) {
    starts.insert(record.begin);
    EXPECT_TRUE(record.end <= 200'000 || record.begin >= 250'000);
    for (const BedBlock& block : record.blocks) {
      const auto begin = bases_.begin() + record.begin + block.begin;
      EXPECT_LE(2 * std::count(begin, begin + block.length, 'N'), block.length);
    }
  }
  EXPECT_NE(result.err.find("dropped:"), std::string::npos);
}

TEST_F(SmallGenome, BadInputIsOneLineAHintAndNothingWritten) {
  write_text(folder_ / "two.bed", "chr1\t5\n");
  write_text(folder_ / "backwards.bed", "chr1\t9\t5\n");
  write_text(folder_ / "elsewhere.bed", "chr7\t5\t9\n");
  struct Case {
    std::vector<std::string> options;
    int status;
    std::string says;
  };
  const std::vector<Case> cases = {
      {{"-f", path("absent.fa")}, 1, "absent.fa"},
      {{"-f", fasta(), "--chromosomes", "chr9"}, 1, "chr9"},
      {{"-f", fasta(), "--chromosomes", "1,chr1"}, 1, "twice"},
      {{"-f", fasta(), "--exclude", path("two.bed")}, 1, "two.bed:1"},
      {{"-f", fasta(), "--exclude", path("backwards.bed")}, 1, "backwards.bed:1"},
      {{"-f", fasta(), "--exclude", path("elsewhere.bed")}, 1, "elsewhere.bed"},
      {{"-f", fasta(), "--chromosomes", "other"}, 1, "no document"},
      {{"-f", fasta(), "--min-sentences", "9", "--max-sentences", "8"}, 2, "range"},
      {{"-f", fasta(), "--max-n", "1.5"}, 2, "max-n"},
      {{"-f", fasta(), "--passes", "0"}, 2, "passes"},
  };
  for (const Case& bad : cases) {
    std::vector<std::string> command = {"chunk", "-o", path("out.bed")};
    command.insert(command.end(), bad.options.begin(), bad.options.end());
    const auto result = run_bigbird(command);
    EXPECT_EQ(result.status, bad.status) << result.err;
    EXPECT_NE(result.err.find(bad.says), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("hint: "), std::string::npos) << result.err;
    EXPECT_FALSE(file_exists(path("out.bed")));
  }
  const auto full = run_bigbird({"chunk", "-f", fasta(), "-o", "/dev/full"});
  EXPECT_EQ(full.status, 1) << full.err;
}

}  // namespace
}  // namespace bigbird::testing
