// `bigbird text qa finetune`: a pretrained encoder learns to answer questions by stretches of a text.
#include <memory>
#include <string>

#include "apps/command_line.h"
#include "apps/text_options.h"
#include "apps/training_options.h"
#include "apps/verbs.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/tasks/text/qa/finetune.h"

namespace bigbird::apps {

int cmd_text_qa_finetune(int argc, char** argv) {
  Verb verb(
      "text qa finetune", "Fine-tune a pretrained encoder on questions and the texts that answer them.",
      {"bigbird text qa finetune --train train-v1.1.json --valid dev-v1.1.json --init "
       "bigbird-roberta-base -o run",
       "bigbird text qa finetune --train train-v2.0.json --version-2 --init bigbird-roberta-base -o run "
       "--length 384 --overlap 128 --batch 16 --epochs 2",
       "bigbird text qa finetune --train own.jsonl.gz --init pretrained/final -o run --length 2048 --step "
       "1024"});
  QuestionFinetuneOptions options;
  TextEncodingChoice encoding;
  std::string format = name_of(options.format);
  CLI::App& app = verb.app();
  app.add_option(
      "--format", format,
      "Of the questions: squad (SQuAD 1.1 and 2.0, nested or flat, JSON or JSON Lines); of the others "
      "there is text qa evaluate");
  app.add_option("--train", options.train, "Questions with answers, plain or .gz")
      ->required()
      ->type_name("FILE");
  app.add_option("--valid", options.valid, "The same for validation; may be left out")->type_name("FILE");
  app.add_flag("--version-2", options.version_2, "Questions may have no answer, as in SQuAD 2.0");
  app.add_option("--overlap", options.windows.overlap,
                 "Context tokens that a window shares with the one before it (doc_stride of Hugging Face's "
                 "run_qa); default a third of --length, at most 1024")
      ->type_name("TOKENS");
  app.add_option("--step", options.windows.step,
                 "Instead: context tokens from one window to the next (doc_stride of BERT's scripts)")
      ->excludes("--overlap")
      ->type_name("TOKENS");
  app.add_option("--max-question", options.windows.max_question,
                 "Tokens of a question that are kept; default 64, at most a quarter of --length")
      ->type_name("TOKENS");
  app.add_flag("--replace-invalid", options.replace_invalid,
               "Put U+FFFD where bytes are no UTF-8; else an error");
  encoding.add(verb);
  TrainingOptions training(verb, options,
                           {"Windows",
                            "Most tokens of an input, question and special ones included; 0 is 4096, at most "
                            "what the model takes",
                            true});
  if (!verb.parse(argc, argv)) return 0;
  options.format = parse_question_format(format);
  require_span_format(options.format, "text qa finetune");
  options.encoding = encoding.encoding();
  if (options.train == "-" || options.valid == "-")
    throw_usage("text qa finetune: questions are read from files", "write them to a file first");
  training.finish();
  const std::unique_ptr<kernels::Backend> backend = verb.make_backend(ModelUse::training);
  training.say_trained(question_finetune(options, *backend));
  return 0;
}

}  // namespace bigbird::apps
