// Which alleles of a VCF are scored, and as what: the rules of docs/variants.md, one for each case that real
// files hold. Coordinates are 0-based half-open on the genome's forward strand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/genome/most_n.h"
#include "lib/io/genome/vcf.h"

namespace bigbird {

// Why an allele is not scored. The names are what skipped.tsv and summary.json hold.
enum class SkipReason {
  none,
  spanning_deletion,  // *
  symbolic,           // <DEL>, <INS:ME:ALU>, <NON_REF>, <*> ...
  breakend,           // G]17:198982], .A, A.
  monomorphic,        // ALT is "."
  alt_is_ref,         // ALT equals REF
  not_bases,          // letters in REF or ALT that are no IUPAC code
  ambiguous_ref,      // N or another IUPAC code in REF (unless n_matches)
  ambiguous_alt,      // N or another IUPAC code in ALT
  unknown_contig,     // not in the FASTA, under any alias
  outside_contig,     // POS 0, or a base beyond the contig's end
  ref_mismatch,       // REF is not what the FASTA has
  too_long,           // the alleles do not fit the window
  edge,               // the window passes the contig's end (EdgeRule::skip)
  too_many_n,         // more N in the REF window than max_n
  filtered            // FILTER, where asked for
};
const char* skip_reason_name(SkipReason reason);

// What is done where REF is not what the FASTA has.
enum class RefMismatch {
  skip,  // not scored, counted
  use,   // the VCF's REF is put into the sequence; flagged
  swap   // scored with REF and ALT exchanged where ALT is what the FASTA has, flagged; else skipped
};
// Where a window passes the end of its contig.
enum class EdgeRule { pad, shift, skip };  // with N, moved inwards, not scored
const char* edge_rule_name(EdgeRule rule);
RefMismatch parse_ref_mismatch(std::string_view word);
EdgeRule parse_edge_rule(std::string_view word);

struct AlleleRules {
  RefMismatch ref_mismatch = RefMismatch::skip;
  EdgeRule edge = EdgeRule::pad;
  double max_n = most_n_of_scored_window;  // largest fraction of N in the REF window
  bool n_matches = false;                  // N in REF matches any base
  bool pass_only = false;                  // FILTER must be PASS or "."
  bool counts_repeats = false;             // PlacedAllele::repeat_share is wanted
  std::int64_t window = 0;                 // bp
  // The base of the window (0-based) where the variant's first changed base stands: DeepSEA's 499 of 1000.
  std::int64_t offset = 0;
  // Windows on the grid of bins instead (0: none): the one whose target bin holds the variant, so that
  // neighbours share it.
  std::int64_t grid = 0;
  std::int64_t target_offset = 0;  // of the bin in the window; grid only
};

// Flags of a scored allele, joined by "|"; "." for none, which only a VCF writes so. The column `flags` of a
// table has NA.
inline constexpr unsigned flag_ref_mismatch = 1;  // ref_mismatch
inline constexpr unsigned flag_swapped = 2;       // swapped
inline constexpr unsigned flag_edge_padded = 4;   // edge_padded
inline constexpr unsigned flag_edge_shifted = 8;  // edge_shifted
inline constexpr unsigned flag_trimmed = 16;      // trimmed: (pos, ref, alt) had common ends
inline constexpr unsigned flag_cut = 32;          // tokens_cut: a window had more tokens than the model takes
inline constexpr unsigned flag_aligned = 64;      // aligned: an insertion or deletion was moved to the left
// Of a language model's score.
inline constexpr unsigned flag_cpg = 128;          // cpg: C to T or G to A in a CG
inline constexpr unsigned flag_derived_ref = 256;  // derived_ref: ALT is the ancestral allele
std::string flags_text(unsigned flags);

// One ALT of a record, judged and placed.
struct PlacedAllele {
  SkipReason reason = SkipReason::none;  // none: it is scored
  std::size_t contig = 0;                // of the FASTA
  // Trimmed and left-aligned: first base that changes; an insertion stands before it.
  std::int64_t begin = 0;
  std::string ref;  // trimmed, upper case; may be empty
  std::string alt;
  unsigned flags = 0;
  std::int64_t window_begin = 0;  // may be negative or pass the contig's end where padded
  double n_share = 0;             // of the REF window, padding included
  double repeat_share = 0;        // in lower case in the genome, of the REF window; only where it is wanted
  std::string reference;          // REF window, `window` bases (alleles exchanged where swapped)
  std::string alternative;        // ALT window, as long: flank is dropped or fetched at its right end
};

// The contig of the genome that a record names, or nothing. Mitochondria are told apart by the length that
// the record's header gives; other contigs may be cut short, which BuildCheck judges.
std::optional<std::size_t> contig_of(const VcfRecord& record, const ContigNames& contigs);

// Judges alleles against one genome. Not safe for concurrent calls: give each thread its own.
class AlleleJudge {
 public:
  // `contigs` are those of the FASTA, and outlive the judge. Error{usage} for a window without room: offset
  // or the grid's bin outside of it.
  AlleleJudge(const Fasta& fasta, const ContigNames& contigs, const AlleleRules& rules);

  // One entry for each ALT (one for a record without: monomorphic). `shift` moves the window by so many bases
  // to the right (the variant's place in it to the left).
  std::vector<PlacedAllele> judge(const VcfRecord& record, std::int64_t shift = 0);

 private:
  PlacedAllele judge_allele(const VcfRecord& record, const std::string& ref, const std::string& alt,
                            std::int64_t shift);
  void place(PlacedAllele& allele, const std::string& overlay, std::int64_t overlay_begin,
             std::int64_t shift);
  std::optional<std::size_t> find_contig(const VcfRecord& record);
  bool align(PlacedAllele& allele, const std::string& overlay, std::int64_t overlay_begin);
  void hold(std::size_t contig, std::int64_t begin, std::int64_t end);
  std::string bases(std::size_t contig, std::int64_t begin, std::int64_t end);

  Fasta fasta_;
  const ContigNames& contigs_;
  AlleleRules rules_;
  // The contig of the last record, and a stretch of the genome: neighbouring records share both.
  std::string name_;
  std::int64_t name_length_ = -1;
  std::optional<std::size_t> named_;
  std::size_t cached_contig_ = 0;
  std::int64_t cached_begin_ = 0;
  std::string cached_;
  std::string cached_letters_;  // as the file has them, where repeats are counted
};

// The human assembly that a file's contigs or a genome speak of.
enum class GenomeBuild { unknown, grch37, grch38 };
const char* genome_build_name(GenomeBuild build);
// By lengths of chromosomes and by accession versions, and where these say nothing by the words of `hints`
// (hg19, GRCh38 ...); unknown when nothing tells, or when some say one and some the other.
GenomeBuild build_of(const std::vector<Contig>& contigs, const std::vector<std::string>& hints);

// Refuses a file of another build than the genome: contig lengths that disagree, or too many REF alleles of
// its first records that do. Feed it records until it has seen enough, then ask.
class BuildCheck {
 public:
  // `contigs` are those of the FASTA, and outlive the check.
  BuildCheck(const std::string& path, const std::vector<Contig>& header,
             const std::vector<std::string>& hints, const Fasta& fasta, const ContigNames& contigs);
  // Error{bad_input}, one line that names both builds: the header's lengths are those of one human assembly,
  // the FASTA's those of the other. Any other difference of lengths (a FASTA cut short, an assembly that is
  // not known here, hints that disagree) is a warning: the alleles decide.
  void check_header() const;
  // Counts a record's REF against the FASTA. Not comparable: REF of other letters than A C G T, contigs that
  // the FASTA has not, places beyond the contig's end, N in the FASTA.
  void see(const VcfRecord& record);
  // Error{bad_input} when more than half of at least 10 (all of fewer than 10 but at least 3) comparable REF
  // alleles disagree; not when in most of these (more than two of three) an ALT agrees, which is a table with
  // REF and ALT exchanged, and which a wrong build gives in one of three.
  void check_alleles() const;
  std::int64_t compared() const { return compared_; }
  std::int64_t disagreeing() const { return disagreeing_; }

 private:
  std::string path_;
  std::vector<Contig> header_;
  std::vector<std::string> hints_;
  Fasta fasta_;
  const ContigNames& contigs_;
  std::int64_t compared_ = 0;
  std::int64_t disagreeing_ = 0;
  std::int64_t exchanged_ = 0;  // of the disagreeing: an ALT is what the FASTA has
};

}  // namespace bigbird
