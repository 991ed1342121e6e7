// `bigbird variants`: scores of the alleles of a VCF, as annotated VCF, table or matrices.
#include <cstdint>
#include <memory>
#include <string>

#include "apps/command_line.h"
#include "apps/variant_options.h"
#include "apps/work_options.h"
#include "lib/genomics/variants/run.h"
#include "lib/io/files/provenance.h"

namespace bigbird::apps {
namespace {

struct VariantsCommand {
  VariantOptions shared;
  VariantRunOptions options;
  std::string type;
  WorkOptions work;
};

void add_options(Verb& verb, VariantsCommand& typed) {
  typed.options.output = "-";
  typed.shared.add(verb, true);
  verb.add_option(
          "-O,--output-type", typed.type,
          "Type of the output: v, z, b: VCF, VCF.gz, BCF with INFO fields BB_*; tsv: a row for each ALT; "
          "npy, h5: matrices [ALTs, profiles] and OUT.rows.tsv (default: by the suffix of OUT, else v)")
      ->type_name(choices(variant_format_names));
  verb.add_option("-o,--output OUT", typed.options.output,
                  "File of the scores; - is stdout. OUT.skipped.tsv and OUT.summary.json are next to it");
  verb.add_flag("--write-index", typed.options.write_index, "Write OUT.csi too: of VCF.gz and BCF");
  verb.add_option("--summary-prefix PREFIX", typed.options.report,
                  "Prefix of skipped.tsv and summary.json (default: OUT)");
  verb.add_option("--background FILE", typed.options.background,
                  "File of `variants background`: adds E-values and the functional score");
  typed.shared.add_tracks(verb);
  typed.shared.add_language(verb, true);
  verb.add_option(
          "--baseline [NAME=]FILE", typed.options.baselines,
          "Table with chrom, pos, ref, alt and scores of another tool, as columns next to ours. With an "
          "index (.tbi, .csi) it is asked for places; without one it is held in memory: 24 bytes and 4 a "
          "score for each row, twice as much while it is read. `variants evaluate` compares them")
      ->allow_extra_args(false);
  verb.add_option("--baseline-columns NAME,...", typed.options.baseline_columns,
                  "Columns of --baseline to take (default: all)")
      ->delimiter(',');
  typed.work.add(verb);
}

template <typename Scorer>
VariantsDone run(Verb& verb, VariantsCommand& typed, Scorer& scorer) {
  if (verb.provenance()) {
    const Provenance provenance = typed.shared.provenance(verb, scorer.digests());
    typed.options.provenance = provenance_lines(provenance);
    typed.options.provenance_json = provenance_json(provenance);
    typed.options.provenance_in_tables = verb.provenance_in_tables();
    const VariantFormat format = typed.options.format;
    if (format == VariantFormat::tsv || format == VariantFormat::npy)
      verb.head_of(typed.options.output, provenance);
  }
  return run_variants(typed.options, scorer);
}

}  // namespace

int cmd_variants(int argc, char** argv) {
  Verb verb(
      "variants",
      "Score variants: how each ALT changes what a model predicts, or how likely a pretrained one finds "
      "it.\n\nThe scores are an annotated VCF or BCF, a table or matrices; next to conservation and scores of "
      "other tools.",
      {("bigbird variants -m human/tracks -f bigbird-demo/genome.fa.gz "
        "bigbird-demo/variants.vcf.gz -O z -o scored.vcf.gz"),
       ("for i in 1 2; do bigbird variants -m demo-output/chromatin-run/final -f "
        "demo-output/genome/genome.fa.gz demo-output/genome/variants.vcf.gz -r chr3:1-200000 "
        "--shard $i/2 -o part$i.tsv; done"),
       ("bigbird variants -m demo-output/chromatin-run/final -f demo-output/genome/genome.fa.gz "
        "demo-output/genome/variants.vcf.gz -r chr1:1-200000 -O tsv"),
       ("bigbird variants -m demo-output/chromatin-run/final -f demo-output/genome/genome.fa.gz "
        "demo-output/genome/variants.vcf.gz -r chr3:1-200000 --write-index -o scored.bcf"),
       ("bigbird variants -m demo-output/chromatin-run/final -f demo-output/genome/genome.fa.gz "
        "demo-output/genome/variants.vcf.gz -r chr3:1-200000 --track "
        "promoter=demo-output/scan.bw -o tracks.tsv"),
       ("bigbird variants -m demo-output/pretrain/final -f demo-output/genome/genome.fa.gz "
        "demo-output/genome/variants.vcf.gz -r chr3:1-50000 --lm-passes joint -o zero-shot.tsv")});
  VariantsCommand typed;
  add_options(verb, typed);
  if (!verb.parse(argc, argv)) return 0;

  typed.shared.require_inputs();
  const std::int64_t language = typed.shared.language_window(verb);
  typed.options.scoring = typed.shared.scoring(language);
  typed.options.profiles = typed.shared.profiles();
  typed.options.format = variant_format(typed.type, typed.options.output);
  typed.options.restart = typed.work.restart(verb);
  typed.options.shard = typed.work.shard();
  const auto backend = verb.make_backend(typed.shared.models());
  const VariantsDone done = language > 0 ? run(verb, typed, *typed.shared.make_language_scorer(*backend))
                                         : run(verb, typed, *typed.shared.make_scorer(*backend));
  log_tally(done.tally);
  verb.set_throughput(static_cast<double>(done.tally.alleles), "alleles");
  verb.set_cost_of(static_cast<double>(done.scored), "scored allele");
  return 0;
}

}  // namespace bigbird::apps
