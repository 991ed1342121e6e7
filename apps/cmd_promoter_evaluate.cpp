// `bigbird promoter evaluate`: precision, recall, F1, MCC, AUROC, AUPRC and the confusion table of
// predictions; accuracy, macro F1 and MCC for more than two classes.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/verbs.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/io/weights/weight_files.h"
#include "lib/tasks/genomics/promoter/evaluate.h"
#include "lib/tasks/genomics/promoter/labelled_sequences.h"
#include "lib/tasks/genomics/promoter/predict.h"
#include "lib/tasks/windows.h"

namespace bigbird::apps {
namespace {

LabelledPredictions predict_examples(const std::string& model, const LabelledSource& data, std::int64_t batch,
                                     double max_n, kernels::Backend& backend) {
  PromoterPredictor predictor(model, batch, backend);
  LabelledPredictions predictions;
  predictions.classes = predictor.classes();
  predictions.negatives = read_promoter_facts(data).negatives;
  predictor.predict(*read_labelled_windows(data), max_n,
                    [&](const Window& window, std::span<const double> scores) {
                      if (static_cast<std::size_t>(window.label) >= predictions.classes) {
                        throw_bad_input(fmt::format("{}: example {} has label {}, the model has {} classes",
                                                    data.path, window.id, window.label, predictions.classes));
                      }
                      if (scores.empty()) {
                        ++predictions.left_out;
                        return;
                      }
                      predictions.labels.push_back(window.label);
                      if (predictions.classes == 2) {
                        predictions.scores.push_back(scores[1]);
                      } else {
                        predictions.scores.insert(predictions.scores.end(), scores.begin(), scores.end());
                      }
                    });
  return predictions;
}

}  // namespace

int cmd_promoter_evaluate(int argc, char** argv) {
  Verb verb("promoter evaluate", "Score promoter predictions against their labels.",
            {"bigbird promoter evaluate --predictions predictions.tsv",
             "bigbird promoter evaluate -m run/final --data promoters/test.tsv",
             "bigbird promoter evaluate -m run/final --data positives.fa --data-negatives negatives.fa"});
  std::string predictions, model;
  LabelledSource data;
  std::int64_t batch = 8;
  std::string output = "-";
  double threshold = 0.5;
  double max_n = 0.5;
  CLI::App& app = verb.app();
  app.add_option("--predictions", predictions,
                 "TSV with the columns label (0 or 1) and score, or label, p0, p1 ...; - is stdin")
      ->type_name("TSV");
  app.add_option("-m,--model", model, "Or a model folder of promoter finetune, to score --data with")
      ->type_name("MODEL");
  app.add_option("--data", data.path,
                 "Labelled sequences: a file of promoter build, a TSV or CSV with the columns sequence and "
                 "label, or a FASTA of class 1")
      ->type_name("FILE");
  app.add_option("--data-negatives", data.negatives, "FASTA of class 0, where --data is one of class 1")
      ->type_name("FASTA");
  app.add_option("--max-n", max_n, "Examples with a larger share of N are left out and counted (--model)")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--batch", batch, "Windows run at once; the result does not depend on it")
      ->check(CLI::Range(1, 65536));
  app.add_option("-o,--output", output, "Where the JSON goes; - is stdout")->type_name("FILE");
  app.add_option("--threshold", threshold, "Scores from here on count as positive");
  verb.add_threads();
  verb.add_device();
  verb.add_precision();
  if (!verb.parse(argc, argv)) return 0;
  if (predictions.empty() == model.empty() || model.empty() != data.empty() ||
      (data.empty() && !data.negatives.empty())) {
    throw_usage("give --predictions, or --model with --data",
                "predictions are what `bigbird promoter predict` wrote");
  }

  const LabelledPredictions scored = model.empty()
                                         ? read_labelled_predictions(predictions)
                                         : predict_examples(model, data, batch, max_n, *verb.make_backend());
  std::string provenance;
  if (verb.provenance()) {
    std::vector<ProvenanceInput> inputs = {{"predictions", predictions, ""}};
    if (!model.empty()) {
      inputs = {{"model", model, weights_digest(model)}, {"data", data.path, ""}};
    }
    provenance = provenance_json({bigbird_version(), verb.command(), std::nullopt, "", inputs});
  }
  OutputStream out(output);
  out.write(evaluation_json(scored, threshold, provenance));
  out.close();
  verb.set_throughput(static_cast<double>(scored.examples()), "examples");
  return 0;
}

}  // namespace bigbird::apps
