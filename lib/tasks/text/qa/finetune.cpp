// Fine-tuning for spans that answer questions; see finetune.h.
#include "lib/tasks/text/qa/finetune.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/model/folder/model_folder.h"
#include "lib/model/network/validate_config.h"
#include "lib/tasks/finetuning.h"
#include "lib/tasks/text/text_settings.h"

namespace bigbird {
namespace {

// How windows follow each other, as one reads it: "overlap 1024", "step 2048".
std::string distance_text(const WindowOptions& windows) {
  return windows.step ? fmt::format("step {}", *windows.step) : fmt::format("overlap {}", windows.overlap);
}

ModelCard describe_answerer(const QuestionFinetuneOptions& options, const ModelConfig& config,
                            const Schedule& schedule, const TrainingQuestions& train,
                            const WindowOptions& windows, const kernels::Backend& backend) {
  ModelCard card = finetune_card(
      options, config, schedule, backend, "BigBird question answering, fine-tuned by bigbird",
      {"question-answering"},
      {{"questions", fmt::format("{}, {} without an answer", train.questions(), train.unanswerable())},
       {"windows", fmt::format("{} of at most {} tokens, {}", train.windows(), windows.length,
                               distance_text(windows))}});
  card.use =
      "Use: `bigbird text qa predict -m FOLDER questions.json -o predictions.json`, or the question-answering "
      "pipeline of transformers.\n";
  return card;
}

}  // namespace

RunOptions question_answering_defaults() {
  RunOptions options = finetuning_defaults();
  options.batch = 32;
  options.epochs = 3;
  options.learning_rate = 3e-5;
  return options;
}

std::vector<Batch> AnswerSpanTask::batches(std::uint64_t step) const {
  std::vector<Batch> result;
  for (const Draw& draw : draws_of_update(options_.seed, options_.batch, train_.windows(), step)) {
    if (result.empty() || result.back().sequences() == micro_batch(options_)) result.emplace_back();
    train_.append(static_cast<std::size_t>(draw.sample), config_, result.back());
  }
  return result;
}

std::optional<LossSums> AnswerSpanTask::validate(Model& model) const {
  if (valid_ == nullptr) return std::nullopt;
  LossSums sums;
  Batch batch;
  for (std::size_t i = 0; i < valid_->windows(); ++i) {
    valid_->append(i, config_, batch);
    if (batch.sequences() == micro_batch(options_) || i + 1 == valid_->windows()) {
      sums.add(model.forward(batch, {}));
      batch.clear();
    }
  }
  return sums;
}

TrainingSummary question_finetune(const QuestionFinetuneOptions& options, kernels::Backend& backend) {
  require_span_format(options.format, "training");
  check_run(options);
  const ModelFolder init(options.init);
  init.require(Alphabet::text);
  const Tokenizer& tokenizer = init.tokenizer();
  const std::int64_t length = training_length(options.length, init.config());
  const WindowOptions windows = chosen_windows(length, options.windows);
  TextSettings settings;
  settings.task = TextTask::question_answering;
  settings.data_format = name_of(options.format);
  settings.length = length;
  settings.second_type = true;
  settings.encoding = options.encoding;

  SquadOptions reading{QuestionPurpose::train, options.version_2, options.replace_invalid};
  const TrainingQuestions train =
      read_training_questions(options.train, reading, tokenizer, options.encoding, windows);
  say_questions(options.train, train, windows);
  std::optional<TrainingQuestions> valid;
  if (!options.valid.empty()) {
    valid = read_training_questions(options.valid, reading, tokenizer, options.encoding, windows);
    say_questions(options.valid, *valid, windows);
  }

  LoadedModel loaded = init.load(HeadType::question_answering, options.seed);
  loaded.config.input_length = 0;
  if (loaded.config.type_vocab_size < 2) {
    throw_bad_input(fmt::format("{}: the model has {} token type, question and context take two",
                                options.init, loaded.config.type_vocab_size),
                    "begin from a BigBird folder; bigbird pretrain makes one of a RoBERTa folder");
  }
  validate(loaded.config, "the options of the model");

  TaskDescription task = describe_finetuning(options, loaded);
  describe_ragged_inputs(task, loaded.config, std::max(train.longest(), valid ? valid->longest() : 0));
  task.name = "text qa finetune";
  task.columns.sequence = "span";
  task.columns.sequence_accuracy = false;
  task.samples = train.windows();
  task.validates = valid.has_value();
  task.identity["data (training questions)"] = std::to_string(train.questions());
  task.identity["data (training windows)"] = std::to_string(train.windows());
  task.identity["length"] = std::to_string(length);
  task.identity[windows.step ? "step" : "overlap"] = std::to_string(windows.step.value_or(windows.overlap));
  task.identity["max_question"] = std::to_string(windows.max_question);
  task.identity["whitespace"] = settings.encoding.white_space == WhiteSpace::keep ? "keep" : "fold";
  task.identity["ascii_punctuation"] = settings.encoding.ascii_punctuation ? "true" : "false";
  task.extras.model_card = model_card(
      describe_answerer(options, loaded.config, schedule_of(options, task.samples), train, windows, backend));
  task.extras.files = text_settings_files(settings);
  const AnswerSpanTask batches(options, loaded.config, train, valid ? &*valid : nullptr);
  return run_training(batches, task, options, backend);
}

}  // namespace bigbird
