// The rules for alleles on a tiny genome, letter by letter, against plain string surgery, and on real files.
#include "lib/genomics/variants/alleles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

//                        0         1         2         3
//                        0123456789012345678901234567890123456789
constexpr const char* contig_ones = "ACGTACGTTGCAACGGTTCANNNNNNNNNNACGTAAGGCC";

VcfRecord record_of(const std::string& chrom, std::int64_t position, const std::string& ref,
                    const std::vector<std::string>& alts) {
  VcfRecord record;
  record.chrom = chrom;
  record.position = position;
  record.ref = ref;
  record.alts = alts;
  return record;
}

class Alleles : public ::testing::Test {
 protected:
  Alleles() {
    testing::write_text(folder_ / "genome.fa",
                        std::string(">chr1\n") + contig_ones + "\n>other\nACGTACGTAC\n>MT\nACGT\n");
    fasta_ = std::make_unique<Fasta>((folder_ / "genome.fa").string());
    names_ = ContigNames(fasta_->contigs());
    rules_.window = 8;
    rules_.offset = 3;
    rules_.max_n = 1;
  }

  PlacedAllele one(std::int64_t position, const std::string& ref, const std::string& alt,
                   std::int64_t shift = 0) {
    AlleleJudge judge(*fasta_, names_, rules_);
    return judge.judge(record_of("chr1", position, ref, {alt}), shift).at(0);
  }
  SkipReason reason(std::int64_t position, const std::string& ref, const std::string& alt) {
    return one(position, ref, alt).reason;
  }

  testing::TemporaryFolder folder_;
  std::unique_ptr<Fasta> fasta_;
  ContigNames names_;
  AlleleRules rules_;
};

TEST_F(Alleles, SubstitutionStandsAtTheOffset) {
  const PlacedAllele allele = one(8, "T", "G");
  EXPECT_EQ(allele.reason, SkipReason::none);
  EXPECT_EQ(allele.window_begin, 5);
  EXPECT_EQ(allele.reference, "CGTTGCAA");
  EXPECT_EQ(allele.alternative, "CGTGGCAA");
  EXPECT_EQ(allele.begin, 8);
  EXPECT_EQ(allele.ref, "T");
  EXPECT_EQ(allele.alt, "G");
  EXPECT_EQ(allele.flags, 0u);
  EXPECT_EQ(allele.n_share, 0);
}

TEST_F(Alleles, DeletionFetchesFlankAtTheRightEnd) {
  const PlacedAllele allele = one(7, "TTG", "T");  // TG at 8..9 goes
  EXPECT_EQ(allele.begin, 8);
  EXPECT_EQ(allele.ref, "TG");
  EXPECT_EQ(allele.alt, "");
  EXPECT_EQ(allele.reference, "CGTTGCAA");
  EXPECT_EQ(allele.alternative, "CGTCAACG");
  EXPECT_EQ(flags_text(allele.flags), "trimmed");
}

TEST_F(Alleles, InsertionDropsFlankAtTheRightEndAndStandsBeforeTheBase) {
  const PlacedAllele allele = one(7, "T", "TCCC");
  EXPECT_EQ(allele.begin, 8);
  EXPECT_EQ(allele.ref, "");
  EXPECT_EQ(allele.alt, "CCC");
  EXPECT_EQ(allele.reference, "CGTTGCAA");
  EXPECT_EQ(allele.alternative, "CGTCCCTG");
}

TEST_F(Alleles, CommonEndsAreTrimmedAtTheEndFirst) {
  PlacedAllele allele = one(4, "ACGT", "ATGT");
  EXPECT_EQ(allele.begin, 5);
  EXPECT_EQ(allele.ref, "C");
  EXPECT_EQ(allele.alt, "T");
  EXPECT_EQ(allele.flags, flag_trimmed);
  allele = one(12, "ACGG", "ACG");  // one G of two: the first goes, because the end is trimmed first
  EXPECT_EQ(allele.begin, 14);
  EXPECT_EQ(allele.ref, "G");
  EXPECT_EQ(allele.alt, "");
  allele = one(12, "ACGG", "TCGT");  // two changes in one allele: what lies between stays
  EXPECT_EQ(allele.ref, "ACGG");
  EXPECT_EQ(allele.flags, 0u);
}

// One change has one window, wherever in a repeat a file writes it and with however many bases around it.
TEST_F(Alleles, InsertionsAndDeletionsAreLeftAligned) {
  // TT at 7..8 of ACGTACGTTGCAACGGTTCA.
  const PlacedAllele left = one(6, "GT", "G");
  EXPECT_EQ(left.begin, 7);
  EXPECT_EQ(flags_text(left.flags), "trimmed");
  const PlacedAllele right = one(7, "TT", "T");
  const PlacedAllele padded = one(4, "ACGTTG", "ACGTG");
  const PlacedAllele behind = one(8, "TGC", "GC");
  EXPECT_EQ(flags_text(padded.flags), "trimmed") << "the common end is taken off first";
  EXPECT_EQ(flags_text(behind.flags), "trimmed|aligned");
  for (const PlacedAllele& other : {right, padded, behind}) {
    EXPECT_EQ(other.begin, left.begin);
    EXPECT_EQ(other.window_begin, left.window_begin);
    EXPECT_EQ(other.reference, left.reference);
    EXPECT_EQ(other.alternative, left.alternative);
  }
  // ACGT ACGT at the beginning of the contig: a unit of four bases, up to base 0.
  const PlacedAllele unit = one(7, "T", "TACGT");
  EXPECT_EQ(unit.begin, 0);
  EXPECT_EQ(unit.alt, "ACGT");
  const PlacedAllele turned = one(5, "C", "CGTAC");
  EXPECT_EQ(turned.begin, 0);
  EXPECT_EQ(turned.alt, "ACGT") << "its letters are turned round";
  EXPECT_EQ(turned.alternative, unit.alternative);
  EXPECT_EQ(one(8, "T", "G").flags, 0u) << "a substitution stays";
}

TEST_F(Alleles, NothingIsAlignedThroughNOrIntoAnotherContig) {
  // 19 A, ten N, ACGT from 30.
  const PlacedAllele after_n = one(30, "A", "AA");
  EXPECT_EQ(after_n.begin, 30);
  EXPECT_EQ(flags_text(after_n.flags), "trimmed");
  // `use`: what the file has for REF is what an insertion is aligned over.
  rules_.ref_mismatch = RefMismatch::use;
  const PlacedAllele used = one(16, "GG", "GGG");
  EXPECT_EQ(used.begin, 14) << "GG before it in the genome, GG of the file";
}

// Many bases to the left: more than a stretch that is read at once.
TEST(AllelesOfLongRepeats, AreOneWhereverTheyStand) {
  const testing::TemporaryFolder folder;
  std::string bases = "ACGTGCATCA";
  while (bases.size() < 300'000) bases += "CA";
  bases += "TTGACCAGTAC";
  testing::write_text(folder / "genome.fa", ">chr1\n" + bases + "\n");
  const Fasta fasta((folder / "genome.fa").string());
  const ContigNames names(fasta.contigs());
  AlleleRules rules;
  rules.window = 40;
  rules.offset = 19;
  AlleleJudge judge(fasta, names, rules);
  const auto last = static_cast<std::int64_t>(bases.size()) - 14;
  for (const std::int64_t at : {std::int64_t{7}, std::int64_t{9}, std::int64_t{150'001}, last}) {
    const std::string anchor = bases.substr(static_cast<std::size_t>(at), 1);
    const std::string unit = bases.substr(static_cast<std::size_t>(at + 1), 2);
    const PlacedAllele deleted = judge.judge(record_of("chr1", at, anchor + unit, {anchor})).at(0);
    EXPECT_EQ(deleted.begin, 8) << at;
    EXPECT_EQ(deleted.ref, "CA") << at;
    const PlacedAllele inserted = judge.judge(record_of("chr1", at, anchor, {anchor + unit})).at(0);
    EXPECT_EQ(inserted.begin, 8) << at;
    EXPECT_EQ(inserted.alt, "CA") << at;
  }
}

// Every way to write a random insertion or deletion gives the same two windows.
TEST(AllelesWrittenInEveryWay, AreOneAllele) {
  const testing::TemporaryFolder folder;
  CounterRng random(11, Purpose::test, 0);
  std::string bases;
  for (int i = 0; i < 400; ++i) bases += "ACA"[random.below(3)];
  testing::write_text(folder / "genome.fa", ">chr1\n" + bases + "\n");
  const Fasta fasta((folder / "genome.fa").string());
  const ContigNames names(fasta.contigs());
  AlleleRules rules;
  rules.window = 30;
  rules.offset = 14;
  AlleleJudge judge(fasta, names, rules);
  int moved = 0;
  for (int turn = 0; turn < 200; ++turn) {
    const std::int64_t begin = random.between(60, 300), size = random.between(1, 4);
    const bool deletion = turn % 2 == 0;
    std::string inserted;
    for (std::int64_t i = 0; i < size; ++i) inserted += "AC"[random.below(2)];
    std::string changed = bases;
    if (deletion) {
      changed.erase(static_cast<std::size_t>(begin), static_cast<std::size_t>(size));
    } else {
      changed.insert(static_cast<std::size_t>(begin), inserted);
    }
    std::optional<PlacedAllele> first;
    // All records [from, to) whose ALT makes the same haplotype.
    for (std::int64_t from = begin - 20; from < begin + 20; ++from) {
      const std::int64_t ref_size = 1 + random.between(deletion ? size : 0, 12);
      const std::int64_t alt_size = ref_size + (deletion ? -size : size);
      const std::string ref =
          bases.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(ref_size));
      const std::string alt =
          changed.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(alt_size));
      std::string whole = bases;
      whole.replace(static_cast<std::size_t>(from), ref.size(), alt);
      if (whole != changed || alt.empty()) continue;
      const PlacedAllele allele = judge.judge(record_of("chr1", from, ref, {alt})).at(0);
      ASSERT_EQ(allele.reason, SkipReason::none);
      if (!first) first = allele;
      moved += (allele.flags & flag_aligned) != 0 ? 1 : 0;
      EXPECT_EQ(allele.window_begin, first->window_begin) << ref << ">" << alt << " at " << from;
      EXPECT_EQ(allele.reference, first->reference);
      EXPECT_EQ(allele.alternative, first->alternative);
      EXPECT_EQ(allele.begin, first->begin);
    }
  }
  EXPECT_GT(moved, 300);
}

TEST_F(Alleles, KindsOfAltThatAreNotScored) {
  EXPECT_EQ(reason(8, "T", "*"), SkipReason::spanning_deletion);
  for (const char* alt : {"<DEL>", "<*>", "<NON_REF>", "<INS:ME:ALU>", "<CN0>"})
    EXPECT_EQ(reason(8, "T", alt), SkipReason::symbolic) << alt;
  for (const char* alt : {"T]17:198982]", "[13:1[T", ".T", "T."})
    EXPECT_EQ(reason(8, "T", alt), SkipReason::breakend) << alt;
  EXPECT_EQ(reason(8, "T", "."), SkipReason::monomorphic);
  EXPECT_EQ(reason(8, "t", "T"), SkipReason::alt_is_ref);
  EXPECT_EQ(reason(8, "T", "-"), SkipReason::not_bases);
  EXPECT_EQ(reason(8, "T", "G1"), SkipReason::not_bases);
  EXPECT_EQ(reason(8, "0", "G"), SkipReason::not_bases);
  EXPECT_EQ(reason(8, "T", "N"), SkipReason::ambiguous_alt);
  EXPECT_EQ(reason(8, "T", "R"), SkipReason::ambiguous_alt);
  EXPECT_EQ(reason(8, "N", "G"), SkipReason::ambiguous_ref);
}

TEST_F(Alleles, EveryAltGetsItsOwnVerdictAndNoAltOne) {
  AlleleJudge judge(*fasta_, names_, rules_);
  const auto alleles = judge.judge(record_of("1", 8, "t", {"g", "*", "<DEL>", "Tca", "G"}));
  ASSERT_EQ(alleles.size(), 5u);
  EXPECT_EQ(alleles[0].alternative, "CGTGGCAA");
  EXPECT_EQ(alleles[1].reason, SkipReason::spanning_deletion);
  EXPECT_EQ(alleles[2].reason, SkipReason::symbolic);
  EXPECT_EQ(alleles[3].alternative, "GTTCAGCA");
  EXPECT_EQ(alleles[3].window_begin, 6);
  EXPECT_EQ(alleles[4].alternative, alleles[0].alternative);
  const auto none = judge.judge(record_of("1", 8, "T", {}));
  ASSERT_EQ(none.size(), 1u);
  EXPECT_EQ(none[0].reason, SkipReason::monomorphic);
}

TEST_F(Alleles, PlacesOutsideOfTheContig) {
  EXPECT_EQ(reason(-1, "N", "NA"), SkipReason::ambiguous_ref);
  EXPECT_EQ(reason(-1, "A", "AC"), SkipReason::outside_contig);  // POS 0
  EXPECT_EQ(reason(40, "A", "C"), SkipReason::outside_contig);   // POS length + 1
  EXPECT_EQ(reason(39, "CA", "C"), SkipReason::outside_contig);
  EXPECT_EQ(reason(1'000'000'000'000, "A", "C"), SkipReason::outside_contig);
  EXPECT_EQ(reason(39, "C", "A"), SkipReason::none);
  AlleleJudge judge(*fasta_, names_, rules_);
  EXPECT_EQ(judge.judge(record_of("chr7", 8, "T", {"G"}))[0].reason, SkipReason::unknown_contig);
}

TEST_F(Alleles, MitochondriaOfAnotherLengthAreUnknownContigs) {
  AlleleJudge judge(*fasta_, names_, rules_);
  VcfRecord record = record_of("MT", 1, "C", {"G"});
  EXPECT_EQ(judge.judge(record)[0].reason, SkipReason::none);
  record.contig_length = 16569;
  EXPECT_EQ(judge.judge(record)[0].reason, SkipReason::unknown_contig);
  record.contig_length = 4;
  EXPECT_EQ(judge.judge(record)[0].reason, SkipReason::none);
  record.chrom = "chrM";
  EXPECT_EQ(judge.judge(record)[0].reason, SkipReason::none);
  record.contig_length = 0;
  EXPECT_EQ(judge.judge(record)[0].reason, SkipReason::unknown_contig);
}

TEST_F(Alleles, MismatchIsSkippedUnlessAsked) {
  EXPECT_EQ(reason(8, "A", "G"), SkipReason::ref_mismatch);
  EXPECT_EQ(reason(20, "A", "G"), SkipReason::ref_mismatch);  // the genome has N
}

TEST_F(Alleles, MismatchUsedPutsTheWholeRefIntoBothWindows) {
  rules_.ref_mismatch = RefMismatch::use;
  PlacedAllele allele = one(8, "A", "G");
  EXPECT_EQ(allele.reference, "CGTAGCAA");
  EXPECT_EQ(allele.alternative, "CGTGGCAA");
  EXPECT_EQ(flags_text(allele.flags), "ref_mismatch");
  allele = one(8, "ACT", "AT");  // the genome has TGC: A, C and T are put in, also where they are trimmed
  EXPECT_EQ(allele.begin, 9);
  EXPECT_EQ(allele.ref, "C");
  EXPECT_EQ(allele.reference, "GTACTAAC");
  EXPECT_EQ(allele.alternative, "GTATAACG");
  EXPECT_EQ(flags_text(allele.flags), "ref_mismatch|trimmed");
}

TEST_F(Alleles, MismatchSwappedOnlyWhereAltStandsInTheGenome) {
  rules_.ref_mismatch = RefMismatch::swap;
  PlacedAllele allele = one(8, "A", "T");
  EXPECT_EQ(allele.reason, SkipReason::none);
  EXPECT_EQ(allele.ref, "T");
  EXPECT_EQ(allele.alt, "A");
  EXPECT_EQ(allele.reference, "CGTTGCAA");
  EXPECT_EQ(allele.alternative, "CGTAGCAA");
  EXPECT_EQ(flags_text(allele.flags), "swapped");
  EXPECT_EQ(reason(8, "A", "G"), SkipReason::ref_mismatch);
  allele = one(8, "AC", "TGC");  // an insertion that the genome has: a deletion of it
  EXPECT_EQ(allele.reason, SkipReason::none);
  EXPECT_EQ(allele.ref, "TG");
  EXPECT_EQ(allele.alt, "A");
  EXPECT_EQ(allele.alternative, "CGTACAAC");
  // The anchor of a deletion stands in the genome in any case: it says nothing.
  EXPECT_EQ(reason(8, "TA", "T"), SkipReason::ref_mismatch);
  const auto both = AlleleJudge(*fasta_, names_, rules_).judge(record_of("chr1", 8, "A", {"T", "G"}));
  EXPECT_EQ(both[0].reason, SkipReason::none);
  EXPECT_EQ(both[1].reason, SkipReason::ref_mismatch);
}

TEST_F(Alleles, CodesOfRefMatchOnlyWhenAsked) {
  rules_.n_matches = true;
  PlacedAllele allele = one(8, "NG", "AG");
  EXPECT_EQ(allele.reason, SkipReason::none);
  EXPECT_EQ(allele.ref, "T");
  EXPECT_EQ(allele.reference, "CGTTGCAA");
  EXPECT_EQ(reason(8, "Y", "A"), SkipReason::none);          // C or T
  EXPECT_EQ(reason(8, "R", "A"), SkipReason::ref_mismatch);  // A or G
  EXPECT_EQ(reason(8, "N", "T"), SkipReason::alt_is_ref);    // N means T here
  EXPECT_EQ(reason(20, "Y", "A"), SkipReason::ref_mismatch);
  rules_.ref_mismatch = RefMismatch::use;
  allele = one(8, "NC", "AC");  // G is used as C; N stays what the genome has
  EXPECT_EQ(allele.reference, "CGTTCCAA");
  EXPECT_EQ(allele.alternative, "CGTACCAA");
}

TEST_F(Alleles, AllelesThatDoNotFitTheWindow) {
  EXPECT_EQ(reason(8, "T", "TAAAAA"), SkipReason::none);  // 5 inserted bases at 3 of 8
  EXPECT_EQ(one(8, "T", "TAAAAA").alternative, "GTTAAAAA");
  EXPECT_EQ(reason(8, "T", "TAAAAAA"), SkipReason::too_long);
  EXPECT_EQ(reason(8, "TGCAAC", "T"), SkipReason::none);  // 5 deleted bases
  EXPECT_EQ(one(8, "TGCAAC", "T").alternative, "GTTGGTTC");
  EXPECT_EQ(reason(8, "TGCAACG", "T"), SkipReason::too_long);
  EXPECT_EQ(one(8, "T", "G", 3).alternative, "GGCAACGG");
  EXPECT_EQ(one(8, "T", "G", -4).alternative, "CGTACGTG");
  EXPECT_EQ(one(8, "T", "G", 4).reason, SkipReason::too_long);
  EXPECT_EQ(one(8, "T", "G", -5).reason, SkipReason::too_long);
}

TEST_F(Alleles, EndsOfContigs) {
  PlacedAllele allele = one(1, "C", "T");
  EXPECT_EQ(allele.window_begin, -2);
  EXPECT_EQ(allele.reference, "NNACGTAC");
  EXPECT_EQ(allele.alternative, "NNATGTAC");
  EXPECT_EQ(allele.n_share, 0.25);
  EXPECT_EQ(flags_text(allele.flags), "edge_padded");
  allele = one(39, "C", "CT");  // put after the last base
  EXPECT_EQ(allele.reference, "GCCNNNNN");
  EXPECT_EQ(allele.alternative, "GCCTNNNN");
  allele = one(34, "AA", "A");  // the ALT window needs base 40, which is not there
  EXPECT_EQ(allele.reason, SkipReason::none);
  EXPECT_EQ(allele.reference, "CGTAAGGC");
  EXPECT_EQ(allele.alternative, "CGTAGGCC");
  EXPECT_EQ(allele.flags, flag_trimmed);
  allele = one(35, "AG", "A");
  EXPECT_EQ(allele.reference, "TAAGGCCN");

  rules_.edge = EdgeRule::shift;
  allele = one(1, "C", "T");
  EXPECT_EQ(allele.window_begin, 0);
  EXPECT_EQ(allele.alternative, "ATGTACGT");
  EXPECT_EQ(flags_text(allele.flags), "edge_shifted");
  allele = one(38, "CC", "C");
  EXPECT_EQ(allele.window_begin, 31);
  EXPECT_EQ(allele.reference, "CGTAAGGC");
  EXPECT_EQ(allele.alternative, "CGTAAGGC");
  allele = one(39, "C", "CTTTTTT");
  EXPECT_EQ(allele.reason, SkipReason::too_long);
  AlleleJudge judge(*fasta_, names_, rules_);
  EXPECT_EQ(judge.judge(record_of("MT", 1, "C", {"G"}))[0].reason, SkipReason::edge);

  rules_.edge = EdgeRule::skip;
  EXPECT_EQ(reason(1, "C", "T"), SkipReason::edge);
  EXPECT_EQ(reason(3, "T", "C"), SkipReason::none);
  EXPECT_EQ(reason(35, "A", "C"), SkipReason::none);
  EXPECT_EQ(reason(36, "G", "C"), SkipReason::edge);
}

TEST_F(Alleles, ShareOfNIsLimited) {
  rules_.max_n = 0.5;
  EXPECT_EQ(one(18, "C", "T").n_share, 0.375);  // 15..22: GTTCANNN
  EXPECT_EQ(one(19, "A", "T").n_share, 0.5);
  EXPECT_EQ(one(19, "A", "T").reason, SkipReason::none);
  rules_.max_n = 0.49;
  EXPECT_EQ(one(19, "A", "T").reason, SkipReason::too_many_n);
  EXPECT_EQ(one(19, "A", "T").reference, "");
  EXPECT_EQ(one(0, "A", "T").n_share, 0.375);  // padding counts
}

TEST_F(Alleles, FilterOnlyWhenAsked) {
  VcfRecord record = record_of("chr1", 8, "T", {"G", "*"});
  const auto first = [&] { return AlleleJudge(*fasta_, names_, rules_).judge(record)[0].reason; };
  record.filter = "q10;s50";
  EXPECT_EQ(first(), SkipReason::none);
  rules_.pass_only = true;
  EXPECT_EQ(first(), SkipReason::filtered);
  EXPECT_EQ(AlleleJudge(*fasta_, names_, rules_).judge(record)[1].reason, SkipReason::filtered);
  record.filter = ".";
  EXPECT_EQ(first(), SkipReason::none);
  record.filter = "PASS";
  EXPECT_EQ(first(), SkipReason::none);
}

TEST_F(Alleles, NeighboursShareTheWindowOfTheirBin) {
  rules_.grid = 4;
  rules_.target_offset = 2;
  const PlacedAllele first = one(8, "T", "G");
  const PlacedAllele last = one(11, "A", "G");
  EXPECT_EQ(first.window_begin, 6);  // the bin 8..12 stands at 2..6
  EXPECT_EQ(first.reference, last.reference);
  EXPECT_EQ(first.reference, "GTTGCAAC");
  EXPECT_EQ(first.alternative, "GTGGCAAC");
  EXPECT_EQ(last.alternative, "GTTGCGAC");
  EXPECT_EQ(one(12, "A", "G").window_begin, 10);
  EXPECT_EQ(one(7, "T", "TG").window_begin, 6);  // an insertion counts at the base that it stands before
  EXPECT_EQ(one(11, "AACG", "A").reason, SkipReason::none);
  EXPECT_EQ(one(15, "G", "GTTTTTT").reason, SkipReason::none);
  EXPECT_EQ(one(14, "G", "GTTTT").reason, SkipReason::too_long);  // 4 bases at 5 of 8
}

TEST_F(Alleles, RulesWithoutRoomAreRefused) {
  const auto refused = [&] { AlleleJudge judge(*fasta_, names_, rules_); };
  rules_.offset = 8;
  EXPECT_THROW(refused(), Error);
  rules_.offset = 0;
  rules_.grid = 4;
  rules_.target_offset = 5;
  EXPECT_THROW(refused(), Error);
  rules_.grid = 0;
  rules_.window = 0;
  EXPECT_THROW(refused(), Error);
  EXPECT_THROW(parse_edge_rule("wrap"), Error);
  EXPECT_THROW(parse_ref_mismatch(""), Error);
}

// Random alleles against the haplotype written out.
TEST(AllelesProperty, WindowsAreThoseOfTheHaplotype) {
  const testing::TemporaryFolder folder;
  CounterRng rng(5, Purpose::test, 0);
  const auto draw = [&](std::size_t below) { return static_cast<std::size_t>(rng.next_u64() % below); };
  const auto letters = [&](std::size_t size) {
    std::string text(size, 'A');
    for (char& letter : text) letter = "ACGT"[draw(4)];
    return text;
  };
  const std::string genome = letters(700);
  testing::write_text(folder / "g.fa", ">1\n" + genome + "\n");
  const Fasta fasta((folder / "g.fa").string());
  const ContigNames names(fasta.contigs());
  AlleleRules rules;
  rules.window = 64;
  rules.offset = 31;
  rules.max_n = 1;
  AlleleJudge judge(fasta, names, rules);
  const std::string pad(200, 'N');
  std::size_t scored = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::size_t size = 1 + draw(12);
    const std::size_t position = draw(genome.size() - size + 1);
    const std::string ref = genome.substr(position, size);
    std::string alt = letters(1 + draw(12));
    if (draw(2) == 0) alt = ref.substr(0, 1 + draw(size)) + alt;
    const auto shift = static_cast<std::int64_t>(draw(9)) - 4;
    const PlacedAllele allele =
        judge.judge(record_of("1", static_cast<std::int64_t>(position), ref, {alt}), shift)[0];
    if (ref == alt) {
      EXPECT_EQ(allele.reason, SkipReason::alt_is_ref);
      continue;
    }
    ASSERT_EQ(allele.reason, SkipReason::none);
    ++scored;
    const std::string haplotype = genome.substr(0, position) + alt + genome.substr(position + size);
    const auto begin = static_cast<std::size_t>(allele.window_begin + 200);
    EXPECT_EQ(allele.reference, (pad + genome + pad).substr(begin, 64));
    EXPECT_EQ(allele.alternative, (pad + haplotype + pad).substr(begin, 64));
    // The first base that differs stands at the offset, less the shift (where the sequences differ there).
    EXPECT_EQ(allele.begin - allele.window_begin, 31 - shift);
    const auto differ =
        std::mismatch(allele.reference.begin(), allele.reference.end(), allele.alternative.begin());
    EXPECT_GE(differ.first - allele.reference.begin(), 31 - shift);
  }
  EXPECT_GT(scored, 2900u);
}

TEST(AllelesReal, MitochondriaOfTwoLengths) {
  BIGBIRD_REQUIRE_SHARED();
  const testing::TemporaryFolder folder;
  const auto data = *testing::shared_dir() / "data" / "mitochondria";
  const auto reason = [&](const std::string& genome, const std::string& chrom, const std::string& length,
                          int pos, const std::string& ref) {
    const auto copy = folder / genome;  // an index is written beside it
    testing::write_text(copy, testing::read_text(data / genome));
    const Fasta fasta(copy.string());
    const ContigNames names(fasta.contigs());
    testing::write_text(folder / "x.vcf", "##fileformat=VCFv4.2\n##contig=<ID=" + chrom + length +
                                              ">\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n" + chrom +
                                              "\t" + std::to_string(pos) + "\t.\t" + ref + "\tT\t.\t.\t.\n");
    VcfReader reader((folder / "x.vcf").string());
    VcfRecord record;
    EXPECT_TRUE(reader.next(record));
    AlleleRules rules;
    rules.window = 200;
    rules.offset = 99;
    return AlleleJudge(fasta, names, rules).judge(record).at(0).reason;
  };
  EXPECT_EQ(reason("MT_rCRS.fa", "MT", ",length=16569", 104, "C"), SkipReason::none);
  EXPECT_EQ(reason("MT_rCRS.fa", "chrM", ",length=16569", 104, "C"), SkipReason::none);
  EXPECT_EQ(reason("MT_rCRS.fa", "chrM", ",length=16571", 104, "C"), SkipReason::unknown_contig);
  EXPECT_EQ(reason("MT_rCRS.fa", "chrM", "", 104, "C"), SkipReason::unknown_contig);
  EXPECT_EQ(reason("chrM_hg19.fa", "chrM", ",length=16571", 104, "C"), SkipReason::none);
  EXPECT_EQ(reason("chrM_hg19.fa", "chrM", ",length=16569", 104, "C"), SkipReason::unknown_contig);
  EXPECT_EQ(reason("chrM_hg19.fa", "MT", ",length=16569", 104, "C"), SkipReason::unknown_contig);
  EXPECT_EQ(reason("MT_rCRS.fa", "MT", "", 3107, "N"), SkipReason::ambiguous_ref);
  EXPECT_EQ(reason("MT_rCRS.fa", "MT", "", 3107, "C"), SkipReason::ref_mismatch);
}

// Counts per reason, made independently with another program.
class RealAlleles : public ::testing::TestWithParam<RefMismatch> {
 protected:
  std::map<std::string, int> count(const std::string& name) {
    const auto data = *testing::shared_dir() / "data";
    const Fasta fasta((data / "human-grch37" / "grch37.sparse.fa.gz").string());
    const ContigNames names(fasta.contigs());
    AlleleRules rules;
    rules.ref_mismatch = GetParam();
    rules.window = 1000;
    rules.offset = 499;
    AlleleJudge judge(fasta, names, rules);
    VcfReader reader((data / "vcf-grch37" / name).string());
    VcfRecord record;
    std::map<std::string, int> counts;
    while (reader.next(record)) {
      for (const PlacedAllele& allele : judge.judge(record)) {
        ++counts[skip_reason_name(allele.reason)];
        if (allele.reason != SkipReason::none) continue;
        EXPECT_EQ(allele.reference.size(), 1000u);
        EXPECT_EQ(allele.alternative.size(), 1000u);
        if ((allele.flags & flag_ref_mismatch) != 0) ++counts["flagged"];
      }
    }
    return counts;
  }
};

TEST_P(RealAlleles, CountsPerReason) {
  BIGBIRD_REQUIRE_SHARED();
  using Counts = std::map<std::string, int>;
  const bool used = GetParam() == RefMismatch::use;
  EXPECT_EQ(count("kgp3_chr20_1M-2M.b37.vcf.gz"),
            (Counts{{"scored", 29090}, {"symbolic", 24}, {"too_many_n", 30}}));
  EXPECT_EQ(count("kgp3_chr20_first2000.b37.bcf"),
            (Counts{{"scored", 1992}, {"symbolic", 4}, {"too_many_n", 15}}));
  EXPECT_EQ(
      count("star_alleles.chr20.b37.vcf"),
      used ? (Counts{{"scored", 350}, {"spanning_deletion", 3}, {"too_many_n", 30}, {"flagged", 3}})
           : (Counts{{"scored", 347}, {"spanning_deletion", 3}, {"too_many_n", 21}, {"ref_mismatch", 12}}));
  EXPECT_EQ(
      count("trio_ggvcf.star_nonref.b37.vcf.gz"),
      used ? (Counts{{"scored", 541}, {"spanning_deletion", 7}, {"too_many_n", 34}, {"flagged", 3}})
           : (Counts{{"scored", 538}, {"spanning_deletion", 7}, {"too_many_n", 28}, {"ref_mismatch", 9}}));
  EXPECT_EQ(count("complexEvents.symbolic.b37.vcf"), (Counts{{"scored", 7}, {"symbolic", 1}}));
}

INSTANTIATE_TEST_SUITE_P(Rules, RealAlleles,
                         ::testing::Values(RefMismatch::skip, RefMismatch::use, RefMismatch::swap));

}  // namespace
}  // namespace bigbird
