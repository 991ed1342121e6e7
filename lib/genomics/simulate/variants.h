// Variants of a simulated chromosome: SNVs and short indels whose REF is what the genome holds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bigbird {

enum class VariantKind { snv, insertion, deletion };

struct SimulatedVariant {
  VariantKind kind = VariantKind::snv;
  std::int64_t position = 0;       // 0-based position of the first base of `reference`
  std::string reference;           // as in VCF: indels carry the base before them and are left-aligned
  std::string alternate;           // one allele, or two separated by a comma (SNVs only)
  std::vector<int> allele_counts;  // of simulated_allele_number chromosomes, one for each allele
};

inline constexpr int simulated_allele_number = 5008;

// One variant in a thousand bases on average, 17 of 20 an SNV, the rest insertions and deletions of 1 to 12
// bases; ordered by position, never overlapping, never on N.
std::vector<SimulatedVariant> simulate_variants(std::uint64_t seed, std::uint64_t chromosome,
                                                std::string_view bases);

}  // namespace bigbird
