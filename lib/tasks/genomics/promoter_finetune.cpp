// Fine-tuning of the promoter classifier; see promoter_finetune.h.
#include "lib/tasks/genomics/promoter_finetune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/file.h"
#include "lib/model/checkpoint.h"
#include "lib/model/model.h"
#include "lib/tasks/genomics/model_task.h"
#include "lib/tasks/genomics/promoter_leaks.h"
#include "lib/tasks/genomics/window_classifier.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/training/compute_device.h"
#include "lib/training/memory_plan.h"

namespace bigbird {
namespace {

// Where the examples come from, and what is known of them.
struct Sides {
  LabelledSource train;
  LabelledSource valid;  // may be empty
  PromoterDataFacts facts;
};

Sides find_sides(const PromoterFinetuneOptions& options) {
  if (options.data.empty()) return {options.train, options.valid, {}};
  const auto train = labelled_side(options.data, "train"), valid = labelled_side(options.data, "valid");
  if (!train || !valid) {
    throw_bad_input(
        fmt::format("{}: holds no {} side", options.data, train ? "valid" : "train"),
        "a data folder holds train.tsv and valid.tsv, or train.csv and dev.csv; or name the files with "
        "--train and --valid");
  }
  return {*train, *valid, read_promoter_facts(options.data)};
}

// "promoter" for the classifier of promoters and negatives, else the classes by number. Two classes are one
// output: the probability of class 1.
std::vector<Profile> profiles_of(std::int64_t classes) {
  if (classes == 2) return {{"promoter", "."}};
  std::vector<Profile> profiles;
  for (std::int64_t i = 0; i < classes; ++i) profiles.push_back({fmt::format("class{}", i), "."});
  return profiles;
}

std::string class_counts(const EncodedWindows& windows, std::int64_t classes) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(classes), 0);
  for (const ClassifiedSequence& sequence : windows.sequences)
    ++counts[static_cast<std::size_t>(sequence.label)];
  return fmt::format("{}", fmt::join(counts, ", "));
}

void check_numbers(const PromoterFinetuneOptions& options) {
  const char* help = "see bigbird promoter finetune --help";
  if (options.batch == 0) throw_usage("--batch 0: must be at least 1", help);
  if (options.accumulate == 0 || options.accumulate > options.batch) {
    throw_usage(
        fmt::format("--accumulate {}: must lie between 1 and --batch {}", options.accumulate, options.batch),
        help);
  }
  if (options.steps == 0 && !(options.epochs > 0 && options.epochs < 1e6)) {
    throw_usage(fmt::format("--epochs {}: must be above 0", options.epochs), help);
  }
  if (!(options.learning_rate > 0.0 && options.learning_rate < 1.0)) {
    throw_usage(fmt::format("--lr {}: must lie between 0 and 1", options.learning_rate), help);
  }
}

std::int64_t micro_batch(const PromoterFinetuneOptions& options) {
  return static_cast<std::int64_t>((options.batch + options.accumulate - 1) / options.accumulate);
}

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// The length every window will have: as asked for, or the longest training window, in whole blocks.
std::int64_t choose_length(const PromoterFinetuneOptions& options, const ModelConfig& config,
                           std::int64_t longest) {
  const std::int64_t most = config.max_position_embeddings;
  if (options.length == 0) return std::min(round_up(longest, config.block_size), most);
  if (options.length < 3 || options.length > most) {
    throw_usage(
        fmt::format("--length {}: must lie between 3 and the model's {} positions", options.length, most));
  }
  return round_up(options.length, config.block_size);
}

void say_shortened(const std::string& file, const EncodedWindows& windows, std::int64_t length) {
  if (windows.shortened == 0) return;
  log_warning(fmt::format("{}: {} of {} windows are longer than {} tokens and are cut at their right end",
                          file, windows.shortened, windows.sequences.size(), length));
}

struct PlannedMemory {
  TrainingMemory memory;
  SmallerRuns smaller;
};

// What the run will take, and the options that would make it smaller.
PlannedMemory plan_memory(const PromoterFinetuneOptions& options, const ModelConfig& config,
                          const kernels::Backend& backend) {
  const MemoryBefore before = memory_before(backend, options.memory_limit);
  const auto plan = [config, before, &backend](std::int64_t sequences, bool grad_checkpoint) {
    return plan_training_memory(config, classification_limits(config, sequences), {true, grad_checkpoint},
                                backend, before);
  };
  const bool checkpointed_now = options.grad_checkpoint;
  std::vector<SmallerRun> more_parts, checkpointed;
  for (std::int64_t sequences = micro_batch(options); sequences > 0; --sequences) {
    const std::uint64_t parts =
        (options.batch + static_cast<std::uint64_t>(sequences) - 1) / static_cast<std::uint64_t>(sequences);
    const std::string text = fmt::format("--accumulate {} ({} windows at a time)", parts, sequences);
    more_parts.push_back({text, [=] { return plan(sequences, checkpointed_now); }});
    checkpointed.push_back({"--grad-checkpoint " + text, [=] { return plan(sequences, true); }});
  }
  return {plan(micro_batch(options), checkpointed_now), {std::move(more_parts), std::move(checkpointed)}};
}

// Every option that decides the weights, as text: what must be the same when a run goes on.
std::map<std::string, std::string> identity(const PromoterFinetuneOptions& options, const ModelConfig& config,
                                            const Schedule& schedule, const EncodedWindows& train) {
  std::map<std::string, std::string> all = config_fields(config);
  all["--data (training windows)"] = std::to_string(train.sequences.size());
  all["--init"] = options.init;
  all["--batch"] = std::to_string(options.batch);
  all["--accumulate"] = std::to_string(options.accumulate);
  all["--steps"] = std::to_string(schedule.total);
  all["--seed"] = std::to_string(options.seed);
  all["--lr"] = fmt::format("{}", options.learning_rate);
  all["--warmup"] = std::to_string(schedule.warmup);
  all["--schedule"] = name_of(options.schedule);
  all["--optimizer"] = name_of(options.optimizer.variant);
  all["--beta1"] = fmt::format("{}", options.optimizer.beta1);
  all["--beta2"] = fmt::format("{}", options.optimizer.beta2);
  all["--epsilon"] = fmt::format("{}", options.optimizer.epsilon);
  all["--weight-decay"] = fmt::format("{}", options.optimizer.weight_decay);
  all["--clip-norm"] = fmt::format("{}", options.optimizer.clip_norm);
  return all;
}

std::string model_card(const PromoterFinetuneOptions& options, const ModelConfig& config,
                       const Schedule& schedule, const EncodedWindows& train, const Sides& sides,
                       const kernels::Backend& backend) {
  std::string card =
      "---\nlibrary_name: transformers\ntags: [bigbird, dna, promoter]\n---\n"
      "# BigBird promoter classifier, fine-tuned by bigbird\n\n| training | |\n|---|---|\n";
  card += fmt::format("| begun from | {} |\n| windows | {}; of classes 0, 1 ...: {} |\n", options.init,
                      train.sequences.size(), class_counts(train, config.num_labels));
  if (!sides.facts.negatives.empty()) card += fmt::format("| negatives | {} |\n", sides.facts.negatives);
  card += fmt::format("| tokens of a window | {}, padded or cut at the right end |\n", config.input_length);
  card += fmt::format("| batch, steps, rate | {}, {}, {:g} |\n| seed | {} |\n", options.batch, schedule.total,
                      options.learning_rate, options.seed);
  card += fmt::format("| computed on | {}, {} |\n", device_name(backend), name_of(backend.precision()));
  if (!options.command.empty()) card += "\n```\n" + options.command + "\n```\n";
  card += config.num_labels == 2 ? "\nClass 1 is a promoter (or what the data called 1). " : "\n";
  card +=
      "Use: `bigbird promoter predict -m FOLDER windows.fa`. Probabilities are calibrated to the shares of "
      "the "
      "classes in the training windows, not in a genome.\n";
  return card;
}

}  // namespace

TrainingSummary promoter_finetune(const PromoterFinetuneOptions& options, kernels::Backend& backend) {
  check_numbers(options);
  RunFolder::check(options.run, options.start);
  const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(options.init);
  const Sides sides = find_sides(options);
  const ModelConfig stored = read_config(options.init + "/config.json");
  const std::int64_t most =
      options.length > 0 ? choose_length(options, stored, 0) : stored.max_position_embeddings;
  LeakCheck leaks;
  const auto read = [&](const LabelledSource& source, const char* side, std::int64_t max_tokens) {
    return encode_labelled_windows(*read_labelled_windows(source), source.path, *tokenizer, max_tokens,
                                   [&](const Window& window) { leaks.add(side, window); });
  };
  const EncodedWindows train_windows = read(sides.train, "train", most);
  const std::int64_t length = choose_length(options, stored, train_windows.longest);
  const EncodedWindows valid_windows =
      sides.valid.empty() ? EncodedWindows{} : read(sides.valid, "valid", length);
  say_shortened(sides.train.path, train_windows, length);
  say_shortened(sides.valid.path, valid_windows, length);
  const std::int64_t classes = std::max(train_windows.classes, valid_windows.classes);
  if (classes < 2) {
    throw_bad_input(sides.train.path + ": all examples are of class 0",
                    "give examples of at least two classes");
  }
  if (const LeakReport report = leaks.report(); report.any()) {
    log_warning(fmt::format("training and validation examples are not independent: {}", report.text()));
  }

  LoadedModel loaded = load_model(options.init, HeadType::classification, options.seed, classes);
  ModelConfig& config = loaded.config;
  if (config.num_labels != classes) {
    throw_bad_input(fmt::format("{}: this classifier has {} classes, the examples have {}", options.init,
                                config.num_labels, classes),
                    "begin from a pretrained model");
  }
  check_tokenizer_agrees(config, static_cast<std::int64_t>(tokenizer->vocab_size()), tokenizer->digest(),
                         options.init, options.init);
  if (options.dropout >= 0) config.hidden_dropout_prob = options.dropout;
  config.input_length = length;
  validate(config, "the options of the model");

  const double per_epoch =
      static_cast<double>(train_windows.sequences.size()) / static_cast<double>(options.batch);
  Schedule schedule{options.schedule, options.learning_rate, 0, options.steps};
  if (schedule.total == 0) schedule.total = static_cast<std::uint64_t>(std::ceil(options.epochs * per_epoch));
  schedule.warmup = options.warmup.value_or(default_warmup(schedule.total));
  if (schedule.warmup > schedule.total) {
    throw_usage(
        fmt::format("--warmup {}: longer than the {} steps of the run", schedule.warmup, schedule.total));
  }
  log_info(fmt::format("training examples of classes 0, 1 ...: {}{}", class_counts(train_windows, classes),
                       sides.facts.negatives.empty() ? "" : "; negatives: " + sides.facts.negatives));
  log_info(fmt::format("{} training and {} validation windows of {} tokens; {} steps are {:.2f} epochs",
                       train_windows.sequences.size(), valid_windows.sequences.size(), config.input_length,
                       schedule.total, static_cast<double>(schedule.total) / per_epoch));

  TrainerOptions trainer;
  trainer.steps = schedule.total;
  trainer.schedule = schedule;
  trainer.seed = options.seed;
  trainer.save_every = options.save_every;
  trainer.eval_every = options.eval_every > 0
                           ? options.eval_every
                           : std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(per_epoch)));
  trainer.keep_last = options.keep_last;
  trainer.keep_best = options.keep_best;
  trainer.task_name = "promoter finetune";
  trainer.sequence_name = "class";
  trainer.mlm_columns = false;
  trainer.comments = options.comments;
  trainer.identity = identity(options, config, schedule, train_windows);
  trainer.extras = {options.init, model_card(options, config, schedule, train_windows, sides, backend),
                    model_task_files(sides.facts.window, profiles_of(classes))};
  trainer.debug_nan = options.debug_nan;

  const PlannedMemory planned = plan_memory(options, config, backend);
  watch_device_memory(trainer, planned.memory, backend);
  TrainingSummary summary;
  run_in_memory(backend, planned.memory, planned.smaller, [&] {
    const RunFolder run(options.run, options.start);
    const auto [checkpoint, state] = resumption(run, trainer.identity, backend);
    Model model(backend, config, classification_limits(config, micro_batch(options)),
                {true, options.grad_checkpoint});
    Optimizer optimizer(backend, model.layout(), options.optimizer);
    if (checkpoint.empty()) {
      model.set_parameters(loaded.parameters);
    } else {
      load_checkpoint(checkpoint, model, optimizer);
      log_info(fmt::format("going on from {}", checkpoint));
    }
    write_text_atomic(run.file("config.toml"), options.config_toml);

    const ClassificationTask task(
        config, train_windows.sequences, valid_windows.sequences,
        {static_cast<std::int64_t>(options.batch), micro_batch(options), options.seed});
    summary = train(model, optimizer, task, run, trainer, state);
  });
  return summary;
}

}  // namespace bigbird
