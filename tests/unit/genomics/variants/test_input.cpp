// A variant file is held against the genome before anything of it is scored: its header when it is opened,
// its first REF alleles when they are read. Chunks, their numbers and digests.
#include "lib/genomics/variants/scoring.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "lib/core/rng.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;

constexpr const char* vcf_columns = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n";

class VariantInputs : public ::testing::Test {
 protected:
  VariantInputs() {
    CounterRng rng(5, Purpose::test, 0);
    for (int i = 0; i < 3000; ++i) bases_ += "ACGT"[rng.below(4)];
    testing::write_text(folder_ / "genome.fa", ">chr20\n" + bases_ + "\n");
  }
  // Opens the genome; with a length, its contig is that long, in a hole of the file, which is never read.
  void open(std::int64_t length = 0) {
    const std::string path = folder_ / "genome.fa";
    if (length > 0) {
      const std::string text = std::to_string(length);
      testing::write_text(path, ">chr20\n" + bases_);
      std::filesystem::resize_file(path, 7 + static_cast<std::uintmax_t>(length));
      testing::write_text(path + ".fai",
                          "chr20\t" + text + "\t7\t" + text + "\t" + std::to_string(length + 1) + "\n");
    }
    fasta_ = std::make_unique<Fasta>(path);
    names_ = ContigNames(fasta_->contigs());
  }
  // Records of chr20 at positions (0-based) `first`, `first` + 10, ...; REF is what the genome has `lag`
  // bases further on.
  std::string records(std::int64_t first, int count, std::int64_t lag) const {
    std::string text;
    for (int i = 0; i < count; ++i) {
      const std::int64_t at = first + 10 * i;
      text += "chr20\t" + std::to_string(at + 1) + "\t.\t" + base(at + lag) + "\tGGGGG\t.\tPASS\t.\n";
    }
    return text;
  }
  std::string base(std::int64_t at) const { return bases_.substr(static_cast<std::size_t>(at), 1); }
  std::string write(const std::string& header, const std::string& records) const {
    const std::string path = folder_ / "in.vcf";
    testing::write_text(path, "##fileformat=VCFv4.2\n" + header + vcf_columns + records);
    return path;
  }
  VariantInput input(const std::string& path, std::uint64_t chunk) const {
    VariantScoringOptions options;
    options.input = path;
    options.chunk = chunk;
    return {options, *fasta_, names_};
  }

  testing::TemporaryFolder folder_;
  std::string bases_;
  std::unique_ptr<Fasta> fasta_;
  ContigNames names_;
};

TEST_F(VariantInputs, AHeaderOfTheOtherAssemblyIsRefusedWhenItIsOpened) {
  open(63025520);  // chromosome 20 of GRCh37
  const std::string theirs = write("##contig=<ID=chr20,length=64444167>\n", records(100, 30, 0));
  expect_bad_input(error_of([&] { input(theirs, 8); }), "in.vcf", "GRCh38");
  const std::string ours = write("##contig=<ID=chr20,length=63025520>\n", records(100, 30, 0));
  EXPECT_FALSE(error_of([&] { input(ours, 8); }));
}

TEST_F(VariantInputs, AllelesOfAnotherAssemblyAreRefusedWithTheFirstChunk) {
  open();
  const std::string path = write("##contig=<ID=chr20>\n", records(100, 30, 37));
  VariantInput shifted = input(path, 12);
  std::vector<VcfRecord> chunk;
  expect_bad_input(error_of([&] { shifted.next(chunk); }), "in.vcf",
                   "REF alleles are not what the genome has");
}

TEST_F(VariantInputs, ChunksHoldAllRecordsInOrderAndEachItsDigest) {
  open();
  const auto read = [&](const std::string& text, std::uint64_t size) {
    VariantInput in = input(write("##contig=<ID=chr20>\n", text), size);
    std::vector<VcfRecord> chunk;
    std::vector<std::string> digests;
    std::int64_t expected = 100;
    while (in.next(chunk)) {
      EXPECT_EQ(in.chunk_number(), digests.size());
      for (const VcfRecord& record : chunk)
        EXPECT_EQ(std::exchange(expected, expected + 10), record.position);
      digests.push_back(records_digest(chunk));
    }
    EXPECT_EQ(in.records(), 30u);
    return digests;
  };
  const auto digests = read(records(100, 30, 0), 12);
  ASSERT_EQ(digests.size(), 3u);
  EXPECT_EQ(digests, read(records(100, 30, 0), 12));
  EXPECT_NE(digests[0], digests[1]);
  // Another allele in the last chunk is seen in its digest, in no other.
  const std::string changed = records(100, 29, 0) + "chr20\t391\t.\t" + base(390) + "\tGGGGGG\t.\tPASS\t.\n";
  const auto others = read(changed, 12);
  EXPECT_EQ(digests[0], others[0]);
  EXPECT_EQ(digests[1], others[1]);
  EXPECT_NE(digests[2], others[2]);
}

}  // namespace
}  // namespace bigbird
