// The plain sequence of simulated genomes: order-5 Markov chains, one for each class of local composition;
// and the repeats over it. Integer arithmetic only, so that every machine draws the same bases.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/rng.h"

namespace bigbird {

// Isochore families by GC fraction, after Bernardi's L1, L2, H1, H2, H3; CpG islands are richer still and,
// unlike the rest, not depleted of CG.
inline constexpr std::array<int, 5> isochore_gc_percent = {36, 40, 45, 51, 57};
inline constexpr std::size_t island_class = 5;
inline constexpr std::size_t composition_classes = 6;

class CompositionModel {
 public:
  // The chains of one genome: which words are frequent is drawn from the seed and shared by all classes.
  explicit CompositionModel(std::uint64_t seed);

  // Fills `bases` with a chain of the given class (0 to 5); `key` names the draw.
  void fill(std::span<char> bases, std::size_t composition_class, std::uint64_t key) const;

 private:
  static constexpr std::size_t contexts = 4 * 4 * 4 * 4 * 4;
  // Cumulative probabilities of A, C, G (the rest is T) in units of 1/65,536.
  struct Row {
    std::array<std::uint32_t, 3> below;
  };
  std::array<std::vector<Row>, composition_classes> rows_;
};

// Which of several things, of which each is drawn in so many of a hundred cases; `percents` add up to 100.
std::size_t draw_by_percent(std::span<const std::int64_t> percents, CounterRng& rng);

// A random sequence for an IUPAC consensus ("YYANWYY"): each position is drawn among the bases its letter
// allows, and with `noise_percent` among all four.
std::string draw_motif(std::string_view consensus, int noise_percent, CounterRng& rng);

// A copy of `sequence` with substitutions (9 of 10) and insertions and deletions of one base (1 of 10) at the
// given rate.
std::string diverge(std::string_view sequence, int per_mille, CounterRng& rng);

// Independent bases with the given GC fraction.
std::string draw_bases(std::size_t length, int gc_percent, CounterRng& rng);

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

// Interspersed and tandem repeats: about half of the sequence, as in human.
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
