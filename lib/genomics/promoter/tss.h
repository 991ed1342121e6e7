// Transcription start sites as promoter catalogues give them, placed on the genome in use.
// Coordinates are 0-based.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

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

// Reads a BED, SGA or FPS file (tss_formats.h). With a chain file (may be empty) every TSS is lifted first,
// and its strand flips where the chain does. Dropped and counted: what does not lift, contigs that the genome
// lacks, sites beyond their contig's end, repeated rows. Errors name file and line: rows that do not parse;
// an accession whose version is of another assembly than the genome (with a chain: than the chain lifts
// from); a file without rows; no row on a contig of the genome.
TssCatalogue read_tss(const std::string& path, const std::string& chain, const ContigNames& genome);

}  // namespace bigbird
