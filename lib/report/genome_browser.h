// Where a row of a report stands in a genome browser: the address of UCSC's page of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/io/genome/contig_names.h"

namespace bigbird {

class GenomeBrowser {
 public:
  // Of a genome without contigs it links nothing.
  explicit GenomeBrowser(std::vector<Contig> contigs) : contigs_(std::move(contigs)) {}
  // Of the FASTA that a verb was given. It may lie elsewhere by now: then as of no contigs.
  static GenomeBrowser of_fasta(const std::string& path);

  // The page that shows bases [begin, end) of a contig, marked, and some on each side. Empty where the name
  // and length of the contig do not say GRCh37, GRCh38 or yeast's R64, and for a mitochondrion.
  std::string link(std::string_view contig, std::int64_t begin, std::int64_t end) const;

 private:
  ContigNames contigs_;
};

}  // namespace bigbird
