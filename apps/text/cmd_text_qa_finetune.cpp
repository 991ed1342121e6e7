// `bigbird text qa finetune`: a pretrained encoder learns to answer the questions of five data sets.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/text/qa_options.h"
#include "apps/text_options.h"
#include "apps/training_options.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/text/qa/finetune.h"

namespace bigbird::apps {
namespace {

// Where the command line leaves them: those of the data set.
void take_settings_of(const Verb& verb, QuestionFinetuneOptions& options) {
  const RunOptions defaults = question_answering_defaults(*options.task);
  std::vector<std::string> taken;
  if (!verb.given("--batch")) {
    options.batch = defaults.batch;
    taken.push_back(fmt::format("batch {}", defaults.batch));
  }
  if (!verb.given("--epochs") && options.steps == 0) {
    options.epochs = defaults.epochs;
    taken.push_back(fmt::format("{:g} epochs", defaults.epochs));
  }
  options.learning_rate =
      defaults.learning_rate;  // also of `--lr auto`; a number that is typed takes its place
  if (!verb.given("--lr")) {
    taken.push_back(fmt::format("rate {:g} at a width of 768", defaults.learning_rate));
  }
  if (!taken.empty()) log_info(fmt::format("{}: {}", options.task->name, fmt::join(taken, ", ")));
}

void add_data_options(Verb& verb, QuestionFinetuneOptions& options, std::string& format) {
  verb.add_option(
      "--format", format,
      "Format of the questions: squad (SQuAD 1.1 and 2.0, nested or flat, JSON or JSON Lines), hotpotqa, "
      "nq, triviaqa or wikihop. It decides the defaults of --batch (32; 128 of nq, 64 of wikihop), "
      "--epochs (3; 5 of hotpotqa and wikihop) and --lr (3e-5; 5e-5 of nq, 2e-5 of wikihop)");
  verb.add_required("--train FILE", options.train, "Questions with answers, plain or .gz");
  verb.add_option("--valid FILE", options.valid, "Validation data in the form of --train; may be left out");
  verb.add_flag("--replace-invalid", options.replace_invalid,
                "Put U+FFFD where bytes are not UTF-8 (default: an error)");
}

void add_format_options(Verb& verb, QuestionFinetuneOptions& options, FormatOptions& formats) {
  formats.add(verb.add_flag("--version-2", options.version_2, "Let questions have no answer, as in SQuAD 2.0")
                  ->group("For squad"));
  formats.add(
      verb.add_option("--keep-null FRACTION", options.keep_null,
                      "Fraction of the training windows without the answer that is kept, drawn by --seed",
                      CLI::Range(0.0, 1.0))
          ->group("For nq"));
  formats.add(verb.add_option("--max-windows COUNT", options.max_windows,
                              "Windows of a document, of wikihop inputs of a question, that are trained on, "
                              "from the beginning: they are one sample, and --batch counts samples",
                              CLI::PositiveNumber)
                  ->group("For triviaqa and wikihop"));
}

}  // namespace

int cmd_text_qa_finetune(int argc, char** argv) {
  Verb verb("text qa finetune", "Fine-tune a pretrained encoder on questions and the texts that answer them.",
            {("bigbird text qa finetune --train demo-text-output/pages/questions.train.json --init "
              "demo-text-output/pretrain/final -o questions-run --length 128 --overlap 32"),
             ("bigbird text qa finetune --train train-v2.0.json --version-2 --length 384 --overlap 128 "
              "--batch 16 --init hf:google/bigbird-roberta-base -o squad-run"),
             ("bigbird text qa finetune --format hotpotqa --train hotpot_train_v1.1.json --accumulate "
              "32 --init hf:google/bigbird-roberta-base -o hotpot-run"),
             ("bigbird text qa finetune --format nq --train nq-train.jsonl.gz --step 2048 --keep-null "
              "0.1 --init hf:google/bigbird-roberta-base -o nq-run"),
             ("bigbird text qa finetune --format triviaqa --train wikipedia-train.json --evidence "
              "evidence --init hf:google/bigbird-roberta-base -o trivia-run"),
             ("bigbird text qa finetune --format wikihop --train train.json --accumulate 64 --init "
              "hf:google/bigbird-roberta-base -o wikihop-run")});
  QuestionFinetuneOptions options;
  TextEncodingChoice encoding;
  FormatOptions formats;
  TriviaChoice trivia;
  RandomModeOptions random_mode;
  std::string format = options.task->name;
  add_data_options(verb, options, format);
  encoding.add(verb);
  random_mode.add(verb, "Random blocks of attention (default: the model's own)");
  add_window_options(verb, options.windows, "", formats);
  add_format_options(verb, options, formats);
  trivia.add(verb, options, formats);
  TrainingOptions training(verb, options,
                           {.sample = "Windows; of hotpotqa and wikihop questions, of triviaqa documents",
                            .length = "Most tokens of an input, question and special ones included (default: "
                                      "4096, at most what the model takes)",
                            .needs_init = true,
                            .paper = question_answering_defaults(*options.task, Recipe::paper)});
  if (!verb.parse(argc, argv)) return 0;
  options.task = &question_task(format);
  formats.check("text qa finetune", *options.task);
  trivia.take("text qa finetune", *options.task, options);
  options.encoding = encoding.encoding();
  if (options.train == "-" || options.valid == "-")
    throw_usage("text qa finetune: questions are read from files", "write them to a file first");
  take_settings_of(verb, options);
  training.set_paper(question_answering_defaults(*options.task, Recipe::paper));
  training.finish();
  random_mode.apply(options.random_mode, options.plan);
  training.reads(options.train);
  training.reads(options.valid);
  training.run([&](kernels::Backend& backend) { return question_finetune(options, backend); });
  return 0;
}

}  // namespace bigbird::apps
