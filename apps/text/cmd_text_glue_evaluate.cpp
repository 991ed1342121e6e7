// `bigbird text glue evaluate`: the official metrics of a GLUE task, of a model or of a submission file.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/text_options.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/model_folder/model_folder.h"
#include "lib/text/classify/glue_scores.h"

namespace bigbird::apps {
namespace {

struct GlueEvaluateCommand {
  GlueScoringOptions glue;
  std::string model, data, predictions, output = "-";
};

void add_options(Verb& verb, GlueEvaluateCommand& typed) {
  verb.add_required("--data FILE", typed.data,
                    "File with labels; or the folder of its dev.tsv, of mnli of both sides' dev files");
  verb.add_option("-m,--model MODEL", typed.model, "Model folder to predict with");
  verb.add_option("--predictions TSV", typed.predictions,
                  "Predictions instead of --model: a file with the header index<TAB>prediction, rows "
                  "numbered from 0; or its folder");
  verb.add_option("-o,--output FILE", typed.output, "File of the JSON; - is stdout");
  typed.glue.add(verb);
}

}  // namespace

int cmd_text_glue_evaluate(int argc, char** argv) {
  Verb verb("text glue evaluate", "Score a task of GLUE with its official metrics; JSON on stdout.",
            {"bigbird text glue evaluate --task sst2 --data glue_data/SST-2/dev.tsv -m sst2-run/final",
             "bigbird text glue evaluate --task mnli --data glue_data/MNLI -m mnli-run/final",
             "bigbird text glue evaluate --task rte --data glue_data/RTE/dev.tsv --predictions dev/RTE.tsv"});
  GlueEvaluateCommand typed;
  add_options(verb, typed);
  if (!verb.parse(argc, argv)) return 0;
  const auto& [glue, model, data, predictions, output] = typed;
  const GlueTask& task = glue.task();
  if (predictions.empty() == model.empty()) {
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
  Provenance provenance = verb.made_from();
  std::unique_ptr<kernels::Backend> backend;
  std::unique_ptr<TextClassifier> classifier;
  std::optional<GlueOutputs> outputs;
  if (!model.empty()) {
    backend = verb.make_backend({model});
    classifier = std::make_unique<TextClassifier>(glue.classifier(model), *backend);
    outputs.emplace(task, *classifier, glue.labels());
    if (verb.provenance())
      provenance.inputs.push_back(model_input(model, classifier->folder().weights_digest()));
  }
  std::vector<GlueScores> scores;
  std::uint64_t rows = 0;
  for (const GlueSplitFile& file : files) {
    GlueFile gold(file.path, task, GlueRows::labelled, glue.replace_invalid());
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
  write_output(output, glue_metrics_json(task, scores, verb.json_of(provenance)));
  verb.set_throughput(static_cast<double>(rows), "texts");
  return 0;
}

}  // namespace bigbird::apps
