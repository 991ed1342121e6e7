// `bigbird text classify evaluate`: accuracy, F1 and MCC of predicted classes, F1 of several labels,
// correlation of numbers.
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "apps/text_options.h"
#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/files/output_set.h"
#include "lib/io/files/provenance.h"
#include "lib/model_folder/model_folder.h"
#include "lib/report/text_evaluations.h"
#include "lib/text/classify/evaluate.h"

namespace bigbird::apps {
namespace {

struct ClassifyEvaluateCommand {
  TextClassifierOptions options;
  std::string data, predictions, output = "-", table, svg;
  std::vector<std::string> labels;
  TextColumnOptions columns;
  ScoringOptions scoring;
};

void add_options(Verb& verb, ClassifyEvaluateCommand& typed) {
  verb.add_required("--data FILE", typed.data,
                    "Labelled texts: CSV, TSV, JSON Lines, or a folder with one for each class");
  verb.add_option("-m,--model MODEL", typed.options.model, "Model folder to classify them with");
  verb.add_option("--predictions TSV", typed.predictions,
                  "Predictions instead of --model: what text classify predict wrote of them, as TSV");
  verb.add_option("-o,--output FILE", typed.output, "File of the JSON; - is stdout");
  verb.add_option("--table FILE", typed.table, "TSV of precision, recall, F1 and confusions of every class");
  verb.add_option("--svg FILE", typed.svg, "Picture of the confusion table");
  verb.add_option("--classes A,B", typed.labels,
                  "Classes as the data call them, in the order of the model's outputs, as for a model that "
                  "names them LABEL_0, LABEL_1 ...")
      ->delimiter(',');
  verb.with_word(
      verb.add_option(
          "--length", typed.options.length,
          "Most tokens of an input; longer ones are cut (default: as many as the model was trained with)"),
      "auto", "0");
  typed.columns.add(verb, true);
  typed.scoring.add(verb, {});
  add_machine(verb);
}

}  // namespace

int cmd_text_classify_evaluate(int argc, char** argv) {
  Verb verb("text classify evaluate", "Score predicted classes against their labels; JSON on stdout.",
            {("bigbird text classify evaluate -m demo-text-output/classify/final --data "
              "demo-text-output/pages/test.jsonl"),
             ("bigbird text classify evaluate --data demo-text-output/pages/test.jsonl --predictions "
              "demo-text-output/sections.tsv"),
             ("bigbird text classify evaluate -m demo-text-output/classify/final --data "
              "demo-text-output/pages/test.jsonl --table classes.tsv --svg confusion.svg")});
  ClassifyEvaluateCommand typed;
  add_options(verb, typed);
  if (!verb.parse(argc, argv)) return 0;
  auto& [options, data, predictions, output, table, svg, labels, columns, scoring] = typed;
  if (predictions.empty() == options.model.empty()) {
    throw_usage("text classify evaluate: give --model or --predictions",
                "predictions are what `bigbird text classify predict` wrote");
  }
  OutputSet outputs({{"--output", output}, {"--table", table}, {"--svg", svg}});
  const TextRows gold = labelled_rows(data, columns.columns(Labels::required));
  ScoredTexts scored;
  Provenance provenance = verb.made_from("", {{"data", data, ""}});
  if (options.model.empty()) {
    scored = read_scored_texts(gold, predictions, labels);
    provenance.inputs.push_back({"predictions", predictions, ""});
  } else {
    options.batch = scoring.batch();
    const auto backend = verb.make_backend({options.model});
    TextClassifier classifier(options, *backend);
    scored = score_texts(gold, classifier, labels);
    say_inputs(data, scored.inputs, classifier.length());
    if (verb.provenance())
      provenance.inputs.push_back(model_input(options.model, classifier.folder().weights_digest()));
  }
  if (!table.empty()) write_text_atomic(table, class_table_tsv(scored));
  if (!svg.empty()) write_text_atomic(svg, confusion_svg(scored));
  write_output(output, text_metrics_json(scored, verb.json_of(provenance)));
  outputs.commit();
  verb.set_throughput(static_cast<double>(scored.rows()), "texts");
  return 0;
}

}  // namespace bigbird::apps
