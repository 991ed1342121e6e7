// `bigbird merge`: the outputs of all shards of a run put together, of every verb that works in parts.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/variant_options.h"
#include "lib/core/error.h"
#include "lib/genomics/chromatin/predict_run.h"
#include "lib/genomics/promoter/scan_files.h"
#include "lib/genomics/variants/run.h"
#include "lib/inference/embed.h"
#include "lib/io/files/file.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/provenance.h"
#include "lib/io/genome/vcf.h"
#include "lib/parts/chunked_numbers.h"
#include "lib/parts/merge.h"
#include "lib/parts/sharded_verbs.h"
#include "lib/parts/side_file.h"

namespace bigbird::apps {
namespace {

struct MergeOptions {
  std::vector<std::string> shards;
  ScanPaths paths;
  std::string report;
  bool write_index = false;
};

// What was merged, of which throughput is told.
struct Merged {
  std::uint64_t count = 0;
  const char* unit = "records";
};

// Shards that hold numbers, by the verb that made them.
Merged merge_numbers(const MergeOptions& options, const std::string& kind) {
  const std::vector<std::string>& shards = options.shards;
  const std::string& output = options.paths.output;
  if (kind == promoter_scan_kind) {
    ScanPaths paths = options.paths;
    if (paths.summary.empty() && output != "-") paths.summary = output + ".summary.json";
    require_different({{"--output", output}, {"--calls", paths.calls}, {"--summary", paths.summary}});
    return {static_cast<std::uint64_t>(merge_promoter_scan(shards, paths).positions)};
  }
  if (kind == chromatin_predict_kind) return {merge_chromatin_predictions(shards, output).rows};
  if (kind == embed_kind) return {merge_embeddings(shards, output)};
  throw_bad_input(
      shards.front() + ": a shard of '" + text_for_message(kind) + "', which this version does not know",
      "merge with the version that made the shards");
}

// By what the shards are: files of numbers, scored variants, rows or entries.
Merged merge_any(const MergeOptions& options) {
  const std::vector<std::string>& shards = options.shards;
  const std::string numbers =
      is_shard_file(shards.front()) ? read_shard_header(shards.front()).kind : std::string();
  const bool variants = numbers.empty() && !file_exists(output_shard_path(shards.front())) &&
                        (std::any_of(shards.begin(), shards.end(), has_variant_summary) ||
                         (vcf_type_of(shards.front()) && file_exists(shards.front())));
  if (numbers != promoter_scan_kind && !(options.paths.calls.empty() && options.paths.summary.empty()))
    throw_usage("merge: --calls and --summary are of shards of `promoter scan`");
  if (!variants && !options.report.empty()) throw_usage("merge: --summary-prefix is of shards of `variants`");
  if (!variants && options.write_index) throw_usage("merge: --write-index is of shards of `variants`");
  if (!numbers.empty()) return merge_numbers(options, numbers);
  if (!variants) return {merge_outputs(shards, options.paths.output)};
  const VariantTally tally =
      merge_variants({shards, options.paths.output, options.report, options.write_index}).tally;
  log_tally(tally);
  return {tally.alleles, "alleles"};
}

}  // namespace

int cmd_merge(int argc, char** argv) {
  Verb verb(
      "merge", "Put the outputs of all shards of a run together: the bytes that one run gives.",
      {"bigbird merge part1.tsv part2.tsv -o merged.tsv", "bigbird merge part1.h5 part2.h5 -o merged.h5",
       "bigbird merge answers.1.json answers.2.json -o answers.json",
       "bigbird merge part1 part2 -o merged.bw --calls merged.bed"});
  MergeOptions options;
  verb.add_required("SHARDS", options.shards,
                    "Outputs of the shards, one of each, in any order, with the files next to them");
  verb.add_required("-o,--output OUT", options.paths.output, "Output as one run has it; - is stdout");
  verb.add_option("--calls BED", options.paths.calls, "Called promoters, of `promoter scan`");
  verb.add_option("--summary JSON", options.paths.summary,
                  "JSON of counts and evaluation, of `promoter scan` (default: OUT.summary.json)");
  verb.add_option("--summary-prefix PREFIX", options.report,
                  "Prefix of skipped.tsv and summary.json, of `variants` (default: OUT)");
  verb.add_flag("--write-index", options.write_index, "Write OUT.csi too, of `variants`: of VCF.gz and BCF");
  verb.add_threads();
  if (!verb.parse(argc, argv)) return 0;
  const Merged merged = merge_any(options);
  const std::vector<std::string> made = provenance_beside(options.shards.front());
  for (const std::string& path : {options.paths.output, options.paths.calls}) verb.head_of(path, made);
  verb.set_throughput(static_cast<double>(merged.count), merged.unit);
  return 0;
}

}  // namespace bigbird::apps
