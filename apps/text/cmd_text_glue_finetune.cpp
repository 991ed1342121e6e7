// `bigbird text glue finetune`: a pretrained encoder learns a task of GLUE from its folder as downloaded.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/text_options.h"
#include "apps/training_options.h"
#include "kernels/backend.h"
#include "lib/core/log.h"
#include "lib/text/classify/finetune.h"
#include "lib/text/classify/glue_files.h"

namespace bigbird::apps {
namespace {

// What RoBERTa was fine-tuned with on every task (fairseq's README.glue.md), as BigBird's appendix E.4 has
// it.
void set_glue_defaults(TextFinetuneOptions& options) {
  static_cast<RunOptions&>(options) = text_classification_defaults(Recipe::paper);
  options.epochs = 10;
  options.batch = 16;
  options.learning_rate = 1e-5;
  options.dropout = 0.1;
  options.schedule = ScheduleForm::huggingface;
  options.optimizer.variant = OptimizerVariant::torch;
  options.optimizer.beta2 = 0.98;
  options.optimizer.epsilon = 1e-6;
  options.optimizer.weight_decay = 0.1;
}

// Where the command line leaves them: those of the task.
void take_settings_of(const GlueTask& task, const Verb& verb, TextFinetuneOptions& options) {
  std::vector<std::string> taken;
  options.learning_rate = task.learning_rate;  // also of `--lr auto`; a number that is typed takes its place
  if (!verb.given("--lr")) {
    taken.push_back(fmt::format("rate {:g}", task.learning_rate));
  }
  if (!verb.given("--batch")) {
    options.batch = task.batch;
    taken.push_back(fmt::format("batch {}", task.batch));
  }
  if (!verb.given("--warmup")) {
    options.warmup_share = task.warmup_share;
    taken.push_back(fmt::format("warm-up {:g} % of the steps", 100 * task.warmup_share));
  }
  if (!taken.empty()) log_info(fmt::format("{}: {}", task.folder, fmt::join(taken, ", ")));
}

}  // namespace

int cmd_text_glue_finetune(int argc, char** argv) {
  Verb verb(
      "text glue finetune", "Fine-tune a pretrained encoder on a task of GLUE.",
      {"bigbird text glue finetune --task sst2 --data glue_data --init hf:google/bigbird-roberta-base -o sst2-run",
       "bigbird text glue finetune --task rte --data glue_data/RTE --init pretrained/final -o rte-run "
       "--length 128 --epochs 3"});
  TextFinetuneOptions options;
  set_glue_defaults(options);
  std::string name, data;
  bool replace_invalid = false;
  TextEncodingChoice encoding;
  verb.add_required(
      "--task TASK", name,
      "Task: cola, sst2, mrpc, stsb, qqp, mnli, qnli, rte or wnli. It decides the defaults of --lr (1e-5; "
      "2e-5 for stsb, rte and wnli) and --batch (16; 32 for sst2, qqp, mnli and qnli)");
  verb.add_required("--data DIR", data,
                    "Folder with the task's train.tsv and dev.tsv as downloaded, or the one with its folder");
  verb.add_flag("--second-type", options.second_type,
                "Set token type 1 for the second text of a pair, as BERT's (default: all are 0, as Hugging "
                "Face's BigBird)");
  verb.add_flag("--replace-invalid", replace_invalid,
                "Put U+FFFD where bytes are not UTF-8 (default: an error)");
  encoding.add(verb);
  TrainingOptions training(
      verb, options,
      {.sample = "Texts",
       .length = "Most tokens of an input, special ones included (default: what the model takes)",
       .needs_init = true,
       .classifies = true,
       .paper = {},
       .warmup = "6 % of the steps, 25 % for qqp"});
  verb.add_random_mode();
  if (!verb.parse(argc, argv)) return 0;
  const GlueTask& task = find_glue_task(name);
  options.encoding = encoding.encoding();
  options.glue_task = task.name;
  options.labels.problem = task.classes.empty() ? ProblemType::regression : ProblemType::single_label;
  options.labels.classes = task.class_names();
  take_settings_of(task, verb, options);
  training.finish();
  const std::string train = glue_split_files(task, data, GlueSplit::train).front().path;
  // Of MNLI the matched side, as the published runs choose by it.
  const std::string dev = glue_split_files(task, data, GlueSplit::dev).front().path;
  training.reads(train);
  training.reads(dev);
  // Rows are read to their end: of several learning rates each begins anew.
  training.run([&](kernels::Backend& backend) {
    const TextRows train_rows = glue_rows(train, task, replace_invalid);
    const TextRows dev_rows = glue_rows(dev, task, replace_invalid);
    return text_finetune(options, train_rows, dev_rows, backend);
  });
  return 0;
}

}  // namespace bigbird::apps
