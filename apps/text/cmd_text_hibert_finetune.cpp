// `bigbird text hibert finetune`: HIBERT learns which sentences of a document make its summary.
#include <string>

#include "apps/command_line.h"
#include "apps/summary_options.h"
#include "apps/training_options.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/text/hibert/finetune.h"

namespace bigbird::apps {

int cmd_text_hibert_finetune(int argc, char** argv) {
  Verb verb(
      "text hibert finetune", "Fine-tune HIBERT to extract summaries.",
      {"bigbird text hibert finetune --train train.jsonl --valid dev.jsonl --init hibert/final -o run",
       "bigbird text hibert finetune --train pairs.tsv --init hibert/final -o run --epochs 1 --batch 8"});
  HibertFinetuneOptions options;
  SummaryDataOptions data;
  verb.add_required(
      "--train FILE", options.train,
      "Documents and summaries: JSON Lines, CSV, TSV, or a folder of documents/ and summaries/");
  verb.add_option("--valid FILE", options.valid, "Validation data in the form of --train; may be left out");
  data.add(verb, SummaryParts::both);
  TrainingOptions training(verb, options,
                           {.sample = "Documents",
                            .length = "Most tokens of a sentence, its end included (default: the model's)",
                            .needs_init = true,
                            .paper = {}});
  if (!verb.parse(argc, argv)) return 0;
  options.pairs = data.pairs();
  if (options.train == "-" || options.valid == "-")
    throw_usage("text hibert finetune: training pairs are read from files", "write them to a file first");
  training.finish();
  training.reads(options.train);
  training.reads(options.valid);
  training.run([&](kernels::Backend& backend) { return hibert_finetune(options, backend); });
  return 0;
}

}  // namespace bigbird::apps
