// Interspersed and tandem repeats of simulated genomes: about half of the sequence, as in human.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/core/rng.h"

namespace bigbird {

// What a family's copies look like. SINE: full length, with a poly-A tail. LINE: most copies lack their 5'
// part, with a poly-A tail. LTR and DNA: full length or a piece.
enum class RepeatKind { sine, line, ltr, dna };

struct RepeatFamily {
  std::string name;
  RepeatKind kind = RepeatKind::sine;
  std::string consensus;
  int youngest_per_mille = 10;  // range of a copy's divergence from the consensus
  int oldest_per_mille = 200;
};

class RepeatLibrary {
 public:
  // Families with consensus sequences drawn from the seed: four SINE subfamilies of one ancestor (Alu-like),
  // three LINE, three LTR, two DNA transposons.
  explicit RepeatLibrary(std::uint64_t seed);

  // Overwrites about 45 % of `bases` with copies on both strands: SINE prefer GC-rich classes, LINE AT-rich
  // ones; then lays micro- and minisatellites over it. Returns the number of bases overwritten by
  // interspersed repeats.
  std::int64_t scatter(std::span<char> bases, std::size_t composition_class, CounterRng& rng) const;

 private:
  const RepeatFamily& draw_family(std::size_t composition_class, CounterRng& rng) const;

  std::vector<RepeatFamily> families_;
};

}  // namespace bigbird
