// Hard negatives: where a fine-tuned model, scanning the training side of a genome, finds promoters that are
// none. Coordinates are 0-based half-open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "kernels/backend.h"
#include "lib/io/genome/most_n.h"
#include "lib/io/genome/region.h"

namespace bigbird {

struct HardNegativeOptions {
  std::string model;  // of promoter finetune, with windows of `left` and `right`
  std::string fasta;
  std::int64_t left = 0;
  std::int64_t right = 0;
  std::int64_t step = 100;        // bases between the positions that are scored
  std::int64_t min_distance = 0;  // from a call to any TSS, in bp
  double max_n = most_n_of_training_window;
};

struct HardNegative {
  std::size_t contig = 0;
  std::int64_t begin = 0;  // of the window
  std::int64_t end = 0;
  char strand = '+';
  double score = 0;
  std::string sequence;  // on `strand`
};

struct HardNegativeSummary {
  std::int64_t bases = 0;  // of the stretches that were scanned
  std::int64_t calls = 0;
  std::int64_t near_tss = 0;  // of them, which are no negatives
  std::int64_t known = 0;     // of the sequence of an example, or of a better call
  std::int64_t taken = 0;
  double lowest_score = 0;  // of those taken
};

// The positions whose windows lie, on both strands, within the `open` stretches; and what their scan reads.
std::vector<Region> positions_within(const std::vector<Region>& open, std::int64_t left, std::int64_t right);

// The windows of the `wanted` calls with the highest scores (of equal ones the first by place), in order of
// place. Calls are the local maxima of the scan on either strand, whatever their score, 500 bp apart
// (CallFinder); those within min_distance of a TSS are none of them, nor is one whose sequence, or its
// reverse complement, is among the `known` keys (sequence_key) or that of a better call. `tss`: for each
// contig all that are known, ascending. Reads no base outside of the `open` stretches. Errors: as
// find_promoter_calls; {bad_input} when no window lies within the stretches.
std::vector<HardNegative> find_hard_negatives(const HardNegativeOptions& options,
                                              const std::vector<Region>& open,
                                              const std::vector<std::vector<std::int64_t>>& tss,
                                              const std::unordered_set<std::uint64_t>& known,
                                              std::size_t wanted, kernels::Backend& backend,
                                              HardNegativeSummary& summary);

}  // namespace bigbird
