// `bigbird variants background`: the effects of ordinary variants, to compare others with.
#include <cstdint>
#include <memory>
#include <string>

#include "apps/command_line.h"
#include "apps/variant_options.h"
#include "lib/genomics/variants/run.h"
#include "lib/io/files/provenance.h"

namespace bigbird::apps {
namespace {

template <typename Scorer>
VariantTally run(const Verb& verb, const VariantOptions& shared, VariantBackgroundOptions& options,
                 Scorer& scorer) {
  if (verb.provenance()) options.provenance_json = provenance_json(shared.provenance(verb, scorer.digests()));
  return run_variant_background(options, scorer);
}

}  // namespace

int cmd_variants_background(int argc, char** argv) {
  Verb verb("variants background",
            "Score a set of ordinary variants: the distribution of effects that E-values and the functional "
            "score count from.",
            {("bigbird variants background -m demo-output/chromatin-run/final -f "
              "demo-output/genome/genome.fa.gz demo-output/genome/variants.vcf.gz -r chr1:1-200000 -o "
              "background.safetensors"),
             ("bigbird variants background -m demo-output/chromatin-run/final -f "
              "demo-output/genome/genome.fa.gz demo-output/genome/variants.vcf.gz --max-records 500 -o "
              "background.safetensors")});
  VariantOptions shared;
  VariantBackgroundOptions options;
  shared.add(verb, false);
  verb.add_required(
      "-o,--output OUT.safetensors", options.output,
      "Sorted |logFC * diff| of every profile, of a language model |LM_LLR|; while it is made, files of "
      "twice its size are next to it");
  verb.with_word(
      verb.add_count("--max-records", options.max_records, "Records to take, the first ones, or all"), "all",
      "0");
  shared.add_tracks(verb);
  shared.add_language(verb, false);
  if (!verb.parse(argc, argv)) return 0;

  shared.require_inputs();
  const std::int64_t language = shared.language_window(verb);
  options.scoring = shared.scoring(language);
  const auto backend = verb.make_backend(shared.models());
  const VariantTally tally = language > 0 ? run(verb, shared, options, *shared.make_language_scorer(*backend))
                                          : run(verb, shared, options, *shared.make_scorer(*backend));
  log_tally(tally);
  verb.set_throughput(static_cast<double>(tally.alleles), "alleles");
  return 0;
}

}  // namespace bigbird::apps
