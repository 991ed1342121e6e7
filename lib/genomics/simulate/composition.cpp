// Markov chains and small sequence draws of the simulator; see composition.h.
#include "lib/genomics/simulate/composition.h"

#include "kernels/philox.h"
#include "lib/core/error.h"

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

}  // namespace bigbird
