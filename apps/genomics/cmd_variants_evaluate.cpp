// `bigbird variants evaluate`: scored alleles held against labels, and against scores of other tools.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "apps/command_line.h"
#include "lib/core/log.h"
#include "lib/genomics/variants/evaluate.h"
#include "lib/io/files/file.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/provenance.h"

namespace bigbird::apps {
namespace {

void log_inputs(const VariantEvaluation& evaluation, const VariantEvaluationOptions& options) {
  if (!options.exclude.empty())
    log_info(fmt::format("{} of {} rows touch an excluded region and are left out", evaluation.rows_excluded,
                         evaluation.rows));
  if (options.effects.path.empty()) return;
  const VariantEvaluation::Measured& measured = evaluation.measured;
  log_info(fmt::format("{} of {} measured alleles ({} rows) are in {} rows", measured.found, measured.alleles,
                       measured.rows, evaluation.rows));
  if (!measured.left_out.empty()) log_info("measured rows left out: " + measured.left_out.text());
}

void log_evaluation(const VariantEvaluation& evaluation, bool with_labels) {
  if (with_labels) {
    log_info(fmt::format("{} of {} labelled alleles are in {} rows", evaluation.labels_found,
                         evaluation.labels, evaluation.rows));
  }
  if (!evaluation.labels_left_out.empty()) log_info("labels left out: " + evaluation.labels_left_out.text());
  if (evaluation.rows_repeated > 0) {
    log_warning(fmt::format("{} rows of labelled alleles that were read before are not counted again",
                            evaluation.rows_repeated));
  }
  for (const ScoreEvaluation& one : evaluation.scores) {
    if (one.class_name != "all") continue;
    log_info(fmt::format("{} ({}): AUROC {:.4f}, AUPRC {:.4f}, {} positives, {} negatives, {} without",
                         one.score.name, score_direction_name(one.score.direction), one.ranks.auroc,
                         one.ranks.auprc, one.ranks.positives, one.ranks.negatives, one.missing));
  }
  for (const EffectEvaluation& one : evaluation.effects) {
    log_info(fmt::format(
        "{} with the measured {}: rank correlation {:.4f} ({:.4f} to {:.4f}), {} alleles, {} without",
        one.score.name, one.sizes ? "sizes" : "numbers", one.spearman, one.interval.low, one.interval.high,
        one.alleles, one.missing));
  }
  for (const ScoreComparison& one : evaluation.comparisons) {
    log_info(fmt::format("{}: rank correlation with our effect {:.4f} over {} alleles, {} without",
                         one.baseline.name, one.spearman, one.alleles, one.missing));
  }
}

void add_options(Verb& verb, VariantEvaluationOptions& options, std::string& output, std::string& json) {
  verb.add_required("SCORED", options.scored,
                    "Scores of `variants`: a table or VCF, plain or compressed; - is stdin. Or any table "
                    "with the columns chrom, pos, ref, alt and scores");
  verb.add_option(
      "--labels FILE", options.labels,
      "Table with chrom, pos, ref, alt, label (0 or 1) and maybe class; or a VCF: ClinVar's CLNSIG "
      "(pathogenic 1, benign 0, others left out) and MC for classes");
  verb.add_option("--label-column NAME", options.labels_column,
                  "Column or INFO field of the labels (default: label or CLNSIG)");
  verb.add_exclude(options.exclude, "alleles whose REF touches them are not counted");
  verb.add_option("--score COLUMN", options.scores,
                  "Column to evaluate; several are taken. effect is |lfc * diff|. E-values (e, e_*, *_e) and "
                  "funsig count from below, diff and lfc by their size, others from above: NAME:higher, "
                  "NAME:lower or NAME:size changes that (default: all that `variants` writes of an allele)")
      ->allow_extra_args(false);
  verb.add_option(
          "--baseline [NAME=]FILE", options.baselines,
          "Table with chrom, pos, ref, alt and scores of another tool, as further scores NAME_COLUMN "
          "and to compare with effect. It is held in memory: 24 bytes and 4 a score for each row, twice "
          "as much while it is read")
      ->allow_extra_args(false);
  verb.add_option("--baseline-columns NAME,...", options.baseline_columns,
                  "Columns of --baseline to take (default: all)")
      ->delimiter(',');
  verb.add_option("-f,--fasta-ref FASTA", options.fasta,
                  "Genome: insertions and deletions are left-aligned before they are compared");
  verb.with_word(
      verb.add_count(
          "--bootstrap", options.draws,
          "Draws for the 95 % intervals of AUROC and rank correlation, or none. Each takes as long "
          "as reading the scores once"),
      "none", "0");
  verb.add_option("-o,--output OUT.tsv", output,
                  "Table with a row for each score and class; without --labels a row for each score and what "
                  "was measured, without --effects a row for each baseline. - is stdout");
  verb.add_option("--summary FILE", json, "JSON of all tables and the counts");
  verb.add_seed();
  verb.add_threads();
}

void add_effect_options(Verb& verb, MeasuredEffectsOptions& effects) {
  const OptionGroup group(verb, "Measured effects");
  const auto of_effects =
      [file = verb.add_option(
           "--effects FILE", effects.path,
           "Table (or VCF) with chrom, pos, ref, alt and a number that was measured for ALT "
           "against REF: Spearman's rank correlation of each score with it. From several rows "
           "of an allele the mean counts")](CLI::Option* option) { return option->needs(file); };
  of_effects(verb.add_option("--effects-column NAME", effects.column, "Column of the number in --effects"));
  of_effects(
      verb.add_option("--effects-where COLUMN=VALUE", effects.where,
                      "Value in a column that rows of --effects need; several conditions must all hold"))
      ->allow_extra_args(false);
  CLI::Option* const significance =
      of_effects(verb.add_option("--significance-column NAME", effects.significance_column,
                                 "Column of P values or false discovery rates in --effects: AUROC of "
                                 "significant alleles against the others"));
  verb.add_option("--significant-below", effects.significant_below,
                  "Value below which a row makes its allele significant")
      ->needs(significance);
}

}  // namespace

int cmd_variants_evaluate(int argc, char** argv) {
  Verb verb("variants evaluate",
            "Evaluate scored variants: AUROC and AUPRC against labels, by class, and agreement with measured "
            "effects and other tools.",
            {("bigbird variants evaluate demo-output/scored.vcf.gz --effects "
              "demo-output/genome/variants.vcf.gz --effects-column AF"),
             "bigbird variants evaluate bigbird-demo/scored.tsv --labels eqtl.tsv -o evaluation.tsv",
             ("bigbird variants evaluate bigbird-demo/scored.tsv --labels clinvar.vcf.gz --summary "
              "evaluation.json"),
             ("bigbird variants evaluate bigbird-demo/scored.tsv --effects mpra.tsv --effects-column "
              "logFC --significance-column FDR"),
             ("bigbird variants evaluate bigbird-demo/scored.tsv --baseline cadd=cadd.tsv.gz "
              "--baseline-columns phred")});
  VariantEvaluationOptions options;
  std::string output = "-";
  std::string json;
  add_options(verb, options, output, json);
  add_effect_options(verb, options.effects);
  if (!verb.parse(argc, argv)) return 0;

  OutputSet outputs({{"--output", output}, {"--summary", json}});
  options.seed = verb.seed();
  const VariantEvaluation evaluation = evaluate_variants(options);
  log_inputs(evaluation, options);
  log_evaluation(evaluation, !options.labels.empty());
  Provenance provenance = verb.made_from(options.fasta);
  provenance.inputs.push_back({"scored", options.scored, ""});
  if (!options.labels.empty()) provenance.inputs.push_back({"labels", options.labels, ""});
  if (!options.effects.path.empty()) provenance.inputs.push_back({"effects", options.effects.path, ""});
  for (const std::string& baseline : options.baselines)
    provenance.inputs.push_back({"baseline", baseline, ""});
  const std::vector<std::string> lines = verb.head_of(output, provenance);
  if (!options.labels.empty()) {
    write_evaluation_table(output, evaluation, lines);
  } else if (!options.effects.path.empty()) {
    write_effects_table(output, evaluation, lines);
  } else {
    write_comparison_table(output, evaluation, lines);
  }
  if (!json.empty()) {
    write_text_atomic(json, variant_evaluation_json(evaluation, verb.json_of(provenance)));
  }
  outputs.commit();
  verb.set_throughput(static_cast<double>(evaluation.rows), "alleles");
  return 0;
}

}  // namespace bigbird::apps
