// `bigbird text summarize finetune`: a model with a decoder learns summaries.
#include <string>

#include "apps/command_line.h"
#include "apps/summary_options.h"
#include "apps/training_options.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/text/summarize/finetune.h"

namespace bigbird::apps {

int cmd_text_summarize_finetune(int argc, char** argv) {
  Verb verb(
      "text summarize finetune", "Fine-tune a BigBird-Pegasus or LED model on documents and their summaries.",
      {"bigbird text summarize finetune --train train.jsonl --valid valid.jsonl --init hf:google/bigbird-pegasus-large-arxiv "
       "-o run",
       "bigbird text summarize finetune --train pairs.tsv --document-field text --summary-field tldr --init model "
       "-o run --length 1024 --target-length 64 --batch 8",
       "bigbird text summarize finetune --train train.jsonl --init model -o run --optimizer adafactor --lr 1e-4 "
       "--label-smoothing 0.1 --freeze-positions"});
  SummaryFinetuneOptions options;
  SummaryDataOptions data;
  bool blanks = false;
  verb.add_required(
      "--train FILE", options.train,
      "Documents and summaries: JSON Lines, CSV, TSV, or a folder of documents/ and summaries/");
  verb.add_option("--valid FILE", options.valid, "Validation data in the form of --train; may be left out");
  verb.add_option("--target-length", options.target_length,
                  "Most tokens of a summary; longer ones are cut, their end with them");
  verb.add_flag("--newlines-are-blanks", blanks,
                "Leave newlines to the tokenizer (default: they are \"<n>\")");
  SmoothingOptions smoothing;
  smoothing.add(verb, options.smoothing);
  verb.with_words(verb.add_option("--layer-drop", options.layer_drop,
                                  "Probability that an update leaves out a layer (default: the model's own)"),
                  {{"auto", "-1"}, {"-1", "-1"}}, CLI::Range(0.0, 0.999));
  verb.add_flag("--freeze-positions", options.optimizer.freeze_positions,
                "Leave the tables of positions as they are, as the published code does for Pegasus");
  data.add(verb, SummaryParts::both);
  TrainingOptions training(
      verb, options,
      {.sample = "Documents",
       .length = "Most tokens of a document, its end included (default: what the model has positions for)",
       .needs_init = true,
       .paper = summarization_defaults(Recipe::paper)});
  verb.add_random_mode();
  if (!verb.parse(argc, argv)) return 0;
  options.line_marks = !blanks;
  smoothing.apply(options.smoothing);
  options.pairs = data.pairs();
  if (options.train == "-" || options.valid == "-")
    throw_usage("text summarize finetune: training pairs are read from files", "write them to a file first");
  training.finish();
  training.reads(options.train);
  training.reads(options.valid);
  training.run([&](kernels::Backend& backend) { return summary_finetune(options, backend); });
  return 0;
}

}  // namespace bigbird::apps
