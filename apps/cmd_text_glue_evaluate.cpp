// `bigbird text glue evaluate`: the official metrics of a GLUE task, of a model or of a submission file.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "apps/verbs.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/tasks/text/classify/glue_scores.h"

namespace bigbird::apps {

int cmd_text_glue_evaluate(int argc, char** argv) {
  Verb verb("text glue evaluate", "Score a task of GLUE with its official metrics; JSON on stdout.",
            {"bigbird text glue evaluate --task sst2 --data glue_data/SST-2/dev.tsv -m sst2-run/final",
             "bigbird text glue evaluate --task mnli --data glue_data/MNLI -m mnli-run/final",
             "bigbird text glue evaluate --task rte --data glue_data/RTE/dev.tsv --predictions dev/RTE.tsv"});
  TextClassifierOptions options;
  std::string name, data, predictions, output = "-";
  std::vector<std::string> labels;
  bool replace_invalid = false;
  ScoringOptions scoring;
  CLI::App& app = verb.app();
  app.add_option("--task", name, "cola, sst2, mrpc, stsb, qqp, mnli, qnli, rte or wnli")
      ->required()
      ->type_name("TASK");
  app.add_option("--data", data,
                 "File with labels; or the folder of its dev.tsv, of mnli of both sides' dev files")
      ->required()
      ->type_name("FILE");
  app.add_option("-m,--model", options.model, "Model folder to predict with")->type_name("MODEL");
  app.add_option("--predictions", predictions,
                 "Instead: a file with the header index<TAB>prediction, rows numbered from 0; or its folder")
      ->type_name("TSV");
  app.add_option("-o,--output", output, "Where the JSON goes; - is stdout")->type_name("FILE");
  app.add_option(
         "--labels", labels,
         "Classes in the order of the model's outputs, for models that name them LABEL_0, LABEL_1 ...")
      ->delimiter(',')
      ->type_name("A,B");
  app.add_option("--length", options.length,
                 "Most tokens of an input; 0 is what the model was trained with. Longer ones are cut");
  app.add_flag("--replace-invalid", replace_invalid, "Put U+FFFD where bytes are no UTF-8; else an error");
  scoring.add(verb, {});
  verb.add_threads();
  verb.add_device();
  verb.add_precision();
  if (!verb.parse(argc, argv)) return 0;
  const GlueTask& task = find_glue_task(name);
  if (predictions.empty() == options.model.empty()) {
    throw_usage("text glue evaluate: give --model or --predictions",
                "predictions are what `bigbird text glue predict` wrote");
  }
  std::vector<GlueSplitFile> files = {{data, task.folder + ".tsv"}};
  if (folder_exists(data)) {
    files = glue_split_files(task, data, GlueSplit::dev);
  } else if (task.name == "mnli") {
    files.front().submission = data.find("mismatched") != std::string::npos ? "MNLI-mm.tsv" : "MNLI-m.tsv";
  }
  const bool from_folder = folder_exists(predictions);
  if (!predictions.empty() && !from_folder && files.size() > 1) {
    throw_usage("text glue evaluate: two files of labels and one of predictions",
                "give the folder with MNLI-m.tsv and MNLI-mm.tsv, or one file of labels");
  }
  Provenance provenance{bigbird_version(), verb.command(), std::nullopt, "", {}};
  std::unique_ptr<kernels::Backend> backend;
  std::unique_ptr<TextClassifier> classifier;
  std::optional<GlueOutputs> outputs;
  if (!options.model.empty()) {
    options.batch = scoring.batch();
    backend = verb.make_backend();
    classifier = std::make_unique<TextClassifier>(options, *backend);
    outputs.emplace(task, *classifier, labels);
    if (verb.provenance())
      provenance.inputs.push_back({"model", options.model, classifier->folder().weights_digest()});
  }
  std::vector<GlueScores> scores;
  std::uint64_t rows = 0;
  for (const GlueSplitFile& file : files) {
    GlueFile gold(file.path, task, GlueRows::labelled, replace_invalid);
    provenance.inputs.push_back({"data", file.path, ""});
    if (classifier) {
      scores.push_back(score_glue_model(task, gold, *classifier, *outputs));
      say_inputs(file.path, scores.back().inputs, classifier->length());
    } else {
      const std::string submitted = from_folder ? predictions + "/" + file.submission : predictions;
      scores.push_back(score_glue_predictions(task, gold, submitted));
      provenance.inputs.push_back({"predictions", submitted, ""});
    }
    rows += scores.back().examples;
  }
  OutputStream out(output);
  out.write(glue_metrics_json(task, scores, verb.provenance() ? provenance_json(provenance) : std::string()));
  out.close();
  verb.set_throughput(static_cast<double>(rows), "texts");
  return 0;
}

}  // namespace bigbird::apps
