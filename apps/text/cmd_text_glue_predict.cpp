// `bigbird text glue predict`: the submission file of a GLUE task.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "apps/command_line.h"
#include "apps/text_options.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "lib/io/files/output_set.h"
#include "lib/text/classify/glue_scores.h"

namespace bigbird::apps {

int cmd_text_glue_predict(int argc, char** argv) {
  Verb verb("text glue predict", "Write the submission file of a GLUE task.",
            {"bigbird text glue predict -m sst2-run/final --task sst2 --data glue_data -o submission",
             "bigbird text glue predict -m mnli-run/final --task mnli --data glue_data --split dev -o dev",
             "bigbird text glue predict -m mnli-run/final --task ax --data glue_data -o submission",
             "bigbird text glue predict -m some-model --task rte --data glue_data --classes "
             "entailment,not_entailment -o submission"});
  GlueScoringOptions glue;
  std::string model, data, output, split = "test";
  verb.add_required("-m,--model MODEL", model, "Model folder with a classification head");
  verb.add_required("--data DIR", data, "Folder of the task as downloaded, or the one with its folder");
  verb.add_required(
      "-o,--output DIR", output,
      "Folder for the file: CoLA.tsv, SST-2.tsv, AX.tsv ...; of mnli MNLI-m.tsv and MNLI-mm.tsv");
  verb.add_option("--split", split, "Side: test, dev or train; rows of the last two are numbered from 0",
                  CLI::IsMember({"test", "dev", "train"}));
  glue.add(verb);
  if (!verb.parse(argc, argv)) return 0;
  const GlueTask& task = glue.task();
  const GlueSplit part = split == "test"  ? GlueSplit::test
                         : split == "dev" ? GlueSplit::dev
                                          : GlueSplit::train;
  const std::vector<GlueSplitFile> files = glue_split_files(task, data, part);
  if (task.name == "mnli" && part != GlueSplit::train && files.size() == 1)
    log_warning(fmt::format("{}: the other of MNLI's two sides is not there", files.front().path));
  const auto backend = verb.make_backend({model});
  TextClassifier classifier(glue.classifier(model), *backend);
  const GlueOutputs outputs(task, classifier, glue.labels());
  std::uint64_t rows = 0;
  std::vector<std::pair<std::string, std::string>> submissions;  // where to, and what
  for (const GlueSplitFile& file : files) {
    GlueFile input(file.path, task, part == GlueSplit::test ? GlueRows::test : GlueRows::all,
                   glue.replace_invalid());
    auto [text, tally] = glue_submission(task, input, classifier, outputs);
    say_inputs(file.path, tally, classifier.length());
    rows += tally.inputs;
    submissions.emplace_back(output + "/" + file.submission, std::move(text));
  }
  OutputSet together({});
  together.make_folder(output);
  for (const auto& [path, text] : submissions) together.add({"", path});
  for (const auto& [path, text] : submissions) write_text_atomic(path, text);
  together.commit();
  verb.set_throughput(static_cast<double>(rows), "texts");
  return 0;
}

}  // namespace bigbird::apps
