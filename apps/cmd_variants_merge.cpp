// `bigbird variants merge`: the outputs of all shards put together.
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/variant_options.h"
#include "apps/verbs.h"
#include "lib/tasks/genomics/variants/merge.h"

namespace bigbird::apps {

int cmd_variants_merge(int argc, char** argv) {
  Verb verb("variants merge", "Put the outputs of all shards together: the bytes that one run gives.",
            {"bigbird variants merge part1.vcf.gz part2.vcf.gz -o scored.vcf.gz",
             "bigbird variants merge part*.tsv -o scored.tsv"});
  VariantMergeOptions options;
  CLI::App& app = verb.app();
  app.add_option("SHARDS", options.shards,
                 "What `variants --shard` wrote, all of it, in any order; its summaries lie beside it")
      ->required();
  app.add_option("-o,--output", options.output, "Of the shards' type; - is stdout")
      ->required()
      ->type_name("OUT");
  app.add_option("--report", options.report, "PREFIX of skipped.tsv and summary.json in place of OUT")
      ->type_name("PREFIX");
  verb.add_threads();
  if (!verb.parse(argc, argv)) return 0;

  const VariantSummary merged = merge_variants(options);
  log_tally(merged.tally);
  verb.set_throughput(static_cast<double>(merged.tally.alleles), "alleles");
  return 0;
}

}  // namespace bigbird::apps
