// What `bigbird demo` does: scores the variants that lie in a shipped model's folder, and draws the
// strongest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/genomics/variants/summary.h"
#include "lib/inference/sequence_scorer.h"

namespace bigbird {

struct DemoOptions {
  // A folder with tracks/ (a model of profiles), background.safetensors, and demo/ with genome.fa.gz and one
  // file *.vcf.gz.
  std::string model;
  std::string output;  // folder
  bool replace = false;
  std::vector<std::string> provenance;  // lines without "##"
};

struct DemoVariant {
  std::string chrom, ref, alt;
  std::int64_t position = 0;  // 1-based
  std::string profile;        // the one that changes most, by its label
  // As the table of scores has them: p(ALT) - p(REF), the log2 of the ratio of odds, and the fraction of the
  // background that has a larger effect, the smallest over the profiles.
  std::string difference, log_fold_change, e_value;
};

struct DemoResult {
  VariantTally tally;
  std::string variants;                // the name of the VCF
  std::vector<DemoVariant> strongest;  // by E-value, of equal ones the larger effects first; at most 5
  std::string drawn;                   // the region around the first, as a user types one
};

// Of the page: alleles with a logo, and bases of each.
constexpr std::size_t demo_logos = 3;
constexpr std::int64_t demo_logo_bases = 31;

// The output folder has what the three commands `variants`, `ism` and `report` write that apps prints: the
// genome and the variants, scored.tsv, effects.tsv, effects.svg and report.html. It appears whole or not at
// all. Works inside of it, so that outputs name files as a user there would. `scorer` holds the tracks.
DemoResult run_demo(const DemoOptions& options, SequenceScorer& scorer, kernels::Backend& backend);

}  // namespace bigbird
