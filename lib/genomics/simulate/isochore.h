// One isochore of a simulated chromosome: a stretch of one GC class with all that is planted in it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/genomics/simulate/annotation.h"
#include "lib/genomics/simulate/chromosome.h"

namespace bigbird {

// What lies in an isochore; positions are relative to its first base.
struct IsochoreContent {
  std::vector<SimulatedPromoter> promoters;  // by position; genes are counted from 0
  SimulatedPeaks peaks;                      // each by position
  std::int64_t genes = 0;
  std::int64_t repeat_bases = 0;
};

// Fills `bases` with background, repeats, CpG islands, distal factor sites and promoters; in one of six
// isochores an N gap takes the place of the first of them. Promoters stand in slots of equal size, so that
// windows of -5,000..+3,000 around the TSS of neighbouring genes do not overlap at up to 100 promoters per
// Mb. `key` names the draw.
IsochoreContent make_isochore(const GenomeDesign& design, std::span<char> bases, std::uint64_t key);

}  // namespace bigbird
