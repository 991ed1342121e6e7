// Where the samples of DeepSEA's matrices lie in the genome, and whether their sequences agree with it. For
// import_deepsea.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/genomics/chromatin/dataset.h"
#include "lib/io/genome/contig_names.h"
#include "lib/io/genome/fasta.h"

namespace bigbird {

class DeepseaBins {
 public:
  // All lines of the BED (16 bytes each in memory). Errors name file and line: a contig that the genome does
  // not have, bins of unequal length or beyond their contig.
  DeepseaBins(const std::string& path, const std::string& fasta);

  const std::vector<Contig>& contigs() const { return names_.contigs(); }
  std::int64_t bin_length() const { return length_; }
  // Bins of a split, in the order of its samples: `count` lines from `first` for train and valid, those of
  // chr8 and chr9 for test. Error when there are not exactly `count`, or train and valid touch chr8 or chr9.
  std::vector<ChromatinBin> split(Split split, std::int64_t first, std::int64_t count) const;
  // Compares letters [bins][positions] with the genome, every `every`-th bin of the split (`index`: of the
  // first one). Returns how many were compared. Error naming the bin where they differ.
  std::uint64_t check(const std::vector<ChromatinBin>& bins, std::size_t index, std::size_t count,
                      const std::string& letters, std::int64_t positions, std::int64_t every,
                      const std::string& source);

 private:
  std::string path_;
  Fasta fasta_;
  ContigNames names_;
  std::int64_t length_ = 0;
  std::vector<ChromatinBin> lines_;
  std::vector<Fasta> handles_;  // one for each thread
};

}  // namespace bigbird
