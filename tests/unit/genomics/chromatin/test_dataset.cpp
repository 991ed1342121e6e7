// The folder of a chromatin data set: what the writer writes the reader reads, and what the reader refuses.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lib/core/rng.h"
#include "lib/genomics/chromatin/dataset.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::read_text;
using testing::TemporaryFolder;
using testing::write_text;

constexpr std::size_t profile_count = 11;  // two bytes, the second one not full
const ModelWindow dataset_window{"chromatin", 1000, 400, 200};

class ChromatinFolder : public ::testing::Test {
 protected:
  ChromatinFolder() {
    CounterRng rng(7, Purpose::test, 0);
    for (int i = 0; i < 4321; ++i) sequence_ += "ACGT"[rng.between(0, 3)];
    write_text(genome_, ">chr1\n" + sequence_ + "\n>chr2\n" + sequence_.substr(0, 2000) + "\n");
    std::vector<Profile> names;
    for (std::size_t k = 0; k < profile_count; ++k)
      names.push_back({"P" + std::to_string(k % 4), k < 3 ? "DHS" : "TF"});
    ChromatinDatasetWriter writer(data_, false, {{"chr1", 4321}, {"chr2", 2000}}, names, dataset_window,
                                  {"made=here"});
    const Split sides[] = {Split::train, Split::valid, Split::test, Split::none};
    for (int i = 0; i < 30; ++i) {
      const ChromatinBin bin{i < 20 ? 0u : 1u, sides[i % 4], i < 20 ? i * 200 : (i - 20) * 200};
      std::vector<std::uint8_t> packed(2);
      for (std::size_t k = 0; k < profile_count; ++k) {
        if (label(static_cast<std::size_t>(i), k)) packed[k / 8] |= static_cast<std::uint8_t>(1u << (k % 8));
      }
      writer.write(bin, packed);
    }
    writer.commit(genome_, R"({"rules": {"bin": 200}})");
  }
  static bool label(std::size_t row, std::size_t profile) { return (row * 7 + profile * profile) % 3 == 0; }
  // The folder again with one file's text changed.
  void change(const std::string& name, const std::string& from, const std::string& to) {
    std::string text = read_text(folder_ / ("data/" + name));
    ASSERT_NE(text.find(from), std::string::npos) << text;
    text.replace(text.find(from), from.size(), to);
    write_text(folder_ / ("data/" + name), text);
  }

  TemporaryFolder folder_;
  std::string genome_ = (folder_ / "genome.fa").string();
  std::string data_ = (folder_ / "data").string();
  std::string sequence_;
};

TEST_F(ChromatinFolder, IsReadAsItWasWritten) {
  const ChromatinDataset data(data_);
  EXPECT_EQ(data.window(), dataset_window);
  ASSERT_EQ(data.profiles().size(), profile_count);
  EXPECT_EQ(data.profiles()[5], (Profile{"P1", "TF"}));
  ASSERT_EQ(data.bins().size(), 30u);
  EXPECT_EQ(data.bins()[21].contig, 1u);
  EXPECT_EQ(data.bins()[21].begin, 200);
  EXPECT_EQ(data.bins()[21].split, Split::valid);
  EXPECT_EQ(data.rows(Split::test), (std::vector<std::uint32_t>{2, 6, 10, 14, 18, 22, 26}));
  ASSERT_EQ(data.labels().rows(), 30u);
  std::vector<float> row(profile_count);
  for (std::size_t i = 0; i < 30; ++i) {
    data.labels().unpack(i, row);
    for (std::size_t k = 0; k < profile_count; ++k) {
      EXPECT_EQ(data.labels().at(i, k), label(i, k)) << i << " " << k;
      EXPECT_EQ(row[k], label(i, k) ? 1.0f : 0.0f);
    }
  }
}

TEST_F(ChromatinFolder, CountsPositivesBySplit) {
  std::vector<std::size_t> expected(4);
  for (std::size_t i = 0; i < 30; ++i) expected[i % 4] += label(i, 4) ? 1u : 0u;
  const std::string row = "\n4\tP0\tTF\t" + std::to_string(expected[0]) + "\t" + std::to_string(expected[1]) +
                          "\t" + std::to_string(expected[2]) + "\t" + std::to_string(expected[3]) + "\n";
  EXPECT_NE(read_text(folder_ / "data/profiles.tsv").find(row), std::string::npos);
  const auto manifest = nlohmann::json::parse(read_text(folder_ / "data/manifest.json"));
  EXPECT_EQ(manifest.at("bins"), 30);
  EXPECT_EQ(manifest.at("bins_by_split").at("train"), 8);
  EXPECT_EQ(manifest.at("rules").at("bin"), 200);
  EXPECT_EQ(manifest.at("contigs").at("chr2"), 2000);
}

TEST_F(ChromatinFolder, LabelsAreNpyOfPackedBits) {
  const std::string npy = read_text(folder_ / "data/labels.npy");
  EXPECT_EQ(npy.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_NE(npy.find("{'descr': '|u1', 'fortran_order': False, 'shape': (30, 2), }"), std::string::npos);
  EXPECT_EQ(npy[127], '\n');
  EXPECT_EQ(npy.size(), 128u + 60u);
}

TEST_F(ChromatinFolder, WindowsAreCentredAndMoveInwardsAtTheEdges) {
  ChromatinDataset data(data_);
  Fasta fasta = data.fasta().clone();
  EXPECT_EQ(data.window_sequence(fasta, 10), sequence_.substr(2000 - 400, 1000));
  EXPECT_EQ(data.window_sequence(fasta, 0), sequence_.substr(0, 1000));
  EXPECT_EQ(data.window_sequence(fasta, 19), sequence_.substr(4321 - 1000, 1000));
  EXPECT_EQ(data.window_sequence(fasta, 29), sequence_.substr(1000, 1000));  // of chr2: 2000 bases
}

TEST_F(ChromatinFolder, AGenomeInAnotherNamingServesAndAnotherBuildDoesNot) {
  const std::string other = (folder_ / "other.fa").string();
  write_text(other, ">1\n" + sequence_ + "\n>2\n" + sequence_.substr(0, 2000) + "\n");
  EXPECT_EQ(ChromatinDataset(data_, other).bins().size(), 30u);
  const std::string longer = (folder_ / "longer.fa").string();
  write_text(longer, ">chr1\n" + sequence_ + "A\n>chr2\n" + sequence_.substr(0, 2000) + "\n");
  expect_bad_input(error_of([&] { ChromatinDataset(data_, longer); }), "longer.fa", "4321");
}

TEST_F(ChromatinFolder, AReferenceInsideOfTheFolderIsFound) {
  write_text(folder_ / "data/sequences.fa", read_text(genome_));
  std::filesystem::remove(genome_);
  expect_bad_input(error_of([&] { ChromatinDataset data(data_); }), "manifest.json", "genome.fa");
  change("manifest.json", genome_, "sequences.fa");
  EXPECT_EQ(ChromatinDataset(data_).bins().size(), 30u);
}

TEST_F(ChromatinFolder, PartsThatDisagreeAreRefused) {
  const auto refused = [&](const std::string& place, const std::string& what) {
    expect_bad_input(error_of([&] { ChromatinDataset data(data_); }), place, what);
  };
  const std::string labels = read_text(folder_ / "data/labels.npy");
  write_text(folder_ / "data/labels.npy", labels.substr(0, labels.size() - 1));
  refused("labels.npy", "59 bytes");
  write_text(folder_ / "data/labels.npy", "no array");
  refused("labels.npy", "not a .npy file");
  write_text(folder_ / "data/labels.npy", labels);
  change("labels.npy", "'|u1'", "'|i1'");
  refused("labels.npy", "uint8");
  write_text(folder_ / "data/labels.npy", labels);
  change("labels.npy", "(30, 2)", "(15, 4)");
  refused("labels.npy", "15 rows of 4 bytes");
  write_text(folder_ / "data/labels.npy", labels);
  change("manifest.json", "\"bins\": 30", "\"bins\": 31");
  refused("bins.bed.gz", "30 bins");
  change("manifest.json", "\"bins\": 31", "\"bins\": 30");
  change("manifest.json", "\"target_length\": 200", "\"target_length\": 100");
  refused("bins.bed.gz:2", "0-200");
  change("manifest.json", "\"target_length\": 100", "\"target_length\": 2000");
  refused("manifest.json", "window of 1000");
  write_text(folder_ / "data/manifest.json", "{");
  refused("manifest.json", "parse error");
  std::filesystem::remove(folder_ / "data/manifest.json");
  refused("data", "manifest.json");
}

TEST(ChromatinDatasetWriter, LeavesNothingBehindWithoutCommit) {
  const TemporaryFolder folder;
  const std::string path = (folder / "data").string();
  {
    ChromatinDatasetWriter writer(path, false, {{"chr1", 4000}}, {{"a", "TF"}}, dataset_window, {});
    writer.write({0, Split::train, 0}, std::vector<std::uint8_t>{1});
    EXPECT_THROW(writer.write({0, Split::train, 200}, std::vector<std::uint8_t>{1, 0}), Error);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace bigbird
