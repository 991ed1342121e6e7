// lib/genomes/liftover holds coordinates from one assembly to another: BED and VCF through a chain file. A
// record that cannot be lifted is written with its reason, and never moved by guess.
//
// `bigbird liftover`: the records of a BED or VCF carried to another assembly, in the input's order and
// format; what does not lift is kept aside with its reason. Rules: UCSC liftOver.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/core/reason_counts.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/bed.h"
#include "lib/io/genome/chain.h"
#include "lib/io/genome/fasta.h"

namespace bigbird {

enum class LiftoverFormat { bed, vcf };

struct LiftoverOptions {
  std::string chain;
  std::string input;                    // "-": the standard input; gzip and BGZF are seen through
  std::string output = "-";             // .gz: BGZF
  std::string unmapped;                 // may be empty: what does not lift is counted only
  std::string fasta;                    // genome of the new assembly; may be empty
  double min_match = 0.95;              // fraction of a BED record's bases that must map
  int bed_columns = 12;                 // first columns that are BED; the others are kept as they are
  std::vector<std::string> provenance;  // lines for the output's header, without their ##
  bool provenance_in_tables = false;    // on top of a BED too, not only in a VCF
};

struct LiftoverSummary {
  LiftoverFormat format = LiftoverFormat::bed;
  std::int64_t records = 0;
  std::int64_t lifted = 0;
  ReasonCounts reasons;  // of those that did not lift
  bool in_order = true;  // the output's records ascend within each contig, which is in one piece
};

// A VCF is told by its first line (##fileformat=VCF, #CHROM) or, where that is none, by the suffix .vcf or
// .vcf.gz; anything else is BED. Lines that hold no record go to the output as they are (for VCF see
// VcfLifter). In `unmapped` each record is as it was, after a line "#REASON". Outputs appear whole or not at
// all. Errors: lines that do not parse, by file and line; an input or genome of another assembly than the
// chain's; no record on a contig of the chain file.
LiftoverSummary lift_file(const LiftoverOptions& options);

// The two sides of a lift: contig names as the input writes them, found in the chain file, and the names and
// bases of the new assembly, from the chain file or from a FASTA of it.
class LiftoverAssembly {
 public:
  // `fasta` (may be empty) is the new assembly's genome; its contigs may be cut short (an excerpt).
  // Error{bad_input} when one has more bases than the chain file says, or as many as in another assembly.
  LiftoverAssembly(const ChainFile& chain, const std::string& fasta);

  // A contig of the input's header with its length (0: not given). Error{bad_input} "WHERE: ..." when it is
  // of another assembly than the chain lifts from, by the same rule.
  void declare(std::string_view name, std::int64_t length, const std::string& where);
  // The chain file's contig that the input's name means; nothing when it has none. Error{bad_input} for an
  // accession of another assembly, for which `where` is called.
  template <typename Where>
  std::optional<std::size_t> from(std::string_view name, const Where& where) {
    const auto found = from_.find(std::string(name));
    return found != from_.end() ? found->second : resolve(name, where());
  }
  const Contig& from_contig(std::size_t index) const { return chain_.from()[index]; }

  // The new assembly's contigs as they are written: the FASTA's, else the chain file's.
  const std::vector<Contig>& contigs() const { return names_.contigs(); }
  // Index in contigs() of a contig of the chain file's new assembly; nothing when the FASTA lacks it.
  std::optional<std::size_t> to(const std::string& chain_name) const;

  bool has_bases() const { return genome_.has_value(); }
  // Upper case; only with a FASTA.
  std::string bases(std::size_t contig, std::int64_t begin, std::int64_t end) {
    return genome_->fetch(contig, begin, end);
  }

  const ChainFile& chain() const { return chain_; }

 private:
  std::optional<std::size_t> resolve(std::string_view name, const std::string& where);

  const ChainFile& chain_;
  std::optional<Fasta> genome_;
  ContigNames names_;
  std::unordered_map<std::string, std::optional<std::size_t>> from_;
  std::unordered_map<std::string, std::size_t> to_;
};

// One BED record. 3 to 9 columns: the interval, the strand, and the thick range, which becomes empty (start
// start) where none of its bases map. 12 columns: min_match is a fraction of the blocks' bases, every block
// must keep some base, and each runs from its first to its last mapped base. 10 columns whose last is a
// number: narrowPeak, whose peak becomes -1 where its base does not map. Other columns are kept byte for
// byte.
class BedLifter {
 public:
  BedLifter(LiftoverAssembly& assembly, const LiftoverOptions& options)
      : assembly_(assembly), options_(options) {}

  // Appends the lifted line to `out` and returns an empty text, or returns why there is none.
  std::string lift(std::string_view line, const LineReader& lines, std::string& out);

 private:
  LiftoverAssembly& assembly_;
  const LiftoverOptions& options_;
  BedRecord record_;
  std::vector<std::string_view> fields_;
  std::vector<ChainInterval> parts_;
};

// Reasons that are not liftOver's own.
inline constexpr const char* not_in_genome_reason = "Contig not in the new genome";
inline constexpr const char* beyond_contig_reason = "Beyond the end of its contig";
inline constexpr const char* beyond_new_reason = "Beyond the end of the new genome's contig";

// VCF lines carried to another assembly as text: columns 1, 2, 4 and 5 and INFO's END change, every other
// byte stays. POS is 1-based, as in the file.
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
