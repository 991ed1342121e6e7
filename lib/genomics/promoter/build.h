// lib/genomics/promoter holds promoters: windows around starts of transcription, negatives, splits without
// leaks, fine-tuning, prediction, scans of genomes and their calls. Every draw is a function of the seed.
//
// `bigbird promoter build`: windows around transcription start sites, one or several negatives for each, and
// a seeded split.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/core/reason_counts.h"
#include "lib/genomics/promoter/examples.h"
#include "lib/genomics/promoter/leaks.h"
#include "lib/genomics/promoter/negatives.h"
#include "lib/io/files/provenance.h"

namespace bigbird {

struct PromoterBuildOptions {
  std::string tss;  // BED; see tss.h
  std::string fasta;
  std::string output;  // folder; must not hold anything unless `replace`
  bool replace = false;
  // As ExcludedRegions: promoters whose window touches a region are dropped.
  std::vector<std::string> exclude;
  std::string chain;          // UCSC chain file to lift the TSS with; may be empty
  std::int64_t left = 5000;   // bases before the TSS on the sense strand
  std::int64_t right = 3000;  // bases from the TSS on, the TSS included
  double max_n = 0.05;        // windows with a larger fraction of N are dropped
  std::vector<NegativeKind> negatives = {NegativeKind::random};  // one of each for every promoter
  std::int64_t min_distance = 5000;  // bp from a genomic negative to any TSS of the file
  double gc_tolerance = 0.02;        // of genomic negatives; see negatives.h
  SplitPlan split;
  bool join = true;          // promoters with overlapping windows or equal sequences stay on one side
  bool allow_leaks = false;  // a data set that leaks is written all the same
  std::uint64_t seed = 1;
  bool with_provenance = true;
  Provenance provenance;
};

// How the genomic negatives came out.
struct GenomicNegativeSummary {
  std::array<std::int64_t, gc_steps.size() + 1> by_gc_step{};  // the last: the closest that was drawn
  std::int64_t overlapping = 0;                                // that overlap another negative
  double mean_gc_difference = 0;                               // negative less promoter
};

struct PromoterBuildSummary {
  std::int64_t rows = 0;       // in the TSS file
  std::int64_t promoters = 0;  // used; as many negatives of each kind
  std::int64_t groups = 0;     // of promoters that stay on one side together
  ReasonCounts dropped;        // rows
  GenomicNegativeSummary genomic;
  // One entry for each fold (one without folds): promoters on each side, and what the leak check found.
  std::vector<std::map<std::string, std::int64_t>> sides;
  std::vector<LeakReport> leaks;
};

// The window of a TSS: [TSS - left, TSS + right) on +, [TSS - right + 1, TSS + left + 1) on -, always given
// on the sense strand, so that the TSS is base `left` of the sequence. Writes train.tsv, valid.tsv, test.tsv
// (with folds: fold1/train.tsv, ...), dropped.tsv and manifest.json; negatives follow their promoter. The
// negative of a promoter is a function of its kind, the seed and the promoter's place alone; a genomic one
// also of the other promoters, which it avoids. A window that passes its contig's end or holds too many N is
// dropped and counted; so is, when whole chromosomes are split, a promoter whose sequence stands on another
// chromosome too. What was written is read back and must not leak (leaks.h). The folder appears whole or not
// at all. Errors: as read_tss, ExcludedRegions; sizes that are no window; nothing left; too few promoters for
// the split; a data set that leaks.
PromoterBuildSummary build_promoters(const PromoterBuildOptions& options);

// manifest.json of such a folder.
std::string promoter_manifest(const PromoterBuildOptions& options, const PromoterBuildSummary& summary);

}  // namespace bigbird
