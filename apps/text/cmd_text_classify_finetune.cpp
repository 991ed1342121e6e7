// `bigbird text classify finetune`: a pretrained encoder becomes a classifier of texts.
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "apps/command_line.h"
#include "apps/text_options.h"
#include "apps/training_options.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/core/names.h"
#include "lib/text/classify/finetune.h"

namespace bigbird::apps {
namespace {

constexpr std::array<std::pair<ProblemType, const char*>, 3> problem_names{
    {{ProblemType::single_label, "single"},
     {ProblemType::multi_label, "multi"},
     {ProblemType::regression, "regression"}}};

}  // namespace

int cmd_text_classify_finetune(int argc, char** argv) {
  Verb verb("text classify finetune", "Fine-tune a pretrained encoder on texts with labels.",
            {("bigbird text classify finetune --train demo-text-output/pages/train.jsonl --valid "
              "demo-text-output/pages/valid.jsonl --init demo-text-output/pretrain/final -o "
              "sections-run"),
             ("bigbird text classify finetune --train imdb/train --init hf:google/bigbird-roberta-base "
              "-o imdb-run --length 1024 --batch 16 --accumulate 8"),
             ("bigbird text classify finetune --train ag_news.csv --no-header --label-column 1 "
              "--text-column 2,3 --init demo-text-output/pretrain/final -o ag-run --length 128")});
  TextFinetuneOptions options;
  std::string train, valid;
  TextColumnOptions columns;
  TextEncodingChoice encoding;
  std::string problem = "auto";
  verb.add_required("--train FILE", train,
                    "Labelled texts: CSV, TSV, JSON Lines, or a folder with one of texts for each class");
  verb.add_option("--valid FILE", valid, "Validation data in the form of --train; may be left out");
  verb.add_option("--problem", problem,
                  "Problem: single, a class each; multi, a list of labels each; regression, a number each "
                  "(default: by the labels)",
                  CLI::IsMember({"auto", "single", "multi", "regression"}));
  verb.add_flag("--second-type", options.second_type,
                "Set token type 1 for the second text of a pair, as BERT's (default: all are 0, as Hugging "
                "Face's BigBird)");
  columns.add(verb, true);
  encoding.add(verb);
  TrainingOptions training(
      verb, options,
      {.sample = "Texts",
       .length = "Most tokens of an input, special ones included (default: what the model takes)",
       .needs_init = true,
       .classifies = true,
       .paper = text_classification_defaults(Recipe::paper)});
  verb.add_random_mode();
  if (!verb.parse(argc, argv)) return 0;
  options.encoding = encoding.encoding();
  options.labels.problem = find_value(problem_names, problem);
  if (train == "-" || valid == "-")
    throw_usage("text classify finetune: training texts are read from files", "write them to a file first");
  training.finish();
  const LabelledTextOptions read = columns.columns(Labels::required);
  training.reads(train);
  training.reads(valid);
  // Rows are read to their end: of several learning rates each begins anew.
  training.run([&](kernels::Backend& backend) {
    const TextRows train_rows = labelled_rows(train, read);
    std::optional<TextRows> valid_rows;
    if (!valid.empty()) valid_rows = labelled_rows(valid, read);
    return text_finetune(options, train_rows, valid_rows, backend);
  });
  return 0;
}

}  // namespace bigbird::apps
