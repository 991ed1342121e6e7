// `bigbird variants`: a variant file in, scores out in the order of the file, every record under a score or
// a reason; and the outputs of all shards of one run put together to the bytes that the run without shards
// gives. Memory holds one chunk of records, and on a device that works beside the program those that it
// still runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/genomics/language_scorer.h"
#include "lib/genomics/variants/score_writers.h"
#include "lib/genomics/variants/scoring.h"
#include "lib/genomics/variants/summary.h"
#include "lib/inference/sequence_scorer.h"
#include "lib/parts/finished_chunks.h"

namespace bigbird {

struct VariantRunOptions {
  VariantScoringOptions scoring;
  std::string background;                     // file; empty for none
  std::vector<std::string> baselines;         // files, as AlleleBaselines takes them
  std::vector<std::string> baseline_columns;  // empty: all of them
  std::string profiles;                       // as written_profiles takes them; empty: all of at most 8
  std::string output;                         // "-": stdout
  VariantFormat format = VariantFormat::vcf;
  std::string report;        // as of report_prefix (score_writers.h)
  bool write_index = false;  // OUT.csi too; VCF.gz and BCF only
  Shard shard;               // of the chunks of records
  Restart restart = Restart::refuse;
  std::vector<std::string> provenance;  // lines without "##"
  bool provenance_in_tables = false;    // on top of tables too, not only in VCF and HDF5
  std::string provenance_json;          // empty for none
};

struct VariantsDone {
  VariantTally tally;
  std::uint64_t scored = 0;  // alleles, by this call: not those that a run before had scored
};

// Finished chunks are kept in PREFIX.parts/ until the output is whole (not when it goes to stdout): at most
// as large as the numbers that are written. Error{bad_input} when no allele of a whole file was scored (the
// counts are written nevertheless), or the scores are whole but their records are not sorted and an index was
// asked for.
VariantsDone run_variants(const VariantRunOptions& options, SequenceScorer& scorer);
// The same by a language model (zero_shot.h), whose numbers are no profile's. Error{usage} for profiles and
// matrices.
VariantsDone run_variants(const VariantRunOptions& options, LanguageScorer& scorer);

struct VariantMergeOptions {
  // What the shards wrote, in any order; the summaries and tables of skipped alleles lie beside them.
  std::vector<std::string> shards;
  std::string output;  // of the shards' own format; "-": stdout, for VCF and tables
  std::string report;  // as of run_variants
  bool write_index = false;
};
// Whether a summary of such an output lies beside it.
bool has_variant_summary(const std::string& output);
// Error{bad_input} naming the file: no summary, shards of different runs (model, input, genome, options,
// chunks, format), a shard missing or given twice, a file with another number of records than its summary
// says, nothing scored in all of them.
VariantSummary merge_variants(const VariantMergeOptions& options);

struct VariantBackgroundOptions {
  VariantScoringOptions scoring;
  std::string output;
  std::uint64_t max_records = 0;  // 0: all
  std::string provenance_json;
};
// `bigbird variants background`: effect sizes of the first records of a file.
VariantTally run_variant_background(const VariantBackgroundOptions& options, SequenceScorer& scorer);
// Of a language model |LM_LLR|.
VariantTally run_variant_background(const VariantBackgroundOptions& options, LanguageScorer& scorer);

}  // namespace bigbird
