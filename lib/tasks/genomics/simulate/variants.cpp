// SNVs and indels of the simulator; see variants.h.
#include "lib/tasks/genomics/simulate/variants.h"

#include <algorithm>
#include <utility>

#include "lib/core/rng.h"

namespace bigbird {
namespace {

constexpr std::int64_t mean_spacing = 1000;
constexpr std::string_view letters = "ACGT";

char transition(char base) {
  switch (base) {
    case 'A':
      return 'G';
    case 'G':
      return 'A';
    case 'C':
      return 'T';
    default:
      return 'C';
  }
}

// Another base; transitions twice as often as both transversions together, as in human.
char substitute(char base, CounterRng& rng) {
  if (rng.below(3) < 2) return transition(base);
  for (;;) {
    const char other = letters[static_cast<std::size_t>(rng.below(4))];
    if (other != base && other != transition(base)) return other;
  }
}

int draw_count(CounterRng& rng) {  // rare alleles are the most frequent ones
  const std::uint64_t ceiling = std::uint64_t{2} << rng.below(12);
  return static_cast<int>(1 + rng.below(std::min<std::uint64_t>(ceiling, 2500)));
}

// Moves an indel to its leftmost equivalent place. `text` is inserted after, or deleted from after, base
// `anchor`.
void left_align(std::string_view bases, std::int64_t& anchor, std::string& text) {
  while (anchor > 0 && bases[static_cast<std::size_t>(anchor)] == text.back() &&
         bases[static_cast<std::size_t>(anchor) - 1] != 'N') {
    std::rotate(text.begin(), text.end() - 1, text.end());
    --anchor;
  }
}

}  // namespace

std::vector<SimulatedVariant> simulate_variants(std::uint64_t seed, std::uint64_t chromosome,
                                                std::string_view bases) {
  CounterRng rng(seed, Purpose::simulate_variants, chromosome);
  const auto length = static_cast<std::int64_t>(bases.size());
  std::vector<SimulatedVariant> variants;
  std::int64_t free_from = 0;  // end of the variant before
  for (std::int64_t at = rng.between(1, 2 * mean_spacing); at < length;
       at += rng.between(1, 2 * mean_spacing)) {
    const std::uint64_t kind = rng.below(20);
    SimulatedVariant variant;
    variant.position = at;
    variant.allele_counts = {draw_count(rng)};
    const auto base = [&](std::int64_t position) { return bases[static_cast<std::size_t>(position)]; };
    if (kind < 17) {
      variant.reference = std::string(1, base(at));
      if (variant.reference == "N") continue;
      const char first = substitute(base(at), rng);
      variant.alternate = std::string(1, first);
      if (rng.below(100) == 0) {
        const auto other =
            std::find_if(letters.begin(), letters.end(), [&](char c) { return c != first && c != base(at); });
        variant.alternate += std::string(",") + *other;
        variant.allele_counts.push_back(draw_count(rng));
      }
    } else {
      const std::int64_t size = rng.between(1, rng.between(1, 12));
      std::string text;
      if (kind == 17) {
        for (std::int64_t i = 0; i < size; ++i)
          text.push_back(letters[static_cast<std::size_t>(rng.below(4))]);
      } else {
        if (at + 1 + size > length) continue;
        text = bases.substr(static_cast<std::size_t>(at) + 1, static_cast<std::size_t>(size));
        if (text.find('N') != std::string::npos) continue;
      }
      if (base(at) == 'N') continue;
      left_align(bases, variant.position, text);
      const std::string anchor(1, base(variant.position));
      variant.reference = kind == 17 ? anchor : anchor + text;
      variant.alternate = kind == 17 ? anchor + text : anchor;
    }
    if (variant.position < free_from) continue;
    free_from = variant.position + static_cast<std::int64_t>(variant.reference.size());
    variants.push_back(std::move(variant));
  }
  return variants;
}

}  // namespace bigbird
