// `bigbird chromatin import-deepsea`: the published DeepSEA matrices as a data set folder (dataset.h).
//
// Each file holds first all forward samples and then, in the same order, their reverse complements with the
// same labels; the forward half is kept. With the coordinates of the bins (allTFs.pos.bed) and the genome,
// the data set lists the bins and longer windows can be cut; without them the sequences themselves are kept
// (sequences.fa.gz, windows as long as the samples).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/genomics/chromatin/dataset.h"
#include "lib/io/files/provenance.h"

namespace bigbird {

struct DeepseaImportOptions {
  std::vector<std::string> files;  // at most one of each split; written in the order train, valid, test
  std::string bins;                // BED of all bins, or empty
  std::string fasta;               // with bins
  std::string output;
  bool replace = false;
  std::string profiles;                    // see read_deepsea_profiles; may be empty
  std::int64_t left = 3900, right = 3900;  // bases of the window before and after the bin (with bins)
  bool pairs = true;                       // false: every sample is a bin of its own (without bins)
  std::int64_t check_every = 1;            // every so many bins are compared with the genome; 0: none
  // Lines of `bins` that are the training set; needed without train.mat, whose own number is it otherwise.
  std::optional<std::int64_t> train_lines;
  std::int64_t memory = std::int64_t{512} << 20;  // bytes for slabs of samples
  bool with_provenance = true;
  bool provenance_in_tables = false;  // as "##" lines on top of tables too
  Provenance provenance;
};

struct DeepseaImportSummary {
  std::array<std::uint64_t, split_count> bins{};  // by Split
  std::size_t profiles = 0;
  std::uint64_t pairs_checked = 0;   // all of them, when pairs are asked for
  std::uint64_t genome_checked = 0;  // bins whose sequence was compared
  std::uint64_t samples_with_n = 0;  // of those kept
};

// Which lines are which: the first N / 2 are the training set of N samples (train_lines), the next are the
// validation set, and test are the lines of chr8 and chr9. A bin's sample is the genome's stretch with the
// bin in its middle ([begin - 400, begin + 600)), moved inwards at the end of a chromosome.
// Memory: two slabs of samples, within `memory` where the file's chunks allow it, and all of the sequence
// variable for a file of version 5 (said in the log before it is read). Errors: as DeepseaMatrix; a pair that
// is none; numbers of lines and samples that disagree; a sequence that is not the genome's.
DeepseaImportSummary import_deepsea(const DeepseaImportOptions& options);

}  // namespace bigbird
