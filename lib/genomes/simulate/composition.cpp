// Markov chains and small sequence draws of the simulator; see composition.h.
#include "lib/genomes/simulate/composition.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "kernels/philox.h"
#include "lib/core/error.h"
#include "lib/io/genome/fasta.h"

namespace bigbird {
namespace {

constexpr char four_letters[] = "ACGT";
constexpr std::size_t code_c = 1;
constexpr std::size_t code_g = 2;
constexpr int island_gc_percent = 66;
// Outside of islands a CG is this many times rarer than its bases let expect: methylated CG decays to TG.
constexpr std::uint64_t cg_depletion = 4;
// Probabilities are in units of 1 / 65,536, so that 16 random bits draw a base.
constexpr std::uint64_t probability_unit = 65536;

using BaseWeights = std::array<std::uint64_t, 4>;  // of A, C, G, T

std::string_view bases_of_iupac(char letter) {
  switch (letter) {
    case 'A':
      return "A";
    case 'C':
      return "C";
    case 'G':
      return "G";
    case 'T':
      return "T";
    case 'R':
      return "AG";
    case 'Y':
      return "CT";
    case 'S':
      return "CG";
    case 'W':
      return "AT";
    case 'K':
      return "GT";
    case 'M':
      return "AC";
    case 'N':
      return "ACGT";
    default:
      throw_runtime(std::string("motif letter ") + letter + " is not an IUPAC code in use here");
  }
}

std::size_t base_code(char base) {
  return std::string_view(four_letters).find(base);
}

// What a model can learn beyond the GC fraction: how much each context prefers each base, 25 to 175 against a
// mean of 100.
std::vector<BaseWeights> draw_preferences(std::uint64_t seed, std::size_t contexts) {
  CounterRng rng(seed, Purpose::simulate_genome, ~0ull);
  std::vector<BaseWeights> preferences(contexts);
  for (BaseWeights& weights : preferences) {
    for (std::uint64_t& weight : weights) weight = 25 + rng.below(151);
  }
  return preferences;
}

// The preferences of one context in a class: with its GC fraction, and with its depletion of CG.
BaseWeights class_weights(const BaseWeights& preference, std::size_t composition_class, bool after_c) {
  const bool island = composition_class == island_class;
  const auto gc_percent =
      static_cast<std::uint64_t>(island ? island_gc_percent : isochore_gc_percent[composition_class]);
  BaseWeights weights{};
  for (std::size_t base = 0; base < 4; ++base) {
    const bool is_gc = base == code_c || base == code_g;
    weights[base] = preference[base] * (is_gc ? gc_percent : 100 - gc_percent);
  }
  if (after_c && !island) weights[code_g] /= cg_depletion;
  return weights;
}

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

CompositionModel::CompositionModel(std::uint64_t seed) {
  const std::vector<BaseWeights> preferences = draw_preferences(seed, contexts);
  for (std::size_t composition_class = 0; composition_class < composition_classes; ++composition_class) {
    rows_[composition_class].resize(contexts);
    for (std::size_t context = 0; context < contexts; ++context) {
      const bool after_c = (context & 3) == code_c;
      const BaseWeights weights = class_weights(preferences[context], composition_class, after_c);
      const std::uint64_t sum = weights[0] + weights[1] + weights[2] + weights[3];
      std::uint64_t below = 0;
      for (std::size_t base = 0; base < 3; ++base) {
        below += weights[base];
        rows_[composition_class][context].below[base] =
            static_cast<std::uint32_t>(below * probability_unit / sum);
      }
    }
  }
}

void CompositionModel::fill(std::span<char> bases, std::size_t composition_class, std::uint64_t key) const {
  constexpr std::size_t bases_of_draw = 8;  // 16 of its 128 bits each
  const std::vector<Row>& rows = rows_[composition_class];
  std::size_t context = static_cast<std::size_t>(key) % contexts;
  std::size_t at = 0;
  for (std::uint64_t counter = 0; at < bases.size(); ++counter) {
    const kernels::Philox4x32 draw = kernels::philox4x32(key, counter, composition_class);
    for (std::size_t i = 0; i < bases_of_draw && at < bases.size(); ++i) {
      const std::uint32_t value = (draw.word[i >> 1] >> (16 * (i & 1))) & 0xffff;
      const auto& below = rows[context].below;
      const std::size_t base =
          std::size_t{value >= below[0]} + std::size_t{value >= below[1]} + std::size_t{value >= below[2]};
      bases[at++] = four_letters[base];
      context = ((context << 2) | base) % contexts;
    }
  }
}

std::size_t draw_by_percent(std::span<const std::int64_t> percents, CounterRng& rng) {
  std::int64_t draw = rng.between(1, 100);
  std::size_t chosen = 0;
  while (draw > percents[chosen]) draw -= percents[chosen++];
  return chosen;
}

std::string draw_motif(std::string_view consensus, int noise_percent, CounterRng& rng) {
  std::string motif;
  for (const char letter : consensus) {
    const std::string_view allowed =
        rng.between(1, 100) <= noise_percent ? std::string_view("ACGT") : bases_of_iupac(letter);
    motif.push_back(allowed[static_cast<std::size_t>(rng.below(allowed.size()))]);
  }
  return motif;
}

std::string diverge(std::string_view sequence, int per_mille, CounterRng& rng) {
  // One draw a base: the low half says whether it changes, the high half how.
  const auto threshold = static_cast<std::uint32_t>(per_mille * 65536 / 1000);
  constexpr std::uint32_t kinds = 20;  // 0 deletes, 1 inserts, the others substitute
  std::string copy;
  copy.reserve(sequence.size() + 16);
  for (const char base : sequence) {
    const std::uint32_t draw = rng.next_u32();
    const bool changes = (draw & 0xffff) < threshold;
    if (!changes) {
      copy.push_back(base);
      continue;
    }
    const std::uint32_t kind = (draw >> 16) % kinds;
    const std::uint32_t which = (draw >> 16) / kinds;
    if (kind >= 2) {
      copy.push_back(four_letters[(base_code(base) + 1 + which % 3) % 4]);
    } else if (kind == 1) {
      copy.push_back(base);
      copy.push_back(four_letters[which % 4]);
    }
  }
  return copy;
}

std::string draw_bases(std::size_t length, int gc_percent, CounterRng& rng) {
  std::string bases(length, 'A');
  for (char& base : bases) {
    const bool gc = rng.between(1, 100) <= gc_percent;
    const bool first = rng.below(2) == 0;
    base = gc ? (first ? 'C' : 'G') : (first ? 'A' : 'T');
  }
  return bases;
}

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
