// Transcription start sites as promoter catalogues give them, placed on the genome in use.
// Coordinates are 0-based.
//
// The file formats are recognised by content and read one row at a time: BED, and the SGA and FPS files of
// EPD.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/files/file.h"
#include "lib/io/genome/bed.h"
#include "lib/io/genome/contig_names.h"

namespace bigbird {

struct TssSite {
  std::string id;    // the catalogue's name where it is unique, else with its place: NAME@chrom:tss:strand
  std::string gene;  // the name without its "_n" (EPD: GENE_1, GENE_2 ... are promoters of one gene)
  std::size_t contig = 0;  // index in the genome's contigs
  std::int64_t tss = 0;
  char strand = '+';
};

// A row that was left out, and why.
struct DroppedTss {
  std::string id;
  std::string chrom;
  std::int64_t tss = 0;
  char strand = '+';
  std::string reason;
};

struct TssCatalogue {
  std::int64_t rows = 0;
  std::vector<TssSite> sites;  // in the file's order
  std::vector<DroppedTss> dropped;
};

// Reads a BED, SGA or FPS file (TssReader). With a chain file (may be empty) every TSS is lifted first,
// and its strand flips where the chain does. Dropped and counted: what does not lift, contigs that the genome
// lacks, sites beyond their contig's end, repeated rows. Errors name file and line: rows that do not parse;
// an accession whose version is of another assembly than the genome (with a chain: than the chain lifts
// from); a file without rows; no row on a contig of the genome.
TssCatalogue read_tss(const std::string& path, const std::string& chain, const ContigNames& genome);

// The first row decides. A line that begins with "FP" and a blank is FPS; one of 5 or more columns between
// tabs whose third is a number, whose second is none and whose fourth is + - or 0 is SGA; anything else is
// BED.
enum class TssFormat { bed, sga, fps };

struct TssRow {
  std::string name;  // "." where the file gives none
  std::string chrom;
  std::int64_t tss = 0;  // 0-based
  char strand = '+';
};

// Plain or gzip; "-" is the standard input. Blank lines and # lines are skipped.
//
// BED, 6 columns or more: a row one base wide is the TSS. A wider row must have a thick range (EPDnew's 8
// columns: 49 bp upstream, the TSS, 10 bp downstream); the TSS is thickStart on +, thickEnd - 1 on -.
//
// SGA (simplified genome annotation), between tabs: accession, feature, position (1-based), strand, count,
// and where there is one the promoter's name; further columns are not read. The feature must be TSS.
//
// FPS (functional position set), fixed columns: "FP" 1-2, name 6-25, ":" 26, type 27-28, data bank and
// accession "EU:NC_000001.11" 31-51, topology 0 or 1 52, strand 53, position (1-based) 54-63, ";" 64, then
// EPD's own numbers, which are not read. Fields that are shifted by whole blanks are found all the same; runs
// of blanks inside a name become one.
//
// Errors name file and line: too few columns, no strand, a wide BED row without a thick range, a position
// that is no number or below 1, another feature than TSS, a line of another format than the first.
class TssReader {
 public:
  explicit TssReader(const std::string& path) : lines_(path) {}

  // False at the end.
  bool next(TssRow& row);
  // Nothing before the first row.
  std::optional<TssFormat> format() const { return format_; }
  // "FILE:LINE" of the row returned last.
  std::string where() const { return lines_.where(); }

 private:
  void read_bed(std::string_view line, TssRow& row);
  void read_sga(std::string_view line, TssRow& row);
  void read_fps(std::string_view line, TssRow& row);
  [[noreturn]] void fail(const std::string& what) const;

  LineReader lines_;
  std::optional<TssFormat> format_;
  BedRecord record_;
  std::vector<std::string_view> fields_;
};

}  // namespace bigbird
