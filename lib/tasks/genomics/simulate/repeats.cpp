// Repeats of the simulator; see repeats.h.
#include "lib/tasks/genomics/simulate/repeats.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "lib/io/genome/fasta.h"
#include "lib/tasks/genomics/simulate/composition.h"

namespace bigbird {
namespace {

// How often each kind is chosen, in each isochore class from GC-poor to GC-rich (SINE, LINE, LTR, DNA).
constexpr std::array<std::array<std::int64_t, 4>, 5> kind_weights = {
    {{25, 45, 18, 12}, {35, 38, 16, 11}, {50, 27, 13, 10}, {62, 18, 11, 9}, {70, 12, 10, 8}}};
// Mean unique stretch between two copies; with copies of about 450 bases this leaves 45 % repeats.
constexpr std::int64_t mean_gap = 550;

void overwrite(std::span<char> bases, std::int64_t at, std::string_view text) {
  const auto begin = static_cast<std::size_t>(at);
  std::copy_n(text.begin(), std::min(text.size(), bases.size() - begin),
              bases.begin() + static_cast<std::ptrdiff_t>(begin));
}

void scatter_tandem(std::span<char> bases, std::int64_t spacing, std::int64_t shortest_unit,
                    std::int64_t longest_unit, std::int64_t shortest, std::int64_t longest, CounterRng& rng) {
  const auto length = static_cast<std::int64_t>(bases.size());
  for (std::int64_t at = rng.between(0, 2 * spacing); at < length; at += 1 + rng.between(0, 2 * spacing)) {
    const std::string unit =
        draw_bases(static_cast<std::size_t>(rng.between(shortest_unit, longest_unit)), 40, rng);
    const auto wanted = static_cast<std::size_t>(rng.between(shortest, longest));
    std::string run;
    while (run.size() < wanted) run += unit;
    overwrite(bases, at, diverge(run, static_cast<int>(rng.between(0, 50)), rng));
  }
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

std::string RepeatLibrary::draw_copy(const RepeatFamily& family, CounterRng& rng) const {
  const auto full = static_cast<std::int64_t>(family.consensus.size());
  std::int64_t begin = 0;
  std::int64_t length = full;
  if (family.kind == RepeatKind::line) {
    // 3' ends of a few hundred bases mostly.
    length = std::min(full, rng.between(200, std::int64_t{600} << rng.below(3)));
    begin = full - length;
  } else if (rng.below(4) == 0) {
    length = rng.between(std::min<std::int64_t>(80, full), full);
    begin = rng.between(0, full - length);
  }
  std::string copy =
      family.consensus.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(length));
  if ((family.kind == RepeatKind::sine || family.kind == RepeatKind::line) && begin + length == full) {
    copy.append(static_cast<std::size_t>(rng.between(8, 30)), 'A');
  }
  copy =
      diverge(copy, static_cast<int>(rng.between(family.youngest_per_mille, family.oldest_per_mille)), rng);
  return rng.below(2) == 0 ? copy : reverse_complement(copy);
}

std::int64_t RepeatLibrary::scatter(std::span<char> bases, std::size_t composition_class,
                                    CounterRng& rng) const {
  const auto length = static_cast<std::int64_t>(bases.size());
  const auto& weights = kind_weights[composition_class];
  std::int64_t covered = 0;
  std::int64_t at = rng.between(0, 2 * mean_gap);
  while (at < length) {
    std::int64_t draw = rng.between(1, 100);
    std::size_t kind = 0;
    while (draw > weights[kind]) draw -= weights[kind++];
    std::vector<const RepeatFamily*> candidates;
    for (const RepeatFamily& family : families_) {
      if (static_cast<std::size_t>(family.kind) == kind) candidates.push_back(&family);
    }
    const std::string copy =
        draw_copy(*candidates[static_cast<std::size_t>(rng.below(candidates.size()))], rng);
    overwrite(bases, at, copy);
    covered += std::min(static_cast<std::int64_t>(copy.size()), length - at);
    at += static_cast<std::int64_t>(copy.size()) + rng.between(0, 2 * mean_gap);
  }
  scatter_tandem(bases, 4000, 1, 6, 20, 80, rng);
  scatter_tandem(bases, 40'000, 10, 40, 100, 800, rng);
  return covered;
}

}  // namespace bigbird
