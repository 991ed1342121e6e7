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
#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/core/reason_counts.h"
#include "lib/genomics/genome_sides.h"
#include "lib/genomics/promoter/examples.h"
#include "lib/genomics/promoter/hard_negatives.h"
#include "lib/genomics/promoter/leaks.h"
#include "lib/genomics/promoter/negatives.h"
#include "lib/io/files/provenance.h"
#include "lib/io/genome/most_n.h"

namespace bigbird {

struct PromoterBuildOptions {
  std::string tss;  // BED; see tss.h
  std::string fasta;
  std::string output;  // folder; must not hold anything unless `replace`
  bool replace = false;
  // As ExcludedRegions: promoters whose window touches a region are dropped, and no negative from the genome
  // touches one.
  std::vector<std::string> exclude;
  std::string chain;                         // UCSC chain file to lift the TSS with; may be empty
  std::int64_t left = 5000;                  // bases before the TSS on the sense strand
  std::int64_t right = 3000;                 // bases from the TSS on, the TSS included
  double max_n = most_n_of_training_window;  // windows with a larger fraction of N are dropped
  std::vector<std::string> chromosomes;      // TSS elsewhere are dropped; see choose_chromosomes; empty: all
  NegativePlan negatives = {{NegativeKind::genomic, 1}};
  std::optional<std::int64_t> min_distance;  // see negative_distance
  double gc_tolerance = 1;                   // of genomic negatives; see negatives.h
  std::string hard_negatives;                // the model that finds hard negatives
  std::int64_t hard_step = 100;              // bases between the positions that it scores
  SplitPlan split;
  SideLists sides;           // valid and test by place; a side without a list is drawn from the rest
  bool join = true;          // promoters with overlapping windows or equal sequences stay on one side
  bool allow_leaks = false;  // a data set that leaks is written all the same
  std::uint64_t seed = 1;
  bool with_provenance = true;
  bool provenance_in_tables = false;  // as "##" lines on top of tables too
  Provenance provenance;
};

// Bases from a genomic negative, and from the called position of a hard one, to any TSS of the file:
// `min_distance`, or where it is not given half a window, at most 5,000. Yeast has a gene every 2,000 bases:
// with 5,000 no room would be left between them.
std::int64_t negative_distance(const PromoterBuildOptions& options);

// How the genomic negatives came out.
struct GenomicNegativeSummary {
  std::array<std::int64_t, gc_steps.size() + 1> by_gc_step{};  // the last: the closest that was drawn
  std::int64_t drawn = 0;
  std::int64_t overlapping = 0;   // that overlap another negative
  std::int64_t without_room = 0;  // of promoters with several: could only overlap, and are left out
  std::int64_t elsewhere = 0;     // of promoters with several: their sequence is of another side, left out
  double mean_gc_difference = 0;  // negative less promoter
};

// Of one side of a split.
struct SideCounts {
  std::int64_t promoters = 0;
  std::int64_t negatives = 0;
  // The share of promoters among the examples; 0 where there are none.
  double prior() const;
};

struct PromoterBuildSummary {
  std::int64_t rows = 0;       // in the TSS file
  std::int64_t promoters = 0;  // used
  std::int64_t groups = 0;     // of promoters that stay on one side together
  ReasonCounts dropped;        // rows
  GenomicNegativeSummary genomic;
  std::optional<HardNegativeSummary> hard;
  // One entry for each fold (one without folds): what each side holds, and what the leak check found.
  std::vector<std::map<std::string, SideCounts>> sides;
  std::vector<LeakReport> leaks;

  SideCounts all() const;  // of all sides, of a fold as good as of another
};

// The window of a TSS: [TSS - left, TSS + right) on +, [TSS - right + 1, TSS + left + 1) on -, always given
// on the sense strand, so that the TSS is base `left` of the sequence. Writes train.tsv, valid.tsv, test.tsv
// (with folds: fold1/train.tsv, ...), dropped.tsv and manifest.json; negatives follow their promoter. The
// negative of a promoter is a function of its kind, its number, the seed and the promoter's place alone; a
// genomic one also of the other promoters, which it avoids; a hard one (hard_negatives.h, with `backend`) of
// the model and of everything that is held out. Hard ones are dealt out to the promoters of the training side
// and no other. A promoter is on the named side that holds its TSS, and its windows and genomic negatives lie
// there too. A window that passes its contig's end or holds too many N, or crosses the border of a named
// side, is dropped and counted; so is a promoter whose sequence stands on another side that is named or, when
// whole chromosomes are split, on another chromosome. What was written is read back and must not leak
// (leaks.h). The folder appears whole or not at all. Errors: as read_tss, GenomeSides, ExcludedRegions,
// find_hard_negatives; sizes that are no window; nothing left; too few promoters for the split; a data set
// that leaks.
// Hard negatives without a model or a backend are a std::logic_error.
PromoterBuildSummary build_promoters(const PromoterBuildOptions& options,
                                     kernels::Backend* backend = nullptr);

// manifest.json of such a folder.
std::string promoter_manifest(const PromoterBuildOptions& options, const PromoterBuildSummary& summary);

}  // namespace bigbird
