// Markov chains and small sequence draws of the simulator; see composition.h.
#include "lib/tasks/genomics/simulate/composition.h"

#include "kernels/philox.h"
#include "lib/core/error.h"

namespace bigbird {
namespace {

constexpr char letters[] = "ACGT";
constexpr std::size_t code_c = 1;
constexpr std::size_t code_g = 2;
constexpr int island_gc_percent = 66;

std::string_view iupac_bases(char letter) {
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

}  // namespace

CompositionModel::CompositionModel(std::uint64_t seed) {
  // Preferences of each context, 25 to 175 against a mean of 100: what a model can learn beyond the GC share.
  CounterRng rng(seed, Purpose::simulate_genome, ~0ull);
  std::vector<std::array<std::uint64_t, 4>> preference(contexts);
  for (auto& row : preference) {
    for (auto& weight : row) weight = 25 + rng.below(151);
  }
  for (std::size_t c = 0; c < composition_classes; ++c) {
    const bool island = c == island_class;
    const auto gc = static_cast<std::uint64_t>(island ? island_gc_percent : isochore_gc_percent[c]);
    rows_[c].resize(contexts);
    for (std::size_t context = 0; context < contexts; ++context) {
      std::array<std::uint64_t, 4> weight{};
      std::uint64_t sum = 0;
      for (std::size_t base = 0; base < 4; ++base) {
        const bool is_gc = base == code_c || base == code_g;
        weight[base] = preference[context][base] * (is_gc ? gc : 100 - gc);
        if (!island && base == code_g && (context & 3) == code_c)
          weight[base] /= 4;  // methylated CG decays to TG
        sum += weight[base];
      }
      std::uint64_t below = 0;
      for (std::size_t base = 0; base < 3; ++base) {
        below += weight[base];
        rows_[c][context].below[base] = static_cast<std::uint32_t>(below * 65536 / sum);
      }
    }
  }
}

void CompositionModel::fill(std::span<char> bases, std::size_t composition_class, std::uint64_t key) const {
  const std::vector<Row>& rows = rows_[composition_class];
  std::size_t context = static_cast<std::size_t>(key) % contexts;
  std::size_t at = 0;
  for (std::uint64_t counter = 0; at < bases.size(); ++counter) {
    const kernels::Philox4x32 draw = kernels::philox4x32(key, counter, composition_class);
    for (std::size_t i = 0; i < 8 && at < bases.size(); ++i) {
      const std::uint32_t value = (draw.word[i >> 1] >> (16 * (i & 1))) & 0xffff;
      const auto& below = rows[context].below;
      const std::size_t base =
          std::size_t{value >= below[0]} + std::size_t{value >= below[1]} + std::size_t{value >= below[2]};
      bases[at++] = letters[base];
      context = ((context << 2) | base) % contexts;
    }
  }
}

std::string draw_motif(std::string_view consensus, int noise_percent, CounterRng& rng) {
  std::string motif;
  for (const char letter : consensus) {
    const std::string_view allowed =
        rng.between(1, 100) <= noise_percent ? std::string_view("ACGT") : iupac_bases(letter);
    motif.push_back(allowed[static_cast<std::size_t>(rng.below(allowed.size()))]);
  }
  return motif;
}

std::string diverge(std::string_view sequence, int per_mille, CounterRng& rng) {
  const auto threshold = static_cast<std::uint32_t>(per_mille * 65536 / 1000);
  std::string copy;
  copy.reserve(sequence.size() + 16);
  for (const char base : sequence) {
    const std::uint32_t draw = rng.next_u32();
    if ((draw & 0xffff) >= threshold) {
      copy.push_back(base);
      continue;
    }
    const std::uint32_t kind = (draw >> 16) % 20;
    const std::uint32_t which = (draw >> 16) / 20;
    if (kind >= 2) {
      const std::size_t code = base == 'A' ? 0 : base == 'C' ? 1 : base == 'G' ? 2 : 3;
      copy.push_back(letters[(code + 1 + which % 3) % 4]);
    } else if (kind == 1) {
      copy.push_back(base);
      copy.push_back(letters[which % 4]);
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
