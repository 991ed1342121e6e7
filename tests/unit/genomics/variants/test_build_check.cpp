// Which build a variant file is of: by lengths, by words, by REF alleles; real files and made-up ones.
#include <gtest/gtest.h>

#include <filesystem>

#include "lib/core/rng.h"
#include "lib/genomics/variants/alleles.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;

const std::vector<Contig> hg19 = {{"chr1", 249250621}, {"chr20", 63025520}};
const std::vector<Contig> hg38 = {{"1", 248956422}, {"20", 64444167}};

TEST(BuildOf, LengthsAccessionsAndWords) {
  EXPECT_EQ(build_of(hg19, {}), GenomeBuild::grch37);
  EXPECT_EQ(build_of(hg38, {"##reference=hg19.fa"}), GenomeBuild::grch38);
  EXPECT_EQ(build_of({{"NC_000001.11", 0}}, {}), GenomeBuild::grch38);
  EXPECT_EQ(build_of({{"NC_000020.10", 0}}, {}), GenomeBuild::grch37);
  EXPECT_EQ(build_of({{"chr1", 248956422}, {"chr2", 243199373}}, {}), GenomeBuild::unknown);
  EXPECT_EQ(build_of({{"chr1", 1000000}, {"chrM", 16571}}, {}), GenomeBuild::unknown);
  EXPECT_EQ(build_of({}, {"##reference=file:///ref/Homo_sapiens_assembly38.fasta"}), GenomeBuild::grch38);
  EXPECT_EQ(build_of({}, {"##contig=<ID=1,assembly=b37>"}), GenomeBuild::grch37);
  EXPECT_EQ(build_of({}, {"##reference=hg19", "##reference=hg38"}), GenomeBuild::unknown);
  EXPECT_EQ(build_of({}, {}), GenomeBuild::unknown);
}

class BuildCheckTest : public ::testing::Test {
 protected:
  // A genome of a contig 20 of the given length, most of it a hole of the file.
  Fasta genome(std::int64_t length) {
    const auto path = folder_ / "genome.fa";
    testing::write_text(path, ">20\nACGT");
    std::filesystem::resize_file(path, 4 + static_cast<std::uintmax_t>(length));
    const std::string text = std::to_string(length);
    testing::write_text(folder_ / "genome.fa.fai",
                        "20\t" + text + "\t4\t" + text + "\t" + std::to_string(length + 1) + "\n");
    return Fasta(path.string());
  }
  testing::TemporaryFolder folder_;
};

TEST_F(BuildCheckTest, LengthsOfTheOtherAssemblyAreRefused) {
  const Fasta fasta = genome(63025520);
  const ContigNames names(fasta.contigs());
  const auto check = [&](const std::vector<Contig>& header) {
    return error_of([&] { BuildCheck("in.vcf", header, {}, fasta, names).check_header(); });
  };
  const auto error = check(hg38);
  expect_bad_input(error, "in.vcf", "GRCh38");
  expect_bad_input(error, "genome.fa", "GRCh37");
  EXPECT_FALSE(check(hg19));
  EXPECT_FALSE(check({}));
  EXPECT_FALSE(check({{"20", 66210255}}));  // an assembly that is not known here: the alleles decide
}

TEST_F(BuildCheckTest, AGenomeCutShortIsNotRefusedByItsLength) {
  const Fasta fasta = genome(10270533);
  const ContigNames names(fasta.contigs());
  for (const auto& header : {hg19, hg38}) {
    EXPECT_FALSE(error_of([&] { BuildCheck("in.vcf", header, {}, fasta, names).check_header(); }));
  }
}

class BuildAlleles : public ::testing::Test {
 protected:
  BuildAlleles() : bases_(5000, 'A') {
    CounterRng rng(3, Purpose::test, 0);
    for (char& letter : bases_) letter = "ACGT"[rng.next_u32() % 4];
    bases_.replace(2000, 500, 500, 'N');
    testing::write_text(folder_ / "genome.fa", ">chr20\n" + bases_ + "\n");
    fasta_ = std::make_unique<Fasta>((folder_ / "genome.fa").string());
    names_ = ContigNames(fasta_->contigs());
  }
  void see(BuildCheck& check, std::int64_t position, const std::string& ref, const std::string& alt) {
    VcfRecord record;
    record.chrom = "20";
    record.position = position;
    record.ref = ref;
    record.alts = {alt};
    check.see(record);
  }
  std::string base(std::int64_t position) { return bases_.substr(static_cast<std::size_t>(position), 1); }

  testing::TemporaryFolder folder_;
  std::string bases_;
  std::unique_ptr<Fasta> fasta_;
  ContigNames names_;
};

TEST_F(BuildAlleles, ShiftedPositionsAreRefusedInOneLine) {
  BuildCheck check("in.vcf", hg38, {}, *fasta_, names_);
  for (std::int64_t i = 0; i < 1500; i += 3) see(check, i, base(i + 400), base(i + 401));
  EXPECT_EQ(check.compared(), 500);
  const double share = static_cast<double>(check.disagreeing()) / static_cast<double>(check.compared());
  EXPECT_NEAR(share, 0.75, 0.06);
  expect_bad_input(error_of([&] { check.check_alleles(); }), "in.vcf", "GRCh38");
}

TEST_F(BuildAlleles, RightOnesPassAlsoWithSomeErrors) {
  BuildCheck check("in.vcf", hg19, {}, *fasta_, names_);
  for (std::int64_t i = 0; i < 60; ++i)
    see(check, i, i % 5 < 3 ? base(i) : base(i) == "A" ? "C" : "A", "AAAA");
  EXPECT_EQ(check.compared(), 60);
  EXPECT_EQ(check.disagreeing(), 24);
  EXPECT_FALSE(error_of([&] { check.check_alleles(); }));
}

TEST_F(BuildAlleles, WhatCannotBeComparedDoesNotCount) {
  BuildCheck check("in.vcf", hg19, {}, *fasta_, names_);
  see(check, 2100, "A", "C");   // N in the genome
  see(check, 10, "N", "C");     // N in REF
  see(check, -1, "A", "C");     // POS 0
  see(check, 4999, "AC", "C");  // beyond the end
  EXPECT_EQ(check.compared(), 0);
  EXPECT_FALSE(error_of([&] { check.check_alleles(); }));
}

TEST_F(BuildAlleles, FewAllelesDecideOnlyTogether) {
  BuildCheck check("in.vcf", {}, {}, *fasta_, names_);
  const auto other = [&](std::int64_t i) { return base(i) == "A" ? "C" : "A"; };
  see(check, 1, other(1), "GG");
  see(check, 2, other(2), "GG");
  EXPECT_FALSE(error_of([&] { check.check_alleles(); }));
  see(check, 3, other(3), "GG");
  EXPECT_TRUE(error_of([&] { check.check_alleles(); }));
  see(check, 4, base(4), "GG");
  EXPECT_FALSE(error_of([&] { check.check_alleles(); }));
}

TEST_F(BuildAlleles, ATableWithRefAndAltExchangedIsNoWrongBuild) {
  BuildCheck check("in.vcf", {}, {}, *fasta_, names_);
  for (std::int64_t i = 0; i < 60; ++i) see(check, i, base(i) == "A" ? "C" : "A", base(i));
  EXPECT_EQ(check.disagreeing(), 60);
  EXPECT_FALSE(error_of([&] { check.check_alleles(); }));
}

TEST(BuildCheckReal, TheRealFilesPassOnTheirGenome) {
  BIGBIRD_REQUIRE_SHARED();
  const auto data = *testing::shared_dir() / "data";
  const Fasta fasta((data / "human-grch37" / "grch37.sparse.fa.gz").string());
  const ContigNames names(fasta.contigs());
  for (const char* name : {"kgp3_chr20_first2000.b37.bcf", "star_alleles.chr20.b37.vcf",
                           "trio_ggvcf.star_nonref.b37.vcf.gz", "complexEvents.symbolic.b37.vcf"}) {
    VcfReader reader((data / "vcf-grch37" / name).string());
    EXPECT_EQ(build_of(reader.contigs(), reader.build_hints()), GenomeBuild::grch37) << name;
    BuildCheck check(name, reader.contigs(), reader.build_hints(), fasta, names);
    check.check_header();
    VcfRecord record;
    while (reader.next(record)) check.see(record);
    check.check_alleles();
    EXPECT_GT(check.compared(), 4) << name;
    EXPECT_EQ(check.disagreeing(), 0) << name;  // what differs there is N in the genome
  }
}

TEST(BuildCheckReal, ThePositionsOfOneBuildOnTheOtherAreRefused) {
  BIGBIRD_REQUIRE_SHARED();
  const auto data = *testing::shared_dir() / "data";
  const Fasta fasta((data / "human-grch38" / "chr2_1-2333275.fa.gz").string());
  const ContigNames names(fasta.contigs());
  VcfReader reader((data / "vcf-grch37" / "kgp3_chr20_first2000.b37.bcf").string());
  BuildCheck check("kgp3", reader.contigs(), reader.build_hints(), fasta, names);
  check.check_header();
  VcfRecord record;
  while (reader.next(record)) {
    record.chrom = "2";  // the places of one chromosome are those of any other here: not theirs
    check.see(record);
  }
  EXPECT_GT(check.compared(), 1900);
  expect_bad_input(error_of([&] { check.check_alleles(); }), "kgp3", "GRCh37");
}

}  // namespace
}  // namespace bigbird
