// One simulated chromosome: its bases and what was planted in them.
// Coordinates are 0-based half-open on the chromosome.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/genomics/simulate/annotation.h"
#include "lib/genomics/simulate/composition.h"
#include "lib/genomics/simulate/repeats.h"

namespace bigbird {

struct SimulatedChromosome {
  std::string bases;                         // A C G T N
  std::vector<SimulatedPromoter> promoters;  // by position
  SimulatedPeaks peaks;                      // each by position
  std::int64_t genes = 0;
  std::int64_t repeat_bases = 0;
  std::int64_t gap_bases = 0;
};

// Everything that all chromosomes of one genome share.
struct GenomeDesign {
  std::uint64_t seed = 1;
  int promoters_per_mb = 60;
  CompositionModel composition;
  RepeatLibrary repeats;

  GenomeDesign(std::uint64_t seed_value, int promoters)
      : seed(seed_value), promoters_per_mb(promoters), composition(seed_value), repeats(seed_value) {}
};

// Isochores of 40 to 320 kb, each an independent draw made by its own task (isochore.h). Both ends are N, as
// telomeres are in an assembly.
SimulatedChromosome simulate_chromosome(const GenomeDesign& design, std::uint64_t chromosome,
                                        std::int64_t length);

}  // namespace bigbird
