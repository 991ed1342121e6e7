// A variant file as the scorers read it: in chunks, its build held against the genome's before anything is
// scored.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/core/progress.h"
#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/genome/vcf.h"

namespace bigbird {

// sha256 of what identifies records: place, id, alleles and filter of each.
std::string records_digest(const std::vector<VcfRecord>& records);

class VariantInput {
 public:
  // `path`, `regions`: as VcfReader takes them. Error{bad_input} when the header speaks of another build than
  // the genome's.
  VariantInput(const std::string& path, const std::vector<std::string>& regions, const Fasta& fasta,
               const ContigNames& contigs, std::uint64_t chunk);

  // The next chunk of records, `chunk` of them but at the end; false when there are none. Error{bad_input}
  // when the REF alleles of the first are of another build.
  bool next(std::vector<VcfRecord>& records);
  const VcfReader& reader() const { return reader_; }
  // Number of the chunk that next() gave last.
  std::uint64_t chunk_number() const { return chunks_ - 1; }
  std::uint64_t records() const { return records_; }

 private:
  VcfReader reader_;
  const Fasta& fasta_;
  const ContigNames& contigs_;
  std::uint64_t chunk_;
  std::uint64_t chunks_ = 0;
  std::uint64_t records_ = 0;
};

}  // namespace bigbird
