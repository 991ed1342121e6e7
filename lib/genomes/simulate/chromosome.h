// lib/genomes/simulate holds chromosomes that are made up: composition, isochores, repeats, planted
// promoters and variants, with the truth beside them. One seed gives the same bases on every machine.
//
// One simulated chromosome: its bases and what was planted in them. Coordinates are 0-based half-open on the
// chromosome.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/genomes/simulate/composition.h"

namespace bigbird {

// Bases on each side of a TSS that planting a promoter may change.
inline constexpr std::int64_t promoter_reach = 1500;

struct SimulatedPromoter {
  std::int64_t tss = 0;
  char strand = '+';
  bool tata = false;      // else a CpG-island promoter
  std::int64_t gene = 0;  // counted from 0 along the chromosome
  int rank = 1;           // 2: the gene's alternative promoter

  bool is_main() const { return rank == 1; }
};

struct SimulatedPeak {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t summit = 0;  // offset from begin: the motif's middle
  int score = 0;            // 0 to 1000
};

// A DNA-binding factor and where its sites lie.
struct SimulatedFactor {
  const char* name;
  const char* consensus;  // IUPAC
  bool at_promoters;      // else at distal sites
  int percent;            // of promoters or of distal sites that hold it
};

// The factors of the simulator, in the order of the peak tracks; the track after the last is open chromatin
// (DNase).
inline constexpr std::array<SimulatedFactor, 10> simulated_factors = {{
    {"CTCF", "CCASYAGRKGGCRS", false, 45},
    {"REST", "TTCAGCACCATGGACAGCGCC", false, 10},
    {"GATA1", "AGATAASR", false, 25},
    {"JUND", "RTGASTCAY", false, 30},
    {"CEBPB", "RTTGCGYAAY", false, 25},
    {"SP1", "GGGGGCGGGGC", true, 60},
    {"GABPA", "RCCGGAAGTG", true, 30},
    {"NRF1", "GCGCATGCGC", true, 25},
    {"YY1", "AARATGGCGGC", true, 20},
    {"NFYA", "RRCCAATCRG", true, 35},
}};
inline constexpr std::size_t open_chromatin_track = simulated_factors.size();
inline constexpr std::size_t simulated_tracks = simulated_factors.size() + 1;

using SimulatedPeaks = std::array<std::vector<SimulatedPeak>, simulated_tracks>;

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

// Isochores of 40 to 320 kb, each an independent draw made by its own task. Both ends are N, as
// telomeres are in an assembly.
SimulatedChromosome simulate_chromosome(const GenomeDesign& design, std::uint64_t chromosome,
                                        std::int64_t length);

}  // namespace bigbird
