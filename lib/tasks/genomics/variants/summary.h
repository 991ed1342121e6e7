// What a run over variants counted: every record under a score or a reason. Written as OUT.summary.json, and
// read again where shards are merged.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/io/genome/vcf.h"
#include "lib/tasks/genomics/variants/alleles.h"
#include "lib/tasks/genomics/variants/chunk_scorer.h"

namespace bigbird {

inline constexpr std::size_t skip_reason_count = static_cast<std::size_t>(SkipReason::filtered) + 1;

struct VariantTally {
  std::uint64_t records = 0;
  std::uint64_t alleles = 0;  // a record without ALT counts as one
  std::uint64_t scored = 0;
  std::array<std::uint64_t, skip_reason_count> skipped{};
  std::map<std::string, std::uint64_t> unknown_contigs;  // records
  std::map<std::string, std::uint64_t> flags;            // scored alleles
  std::uint64_t passes = 0;                              // of a model over a window
  std::uint64_t passes_asked = 0;                        // had no window been shared

  void add(const VcfRecord& record, const std::vector<AlleleResult>& alleles);
  void add(const VariantTally& other);
  std::uint64_t all_skipped() const { return alleles - scored; }
  // The reason of most skipped alleles; none when nothing was skipped.
  SkipReason main_reason() const;
  // "ref_mismatch 12, symbolic 3"; empty when nothing was skipped.
  std::string reasons_text() const;
};

// Which chunks of the input a run took: those whose number, divided by `count`, leaves index - 1.
struct VariantShard {
  std::uint64_t index = 1;
  std::uint64_t count = 1;
  // For each of its chunks, in order: rows of the tables, rows of skipped.tsv.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> chunks;
};

struct VariantSummary {
  VariantTally tally;
  std::uint64_t input_records = 0;  // of all shards
  std::string input_digest;         // sha256 over the records of all shards
  std::uint64_t chunk = 0;          // records
  std::string format;               // "v", "z", "b", "tsv", "npy", "h5"
  std::string run;                  // JSON object: what the scores depend on
  std::string provenance;           // JSON object; empty for none
  std::optional<VariantShard> shard;
};

std::string summary_json(const VariantSummary& summary);
// Error{bad_input} naming the file when it is none that summary_json made.
VariantSummary read_variant_summary(const std::string& path);

}  // namespace bigbird
