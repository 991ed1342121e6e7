// `bigbird promoter evaluate`: precision, recall, F1, MCC, AUROC, AUPRC and the confusion table of
// predictions; accuracy, macro F1 and MCC for more than two classes. Beside a model's scores those of the
// fraction of G and C, and of a regression on 6-mers.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/genomics/promoter/labelled_sequences.h"
#include "lib/genomics/promoter/predict.h"
#include "lib/genomics/promoter/promoter_baselines.h"
#include "lib/io/files/provenance.h"
#include "lib/io/genome/excluded_regions.h"
#include "lib/io/genome/most_n.h"

namespace bigbird::apps {
namespace {

struct PromoterEvaluateCommand {
  std::string predictions;
  std::vector<std::string> models;
  LabelledSource data;
  ScoringOptions scoring;
  std::vector<std::string> exclude;
  std::string baseline_from;
  std::string output = "-";
  double threshold = 0.5;
  double max_n = most_n_of_scored_window;
};

void add_options(Verb& verb, PromoterEvaluateCommand& typed) {
  verb.add_option(
      "--predictions TSV", typed.predictions,
      "Predictions: TSV with the columns label (0 or 1) and score, or label, p0, p1 ...; - is stdin");
  verb.add_option(
          "-m,--model MODEL", typed.models,
          "Model folder of promoter finetune, to score --data with in place of --predictions; several are averaged")
      ->allow_extra_args(false);
  verb.add_option("--data FILE", typed.data.path,
                  "Labelled sequences: a file of promoter build, a TSV or CSV with the columns sequence and "
                  "label, or a FASTA of class 1");
  verb.add_option("--data-negatives FASTA", typed.data.negatives,
                  "FASTA of class 0, where --data is one of class 1");
  verb.add_option("--max-n", typed.max_n,
                  "Largest fraction of N in a window (--model); the others are left out and counted",
                  CLI::Range(0.0, 1.0));
  verb.add_exclude(typed.exclude, "examples whose window touches them are not counted");
  typed.scoring.add(verb, {.strands = usual_strands, .had_batch = true});
  verb.add_option(
      "--baseline-from DIR|FILE", typed.baseline_from,
      "Training windows (folder of promoter build, or a labelled table), to fit a logistic regression on 6-mers that the model is compared with; the fraction of G and C always is");
  verb.add_option("-o,--output FILE", typed.output, "File of the JSON; - is stdout");
  verb.add_option("--threshold", typed.threshold, "Lowest score that counts as positive");
  add_machine(verb);
}

}  // namespace

int cmd_promoter_evaluate(int argc, char** argv) {
  Verb verb("promoter evaluate",
            "Score promoter predictions against their labels: F1, MCC, AUROC, AUPRC, next to G and C "
            "and 6-mers.",
            {"bigbird promoter evaluate --predictions demo-output/predictions.tsv",
             ("bigbird promoter evaluate -m demo-output/finetune/final --data "
              "demo-output/promoters/test.tsv"),
             ("bigbird promoter evaluate -m demo-output/finetune/final --data "
              "demo-output/promoters/test.tsv --baseline-from demo-output/promoters"),
             ("awk 'NR > 1 { print \">\" $1 \"\\n\" $8 > ($6 ? \"positives.fa\" : \"negatives.fa\") }' "
              "demo-output/promoters/test.tsv && bigbird promoter evaluate -m "
              "demo-output/finetune/final --data positives.fa --data-negatives negatives.fa")});
  PromoterEvaluateCommand typed;
  add_options(verb, typed);
  if (!verb.parse(argc, argv)) return 0;
  const auto& [predictions, models, data, scoring, exclude, baseline_from, output, threshold, max_n] = typed;
  if (predictions.empty() == models.empty() || models.empty() != data.empty() ||
      (data.empty() && !data.negatives.empty())) {
    throw_usage("give --predictions, or --model with --data",
                "predictions are what `bigbird promoter predict` wrote");
  }
  if (models.empty() && !baseline_from.empty()) {
    throw_usage("--baseline-from: predictions have no sequences", "give --model with --data");
  }

  const ExcludedRegions excluded(exclude);
  LabelledPredictions scored;
  Provenance provenance = verb.made_from();
  if (models.empty()) {
    scored = read_labelled_predictions(predictions, excluded);
    provenance.inputs = {{"predictions", predictions, ""}};
  } else {
    const PromoterBaselines fitted = fit_promoter_baselines(baseline_from, max_n);
    const auto backend = verb.make_backend(models);
    SequenceScorer scorer({models, scoring.strands(), scoring.batch()}, *backend);
    BaselineEvaluation baselines(fitted);
    scored = predict_labelled(scorer, data, max_n, excluded, &baselines);
    if (const std::string line = baselines.line(); !line.empty()) log_info(line);
    if (verb.provenance()) provenance = provenance_of_models(verb, "", models, scorer.digests());
    provenance.inputs.push_back({"data", data.path, ""});
    if (!baseline_from.empty()) provenance.inputs.push_back({"baseline", baseline_from, ""});
  }
  if (!exclude.empty())
    log_info(fmt::format("{} examples touch an excluded region and are left out", scored.excluded));
  write_output(output, evaluation_json(scored, threshold, verb.json_of(provenance)));
  verb.set_throughput(static_cast<double>(scored.examples()), "examples");
  return 0;
}

}  // namespace bigbird::apps
