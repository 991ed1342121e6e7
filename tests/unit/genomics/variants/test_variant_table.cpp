// Tables of alleles, their keys, labels and scores of other tools: what is read, and what is refused with
// file and line.
#include "lib/genomics/variants/variant_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/genomics/variants/allele_key.h"
#include "lib/genomics/variants/baselines.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

class VariantTables : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    testing::write_text(folder_ / name, text);
    return (folder_ / name).string();
  }
  template <typename Work>
  static std::string refused(const Work& work) {
    try {
      work();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.message();
      EXPECT_FALSE(error.hint().empty()) << error.message();
      return error.message();
    }
    ADD_FAILURE() << "nothing was refused";
    return {};
  }
  static void expect_end(const std::string& message, const std::string& end) {
    EXPECT_TRUE(message.ends_with(end)) << message;
  }

  testing::TemporaryFolder folder_;
};

std::vector<VariantRow> rows_of(VariantTable& table) {
  std::vector<VariantRow> rows;
  while (table.next(rows.emplace_back())) {
  }
  rows.pop_back();
  return rows;
}

TEST_F(VariantTables, TablesNameTheirColumnsInAnyCaseAndOrder) {
  for (const char* sign : {"#", ""}) {
    VariantTable table(write("a.tsv", std::string("## made by hand\n") + sign +
                                          "Alt\tPHRED\tChrom\tPos\tRef\tBB_x\nT\t1.5\tchr1\t7\tC\t.\n"
                                          "\nG\tNA\t2\t1\tgg\t4\n"));
    EXPECT_FALSE(table.is_vcf());
    EXPECT_EQ(table.columns(), (std::vector<std::string>{"phred", "bb_x"}));
    EXPECT_EQ(table.column("Phred"), 0U);
    EXPECT_FALSE(table.find_column("pos"));
    const std::vector<VariantRow> rows = rows_of(table);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].chrom, "chr1");
    EXPECT_EQ(rows[0].position, 6);
    EXPECT_EQ(rows[0].ref + rows[0].alt, "CT");
    EXPECT_EQ(rows[0].fields, (std::vector<std::string>{"1.5", ""}));
    EXPECT_EQ(rows[1].fields, (std::vector<std::string>{"NA", "4"}));
  }
}

TEST_F(VariantTables, VcfHasARowForEachAlt) {
  VariantTable table(write(
      "a.vcf",
      "##fileformat=VCFv4.2\n##INFO=<ID=BB_DIFF,Number=A,Type=Float,Description=\"x, ID=Y\">\n"
      "##INFO=<ID=CLNSIG,Number=.,Type=String,Description=\"c\">\n##INFO=<ID=DIFF,Number=1,Type=Float,"
      "Description=\"d\">\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
      "1\t5\t.\tA\tC,<DEL>,T\t.\t.\tDIFF=9;BB_DIFF=0.5,.,-1;CLNSIG=a,b\n1\t6\t.\tA\t.\t.\t.\tFLAG;X=1\n"));
  EXPECT_TRUE(table.is_vcf());
  EXPECT_EQ(table.columns(), (std::vector<std::string>{"diff", "clnsig"}));
  EXPECT_EQ(table.column("BB_DIFF"), 0U);
  const std::vector<VariantRow> rows = rows_of(table);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].fields, (std::vector<std::string>{"0.5", "a,b"}));
  EXPECT_EQ(rows[1].alt, "<DEL>");
  EXPECT_EQ(rows[1].fields, (std::vector<std::string>{"", "a,b"}));
  EXPECT_EQ(rows[2].fields[0], "-1");
  EXPECT_EQ(rows[3].alt, ".");
  EXPECT_EQ(rows[3].fields, (std::vector<std::string>{"", ""}));
}

TEST_F(VariantTables, WhatIsNoTableIsRefusedWithItsPlace) {
  const auto read = [&](const std::string& text) {
    const std::string path = write("bad.tsv", text);
    return refused([&] {
      VariantTable table(path);
      rows_of(table);
    });
  };
  expect_end(read("##only\n"), "bad.tsv: has no line that names its columns");
  expect_end(read("chrom\tpos\tref\tscore\n"), "bad.tsv:1: there is no column alt");
  expect_end(read("#chrom\tpos\tref\talt\tX\tx\n"), "bad.tsv:1: two columns are called x");
  expect_end(read("chrom\tpos\tref\talt\n1\t2x\tA\tC\n"), "bad.tsv:2: pos is not a whole number: 2x");
  expect_end(read("chrom\tpos\tref\talt\n1\t2\tA\tC\n1\t2\tA\n"),
             "bad.tsv:3: 3 columns, but the header has 4");
  expect_end(read("#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n1\tx\t.\tA\tC\t.\t.\t.\n"),
             "bad.tsv:2: POS is not a whole number: x");
  expect_end(read(std::string("BCF\2\2") + "\n"), "bad.tsv: is a BCF; tables and VCF are read here");
  const std::string path = write("good.tsv", "chrom\tpos\tref\talt\tscore\n");
  expect_end(refused([&] { VariantTable(path).column("other"); }), "good.tsv: there is no column other");
}

// Keys without a genome: contig names and trimming.
TEST_F(VariantTables, KeysAreOfTheChangeNotOfItsWriting) {
  AlleleKeys keys;
  const auto key = keys.of("chr1", 100, "A", "G");
  EXPECT_EQ(key, keys.of("1", 100, "a", "g"));
  EXPECT_EQ(key, keys.of("NC_000001.10", 98, "TTAC", "TTGC"));
  EXPECT_NE(key, keys.of("chr2", 100, "A", "G"));
  EXPECT_NE(key, keys.of("chr1", 101, "A", "G"));
  EXPECT_NE(key, keys.of("chr1", 100, "A", "C"));
  EXPECT_NE(keys.of("chrM", 100, "A", "G"), keys.of("MT", 100, "A", "G"));
  EXPECT_EQ(keys.of("scaffold", 100, "A", "G"), keys.of("scaffold", 100, "A", "G"));
  // An insertion and a deletion, with one anchor or several.
  EXPECT_EQ(keys.of("1", 9, "A", "ACC"), keys.of("1", 7, "TTA", "TTACC"));
  EXPECT_EQ(keys.of("1", 9, "ACC", "A"), keys.of("1", 8, "TACC", "TA"));
  // POS 0 is a place of its own, and letters that are no bases are taken as they are written.
  EXPECT_NE(keys.of("1", -1, "A", "G"), keys.of("1", 0, "A", "G"));
  EXPECT_NE(keys.of("1", 5, "A", "<DEL>"), keys.of("1", 5, "A", "<DUP>"));
}

TEST_F(VariantTables, KeysWithAGenomeAreOfTheHaplotype) {
  // Two changes have one key just when they make the same sequence: tried on a repetitive genome.
  CounterRng random(8, Purpose::test, 0);
  std::string bases;
  for (int i = 0; i < 60; ++i) bases += "AC"[random.below(2)];
  const std::string path = write("genome.fa", ">chr1\n" + bases + "\n");
  const Fasta fasta(path);
  const ContigNames contigs(fasta.contigs());
  AlleleKeys keys(fasta, contigs);
  std::vector<std::pair<AlleleKey, std::string>> seen;
  for (int i = 0; i < 400; ++i) {
    const std::size_t begin = 1 + random.below(50);
    std::string ref = bases.substr(begin, 1), alt = ref;
    if (random.below(2) == 0) {
      ref = bases.substr(begin, 2 + random.below(4));
    } else {
      for (std::uint64_t added = 1 + random.below(4); added > 0; --added) alt += "AC"[random.below(2)];
    }
    std::string changed = bases;
    changed.replace(begin, ref.size(), alt);
    const auto key = keys.of("1", static_cast<std::int64_t>(begin), ref, alt);
    ASSERT_TRUE(key.has_value());
    seen.emplace_back(*key, changed);
  }
  int same = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      ASSERT_EQ(seen[i].first == seen[j].first, seen[i].second == seen[j].second)
          << seen[i].second << " " << seen[j].second;
      same += seen[i].first == seen[j].first ? 1 : 0;
    }
  }
  EXPECT_GT(same, 200);
  EXPECT_FALSE(keys.of("chr7", 3, "A", "C"));
}

TEST_F(VariantTables, LabelsOfClinVarAreItsWords) {
  AlleleKeys keys;
  const VariantLabels labels(
      write("clinvar.vcf",
            "##fileformat=VCFv4.1\n##INFO=<ID=CLNSIG,Number=.,Type=String,Description=\"c\">\n"
            "##INFO=<ID=MC,Number=.,Type=String,Description=\"m\">\n"
            "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
            "1\t5\t1\tA\tC\t.\t.\tCLNSIG=Pathogenic;MC=SO:0001583|missense_variant\n"
            "1\t6\t2\tA\tC\t.\t.\tCLNSIG=Benign/Likely_benign\n"
            "1\t7\t3\tA\tC\t.\t.\tCLNSIG=Likely_pathogenic|drug_response;"
            "MC=SO:0001587|nonsense,SO:0001583|missense_variant\n"
            "1\t8\t4\tA\tC\t.\t.\tCLNSIG=Uncertain_significance\n"
            "1\t9\t5\tA\tC\t.\t.\tMC=SO:0001583|missense_variant\n"
            "1\t10\t6\tA\tC\t.\t.\tCLNSIG=Conflicting_classifications_of_pathogenicity\n"
            "1\t7\t7\tA\tC\t.\t.\tCLNSIG=Pathogenic\n"),
      "", keys);
  EXPECT_EQ(labels.size(), 3U);
  EXPECT_EQ(labels.positives(), 2U);
  EXPECT_EQ(labels.repeated(), 1U);
  EXPECT_EQ(labels.left_out().text(),
            "Conflicting_classifications_of_pathogenicity 1, Uncertain_significance 1, no label 1");
  EXPECT_EQ(labels.classes(), (std::vector<std::string>{"missense_variant", "nonsense"}));
  const AlleleLabel* label = labels.find(*keys.of("chr1", 6, "A", "C"));
  ASSERT_NE(label, nullptr);
  EXPECT_EQ(label->label, 1);
  EXPECT_EQ(label->classes, (std::vector<std::uint32_t>{1, 0}));
  EXPECT_EQ(labels.find(*keys.of("chr1", 5, "A", "C"))->label, 0);
  EXPECT_EQ(labels.find(*keys.of("chr1", 7, "A", "C")), nullptr);
}

TEST_F(VariantTables, LabelsThatAreNoneOrTwoAreRefused) {
  const std::string header = "chrom\tpos\tref\talt\tlabel\tcausal\n";
  const auto read = [&](const std::string& text, const std::string& column = "") {
    const std::string path = write("labels.tsv", text);
    return refused([&] {
      AlleleKeys keys;
      VariantLabels(path, column, keys);
    });
  };
  expect_end(read(header + "1\t5\tA\tC\t1\t2\n1\t6\tA\tC\t2\t0\n"),
             "labels.tsv:3: label is neither 0 nor 1: 2");
  expect_end(read(header + "1\t5\tA\tC\tPathogenic\t2\n"), ":2: label is neither 0 nor 1: Pathogenic");
  expect_end(read(header + "1\t5\tA\tC\t.\t2\n"), ":2: label is neither 0 nor 1: .");
  expect_end(read(header + "1\t5\tA\tC\t1\t0\n1\t6\tA\tC\t2\t2\n", "Causal"),
             ":3: causal is neither 0 nor 1: 2");
  expect_end(read(header + "1\t5\tA\tC\t1\t0\n1\t6\tA\tC\t1\t2\nchr1\t4\tGAT\tGCT\t0\t0\n"),
             "labels.tsv:4: label 0, but the same allele has 1 in line 2");
  expect_end(read(header), "labels.tsv: no allele has a label");
  expect_end(read("chrom\tpos\tref\talt\n"), "labels.tsv: there is no column label");
}

TEST_F(VariantTables, BaselinesAreFoundByTheirAlleles) {
  AlleleKeys keys;
  const std::string header = "#Chrom\tPos\tRef\tAlt\tRaw\tPHRED\n";
  const BaselineTable table(
      write("cadd.tsv", "## CADD\n" + header +
                            "2\t9\tA\tC\t0.5\t20\n1\t9\tA\tC\t.\t3\n1\t5\tAC\tGC\t-1\tNA\n"
                            "1\t9\tA\tC\t.\t3\n"),
      {}, keys);
  EXPECT_EQ(table.columns(), (std::vector<std::string>{"raw", "phred"}));
  const auto found = table.find(*keys.of("chr1", 8, "A", "C"));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_TRUE(std::isnan(found[0]));
  EXPECT_EQ(found[1], 3.0F);
  EXPECT_EQ(table.find(*keys.of("1", 4, "A", "G"))[0], -1.0F);
  EXPECT_EQ(table.find(*keys.of("2", 8, "A", "C"))[1], 20.0F);
  EXPECT_TRUE(table.find(*keys.of("2", 8, "A", "T")).empty());
  const BaselineTable one(write("cadd.tsv", header + "1\t9\tA\tC\t7\tx\n"), {"RAW"}, keys);
  EXPECT_EQ(one.columns(), (std::vector<std::string>{"raw"}));

  const auto read = [&](const std::string& text, const std::vector<std::string>& taken = {}) {
    const std::string path = write("bad.tsv", text);
    return refused([&] { BaselineTable(path, taken, keys); });
  };
  expect_end(read(header + "1\t9\tA\tC\t7\tx\n"), "bad.tsv:2: phred is not a number: x");
  expect_end(read(header + "1\t9\tA\tC\t7\t1\n1\t9\tA\tG\t7\t1\nchr1\t8\tTA\tTC\t7\t2\n"),
             "bad.tsv:4: other scores of the allele of line 2");
  expect_end(read(header, {"gerp"}), "bad.tsv: there is no column gerp");
  expect_end(read("chrom\tpos\tref\talt\n"), "bad.tsv: has no column with scores");
}

}  // namespace
}  // namespace bigbird
