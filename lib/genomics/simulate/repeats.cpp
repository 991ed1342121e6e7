// Repeats of the simulator; see repeats.h.
#include "lib/genomics/simulate/repeats.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "lib/genomics/simulate/composition.h"
#include "lib/io/genome/fasta.h"

namespace bigbird {
namespace {

// How often each RepeatKind is chosen, in its order, in each isochore class from GC-poor to GC-rich.
constexpr std::array<std::array<std::int64_t, 4>, 5> kind_percents = {
    {{25, 45, 18, 12}, {35, 38, 16, 11}, {50, 27, 13, 10}, {62, 18, 11, 9}, {70, 12, 10, 8}}};
// Mean unique stretch between two copies; with copies of about 450 bases this leaves 45 % repeats.
constexpr std::int64_t mean_gap = 550;

void overwrite(std::span<char> bases, std::int64_t at, std::string_view text) {
  const auto begin = static_cast<std::size_t>(at);
  std::copy_n(text.begin(), std::min(text.size(), bases.size() - begin),
              bases.begin() + static_cast<std::ptrdiff_t>(begin));
}

// Runs of a unit that is repeated end to end; lengths in bp.
struct TandemRepeats {
  std::int64_t mean_spacing;  // of their beginnings
  std::int64_t shortest_unit, longest_unit;
  std::int64_t shortest_run, longest_run;
};
constexpr TandemRepeats microsatellites = {4000, 1, 6, 20, 80};
constexpr TandemRepeats minisatellites = {40'000, 10, 40, 100, 800};
constexpr int tandem_gc_percent = 40;
constexpr std::int64_t tandem_most_divergence = 50;  // per mille

void scatter_tandem(std::span<char> bases, const TandemRepeats& kind, CounterRng& rng) {
  const auto length = static_cast<std::int64_t>(bases.size());
  const auto draw_spacing = [&] { return rng.between(0, 2 * kind.mean_spacing); };
  for (std::int64_t at = draw_spacing(); at < length; at += 1 + draw_spacing()) {
    const auto unit_length = static_cast<std::size_t>(rng.between(kind.shortest_unit, kind.longest_unit));
    const std::string unit = draw_bases(unit_length, tandem_gc_percent, rng);
    const auto run_length = static_cast<std::size_t>(rng.between(kind.shortest_run, kind.longest_run));
    std::string run;
    while (run.size() < run_length) run += unit;
    overwrite(bases, at, diverge(run, static_cast<int>(rng.between(0, tandem_most_divergence)), rng));
  }
}

// The stretch of a family's consensus that a copy keeps.
struct KeptStretch {
  std::int64_t begin, length;
};

KeptStretch draw_stretch(const RepeatFamily& family, CounterRng& rng) {
  const auto full = static_cast<std::int64_t>(family.consensus.size());
  if (family.kind == RepeatKind::line) {  // 3' ends, of a few hundred bases mostly
    const std::int64_t length = std::min(full, rng.between(200, std::int64_t{600} << rng.below(3)));
    return {full - length, length};
  }
  const bool whole = rng.below(4) != 0;
  if (whole) return {0, full};
  const std::int64_t length = rng.between(std::min<std::int64_t>(80, full), full);
  return {rng.between(0, full - length), length};
}

// A copy of the family as it lies in the genome, on either strand.
std::string draw_copy(const RepeatFamily& family, CounterRng& rng) {
  const KeptStretch kept = draw_stretch(family, rng);
  std::string copy =
      family.consensus.substr(static_cast<std::size_t>(kept.begin), static_cast<std::size_t>(kept.length));
  const bool has_tail = family.kind == RepeatKind::sine || family.kind == RepeatKind::line;
  const bool keeps_end = kept.begin + kept.length == static_cast<std::int64_t>(family.consensus.size());
  if (has_tail && keeps_end) copy.append(static_cast<std::size_t>(rng.between(8, 30)), 'A');
  const std::int64_t divergence = rng.between(family.youngest_per_mille, family.oldest_per_mille);
  copy = diverge(copy, static_cast<int>(divergence), rng);
  return rng.below(2) == 0 ? copy : reverse_complement(copy);
}

}  // namespace

RepeatLibrary::RepeatLibrary(std::uint64_t seed) {
  CounterRng rng(seed, Purpose::simulate_genome, ~1ull);
  const std::string alu = draw_bases(282, 60, rng);
  families_.push_back({"SINE_old", RepeatKind::sine, diverge(alu, 60, rng), 80, 160});
  families_.push_back({"SINE_middle", RepeatKind::sine, diverge(alu, 30, rng), 40, 120});
  families_.push_back({"SINE_young", RepeatKind::sine, diverge(alu, 20, rng), 10, 60});
  families_.push_back({"SINE_main", RepeatKind::sine, alu, 20, 100});
  families_.push_back({"LINE_young", RepeatKind::line, draw_bases(6000, 42, rng), 10, 80});
  families_.push_back({"LINE_middle", RepeatKind::line, draw_bases(5500, 40, rng), 50, 150});
  families_.push_back({"LINE_old", RepeatKind::line, draw_bases(3200, 38, rng), 120, 200});
  families_.push_back({"LTR_a", RepeatKind::ltr, draw_bases(450, 46, rng), 20, 120});
  families_.push_back({"LTR_b", RepeatKind::ltr, draw_bases(620, 44, rng), 60, 160});
  families_.push_back({"LTR_c", RepeatKind::ltr, draw_bases(380, 48, rng), 80, 200});
  families_.push_back({"DNA_a", RepeatKind::dna, draw_bases(190, 40, rng), 60, 180});
  families_.push_back({"DNA_b", RepeatKind::dna, draw_bases(340, 38, rng), 100, 200});
}

const RepeatFamily& RepeatLibrary::draw_family(std::size_t composition_class, CounterRng& rng) const {
  const auto kind = static_cast<RepeatKind>(draw_by_percent(kind_percents[composition_class], rng));
  std::vector<const RepeatFamily*> candidates;
  for (const RepeatFamily& family : families_) {
    if (family.kind == kind) candidates.push_back(&family);
  }
  return *candidates[static_cast<std::size_t>(rng.below(candidates.size()))];
}

std::int64_t RepeatLibrary::scatter(std::span<char> bases, std::size_t composition_class,
                                    CounterRng& rng) const {
  const auto length = static_cast<std::int64_t>(bases.size());
  const auto draw_gap = [&] { return rng.between(0, 2 * mean_gap); };
  std::int64_t covered = 0;
  for (std::int64_t at = draw_gap(); at < length;) {
    const std::string copy = draw_copy(draw_family(composition_class, rng), rng);
    overwrite(bases, at, copy);
    const auto copy_length = static_cast<std::int64_t>(copy.size());
    covered += std::min(copy_length, length - at);
    at += copy_length + draw_gap();
  }
  scatter_tandem(bases, microsatellites, rng);
  scatter_tandem(bases, minisatellites, rng);
  return covered;
}

}  // namespace bigbird
