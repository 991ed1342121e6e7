// Fine-tuning for answers to questions; see finetune.h.
#include "lib/text/qa/finetune.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/finetuning/finetuning.h"
#include "lib/model/network/validate_config.h"
#include "lib/model/plans/plan_table.h"
#include "lib/model_folder/model_folder.h"
#include "lib/text/qa/question_task.h"
#include "lib/text/qa/two_inputs.h"
#include "lib/text/text_settings.h"
#include "lib/training/training_run.h"

namespace bigbird {
namespace {

// How windows follow each other, as one reads it: "overlap 1024", "step 2048".
std::string distance_text(const WindowOptions& windows) {
  return windows.step ? fmt::format("step {}", *windows.step) : fmt::format("overlap {}", windows.overlap);
}

ModelCard describe_answerer(const QuestionFinetuneOptions& options, const ModelConfig& config,
                            const Schedule& schedule, const AnswerSamples& train,
                            const WindowOptions& windows, const kernels::Backend& backend) {
  const std::string distance =
      options.task->has_overlapping_windows() ? ", " + distance_text(windows) : std::string();
  ModelCard card = finetune_card(
      options, config, schedule, backend, "BigBird question answering, fine-tuned by bigbird",
      {"question-answering"},
      {{"questions", fmt::format("{}, {} without an answer ({})", train.facts().questions,
                                 train.facts().unanswerable, options.task->name)},
       {"windows", fmt::format("{} of at most {} tokens{}", train.inputs(), windows.length, distance)}});
  card.use = "Use: `bigbird text qa predict -m FOLDER questions.json -o predictions.json`";
  card.use += most_globals(config) > 0 ? ". transformers has no BigBird-ETC.\n"
              : config.head == HeadType::question_answering
                  ? ", or the question-answering pipeline of transformers.\n"
                  : ". The head is bigbird's own: transformers has none like it.\n";
  return card;
}

TextSettings answerer_settings(const QuestionFinetuneOptions& options, std::int64_t length,
                               const WindowOptions& windows) {
  TextSettings settings;
  settings.task = TextTask::question_answering;
  settings.data_format = options.task->name;
  settings.length = length;
  settings.second_type = true;
  settings.encoding = options.encoding;
  if (options.task->has_overlapping_windows()) {
    if (windows.step) {
      settings.step = windows.step;
    } else {
      settings.overlap = windows.overlap;
    }
  }
  if (options.task->takes("max_question")) settings.max_question = windows.max_question;
  if (options.task->takes("version_2")) settings.version_2 = options.version_2;
  return settings;
}

void check_answer_options(const QuestionFinetuneOptions& options) {
  if (options.task->takes("evidence") && options.evidence.empty()) {
    throw_usage(options.task->name + message(" needs `evidence`, the folder that holds its documents"),
                "evidence of the data set's download, with wikipedia and web in it");
  }
  if (options.max_windows == 0) {
    throw_usage(message("`max_windows` 0: a question needs one window at least"), "the default is 4");
  }
  if (!(options.keep_null >= 0 && options.keep_null <= 1)) {
    throw_usage(message("`keep_null` {:g}: must be between 0 and 1", options.keep_null),
                "1 keeps all windows without an answer");
  }
}

void require_types(const QuestionFinetuneOptions& options, const ModelConfig& config) {
  if (most_globals(config) == 0 || config.type_vocab_size >= part_types) return;
  throw_bad_input(fmt::format("{}: the model has {} token types, the parts of a question take {}",
                              options.init, config.type_vocab_size, part_types),
                  "begin from a folder of BigBird-ETC with more: the usual number is 16");
}

// What of the options decides the samples; of squad the keys of runs of earlier versions.
void name_data(TaskDescription& task, const QuestionFinetuneOptions& options, const AnswerSamples& train,
               std::int64_t length, const WindowOptions& windows) {
  task.identity["data (training questions)"] = std::to_string(train.facts().questions);
  task.identity["data (training windows)"] = std::to_string(train.inputs());
  task.identity["length"] = std::to_string(length);
  task.identity["max_question"] = std::to_string(windows.max_question);
  task.identity["whitespace"] = options.encoding.white_space == WhiteSpace::keep ? "keep" : "fold";
  task.identity["ascii_punctuation"] = options.encoding.ascii_punctuation ? "true" : "false";
  if (options.task->has_overlapping_windows())
    task.identity[windows.step ? "step" : "overlap"] = std::to_string(windows.step.value_or(windows.overlap));
  if (options.task != &squad_task()) task.identity["format"] = options.task->name;
  if (options.task->takes("keep_null")) task.identity["keep_null"] = fmt::format("{:g}", options.keep_null);
  if (options.task->takes("max_windows")) task.identity["max_windows"] = std::to_string(options.max_windows);
}

// What is largest of the samples of both sides.
struct AnswerSizes {
  std::int64_t longest = 0, inputs = 0, globals = 0;

  void take(const AnswerSamples& samples) {
    longest = std::max(longest, samples.longest());
    inputs = std::max(inputs, samples.most_inputs());
    globals = std::max(globals, samples.most_globals());
  }
};
void describe_answer_inputs(TaskDescription& task, const ModelConfig& config, const AnswerSizes& sizes) {
  describe_ragged_inputs(task, config, sizes.longest);
  const std::int64_t block = config.block_size;
  const std::int64_t globals = (sizes.globals + block - 1) / block * block;
  task.limits = [limits = task.limits, inputs = sizes.inputs, globals](std::int64_t samples,
                                                                       std::int64_t length) {
    BatchLimits of_batch = limits(samples * inputs, length);
    of_batch.globals = samples * inputs * globals;
    return of_batch;
  };
}

}  // namespace

RunOptions question_answering_defaults(const QuestionTask& task, Recipe recipe) {
  RunOptions options = finetuning_defaults(recipe);
  options.batch = task.batch;
  options.epochs = task.epochs;
  options.learning_rate = task.learning_rate;
  return options;
}

SampleTask answer_task(const RunOptions& options, const ModelConfig& config, const AnswerSamples& train,
                       const AnswerSamples* valid) {
  return task_of_samples(
      options, train.size(),
      [&](const Draw& draw, Batch& batch) {
        train.append(static_cast<std::size_t>(draw.sample), config, batch);
      },
      valid == nullptr ? 0 : valid->size(),
      [&config, valid](std::size_t i, Batch& batch) { valid->append(i, config, batch); });
}

TrainingSummary question_finetune(const QuestionFinetuneOptions& asked, kernels::Backend& backend) {
  QuestionFinetuneOptions options = asked;
  check_answer_options(options);
  check_run(options);
  const ModelFolder init(options.init);
  init.require(Alphabet::text);
  const Tokenizer& tokenizer = init.tokenizer();
  const std::int64_t length = training_length(options.length, init.config());
  if (const auto& plan = options.random_mode ? options.plan : init.config().plan; plan != nullptr)
    plan->require_length(length);

  // What is wrong with the model is said before long files are read.
  LoadedModel loaded = load_with_head(init, *options.task, options.seed);
  loaded.config.input_length = 0;
  require_types(options, loaded.config);
  if (options.random_mode) {
    loaded.config.random_mode = *options.random_mode;
    loaded.config.plan = options.plan;
  }
  validate(loaded.config, "the options of the model");

  SampleOptions reading{options, chosen_windows(length, options.windows), options.seed,
                        most_globals(loaded.config)};
  const AnswerSamples train = read_samples(*options.task, options.train, reading, tokenizer);
  train.say(options.train);
  std::optional<AnswerSamples> valid;
  if (!options.valid.empty()) {
    reading.keep_null = 1;
    valid = read_samples(*options.task, options.valid, reading, tokenizer);
    valid->say(options.valid);
  }

  TaskDescription task = describe_finetuning(options, loaded);
  AnswerSizes sizes;
  sizes.take(train);
  if (valid) sizes.take(*valid);
  describe_answer_inputs(task, loaded.config, sizes);
  task.name = "text qa finetune";
  task.columns.sequence = options.task->loss;
  task.columns.sequence_accuracy = false;
  task.samples = train.size();
  task.validates = valid.has_value();
  name_data(task, options, train, length, reading.windows);
  choose_batch(options, task, backend);
  task.extras.model_card = model_card(describe_answerer(
      options, loaded.config, schedule_of(options, task.samples), train, reading.windows, backend));
  const TextSettings settings = answerer_settings(options, length, reading.windows);
  task.extras.files = text_settings_files(settings);
  task.extras.tokenizer = tokenizer_options(settings);
  const SampleTask batches = answer_task(options, loaded.config, train, valid ? &*valid : nullptr);
  return run_training(batches, task, options, backend);
}

}  // namespace bigbird
