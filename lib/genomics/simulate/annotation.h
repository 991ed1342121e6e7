// lib/genomics/simulate holds chromosomes that are made up: composition, isochores, repeats, planted
// promoters and variants, with the truth beside them. One seed gives the same bases on every machine.
//
// What is planted in a simulated chromosome. Coordinates are 0-based half-open.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

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

}  // namespace bigbird
