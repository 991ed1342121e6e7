// `bigbird variants background`: the effects of ordinary variants, to compare others with.
#include <memory>
#include <string>

#include "apps/command_line.h"
#include "apps/variant_options.h"
#include "apps/verbs.h"
#include "kernels/backend.h"
#include "lib/genomics/variants/run.h"
#include "lib/io/files/provenance.h"
#include "lib/model/folder/model_folder.h"

namespace bigbird::apps {

int cmd_variants_background(int argc, char** argv) {
  Verb verb(
      "variants background",
      "Score a set of ordinary variants: the distribution of effects that E-values count from.",
      {"bigbird variants background -m run/final -f genome.fa.gz common.vcf.gz -o background.safetensors",
       "bigbird variants background -m run/final -f genome.fa.gz common.vcf.gz --max-records 1M -o "
       "background.safetensors"});
  VariantOptions shared;
  VariantBackgroundOptions options;
  shared.add(verb, false);
  CLI::App& app = verb.app();
  app.add_option("-o,--output", options.output,
                 "Sorted |logFC * diff| of every profile; while it is made, twice its size lies beside it")
      ->required()
      ->type_name("OUT.safetensors");
  app.add_option("--max-records", options.max_records, "Take so many of the first records; 0: all")
      ->transform(count_suffix());
  shared.add_tracks(verb);
  if (!verb.parse(argc, argv)) return 0;

  options.scoring = shared.scoring();
  require_model_folders(shared.models());
  const std::unique_ptr<kernels::Backend> backend = verb.make_backend();
  const std::unique_ptr<SequenceScorer> scorer = shared.make_scorer(*backend);
  if (verb.provenance()) options.provenance_json = provenance_json(shared.provenance(verb, *scorer));
  const VariantTally tally = run_variant_background(options, *scorer);
  log_tally(tally);
  verb.set_throughput(static_cast<double>(tally.alleles), "alleles");
  return 0;
}

}  // namespace bigbird::apps
