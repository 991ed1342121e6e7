// Contig naming: what is reconciled and what never is.
#include "lib/io/genome/contig_names.h"

#include <gtest/gtest.h>

#include "lib/core/log.h"
#include "lib/io/genome/chain.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;

TEST(ChromosomeNumber, AllNamings) {
  for (const char* name :
       {"1", "chr1", "Chr1", "CHR1", "NC_000001.10", "NC_000001.11", "CM000663.1", "CM000663.2"}) {
    EXPECT_EQ(chromosome_number(name), 1) << name;
  }
  for (const char* name : {"X", "chrX", "NC_000023.10", "CM000685.1"})
    EXPECT_EQ(chromosome_number(name), 23) << name;
  for (const char* name : {"Y", "chrY", "NC_000024.9", "CM000686.2"})
    EXPECT_EQ(chromosome_number(name), 24) << name;
  for (const char* name : {"M", "MT", "chrM", "chrMT", "NC_012920.1", "NC_001807.4"}) {
    EXPECT_EQ(chromosome_number(name), 25) << name;
  }
  for (const char* name :
       {"", "chr", "0", "01", "23", "chr100", "chr1_gl000191_random", "GL000191.1", "chrUn_gl000211",
        "NC_007605", "NC_000025.1", "NC_000000.1", "NC_00001.10", "CM000662.1", "CM000687.1", "-1", "+1"}) {
    EXPECT_EQ(chromosome_number(name), 0) << name;
  }
}

TEST(ContigNames, NamesAsWrittenWin) {
  const ContigNames names({{"1", 10}, {"chr1", 20}});
  EXPECT_EQ(names.find("chr1"), 1u);
  EXPECT_EQ(names.find("1"), 0u);
  EXPECT_EQ(names.find("CM000663.1"), 0u) << "the first contig of a chromosome answers to its aliases";
}

TEST(ContigNames, AliasesAreFoundAndSaidOnce) {
  std::vector<std::string> said;
  set_log_sink([&](LogLevel level, const std::string& message) {
    EXPECT_EQ(level, LogLevel::info);
    said.push_back(message);
  });
  const ContigNames names({{"1", 249250621}, {"X", 155270560}, {"hs37d5", 35477943}});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(names.find("chr1"), 0u);
  EXPECT_EQ(names.find("hs37d5"), 2u);
  EXPECT_EQ(names.find("chr2"), std::nullopt);
  set_log_sink({});
  EXPECT_EQ(said, std::vector<std::string>{"contigs chr1, chr2 ... are taken as 1, 2 ... of the reference"});
  EXPECT_EQ(names.find("NC_000023.10"), 1u);
  EXPECT_EQ(names.find("chrhs37d5"), std::nullopt);
}

TEST(ContigNames, AnAliasMustAgreeInLengthWhereOneIsGiven) {
  const ContigNames names({{"1", 249250621}});
  EXPECT_EQ(names.find("chr1", 249250621), 0u);
  EXPECT_EQ(names.find("chr1", 248956422), std::nullopt);
}

TEST(ContigNames, AnAccessionNeverMeansTheOtherAssembly) {
  const ContigNames grch37({{"chr1", 249250621}});
  EXPECT_EQ(grch37.find("NC_000001.10"), 0u);
  EXPECT_EQ(grch37.find("NC_000001.11"), std::nullopt);
  EXPECT_EQ(grch37.find("CM000663.2"), std::nullopt);
  const ContigNames grch38({{"NC_000001.11", 248956422}});
  EXPECT_EQ(grch38.find("chr1"), 0u);
  EXPECT_EQ(grch38.find("NC_000001.10"), std::nullopt);
  const ContigNames cut({{"chr1", 1000000}});
  EXPECT_EQ(cut.find("NC_000001.10"), 0u) << "an excerpt has neither assembly's length";
}

TEST(ContigNames, AnAccessionOfAnotherAssemblyIsExplained) {
  const ContigNames grch37({{"chr1", 249250621}, {"chr2", 5000}});
  EXPECT_EQ(grch37.assembly_clash("NC_000001.11"),
            "NC_000001.11 is chromosome 1 of GRCh38, but chr1 here has 249250621 bases, as in GRCh37");
  EXPECT_EQ(grch37.assembly_clash("NC_000001.9"),
            "NC_000001.9 is chromosome 1 of an assembly not known here, but chr1 here has 249250621 bases, "
            "as in GRCh37");
  EXPECT_EQ(grch37.find("NC_000001.9"), std::nullopt);
  EXPECT_EQ(grch37.find("NC_000002.9"), 1u) << "an excerpt has no assembly's length";
  for (const char* name : {"NC_000001.10", "NC_000002.12", "chr1", "1", "NC_000003.12", "other"})
    EXPECT_EQ(grch37.assembly_clash(name), "") << name;
  EXPECT_EQ(assembly_of_length(23, 155270560), "GRCh37");
  EXPECT_EQ(assembly_of_length(1, 248956422), "GRCh38");
  EXPECT_EQ(assembly_of_length(2, 248956422), "");
  EXPECT_EQ(assembly_of_length(25, 16569), "");
}

TEST(ContigNames, MitochondriaOfDifferentLengthAreNeverReconciled) {
  const ContigNames hg19({{"chrM", 16571}});
  EXPECT_EQ(hg19.find("chrM"), 0u);
  EXPECT_EQ(hg19.find("MT"), std::nullopt) << "without a length nothing is known";
  EXPECT_EQ(hg19.find("MT", 16569), std::nullopt);
  EXPECT_EQ(hg19.find("MT", 16571), 0u);
  EXPECT_EQ(hg19.find("chrM", 16569), std::nullopt) << "the same name, another sequence";
  EXPECT_EQ(hg19.find("NC_012920.1"), std::nullopt);
  EXPECT_EQ(hg19.find("NC_001807.4"), 0u);
  const ContigNames b37({{"MT", 16569}});
  EXPECT_EQ(b37.find("chrM", 16569), 0u);
  EXPECT_EQ(b37.find("NC_012920.1"), 0u);
  const auto error = error_of([&] { b37.require("chrM", "x.bed:1"); });
  expect_bad_input(error, "x.bed:1", "unknown contig chrM");
  EXPECT_NE(error->hint().find("MT"), std::string::npos);
}

TEST(ContigNames, UnknownContigsAreErrorsThatListSomeThatExist) {
  const ContigNames names({{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}, {"f", 1}});
  EXPECT_EQ(names.require("b", "x.bed:7"), 1u);
  const auto error = error_of([&] { names.require("z", "x.bed:7"); });
  expect_bad_input(error, "x.bed:7", "unknown contig z");
  EXPECT_NE(error->hint().find("a, b, c, d, e, ..."), std::string::npos) << error->hint();
}

TEST(ContigNames, DefaultChromosomesInTheirOrder) {
  const ContigNames names(
      {{"chrM", 16571}, {"chr10", 1}, {"chrX", 1}, {"chr2", 1}, {"chr6_apd_hap1", 1}, {"chrY", 1}});
  EXPECT_EQ(names.default_chromosomes(), (std::vector<std::size_t>{3, 1, 2, 5}));
  EXPECT_TRUE(ContigNames({{"scaffold_1", 5}}).default_chromosomes().empty());
}

TEST(SharedContigNames, LengthsAgreeWithTheChainFile) {
  BIGBIRD_REQUIRE_SHARED();
  const ChainFile chain(*testing::shared_dir() / "data/liftover/hg38ToHg19.over.chain.gz");
  // Each true length must be accepted for its own accession and refused for the other assembly's.
  const char* grch37[] = {"NC_000001.10", "NC_000002.11", "NC_000003.11", "NC_000004.11", "NC_000005.9",
                          "NC_000006.11", "NC_000007.13", "NC_000008.10", "NC_000009.11", "NC_000010.10",
                          "NC_000011.9",  "NC_000012.11", "NC_000013.10", "NC_000014.8",  "NC_000015.9",
                          "NC_000016.9",  "NC_000017.10", "NC_000018.9",  "NC_000019.9",  "NC_000020.10",
                          "NC_000021.8",  "NC_000022.10", "NC_000023.10", "NC_000024.9"};
  ASSERT_EQ(chain.from().default_chromosomes().size(), 24u);
  ASSERT_EQ(chain.to().default_chromosomes().size(), 24u);
  for (std::size_t i = 0; i < 24; ++i) {
    EXPECT_EQ(chain.to().find(grch37[i]), chain.to().default_chromosomes()[i]) << grch37[i];
    EXPECT_EQ(chain.from().find(grch37[i]), std::nullopt) << grch37[i];
    const std::string genbank = "CM000" + std::to_string(663 + i);
    EXPECT_EQ(chain.to().find(genbank + ".1"), chain.to().default_chromosomes()[i]) << genbank;
    EXPECT_EQ(chain.to().find(genbank + ".2"), std::nullopt) << genbank;
    EXPECT_EQ(chain.from().find(genbank + ".2"), chain.from().default_chromosomes()[i]) << genbank;
    EXPECT_EQ(chain.from().find(genbank + ".1"), std::nullopt) << genbank;
  }
}

}  // namespace
}  // namespace bigbird
