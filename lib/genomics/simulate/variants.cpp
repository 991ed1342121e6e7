// SNVs and indels of the simulator; see variants.h.
#include "lib/genomics/simulate/variants.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/core/rng.h"

namespace bigbird {
namespace {

constexpr std::int64_t mean_spacing = 1000;
constexpr std::int64_t longest_indel = 12;
constexpr std::string_view base_letters = "ACGT";

char base_at(std::string_view bases, std::int64_t position) {
  return bases[static_cast<std::size_t>(position)];
}

// 17 of 20 are SNVs, one an insertion, two deletions.
VariantKind draw_kind(CounterRng& rng) {
  const std::uint64_t draw = rng.below(20);
  if (draw < 17) return VariantKind::snv;
  return draw == 17 ? VariantKind::insertion : VariantKind::deletion;
}

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

char draw_letter(CounterRng& rng) {
  return base_letters[static_cast<std::size_t>(rng.below(4))];
}

// Another base; transitions twice as often as both transversions together, as in human.
char substitute(char base, CounterRng& rng) {
  if (rng.below(3) < 2) return transition(base);
  for (;;) {
    const char other = draw_letter(rng);
    if (other != base && other != transition(base)) return other;
  }
}

int draw_allele_count(CounterRng& rng) {  // rare alleles are the most frequent ones
  const std::uint64_t ceiling = std::uint64_t{2} << rng.below(12);
  return static_cast<int>(1 + rng.below(std::min<std::uint64_t>(ceiling, 2500)));
}

// REF and ALT at a base that is not N; one SNV in a hundred has a second ALT.
void draw_snv(char base, SimulatedVariant& variant, CounterRng& rng) {
  const char first = substitute(base, rng);
  variant.reference = std::string(1, base);
  variant.alternate = std::string(1, first);
  if (rng.below(100) != 0) return;
  const auto second = std::find_if(base_letters.begin(), base_letters.end(),
                                   [&](char letter) { return letter != first && letter != base; });
  variant.alternate += std::string(",") + *second;
  variant.allele_counts.push_back(draw_allele_count(rng));
}

// The bases that an indel after base `anchor` brings or takes away; nothing where it cannot lie there.
std::optional<std::string> draw_indel(VariantKind kind, std::string_view bases, std::int64_t anchor,
                                      CounterRng& rng) {
  const std::int64_t size = rng.between(1, rng.between(1, longest_indel));
  std::string text;
  if (kind == VariantKind::insertion) {
    for (std::int64_t i = 0; i < size; ++i) text.push_back(draw_letter(rng));
    return text;
  }
  if (anchor + 1 + size > static_cast<std::int64_t>(bases.size())) return std::nullopt;
  text = bases.substr(static_cast<std::size_t>(anchor) + 1, static_cast<std::size_t>(size));
  if (text.find('N') != std::string::npos) return std::nullopt;
  return text;
}

// Moves an indel to its leftmost equivalent place. `text` is inserted after, or deleted from after, base
// `anchor`.
void left_align(std::string_view bases, std::int64_t& anchor, std::string& text) {
  while (anchor > 0 && base_at(bases, anchor) == text.back() && base_at(bases, anchor - 1) != 'N') {
    std::rotate(text.begin(), text.end() - 1, text.end());
    --anchor;
  }
}

// A variant at a base, or nothing where that is N or the variant does not fit.
std::optional<SimulatedVariant> draw_variant(std::string_view bases, std::int64_t position, CounterRng& rng) {
  SimulatedVariant variant;
  variant.position = position;
  variant.kind = draw_kind(rng);
  variant.allele_counts = {draw_allele_count(rng)};
  const char base = base_at(bases, position);
  if (variant.kind == VariantKind::snv) {
    if (base == 'N') return std::nullopt;
    draw_snv(base, variant, rng);
    return variant;
  }
  std::optional<std::string> text = draw_indel(variant.kind, bases, position, rng);
  if (!text || base == 'N') return std::nullopt;
  left_align(bases, variant.position, *text);
  const std::string anchor(1, base_at(bases, variant.position));
  variant.reference = anchor;
  variant.alternate = anchor;
  (variant.kind == VariantKind::insertion ? variant.alternate : variant.reference) += *text;
  return variant;
}

}  // namespace

std::vector<SimulatedVariant> simulate_variants(std::uint64_t seed, std::uint64_t chromosome,
                                                std::string_view bases) {
  CounterRng rng(seed, Purpose::simulate_variants, chromosome);
  const auto length = static_cast<std::int64_t>(bases.size());
  const auto draw_spacing = [&] { return rng.between(1, 2 * mean_spacing); };
  std::vector<SimulatedVariant> variants;
  std::int64_t end_before = 0;  // of the variant before
  for (std::int64_t at = draw_spacing(); at < length; at += draw_spacing()) {
    std::optional<SimulatedVariant> variant = draw_variant(bases, at, rng);
    if (!variant || variant->position < end_before) continue;
    end_before = variant->position + static_cast<std::int64_t>(variant->reference.size());
    variants.push_back(std::move(*variant));
  }
  return variants;
}

}  // namespace bigbird
