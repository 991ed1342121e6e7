// `bigbird variants`: a variant file in, scores out in the order of the file, every record under a score or a
// reason. Memory holds one chunk of records.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/tasks/genomics/variants/alleles.h"
#include "lib/tasks/genomics/variants/chunk_scorer.h"
#include "lib/tasks/genomics/variants/sinks.h"
#include "lib/tasks/genomics/variants/summary.h"
#include "lib/tasks/sequence_scorer.h"

namespace bigbird {

// What is scored, and how: the same for `variants` and `variants background`.
struct VariantScoringOptions {
  std::string input;  // "-": stdin
  std::vector<std::string> regions;
  std::string fasta;
  AlleleRules rules;
  VariantWindows windows;
  std::uint64_t chunk = 1000;  // records
};

struct VariantRunOptions {
  VariantScoringOptions scoring;
  std::string background;  // file; empty for none
  std::string profiles;    // "all", "none" or a list of indices ("0,5,10-19"); empty: all of at most 8
  std::string output;      // "-": stdout
  VariantFormat format = VariantFormat::vcf;
  std::string report;       // prefix of skipped.tsv and summary.json; empty: variant_prefix, none for stdout
  std::uint64_t shard = 1;  // of `shards`: chunks whose number leaves shard - 1
  std::uint64_t shards = 1;
  bool resume = false;
  bool force = false;
  std::vector<std::string> provenance;  // lines without "##"
  std::string provenance_json;          // empty for none
};

// Finished chunks are kept in PREFIX.parts/ until the output is whole (not when it goes to stdout): at most
// as large as the numbers that are written. Error{bad_input} when no allele of a whole file was scored (the
// counts are written nevertheless).
VariantTally run_variants(const VariantRunOptions& options, SequenceScorer& scorer);

// The profiles that a list means, ascending. Error{usage} for what is no list, or no such profile.
std::vector<std::size_t> parse_profile_list(const std::string& text, std::size_t profiles,
                                            std::size_t all_up_to);

struct VariantBackgroundOptions {
  VariantScoringOptions scoring;
  std::string output;
  std::uint64_t max_records = 0;  // 0: all
  std::string provenance_json;
};
// `bigbird variants background`: effect sizes of the first records of a file.
VariantTally run_variant_background(const VariantBackgroundOptions& options, SequenceScorer& scorer);

}  // namespace bigbird
