// `bigbird promoter evaluate`: precision, recall, F1, MCC, AUROC, AUPRC and the confusion table of
// predictions.
#include <optional>

#include "apps/command_line.h"
#include "apps/verbs.h"
#include "lib/io/file.h"
#include "lib/io/provenance.h"
#include "lib/tasks/genomics/promoter_examples.h"
#include "lib/tasks/metrics.h"

namespace bigbird::apps {

int cmd_promoter_evaluate(int argc, char** argv) {
  Verb verb("promoter evaluate", "Score promoter predictions against their labels.",
            {"bigbird promoter evaluate --predictions predictions.tsv"});
  std::string predictions;
  std::string output = "-";
  double threshold = 0.5;
  CLI::App& app = verb.app();
  app.add_option("--predictions", predictions, "TSV with the columns label (0 or 1) and score; - is stdin")
      ->required()
      ->type_name("TSV");
  app.add_option("-o,--output", output, "Where the JSON goes; - is stdout")->type_name("FILE");
  app.add_option("--threshold", threshold, "Scores from here on count as positive");
  if (!verb.parse(argc, argv)) return 0;

  const LabelledScores scored = read_predictions(predictions);
  const BinaryMetrics metrics = binary_metrics(scored.labels, scored.scores, threshold);
  std::string provenance;
  if (verb.provenance()) {
    provenance = provenance_json(
        {bigbird_version(), verb.command(), std::nullopt, "", {{"predictions", predictions, ""}}});
  }
  OutputStream out(output);
  out.write(metrics_json(metrics, provenance));
  out.close();
  verb.set_throughput(static_cast<double>(scored.labels.size()), "examples");
  return 0;
}

}  // namespace bigbird::apps
