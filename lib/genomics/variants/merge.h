// `bigbird merge` of variants: the outputs of all shards of one run, put together to the bytes that the run
// without shards gives.
#pragma once

#include <string>
#include <vector>

#include "lib/genomics/variants/summary.h"

namespace bigbird {

struct VariantMergeOptions {
  // What the shards wrote, in any order; the summaries and tables of skipped alleles lie beside them.
  std::vector<std::string> shards;
  std::string output;  // of the shards' own format; "-": stdout, for VCF and tables
  std::string report;  // as of run_variants
};

// Whether a summary of such an output lies beside it.
bool has_variant_summary(const std::string& output);

// Error{bad_input} naming the file: no summary, shards of different runs (model, input, genome, options,
// chunks, format), a shard missing or given twice, a file with another number of records than its summary
// says, nothing scored in all of them.
VariantSummary merge_variants(const VariantMergeOptions& options);

}  // namespace bigbird
