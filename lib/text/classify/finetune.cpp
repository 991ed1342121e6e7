// Fine-tuning of text classifiers; see finetune.h.
#include "lib/text/classify/finetune.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/names.h"
#include "lib/finetuning/finetuning.h"
#include "lib/io/files/sha256.h"
#include "lib/model/network/validate_config.h"
#include "lib/model_folder/model_folder.h"
#include "lib/training/training_run.h"

namespace bigbird {
namespace {

constexpr std::array<std::pair<ProblemType, const char*>, 3> problem_words{
    {{ProblemType::single_label, "one class each"},
     {ProblemType::multi_label, "any number of labels each"},
     {ProblemType::regression, "a number each"}}};

std::string counts_of_classes(const TrainingTexts& texts, const LabelScheme& scheme) {
  constexpr std::size_t most_shown = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(texts.class_counts.size(), most_shown); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", scheme.classes.names()[i], texts.class_counts[i]);
  }
  if (texts.class_counts.size() > most_shown)
    text += fmt::format(" and {} more", texts.class_counts.size() - most_shown);
  return text;
}

ModelCard describe_classifier(const TextFinetuneOptions& options, const ModelConfig& config,
                              const Schedule& schedule, const TrainingTexts& train, const LabelScheme& scheme,
                              std::int64_t length, const kernels::Backend& backend) {
  std::vector<std::pair<std::string, std::string>> rows = {
      {"texts", fmt::format("{}, {}", train.sequences.size(), find_name(problem_words, scheme.problem))}};
  if (!train.class_counts.empty()) rows.emplace_back("classes", counts_of_classes(train, scheme));
  rows.emplace_back("most tokens of an input", std::to_string(length));
  if (!options.glue_task.empty()) rows.emplace_back("GLUE task", options.glue_task);
  ModelCard card =
      finetune_card(options, config, schedule, backend, "BigBird text classifier, fine-tuned by bigbird",
                    {"text-classification"}, rows);
  card.use =
      "Use: `bigbird text classify predict -m FOLDER texts.csv`, or the text-classification pipeline of "
      "transformers.\n";
  return card;
}

// Samples of the run that is resumed: the labels decide what the outputs mean.
std::string scheme_text(const LabelScheme& scheme) {
  return fmt::format("{}: {}", find_name(problem_words, scheme.problem),
                     fmt::join(scheme.classes.names(), ", "));
}

// Number and digest of the encoded texts with their labels.
std::string identity_of(const TrainingTexts& texts) {
  Sha256 digest;
  const auto add = [&](const auto& values) {
    const std::uint64_t size = values.size();
    digest.update(&size, sizeof size);
    digest.update(values.data(), values.size() * sizeof values[0]);
  };
  for (const ClassifiedSequence& sequence : texts.sequences) {
    add(sequence.ids);
    add(sequence.types);
    add(sequence.targets);
    digest.update(&sequence.label, sizeof sequence.label);
  }
  return fmt::format("{}, sha256 {}", texts.sequences.size(), digest.finish());
}

}  // namespace

RunOptions text_classification_defaults(Recipe recipe) {
  RunOptions options = finetuning_defaults(recipe);
  options.batch = 32;
  options.epochs = 3;
  if (recipe == Recipe::paper) options.learning_rate = 2e-5;
  return options;
}

TrainingSummary text_finetune(const TextFinetuneOptions& given, const TextRows& train_rows,
                              const std::optional<TextRows>& valid_rows, kernels::Backend& backend) {
  TextFinetuneOptions options = given;
  check_run(options);
  const ModelFolder init(options.init);
  init.require(Alphabet::text);
  const Tokenizer& tokenizer = init.tokenizer();
  const ModelConfig& stored = init.config();
  if (options.length != 0 && (options.length < 3 || options.length > stored.max_position_embeddings)) {
    throw_usage(message("`length` {}: must be between 3 and the model's {} positions", options.length,
                        stored.max_position_embeddings));
  }
  const std::int64_t length = options.length != 0 ? options.length : stored.max_position_embeddings;
  TextSettings settings;
  settings.task = TextTask::classification;
  settings.data_format = options.glue_task;
  settings.length = length;
  settings.second_type = options.second_type;
  settings.encoding = options.encoding;

  LabelScheme scheme;
  const TrainingTexts train =
      read_training_texts(train_rows, tokenizer, settings, length, options.labels, scheme);
  say_inputs(train_rows.name, train.tally, length);
  TrainingTexts valid;
  if (valid_rows) {
    valid = read_validation_texts(*valid_rows, tokenizer, settings, length, scheme);
    say_inputs(valid_rows->name, valid.tally, length);
  }

  LoadedModel loaded =
      init.load(HeadType::classification, options.seed, scheme.outputs(), options.fresh_head);
  ModelConfig& config = loaded.config;
  if (config.num_labels != scheme.outputs()) {
    throw_bad_input(fmt::format("{}: this classifier has {} outputs, the examples need {}", options.init,
                                config.num_labels, scheme.outputs()),
                    message("begin from a pretrained model, or leave this head out: `fresh_head`"));
  }
  config.problem_type = scheme.problem;
  config.label_names = scheme.classes.names();
  config.input_length = 0;
  validate(config, "the options of the model");

  const std::int64_t longest = std::max(train.tally.longest, valid.tally.longest);
  log_info(fmt::format(
      "{} training and {} validation texts of at most {} tokens; {}", train.sequences.size(),
      valid.sequences.size(), longest,
      scheme.problem == ProblemType::regression ? "regression" : counts_of_classes(train, scheme)));

  TaskDescription task = describe_finetuning(options, loaded);
  describe_ragged_inputs(task, config, longest);
  task.name = options.glue_task.empty() ? "text classify finetune" : "text glue finetune";
  task.columns.sequence = scheme.problem == ProblemType::regression ? "squared" : "class";
  task.columns.sequence_accuracy = scheme.problem == ProblemType::single_label;
  task.samples = train.sequences.size();
  task.validates = !valid.sequences.empty();
  task.identity["data (training texts)"] = identity_of(train);
  task.identity["labels"] = scheme_text(scheme);
  task.identity["length"] = std::to_string(length);
  task.identity["data_format"] = settings.data_format;
  task.identity["second_type"] = settings.second_type ? "true" : "false";
  task.identity["whitespace"] = settings.encoding.white_space == WhiteSpace::keep ? "keep" : "fold";
  task.identity["ascii_punctuation"] = settings.encoding.ascii_punctuation ? "true" : "false";
  choose_batch(options, task, backend);
  if (!options.warmup && options.warmup_share) {
    const Schedule schedule = schedule_of(options, train.sequences.size());
    options.warmup = static_cast<std::uint64_t>(*options.warmup_share * static_cast<double>(schedule.total));
  }
  task.extras.model_card = model_card(describe_classifier(options, config, schedule_of(options, task.samples),
                                                          train, scheme, length, backend));
  task.extras.files = text_settings_files(settings);
  task.extras.tokenizer = tokenizer_options(settings);
  const SampleTask batches = classification_task(options, config, train.sequences, valid.sequences);
  return run_training(batches, task, options, backend);
}

}  // namespace bigbird
