// VCF lines carried to another assembly as text: columns 1, 2, 4 and 5 and INFO's END change, every other
// byte stays. POS is 1-based, as in the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/genomics/liftover/liftover.h"
#include "lib/io/files/file.h"

namespace bigbird {

class VcfLifter {
 public:
  // `lines` ("bigbird_command=...", without ##) and, with a FASTA, ##reference are added to the header.
  VcfLifter(LiftoverAssembly& assembly, const std::string& fasta, const std::vector<std::string>& lines)
      : assembly_(assembly), fasta_(fasta), lines_(lines) {}

  // A line that begins with #. ##contig lines become those of the new assembly, where the first of them stood
  // (before #CHROM where there is none); ##reference lines go. Error{bad_input} when a contig's length is of
  // another assembly than the chain lifts from.
  void header(std::string_view line, const LineReader& lines, std::string& out);

  // A record: all bases of REF must lie in one ungapped stretch of one chain. So must the place of an allele
  // that is longer or shorter than REF, wherever it can be written (moved through a repeat, left or right),
  // with the base before and the base after it: then REF and ALT mean the same sequences in both assemblies.
  // At a gap the new assembly may have the inserted bases, or lack others, and REF -> ALT would be another
  // allele of it: such a record does not lift. Repeats are read in the new genome, whose bases the old one
  // has wherever the two agree; without a FASTA an indel that may reach a gap within 200 bases does not lift.
  // Substitutions, of one base or of many, lift base by base. On the other strand alleles are
  // reverse-complemented; alleles of unequal length that share their anchor base then need the base before
  // them, from the FASTA, and are left-aligned (over at most 1,000 bases). With a FASTA, REF must be its
  // bases (IUPAC letters count as N). INFO's END, and the mate of a breakend, must lift too, to the same
  // strand; SVLEN, where given, must stay true. Appends the line to `out` and returns an empty text, or
  // returns why it cannot be lifted. Errors name file and line: fewer than 5 tab-separated columns, POS that
  // is no number, alleles that are none.
  std::string lift(std::string_view line, const LineReader& lines, std::string& out);

 private:
  struct Record;
  Record parse(const LineReader& lines);
  // Each returns why not, or an empty text.
  std::string carry_alts(Record& record, const LineReader& lines);
  std::string carry_breakend(std::string& alt, const LineReader& lines);
  std::string carry_info(Record& record, const std::string& chrom, std::int64_t begin, bool reversed);
  std::string check_surroundings(std::string_view ref, std::string_view alt, std::size_t contig,
                                 const Lifted& lifted);
  std::string check_side(const std::string& surplus, std::string beyond, std::int64_t room, bool ends,
                         std::size_t contig, std::int64_t place, int step);
  std::string flip(Record& record, std::size_t contig, std::int64_t& begin);

  LiftoverAssembly& assembly_;
  std::string fasta_;
  std::vector<std::string> lines_;
  bool contigs_written_ = false;
  std::vector<std::string_view> fields_;
};

}  // namespace bigbird
