// What a run over variants counted: every record under a score or a reason. Written as OUT.summary.json, and
// read again where shards are merged.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/core/reason_counts.h"
#include "lib/genomics/variants/alleles.h"
#include "lib/genomics/variants/chunk_scorer.h"
#include "lib/io/files/sha256.h"
#include "lib/io/genome/vcf.h"
#include "lib/parts/finished_chunks.h"

namespace bigbird {

// The names of all SkipReasons but none, in their order: that in which they are told.
std::vector<std::string> skip_reason_names();

struct VariantTally {
  std::uint64_t records = 0;
  std::uint64_t alleles = 0;  // a record without ALT counts as one
  std::uint64_t scored = 0;
  ReasonCounts skipped{skip_reason_names()};             // alleles; with `scored` they add up to `alleles`
  std::map<std::string, std::uint64_t> unknown_contigs;  // records
  std::map<std::string, std::uint64_t> flags;            // scored alleles
  std::map<std::string, std::uint64_t> baselines;        // scored alleles with this score of another tool
  std::uint64_t passes = 0;                              // of a model over a window
  std::uint64_t passes_asked = 0;                        // had no window been shared

  void add(const VcfRecord& record, const std::vector<AlleleResult>& alleles);
  void add(const VariantTally& other);
  // Of a chunk, with the names of its AlleleResult::baselines.
  void count_baselines(const std::vector<std::vector<AlleleResult>>& of_records,
                       const std::vector<std::string>& names);
};

// What a shard wrote, chunk by chunk of those that it took.
struct VariantShard {
  Shard shard;
  std::vector<std::uint64_t> rows;          // of the tables and matrices: alleles
  std::vector<std::uint64_t> skipped_rows;  // of skipped.tsv
};

// What scoring took, of all processes that took part and were not cut off, from their starts until their
// scores were written.
struct ScoringCost {
  std::uint64_t scored = 0;  // alleles; those that a run before had scored are not among them
  double wall_seconds = 0;   // added up over the processes
  double cpu_seconds = 0;
  std::uint64_t peak_memory = 0;  // bytes, of the largest process

  void add(const ScoringCost& other);
};

// A file of the scores, as it was written.
struct WrittenScores {
  std::string suffix;  // what its path has behind the prefix of the scores; may be empty
  FileDigest digest;
};

struct VariantSummary {
  VariantTally tally;
  std::uint64_t input_records = 0;  // of all shards
  std::string input_digest;         // sha256 over the records of all shards
  std::uint64_t chunk = 0;          // records
  std::string format;               // "v", "z", "b", "tsv", "npy", "h5"
  FileDigest input_file;            // not known of a pipe
  std::string run;                  // JSON object: what the scores depend on
  std::string files;                // JSON object: where input and genome lay; decides nothing
  std::string provenance;           // JSON object; empty for none
  std::optional<ScoringCost> cost;  // not where provenance is left out: it tells how the scores were made
  std::vector<WrittenScores> scores;
  std::optional<VariantShard> shard;
};

std::string summary_json(const VariantSummary& summary);
// Error{bad_input} naming the file when it is none that summary_json made.
VariantSummary read_variant_summary(const std::string& path);

// Whether the summary at `path` tells of the run, type and shard of `run` and the same input, and the scores
// at `prefix` are still what it says: nothing is left to be done. Counts of `run` are not looked at.
bool is_whole_run(const std::string& path, const std::string& prefix, const VariantSummary& run);

}  // namespace bigbird
