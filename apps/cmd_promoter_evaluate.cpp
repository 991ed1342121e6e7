// `bigbird promoter evaluate`: precision, recall, F1, MCC, AUROC, AUPRC and the confusion table of
// predictions.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/verbs.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/io/file.h"
#include "lib/io/provenance.h"
#include "lib/io/weight_files.h"
#include "lib/tasks/genomics/promoter_examples.h"
#include "lib/tasks/genomics/promoter_predict.h"
#include "lib/tasks/genomics/windows.h"
#include "lib/tasks/metrics.h"

namespace bigbird::apps {
namespace {

LabelledScores predict_examples(const std::string& model, const std::string& data, std::int64_t batch,
                                kernels::Backend& backend) {
  PromoterPredictor predictor(model, batch, backend);
  LabelledScores scored;
  predictor.predict(*read_tsv_windows(data), [&](const Window& window, double score) {
    scored.labels.push_back(window.label);
    scored.scores.push_back(score);
  });
  return scored;
}

}  // namespace

int cmd_promoter_evaluate(int argc, char** argv) {
  Verb verb("promoter evaluate", "Score promoter predictions against their labels.",
            {"bigbird promoter evaluate --predictions predictions.tsv",
             "bigbird promoter evaluate -m run/final --data promoters/test.tsv"});
  std::string predictions, model, data;
  std::int64_t batch = 8;
  std::string output = "-";
  double threshold = 0.5;
  CLI::App& app = verb.app();
  app.add_option("--predictions", predictions, "TSV with the columns label (0 or 1) and score; - is stdin")
      ->type_name("TSV");
  app.add_option("-m,--model", model, "Or a model folder of promoter finetune, to score --data with")
      ->type_name("MODEL");
  app.add_option("--data", data, "Example file of promoter build")->type_name("TSV");
  app.add_option("--batch", batch, "Windows run at once; the result does not depend on it")
      ->check(CLI::Range(1, 65536));
  app.add_option("-o,--output", output, "Where the JSON goes; - is stdout")->type_name("FILE");
  app.add_option("--threshold", threshold, "Scores from here on count as positive");
  verb.add_threads();
  verb.add_device();
  verb.add_precision();
  if (!verb.parse(argc, argv)) return 0;
  if (predictions.empty() == model.empty() || model.empty() != data.empty()) {
    throw_usage("give --predictions, or --model with --data",
                "predictions are what `bigbird promoter predict` wrote");
  }

  const LabelledScores scored = model.empty() ? read_predictions(predictions)
                                              : predict_examples(model, data, batch, *verb.make_backend());
  const BinaryMetrics metrics = binary_metrics(scored.labels, scored.scores, threshold);
  std::string provenance;
  if (verb.provenance()) {
    std::vector<ProvenanceInput> inputs = {{"predictions", predictions, ""}};
    if (!model.empty()) {
      inputs = {{"model", model, weights_digest(model)}, {"data", data, ""}};
    }
    provenance = provenance_json({bigbird_version(), verb.command(), std::nullopt, "", inputs});
  }
  OutputStream out(output);
  out.write(metrics_json(metrics, provenance));
  out.close();
  verb.set_throughput(static_cast<double>(scored.labels.size()), "examples");
  return 0;
}

}  // namespace bigbird::apps
