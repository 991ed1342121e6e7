// Lifted BED and VCF lines: columns that carry places, strands that flip, reasons, and inputs of another
// assembly.
#include "lib/genomes/liftover/liftover.h"

#include <gtest/gtest.h>

#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::read_text;
using testing::TemporaryFolder;
using testing::write_text;

// old1 0-40 -> new1 10-50, 50-60 -> 60-70 (10 bases lost, none added), 60-70 -> 75-85 (5 added);
// old2 0-20 -> new2 20-40 on the other strand: base p becomes 39 - p.
const char* const chain_text =
    "chain 900 old1 100 + 0 70 new1 120 + 10 85 1\n40\t10\t10\n10\t0\t5\n10\n\n"
    "chain 800 old2 50 + 0 20 new2 60 - 20 40 2\n20\n\n";

struct Lift {
  std::string out;
  std::string unmapped;
  LiftoverSummary summary;
};

Lift lift(const std::string& text, const std::string& name, const std::string& genome = "",
          double min_match = 0.95, int bed_columns = 12) {
  const TemporaryFolder folder;
  write_text(folder / "x.chain", chain_text);
  write_text(folder / name, text);
  LiftoverOptions options;
  options.chain = folder / "x.chain";
  options.input = folder / name;
  options.output = folder / "out";
  options.unmapped = folder / "unmapped";
  options.min_match = min_match;
  options.bed_columns = bed_columns;
  if (!genome.empty()) {
    write_text(folder / "new.fa", genome);
    options.fasta = folder / "new.fa";
  }
  Lift result;
  result.summary = lift_file(options);
  result.out = read_text(folder / "out");
  result.unmapped = read_text(folder / "unmapped");
  return result;
}

std::string bed(const std::string& line, double min_match = 0.95) {
  const Lift result = lift(line + "\n", "in.bed", "", min_match);
  return result.out + result.unmapped;
}

TEST(LiftoverBed, IntervalsStrandsAndUntouchedColumns) {
  EXPECT_EQ(bed("old1\t0\t10"), "new1\t10\t20\n");
  EXPECT_EQ(bed("old1\t5\t6\tA\t0.50\t-"), "new1\t15\t16\tA\t0.50\t-\n");
  EXPECT_EQ(bed("old2\t3\t6\tA\t0\t+"), "new2\t34\t37\tA\t0\t-\n");
  EXPECT_EQ(bed("old2\t3\t6\tA\t0\t."), "new2\t34\t37\tA\t0\t.\n");
  EXPECT_EQ(bed("old1\t30\t60\tA", 0.6), "new1\t40\t70\tA\n") << "20 of 30 bases map";
  EXPECT_EQ(bed("old1\t10\t10"), "new1\t20\t20\n");
  EXPECT_EQ(bed("old2\t3\t3"), "new2\t37\t37\n") << "the point before base 3 is the point after base 36";
}

TEST(LiftoverBed, ReasonsStandBeforeTheRecord) {
  EXPECT_EQ(bed("old1\t40\t50\tA b\t1"), "#Deleted in new\nold1\t40\t50\tA b\t1\n");
  EXPECT_EQ(bed("old1\t30\t60"), "#Partially deleted in new\nold1\t30\t60\n");
  EXPECT_EQ(bed("old1\t90\t101"), "#Beyond the end of its contig\nold1\t90\t101\n");
  const Lift two = lift("old1\t1\t2\nother\t1\t2\n", "in.bed");
  EXPECT_EQ(two.unmapped, "#Unknown contig\nother\t1\t2\n");
  EXPECT_EQ(two.summary.records, 2);
  EXPECT_EQ(two.summary.lifted, 1);
  EXPECT_EQ(two.summary.reasons.count("Unknown contig"), 1u);
}

TEST(LiftoverBed, ThickRangesGoAlong) {
  EXPECT_EQ(bed("old1\t0\t30\tA\t0\t+\t5\t10\t1,2,3"), "new1\t10\t40\tA\t0\t+\t15\t20\t1,2,3\n");
  EXPECT_EQ(bed("old2\t0\t20\tA\t0\t+\t5\t10"), "new2\t20\t40\tA\t0\t-\t30\t35\n");
  EXPECT_EQ(bed("old1\t0\t60\tA\t0\t+\t42\t48", 0.5), "new1\t10\t70\tA\t0\t+\t10\t10\n")
      << "nothing of the thick range is left";
  EXPECT_EQ(bed("old1\t0\t30\tA\t0\t+\t0\t0"), "new1\t10\t40\tA\t0\t+\t10\t10\n");
}

TEST(LiftoverBed, BlocksOfBed12) {
  EXPECT_EQ(bed("old1\t10\t65\tA\t0\t+\t10\t65\t0\t3\t5,4,7\t0,20,48,"),
            "new1\t20\t80\tA\t0\t+\t20\t80\t0\t3\t5,4,12,\t0,20,48,\n")
      << "the last block has 5 bases more in the new assembly";
  EXPECT_EQ(bed("old2\t0\t20\tA\t0\t-\t5\t6\t0\t2\t4,6,\t0,14,"),
            "new2\t20\t40\tA\t0\t+\t34\t35\t0\t2\t6,4,\t0,16,\n");
  const std::string lost = "old1\t10\t55\tA\t0\t+\t10\t10\t0\t3\t20,5,5,\t0,32,40,";
  EXPECT_EQ(bed(lost, 0.5), "#Partially deleted in new\n" + lost + "\n") << "block 2 has no base left";
}

TEST(LiftoverBed, PeaksAndOtherColumns) {
  const std::string peak = "old2\t2\t12\tA\t0\t.\t1.5\t-1\t-1\t3";
  EXPECT_EQ(bed(peak), "new2\t28\t38\tA\t0\t.\t1.5\t-1\t-1\t6\n") << "base 5 becomes 34";
  EXPECT_EQ(bed("old1\t2\t12\tA\t0\t.\t1.5\t-1\t-1\t-1"), "new1\t12\t22\tA\t0\t.\t1.5\t-1\t-1\t-1\n");
  EXPECT_EQ(bed("old1\t30\t60\tA\t0\t.\t1\t2\t3\t15", 0.5), "new1\t40\t70\tA\t0\t.\t1\t2\t3\t-1\n");
  // broadPeak: columns 7 to 9 are no thick range.
  EXPECT_EQ(lift("old1\t2\t12\tA\t0\t.\t1.5\t2.5\t3\n", "in.bed", "", 0.95, 6).out,
            "new1\t12\t22\tA\t0\t.\t1.5\t2.5\t3\n");
}

TEST(LiftoverBed, LinesWithoutARecordAndTheOrderStay) {
  const Lift result = lift("# hello\ntrack name=x\nold1\t9\t10\n\nold1\t3\t4\n", "in.bed");
  EXPECT_EQ(result.out, "# hello\ntrack name=x\nnew1\t19\t20\n\nnew1\t13\t14\n");
  EXPECT_FALSE(result.summary.in_order);
  EXPECT_TRUE(lift("old1\t3\t4\nold1\t3\t5\nold2\t1\t2\n", "in.bed").summary.in_order);
}

// new2 20-40 holds, base by base: 20 = A ... ; old2 base p is the complement of new2 base 39 - p.
//                            0         1         2         3         4         5
//                            012345678901234567890123456789012345678901234567890123456789
const char* const new_fasta =
    ">new1 "
    "first\nTTTTTTTTTTACGTACGTACGTACGTACGTACGTACGTACGTACGTACGTTTTTTTTTTTACGTACGTACGTACGTACGTTTTTTTTTTTTTTTTTT"
    "TTTT"
    "TTTTTTTTTTTTTTTTTTT\n"
    ">new2\nCCCCCCCCCCCCCCCCCCCCACGTTTTTACGACGACGTCAGGGGGGGGGGGGGGGGGGGG\n";

std::string vcf(const std::string& line, bool with_genome) {
  const Lift result = lift(line + "\n", "in.vcf", with_genome ? new_fasta : "");
  return result.out + result.unmapped;
}

TEST(LiftoverVcf, ForwardStrandKeepsAllelesAndEveryOtherByte) {
  EXPECT_EQ(vcf("old1\t1\trs1\tA\tg,<*>\t.\tPASS\tAC=1;X\tGT\t0/1", true),
            "new1\t11\trs1\tA\tg,<*>\t.\tPASS\tAC=1;X\tGT\t0/1\n");
  EXPECT_EQ(vcf("old1\t1\t.\tACGT\tA", true), "new1\t11\t.\tACGT\tA\n");
  EXPECT_EQ(vcf("old1\t1\t.\tC\tA", false), "new1\t11\t.\tC\tA\n") << "without a genome REF is not checked";
}

TEST(LiftoverVcf, ReasonsWhenItDoesNotLift) {
  EXPECT_EQ(vcf("old1\t1\t.\tC\tA", true), "#REF is not the new genome's\nold1\t1\t.\tC\tA\n");
  EXPECT_EQ(vcf("old1\t45\t.\tC\tA", false), "#Deleted in new\nold1\t45\t.\tC\tA\n");
  EXPECT_EQ(vcf("old1\t40\t.\tCC\tA", false), "#Partially deleted in new\nold1\t40\t.\tCC\tA\n");
  EXPECT_EQ(vcf("old1\t60\t.\tCC\tA", false), "#Bases added inside of REF in new\nold1\t60\t.\tCC\tA\n");
  EXPECT_EQ(vcf("old1\t0\t.\tN\tA", false), "#POS 0, before the first base\nold1\t0\t.\tN\tA\n");
  EXPECT_EQ(vcf("old1\t100\t.\tNN\tA", false), "#Beyond the end of its contig\nold1\t100\t.\tNN\tA\n");
}

TEST(LiftoverVcf, OtherStrandReversesAndComplements) {
  // new2: 20 ACGTTTTTACGACGACGTCA 39; old2 reads TGACGTCGTCGTAAAAACGT.
  EXPECT_EQ(vcf("old2\t1\t.\tT\tC,*,<NON_REF>", true), "new2\t40\t.\tA\tG,*,<NON_REF>\n");
  EXPECT_EQ(vcf("old2\t2\t.\tgac\ttac", true), "new2\t37\t.\tgtc\tgta\n");
  EXPECT_EQ(vcf("old2\t2\t.\tGA\tCTT", true), "new2\t38\t.\tTC\tAAG\n")
      << "no shared anchor: nothing to move";
  EXPECT_EQ(vcf("old2\t2\t.\tT\tC", true), "#REF is not the new genome's\nold2\t2\t.\tT\tC\n");
}

TEST(LiftoverVcf, IndelsOnTheOtherStrandAreAnchoredAndLeftAligned) {
  // old2 13-17 is AAAAA after T: TA -> T deletes one A; in new2 it is one T of 23-27, leftmost after G 22.
  EXPECT_EQ(vcf("old2\t12\t.\tTA\tT", true), "new2\t23\t.\tGT\tG\n");
  EXPECT_EQ(vcf("old2\t12\t.\tT\tTAA,TG", true), "new2\t28\t.\tT\tTTT,TC\n")
      << "an allele that cannot move holds the others back";
  EXPECT_EQ(vcf("old2\t12\t.\tTA\tT", false),
            "#Anchor of an indel on a flipped strand needs the new genome\nold2\t12\t.\tTA\tT\n");
  EXPECT_EQ(vcf("old2\t2\t.\tGACG\tG", true), "new2\t35\t.\tACGT\tA\n");
}

TEST(LiftoverVcf, PlacesInsideOfARecord) {
  EXPECT_EQ(vcf("old1\t1\t.\tA\t<DEL>\t.\t.\tEND=20;SVTYPE=DEL", true),
            "new1\t11\t.\tA\t<DEL>\t.\t.\tEND=30;SVTYPE=DEL\n");
  EXPECT_EQ(vcf("old1\t1\t.\tA\t<DEL>\t.\t.\tSVTYPE=DEL;END=65;SVLEN=-64", true),
            "#Length from POS to END changes, but SVLEN is given\n"
            "old1\t1\t.\tA\t<DEL>\t.\t.\tSVTYPE=DEL;END=65;SVLEN=-64\n");
  for (const char* line : {"old1\t1\t.\tA\t<DEL>\t.\t.\tEND=45", "old1\t9\t.\tA\t<DEL>\t.\t.\tEND=3"}) {
    EXPECT_EQ(vcf(line, false), std::string("#END does not lift next to POS\n") + line + "\n");
  }
  EXPECT_EQ(vcf("old1\t1\t.\tA\tA]old1:5],.A\t.\t.\t.", false), "new1\t11\t.\tA\tA]new1:15],.A\t.\t.\t.\n");
  EXPECT_EQ(vcf("old1\t1\t.\tA\t[old1:45[A", false),
            "#Mate of a breakend does not lift\nold1\t1\t.\tA\t[old1:45[A\n");
  for (const char* line : {"old1\t1\t.\tA\tA]old2:5]", "old2\t1\t.\tT\t<DEL>", "old2\t1\t.\tT\tT.",
                           "old2\t1\t.\tT\t<*>\t.\t.\tEND=3"}) {
    EXPECT_EQ(vcf(line, false), std::string("#Structural variant on a flipped strand\n") + line + "\n");
  }
  EXPECT_EQ(vcf("old1\t1\t.\tA\t<BND>\t.\t.\tCHR2=old2;END=3", false),
            "#INFO names a second place (CHR2)\nold1\t1\t.\tA\t<BND>\t.\t.\tCHR2=old2;END=3\n");
}

TEST(LiftoverVcf, HeaderNamesTheNewAssembly) {
  const std::string header =
      "##fileformat=VCFv4.2\n##reference=old.fa\n##contig=<ID=old1,length=100,assembly=old>\n"
      "##INFO=<ID=AC,Number=A,Type=Integer,Description=\"a, b\">\n##contig=<ID=old2>\n";
  const std::string columns = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n";
  const std::string record = "old1\t1\t.\tA\tC\t.\t.\t.\n";
  // By content: the name says nothing.
  const Lift result = lift(header + columns + record + "old1\t45\t.\tA\tC\t.\t.\t.\n", "in");
  EXPECT_EQ(result.summary.format, LiftoverFormat::vcf);
  EXPECT_EQ(result.out,
            "##fileformat=VCFv4.2\n##contig=<ID=new1,length=120>\n##contig=<ID=new2,length=60>\n"
            "##INFO=<ID=AC,Number=A,Type=Integer,Description=\"a, b\">\n" +
                columns + "new1\t11\t.\tA\tC\t.\t.\t.\n");
  EXPECT_EQ(result.unmapped, header + columns + "#Deleted in new\nold1\t45\t.\tA\tC\t.\t.\t.\n");
  const Lift bare = lift(columns + record, "in");
  EXPECT_EQ(bare.out, "##contig=<ID=new1,length=120>\n##contig=<ID=new2,length=60>\n" + columns +
                          "new1\t11\t.\tA\tC\t.\t.\t.\n");
}

TEST(LiftoverBadInput, LinesAndAssembliesThatAreWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"old1 1 . A C\n", "1 tab-separated columns"},
      {"old1\tx\t.\tA\tC\n", "POS is not a whole number"},
      {"old1\t-1\t.\tA\tC\n", "negative"},
      {"old1\t1\t.\t\tC\n", "REF is not a sequence"},
      {"old1\t1\t.\t<A>\tC\n", "REF is not a sequence"},
      {"old1\t1\t.\tA\tC,\n", "an empty ALT"},
      {"old1\t1\t.\tA\tZ1\n", "neither a sequence nor symbolic"},
      {"old1\t1\t.\tA\tA]old1]\n", "without its mate's place"},
      {"##contig=<ID=old1,length=101>\n", "101 bases, but the chain file lifts from a old1 of 100"},
      {"##contig=<ID=old1,length=x>\n", "contig length is not a whole number"},
  };
  for (const auto& bad : cases) {
    SCOPED_TRACE(bad.first);
    expect_bad_input(error_of([&] { lift(bad.first, "in.vcf"); }), "in.vcf:1", bad.second);
  }
  expect_bad_input(error_of([] { lift("old1\t1\n", "in.bed"); }), "in.bed:1", "columns");
  expect_bad_input(error_of([] { lift("chr7\t1\t2\n", "in.bed"); }), "in.bed", "none of its contigs");
  expect_bad_input(error_of([] { lift("old1\t1\t2\n", "in.bed", ">new1\n" + std::string(121, 'A') + "\n"); }),
                   "new.fa", "121 bases, but the chain file lifts to a new1 of 120");
  expect_bad_input(error_of([] { lift("old1\t1\t2\n", "in.bed", ">other\nACGT\n"); }), "new.fa",
                   "none of the contigs");
  EXPECT_EQ(lift("", "in.bed").out, "");
}

TEST(LiftoverBed, AnExcerptOfTheGenomeEndsEarly) {
  const Lift result = lift("old1\t1\t2\nold1\t60\t61\n", "in.bed", ">new1\n" + std::string(70, 'A') + "\n");
  EXPECT_EQ(result.out, "new1\t11\t12\n");
  EXPECT_EQ(result.unmapped, "#Beyond the end of the new genome's contig\nold1\t60\t61\n");
}

}  // namespace
}  // namespace bigbird
