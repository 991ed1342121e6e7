// `bigbird merge`: the outputs of all shards of a run put together.
#include <cstdint>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/verbs.h"
#include "lib/core/error.h"
#include "lib/core/message_text.h"
#include "lib/io/files/output_set.h"
#include "lib/tasks/embed_run.h"
#include "lib/tasks/genomics/chromatin/predict_run.h"
#include "lib/tasks/genomics/promoter/scan_files.h"
#include "lib/tasks/output_shards.h"
#include "lib/tasks/shard_file.h"

namespace bigbird::apps {
namespace {

// Shards that hold numbers, by the verb that made them.
std::uint64_t merge_shard_files(const std::vector<std::string>& shards, const ScanPaths& paths) {
  const std::string kind = read_shard_header(shards.front()).kind;
  const std::string& output = paths.output;
  if (kind == promoter_scan_kind)
    return static_cast<std::uint64_t>(merge_promoter_scan(shards, paths).positions);
  if (!paths.calls.empty()) throw_usage("merge: --calls is of shards of `promoter scan`");
  if (kind == chromatin_predict_kind) return merge_chromatin_predictions(shards, output).rows;
  if (kind == embed_kind) return merge_embeddings(shards, output);
  throw_bad_input(
      shards.front() + ": a shard of '" + text_for_message(kind) + "', which this version does not know",
      "merge with the version that made the shards");
}

}  // namespace

int cmd_merge(int argc, char** argv) {
  Verb verb("merge", "Put the outputs of all shards of a run together: the bytes that one run gives.",
            {"bigbird merge part1.tsv part2.tsv part3.tsv -o predictions.tsv",
             "bigbird merge nbest.1.json nbest.2.json -o nbest.json",
             "bigbird merge part1 part2 part3 -o predictions.h5",
             "bigbird merge part1 part2 part3 -o scores.bw --calls calls.bed"});
  std::vector<std::string> shards;
  ScanPaths paths;
  CLI::App& app = verb.app();
  app.add_option(
         "SHARDS", shards,
         "One output of each shard, in any order; beside those of texts and tables lies SHARD.shard.json")
      ->required();
  app.add_option("-o,--output", paths.output, "The same of one run; - is stdout")
      ->required()
      ->type_name("OUT");
  app.add_option("--calls", paths.calls, "Of `promoter scan`: the called promoters")->type_name("BED");
  app.add_option("--summary", paths.summary,
                 "Of `promoter scan`: counts and evaluation; OUT.summary.json where not given")
      ->type_name("JSON");
  if (!verb.parse(argc, argv)) return 0;
  if (paths.summary.empty() && paths.output != "-") paths.summary = paths.output + ".summary.json";
  require_different({{"--output", paths.output}, {"--calls", paths.calls}, {"--summary", paths.summary}});
  const bool numbers = is_shard_file(shards.front());
  if (!numbers && !paths.calls.empty()) throw_usage("merge: --calls is of shards of `promoter scan`");
  const std::uint64_t records =
      numbers ? merge_shard_files(shards, paths) : merge_outputs(shards, paths.output);
  verb.set_throughput(static_cast<double>(records), "records");
  return 0;
}

}  // namespace bigbird::apps
