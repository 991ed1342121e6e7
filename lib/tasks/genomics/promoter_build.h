// `bigbird promoter build`: windows around transcription start sites, a negative for each, and a seeded
// split.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/io/provenance.h"
#include "lib/tasks/genomics/promoter_negatives.h"
#include "lib/tasks/genomics/promoter_split.h"

namespace bigbird {

struct PromoterBuildOptions {
  std::string tss;  // BED; see promoter_tss.h
  std::string fasta;
  std::string output;  // folder; must not hold anything unless `replace`
  bool replace = false;
  std::string chain;          // UCSC chain file to lift the TSS with; may be empty
  std::int64_t left = 5000;   // bases before the TSS on the sense strand
  std::int64_t right = 3000;  // bases from the TSS on, the TSS included
  double max_n = 0.05;        // windows with a larger share of N are dropped
  NegativeKind negatives = NegativeKind::random;
  SplitPlan split;
  std::uint64_t seed = 1;
  bool with_provenance = true;
  Provenance provenance;
};

struct PromoterBuildSummary {
  std::int64_t rows = 0;                        // in the TSS file
  std::int64_t promoters = 0;                   // used; as many negatives
  std::map<std::string, std::int64_t> dropped;  // by reason
  // One entry for each fold (one without folds): promoters on each side.
  std::vector<std::map<std::string, std::int64_t>> sides;
};

// The window of a TSS: [TSS - left, TSS + right) on +, [TSS - right + 1, TSS + left + 1) on -, always given
// on the sense strand, so that the TSS is base `left` of the sequence. Writes train.tsv, valid.tsv, test.tsv
// (with folds: fold1/train.tsv, ...), dropped.tsv and manifest.json; each negative follows its promoter. The
// negative of a promoter is a function of the seed and of its place alone. A window that passes its contig's
// end or holds too many N is dropped and counted. The folder appears whole or not at all. Errors: as
// read_tss; sizes that are no window; nothing left; too few promoters for the split.
PromoterBuildSummary build_promoters(const PromoterBuildOptions& options);

}  // namespace bigbird
