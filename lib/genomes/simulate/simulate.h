// `bigbird simulate`: a deterministic genome of any size with annotation, for demos, tests and benchmarks.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/genomes/simulate/chromosome.h"
#include "lib/io/files/provenance.h"

namespace bigbird {

struct SimulateOptions {
  std::string output;  // folder; must not hold anything unless `replace`
  bool replace = false;
  std::int64_t bases = 5'000'000;  // over all chromosomes
  int chromosomes = 3;             // chr1, chr2, ...; 1 to 22, nearly equal in length
  int promoters_per_mb = 60;       // 1 to 200
  std::uint64_t seed = 1;
  bool with_provenance = true;
  bool provenance_in_tables = false;  // as "##" lines on top of tables too
  Provenance provenance;
};

struct SimulateSummary {
  std::int64_t bases = 0;
  std::int64_t gap_bases = 0;
  std::int64_t repeat_bases = 0;
  std::int64_t genes = 0;
  std::int64_t promoters = 0;
  std::int64_t tata_promoters = 0;
  std::array<std::int64_t, simulated_tracks> peaks{};
  std::int64_t snvs = 0;
  std::int64_t insertions = 0;
  std::int64_t deletions = 0;
};

// Writes genome.fa.gz (.fai, .gzi), promoters.tss.bed (BED6, one base, named GENE_1 and GENE_2),
// peaks/<factor>.narrowPeak.gz, peaks/peaks.tsv (#name group file), variants.vcf.gz (.tbi) and simulate.json.
// The folder appears whole or not at all; its bytes are a function of the options, not of the number of
// threads or the machine. Memory: a chromosome and the annotation. Errors: sizes out of range; less than 100
// kb a chromosome; an output folder that is not empty.
SimulateSummary simulate_genome(const SimulateOptions& options);

// Variants of a simulated chromosome: SNVs and short indels whose REF is what the genome holds.
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
