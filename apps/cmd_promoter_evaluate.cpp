// `bigbird promoter evaluate`: precision, recall, F1, MCC, AUROC, AUPRC and the confusion table of
// predictions; accuracy, macro F1 and MCC for more than two classes.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "apps/verbs.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/genomics/promoter/labelled_sequences.h"
#include "lib/genomics/promoter/predict.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"

namespace bigbird::apps {
namespace {

struct PromoterEvaluateCommand {
  std::string predictions;
  std::vector<std::string> models;
  LabelledSource data;
  ScoringOptions scoring;
  std::string output = "-";
  double threshold = 0.5;
  double max_n = 0.5;
};

void add_options(Verb& verb, PromoterEvaluateCommand& typed) {
  CLI::App& app = verb.app();
  app.add_option("--predictions", typed.predictions,
                 "TSV with the columns label (0 or 1) and score, or label, p0, p1 ...; - is stdin")
      ->type_name("TSV");
  app.add_option("-m,--model", typed.models,
                 "Or a model folder of promoter finetune, to score --data with; several are averaged")
      ->allow_extra_args(false)
      ->type_name("MODEL");
  app.add_option("--data", typed.data.path,
                 "Labelled sequences: a file of promoter build, a TSV or CSV with the columns sequence and "
                 "label, or a FASTA of class 1")
      ->type_name("FILE");
  app.add_option("--data-negatives", typed.data.negatives, "FASTA of class 0, where --data is one of class 1")
      ->type_name("FASTA");
  app.add_option("--max-n", typed.max_n,
                 "Examples with a larger fraction of N are left out and counted (--model)")
      ->check(CLI::Range(0.0, 1.0));
  typed.scoring.add(verb, {.strands = Strands::forward, .had_batch = true});
  app.add_option("-o,--output", typed.output, "Where the JSON goes; - is stdout")->type_name("FILE");
  app.add_option("--threshold", typed.threshold, "Scores from here on count as positive");
  add_machine(verb);
}

}  // namespace

int cmd_promoter_evaluate(int argc, char** argv) {
  Verb verb("promoter evaluate", "Score promoter predictions against their labels.",
            {"bigbird promoter evaluate --predictions predictions.tsv",
             "bigbird promoter evaluate -m run/final --data promoters/test.tsv",
             "bigbird promoter evaluate -m run/final --data positives.fa --data-negatives negatives.fa"});
  PromoterEvaluateCommand typed;
  add_options(verb, typed);
  if (!verb.parse(argc, argv)) return 0;
  const auto& [predictions, models, data, scoring, output, threshold, max_n] = typed;
  if (predictions.empty() == models.empty() || models.empty() != data.empty() ||
      (data.empty() && !data.negatives.empty())) {
    throw_usage("give --predictions, or --model with --data",
                "predictions are what `bigbird promoter predict` wrote");
  }

  LabelledPredictions scored;
  Provenance provenance{bigbird_version(), verb.command(), std::nullopt, "", {}};
  if (models.empty()) {
    scored = read_labelled_predictions(predictions);
    provenance.inputs = {{"predictions", predictions, ""}};
  } else {
    require_model_folders(models);
    const std::unique_ptr<kernels::Backend> backend = verb.make_backend();
    SequenceScorer scorer({models, scoring.strands(), scoring.batch()}, *backend);
    scored = predict_labelled(scorer, data, max_n);
    if (verb.provenance()) provenance = provenance_of_models(verb, "", models, scorer.digests());
    provenance.inputs.push_back({"data", data.path, ""});
  }
  OutputStream out(output);
  out.write(
      evaluation_json(scored, threshold, verb.provenance() ? provenance_json(provenance) : std::string()));
  out.close();
  verb.set_throughput(static_cast<double>(scored.examples()), "examples");
  return 0;
}

}  // namespace bigbird::apps
