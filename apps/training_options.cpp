// The options of a training run; see training_options.h.
#include "apps/training_options.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <tuple>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/provenance.h"
#include "lib/model_folder/model_folder.h"

namespace bigbird::apps {
namespace {
// The share that an average keeps.
CLI::Validator below_one() {
  const auto check = [](const std::string& text) {
    double value = -1;
    if (CLI::detail::lexical_cast(text, value) && value >= 0 && value < 1) return std::string();
    return fmt::format("Value {} is not at least 0 and below 1", text);
  };
  return {check, ""};
}

// A count, or "auto", which the memory decides.
CLI::Validator count_or_auto() {
  const CLI::Validator count = count_suffix();
  const auto expand = [count](std::string& text) {
    if (text != "auto") return count(text);
    text = std::to_string(chosen_by_memory);
    return std::string();
  };
  return {expand, ""};
}

// Of the updates alone: validations and checkpoints are in the closing line of the verb.
std::string speed_of(const TrainingSummary& summary) {
  const double operations = summary.operations / summary.update_seconds;
  std::string text = fmt::format(
      "updates took {:.1f} s: {:.0f} tokens/s, {:.4g} TFLOP/s of the model", summary.update_seconds,
      static_cast<double>(summary.tokens) / summary.update_seconds, operations / 1e12);
  if (summary.peak_operations > 0) {
    text += fmt::format(", {:.1f} % of what the data sheet of the device has",
                        100 * operations / summary.peak_operations);
  }
  return text;
}

// Help of an option that takes auto: what auto is, which is the default of some verbs.
std::string described(const std::string& what, const std::string& automatic, bool by_default) {
  return by_default ? fmt::format("{} (default: {})", what, automatic)
                    : fmt::format("{}; auto: {}", what, automatic);
}

}  // namespace

TrainingOptions::TrainingOptions(Verb& verb, RunOptions& options, const TrainingWords& words)
    : verb_(verb),
      options_(options),
      schedule_(name_of(options.schedule)),
      optimizer_(name_of(options.optimizer.variant)),
      usual_(options.optimizer),
      paper_(words.paper),
      final_(name_of(options.final_state)) {
  verb_.add_option("--init MODEL", options_.init, "Model folder whose weights to begin from")
      ->required(words.needs_init);
  if (words.classifies) {
    verb_.add_flag("--fresh-head", options_.fresh_head,
                   "Leave out the head of --init, which was learned for other classes or profiles, and begin "
                   "with a new one");
  }
  verb_.add_required("-o,--output RUN", options_.run, "Run folder to write");
  if (paper_) add_recipe_option();
  add_update_options(words);
  add_optimizer_options(words);
  add_machine_options();
  add_checkpoint_options();
  verb_.add_seed(options_.seed);
  verb_.add_threads();
  verb_.add_device();
  verb_.add_precision();
  verb_.add_nondeterministic();
  verb_.add_force();
  verb_.leave_out_of_provenance("--tensorboard");
  ranks_.add(verb_);
}

void TrainingOptions::add_recipe_option() {
  const OptionGroup group(verb_, "Training");
  verb_.add_option(
      "--recipe {standard,paper}", recipe_,
      "Values of the options that are not given: those that learn at any size (standard), or the "
      "published ones (paper)");
}

void TrainingOptions::add_update_options(const TrainingWords& words) {
  const OptionGroup group(verb_, "Training");
  CLI::Option* const length = verb_.add_count("--length", options_.length, words.length);
  if (options_.length == 0) VerbOptions::with_word(length, "auto", "0");  // the task decides
  verb_
      .add_option("--batch {N,auto}", options_.batch,
                  words.sample +
                      " of one update; auto is the most that fit the memory in --accumulate parts, which "
                      "changes what is learned")
      ->transform(count_or_auto());
  verb_
      .add_option("--accumulate {N,auto}", options_.accumulate,
                  "Parts that the batch is cut into, to save memory; of several ranks each has so many "
                  "(default: as few as fit, of several ranks or with --batch auto 1)")
      ->transform(count_or_auto())
      ->default_str("auto");
  const bool counts_epochs = options_.epochs > 0;
  if (counts_epochs) {
    verb_.add_option("--epochs", options_.epochs, "Passes over the training data");
  }
  verb_.with_word(verb_.add_count("--steps", options_.steps,
                                  counts_epochs ? "Updates (default: by --epochs)" : "Updates"),
                  "auto", "0");
  verb_.with_words(
      verb_.add_option("--dropout", options_.dropout,
                       described("Dropout of the hidden states",
                                 words.needs_init ? "the model's own" : words.dropout, options_.dropout < 0)),
      {{"auto", "-1"}, {"-1", "-1"}}, CLI::Range(0.0, 0.999));
}

void TrainingOptions::add_optimizer_options(const TrainingWords& words) {
  const OptionGroup group(verb_, "Training");
  OptimizerOptions& optimizer = options_.optimizer;
  CLI::Option* rate = verb_.add_option(
      "--lr", rates_,
      fmt::format(
          "Highest learning rate; several, as 1e-4,3e-4,1e-3, are tried one after another, and the one of "
          "lowest validation loss is kept{}",
          options_.rate_by_width
              ? fmt::format(" (default: {:g} at a width of 768, more in proportion for narrower models)",
                            options_.learning_rate)
              : ""));
  rate->delimiter(',')->allow_extra_args(false)->default_str(fmt::format("{:g}", options_.learning_rate));
  verb_.with_word(rate, "auto", "nan");
  if (options_.rate_by_width) rate->default_str("auto");
  verb_.add_count("--warmup", warmup_, "Steps of warm-up (default: " + words.warmup + ")")->default_str("");
  verb_.add_option("--schedule {google,huggingface,inverse-sqrt}", schedule_,
                   "Decay: linear from step 0 (google) or from the end of warm-up (huggingface), or with the "
                   "root of the step (inverse-sqrt)");
  verb_.add_option("--optimizer {google,torch,lamb,adafactor}", optimizer_,
                   "Optimizer: AdamW without (google) or with bias correction (torch), LAMB (lamb), for "
                   "large batches, or Adafactor (adafactor), of little memory");
  verb_.add_option("--beta1", optimizer.beta1, "Decay of the first moment", CLI::Range(0.0, 0.9999999));
  verb_.add_option("--beta2", optimizer.beta2, "Decay of the second moment", CLI::Range(0.0, 0.9999999));
  verb_.with_word(verb_.add_option("--epsilon", optimizer.epsilon,
                                   described("Epsilon of AdamW and LAMB",
                                             "the optimizer's own, 1e-6 (google, lamb) or 1e-8 (torch)",
                                             optimizer.epsilon == 0),
                                   CLI::NonNegativeNumber),
                  "auto", "0");
  verb_.add_option("--weight-decay", optimizer.weight_decay,
                   "Decoupled weight decay; not for biases and LayerNorm", CLI::NonNegativeNumber);
  verb_.with_word(verb_.add_option("--clip-norm", optimizer.clip_norm,
                                   "Largest norm of the gradient, which is cut to it, or never, as published",
                                   CLI::NonNegativeNumber),
                  "never", "0");
  verb_.add_option("--layer-decay", optimizer.layer_decay,
                   "Rate of each layer as a fraction of the next one's above it; 1 gives all the same",
                   CLI::Range(0.0001, 1.0));
  verb_.with_words(
      verb_.add_option(
          "--average", options_.average_decay,
          described(
              "Decay of a moving average of the weights, which is validated and written in their place; "
              "never: no average",
              "over about the last fifth of the run, 0.99 of 500 steps", options_.average_decay < 0)),
      {{"auto", "-1"}, {"never", "0"}, {"-1", "-1"}}, below_one());
}

void TrainingOptions::add_machine_options() {
  const OptionGroup group(verb_, "Training");
  verb_.add_flag("--grad-checkpoint", options_.grad_checkpoint,
                 "Recompute activations in backward: slower, less memory");
  verb_.with_word(
      verb_.add_count(
          "--memory-limit", options_.memory_limit,
          "Bytes the run may take, of the device's memory where it has its own (default: what is free)"),
      "auto", "0");
  verb_.add_flag("--debug-nan", options_.debug_nan,
                 "Search for the layer that a loss or gradient comes from when it is NaN or infinite");
}

void TrainingOptions::add_checkpoint_options() {
  const OptionGroup group(verb_, "Checkpoints and validation");
  verb_.add_count("--save-every", options_.save_every,
                  "Steps between checkpoints; the last step is always saved");
  verb_.add_option("--tensorboard DIR", options_.tensorboard,
                   "Folder for the numbers of metrics.tsv and valid.tsv as event files of TensorBoard");
  verb_.with_word(verb_.add_option("--keep-last", options_.keep_last, "Newest checkpoints to keep, or all"),
                  "all", "0");
  verb_.add_option("--keep-best", options_.keep_best,
                   "Checkpoints of lowest validation loss to keep as well");
  verb_.add_option("--final {best,last}", final_,
                   "State that RUN/final is: of lowest validation loss (best; the last where nothing is "
                   "validated), or the last");
  verb_.with_word(verb_.add_option("--patience", options_.patience,
                                   "Validations without a better one after which the run ends, or never"),
                  "never", "0");
  std::vector<std::pair<std::string, std::string>> every{{"auto", std::to_string(each_tenth_of_run)},
                                                         {"never", "0"}};
  const bool counts_epochs = options_.epochs > 0;
  if (counts_epochs) every.emplace_back("epoch", std::to_string(each_epoch));
  verb_.with_words(verb_.add_count("--eval-every", options_.eval_every,
                                   described(fmt::format("Steps between validations, or {}never",
                                                         counts_epochs ? "epoch (once an epoch) or " : ""),
                                             "ten in the run", options_.eval_every == each_tenth_of_run)),
                   every);
  verb_.add_flag(
      "--resume", resume_,
      "Go on from the newest checkpoint in the output folder, exactly; also on another device, and "
      "with a warning in another precision");
  verb_.add_stop_before();
}

// Options of AdamW and LAMB that were given another value than the verb's own. The value counts, not who
// wrote it: RUN/config.toml, which repeats a run, has all of them.
void TrainingOptions::require_moments() const {
  const OptimizerOptions& given = options_.optimizer;
  const std::tuple<const char*, double, double> all[] = {
      {"--beta1", given.beta1, usual_.beta1},
      {"--beta2", given.beta2, usual_.beta2},
      {"--epsilon", given.epsilon, usual_.epsilon},
      {"--weight-decay", given.weight_decay, usual_.weight_decay}};
  for (const auto& [option, value, usual] : all) {
    if (value == usual) continue;
    throw_usage(fmt::format("{} {}: an option of AdamW and LAMB, and the optimizer is {}", option, value,
                            name_of(given.variant)),
                "leave it out, or choose --optimizer google, torch or lamb");
  }
}

Recipe TrainingOptions::recipe() const {
  return parse_recipe(recipe_);
}

// What was not typed is the recipe's; the learning rate is made that of the model.
void TrainingOptions::take_recipe(std::optional<std::int64_t> width) {
  if (paper_ && recipe() == Recipe::paper) {
    const auto take = [&](const char* option, auto& field, const auto& value, const std::string& shown) {
      const CLI::App& app = verb_.app();
      if (app.get_option_no_throw(option) == nullptr || verb_.given(option)) return;
      field = value;
      verb_.set_in_toml(option, shown);
    };
    const auto number = [](double value) { return fmt::format("{}", value); };
    const RunOptions& paper = *paper_;
    take("--length", options_.length, paper.length, std::to_string(paper.length));
    take("--batch", options_.batch, paper.batch, std::to_string(paper.batch));
    take("--steps", options_.steps, paper.steps, std::to_string(paper.steps));
    take("--epochs", options_.epochs, paper.epochs, number(paper.epochs));
    take("--schedule", schedule_, name_of(paper.schedule), name_of(paper.schedule));
    take("--optimizer", optimizer_, name_of(paper.optimizer.variant), name_of(paper.optimizer.variant));
    take("--clip-norm", options_.optimizer.clip_norm, paper.optimizer.clip_norm,
         number(paper.optimizer.clip_norm));
    take("--average", options_.average_decay, paper.average_decay, number(paper.average_decay));
    take("--eval-every", options_.eval_every, paper.eval_every, std::to_string(paper.eval_every));
    if (!verb_.given("--lr")) {
      options_.learning_rate = paper.learning_rate;
      options_.rate_by_width = paper.rate_by_width;
    }
    usual_ = paper.optimizer;
  }
  const bool by_width = rates_.empty() || (rates_.size() == 1 && std::isnan(rates_.front()));
  if (by_width && options_.rate_by_width) {
    if (!width) {
      require_model_folders({options_.init});
      width = ModelFolder(options_.init).config().hidden_size;
    }
    options_.learning_rate = rate_of_width(options_, *width);
  }
  options_.rate_by_width = false;
  if (!by_width) return;
  rates_.clear();
  verb_.set_in_toml("--lr", fmt::format("{}", options_.learning_rate));
}

void TrainingOptions::finish(const std::string& fasta, std::optional<std::int64_t> width) {
  if (resume_ && verb_.force()) {
    throw_usage("--resume and --force contradict each other", "keep one of them");
  }
  if (resume_) options_.start = RunStart::resume;
  if (verb_.force()) options_.start = RunStart::overwrite;
  take_recipe(width);
  options_.schedule = parse_schedule_form(schedule_);
  options_.optimizer.variant = parse_optimizer_variant(optimizer_);
  if (options_.optimizer.variant == OptimizerVariant::adafactor) require_moments();
  options_.final_state = parse_final_state(final_);
  if (!rates_.empty()) options_.learning_rate = rates_.front();
  if (rates_.size() > 1) options_.rate_choices = rates_;
  if (verb_.given("--warmup")) options_.warmup = warmup_;
  options_.seed = verb_.seed();
  tell_defaults();
  open_ranks();
  fasta_ = fasta;
  tell();
  options_.batch_chosen = [this](RunOptions& chosen) {
    for (const auto& [option, asked, number] :
         {std::tuple("--batch", options_.batch, chosen.batch),
          std::tuple("--accumulate", options_.accumulate, chosen.accumulate)}) {
      if (asked != chosen_by_memory) continue;
      const bool unsaid = option == std::string_view("--accumulate") && parts_by_default_ && number == 1;
      if (!unsaid) verb_.set_in_command(option, std::to_string(number));
      verb_.set_in_toml(option, std::to_string(number));
    }
    // Of several learning rates the first chooses for all.
    options_.batch = chosen.batch;
    options_.accumulate = chosen.accumulate;
    tell();
    chosen.config_toml = options_.config_toml;
    chosen.comments = options_.comments;
    chosen.provenance_json = options_.provenance_json;
    chosen.command = options_.command;
  };
}

// What was not typed may be another default than the parser's: that of a task or a data set.
void TrainingOptions::tell_defaults() {
  const CLI::App& app = verb_.app();
  const auto tell_one = [&](const char* option, double value) {
    if (app.get_option_no_throw(option) != nullptr && app.count(option) == 0)
      verb_.set_in_toml(option, fmt::format("{}", value));
  };
  tell_one("--lr", options_.learning_rate);
  tell_one("--epochs", options_.epochs);
  // The words, and not the numbers that they stand for.
  if (options_.eval_every == each_tenth_of_run) verb_.set_in_toml("--eval-every", "auto");
  if (options_.eval_every == each_epoch) verb_.set_in_toml("--eval-every", "epoch");
  if (options_.batch != chosen_by_memory) tell_one("--batch", static_cast<double>(options_.batch));
}

void TrainingOptions::reads(const std::string& path) const {
  if (rates_.size() < 2 || path.empty()) return;
  std::error_code unknown;
  const std::filesystem::file_status status = std::filesystem::status(path, unknown);
  if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status) ||
      std::filesystem::is_directory(status)) {
    return;
  }
  throw_usage(fmt::format("{}: can be read only once, and --lr has {} rates", path, rates_.size()),
              "write it to a file first");
}

// What files of the run tell of its options.
void TrainingOptions::tell() {
  options_.config_toml = verb_.resolved_toml(of_rate_);
  if (!verb_.provenance()) return;
  const Provenance made = verb_.made_from(fasta_);
  if (verb_.provenance_in_tables()) options_.comments = provenance_lines(made);
  options_.provenance_json = provenance_json(made);
  options_.command = verb_.command();
}

// --accumulate is of a rank; the run has the micro-batches of all.
void TrainingOptions::open_ranks() {
  options_.team = &ranks_.open(verb_);
  const int count = options_.team->ranks().count();
  if (!verb_.given("--accumulate")) {
    if (count == 1 && options_.batch != chosen_by_memory) {
      options_.accumulate = chosen_by_memory;
      parts_by_default_ = true;
    } else {
      verb_.set_in_toml("--accumulate", "1");
    }
  }
  if (count == 1 || options_.accumulate == chosen_by_memory) return;
  options_.accumulate *= static_cast<std::uint64_t>(count);
  verb_.set_in_command("--accumulate", std::to_string(options_.accumulate));
}

void TrainingOptions::run(const std::function<TrainingSummary(kernels::Backend&)>& train) {
  if (!options_.init.empty()) require_model_folders({options_.init});
  const auto backend = ranks_.make_backend(verb_);
  const auto train_one = [&] {
    if (rates_.size() < 2) return train(*backend);
    // What repeats the training of one rate, with the batch that was chosen; then again of them all.
    of_rate_ = {{"--output", options_.run}, {"--lr", fmt::format("{}", options_.learning_rate)}};
    if (!options_.tensorboard.empty())
      of_rate_["--tensorboard"] = options_.tensorboard + "/" + rate_folder(options_.learning_rate);
    tell();
    const TrainingSummary summary = train(*backend);
    of_rate_.clear();
    tell();
    return summary;
  };
  const TrainingSummary summary = sweep_learning_rates(options_, train_one);
  options_.team->finish();
  std::string kept;
  if (summary.final_valid_loss && summary.final_step < summary.steps)
    kept = fmt::format(", as it was after step {} with validation loss {:.4f}", summary.final_step,
                       *summary.final_valid_loss);
  const std::string made =
      summary.tokens > 0 ? fmt::format("last loss {:.4f}", summary.loss) : "all of them made before";
  log_info(fmt::format("{}: {} steps, {}; the model is {}/final{}", options_.run, summary.steps, made,
                       options_.run, kept));
  if (summary.update_seconds > 0) log_info(speed_of(summary));
  verb_.set_throughput(static_cast<double>(summary.tokens), "tokens");
}

}  // namespace bigbird::apps
