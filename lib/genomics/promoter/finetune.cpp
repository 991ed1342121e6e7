// Fine-tuning of the promoter classifier; see finetune.h.
#include "lib/genomics/promoter/finetune.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/finetuning/finetuning.h"
#include "lib/genomics/promoter/leaks.h"
#include "lib/genomics/promoter/negatives.h"
#include "lib/inference/model_task.h"
#include "lib/inference/windows.h"
#include "lib/model/network/validate_config.h"
#include "lib/model_folder/model_folder.h"
#include "lib/training/training_run.h"

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
        message(
            "a data folder holds train.tsv and valid.tsv, or train.csv and dev.csv; or name the files with "
            "`train` and `valid`"));
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

struct EncodedWindows {
  std::vector<ClassifiedSequence> sequences;
  std::int64_t longest = 0;    // tokens, special ones included
  std::int64_t shortened = 0;  // how many did not fit max_tokens
  std::int64_t classes = 0;    // the highest label plus one
};

// Reads and encodes labelled windows; `seen`, where given, is called with each. Error{bad_input}, beginning
// with `where`, for no windows, and for windows without a label.
EncodedWindows encode_labelled_windows(WindowReader& windows, const std::string& where,
                                       const Tokenizer& tokenizer, std::int64_t max_tokens,
                                       const std::function<void(const Window&)>& seen = {}) {
  EncodedWindows encoded;
  Window window;
  while (windows.next(window)) {
    throw_if_cancelled();
    if (window.label < 0) throw_bad_input(where + ": there is no label", "give labelled windows");
    if (seen) seen(window);
    ClassifiedSequence sequence;
    sequence.label = window.label;
    encoded.shortened += encode_window(tokenizer, window.sequence, max_tokens, sequence.ids) ? 1 : 0;
    encoded.longest = std::max(encoded.longest, static_cast<std::int64_t>(sequence.ids.size()));
    encoded.classes = std::max<std::int64_t>(encoded.classes, window.label + 1);
    encoded.sequences.push_back(std::move(sequence));
  }
  if (encoded.sequences.empty()) throw_bad_input(where + ": there are no examples");
  return encoded;
}

std::string class_counts(const EncodedWindows& windows, std::int64_t classes) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(classes), 0);
  for (const ClassifiedSequence& sequence : windows.sequences)
    ++counts[static_cast<std::size_t>(sequence.label)];
  return fmt::format("{}", fmt::join(counts, ", "));
}

// Of two classes, in the training that is to come.
std::optional<double> share_of_class_1(const EncodedWindows& windows, std::int64_t classes) {
  if (classes != 2) return std::nullopt;
  const auto positives = std::count_if(windows.sequences.begin(), windows.sequences.end(),
                                       [](const ClassifiedSequence& one) { return one.label == 1; });
  const double share = static_cast<double>(positives) / static_cast<double>(windows.sequences.size());
  return share > 0 && share < 1 ? std::optional(share) : std::nullopt;
}

void say_shortened(const std::string& file, const EncodedWindows& windows, std::int64_t length) {
  if (windows.shortened == 0) return;
  log_warning(fmt::format("{}: {} of {} windows are longer than {} tokens and are cut at their right end",
                          file, windows.shortened, windows.sequences.size(), length));
}

ClassifiedSequence encoded_negative(const FreshNegatives& fresh, std::uint64_t epoch, std::uint64_t promoter,
                                    const Tokenizer& tokenizer, std::int64_t max_tokens) {
  ClassifiedSequence sequence;
  encode_window(tokenizer, fresh.negative(epoch, promoter), max_tokens, sequence.ids);
  return sequence;
}

// Windows 2 i and 2 i + 1 are promoter i and its negative of an epoch; behind them stand the negatives of the
// data that stay (`kept`, of every window whether it does).
EncodedWindows with_fresh_negatives(const EncodedWindows& data, const std::vector<bool>& kept,
                                    const FreshNegatives& fresh, const Tokenizer& tokenizer,
                                    std::int64_t max_tokens) {
  EncodedWindows windows{{}, data.longest, data.shortened, data.classes};
  for (const ClassifiedSequence& sequence : data.sequences) {
    if (sequence.label != 1) continue;
    windows.sequences.push_back(sequence);
    windows.sequences.push_back(
        encoded_negative(fresh, 0, windows.sequences.size() / 2, tokenizer, max_tokens));
    windows.longest =
        std::max(windows.longest, static_cast<std::int64_t>(windows.sequences.back().ids.size()));
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) windows.sequences.push_back(data.sequences[i]);
  }
  return windows;
}

// Whether a negative was taken from the genome: as its id tells, or where all are of one kind the manifest.
bool is_genomic(const Window& window, const PromoterDataFacts& facts) {
  if (window.label == 1) return false;
  const std::optional<NegativeId> id = parse_negative_id(window.id);
  if (!id) return false;
  return id->kind ? is_of_genome(*id->kind) : facts.negatives == negative_kind_name(NegativeKind::genomic);
}

// What the training side's negatives are, for people; empty: not known.
std::string negatives_of(const PromoterFinetuneOptions& options, const Sides& sides, bool any_kept) {
  if (!options.fresh_negatives) return sides.facts.negatives;
  return fmt::format("{}, anew in each epoch{}", negative_kind_name(*options.fresh_negatives),
                     any_kept ? "; genomic, as in the data" : "");
}

ModelCard describe_model(const PromoterFinetuneOptions& options, const ModelConfig& config,
                         const Schedule& schedule, const EncodedWindows& train, const std::string& negatives,
                         const kernels::Backend& backend) {
  std::vector<std::pair<std::string, std::string>> rows = {
      {"windows", fmt::format("{}; of classes 0, 1 ...: {}", train.sequences.size(),
                              class_counts(train, config.num_labels))}};
  if (!negatives.empty()) {
    rows.emplace_back("negatives",
                      negatives + (options.fresh_negatives ? "; of validation: as in the data" : ""));
  }
  ModelCard card =
      finetune_card(options, config, schedule, backend, "BigBird promoter classifier, fine-tuned by bigbird",
                    {"dna", "promoter"}, rows);
  if (config.num_labels == 2) card.use = "Class 1 is a promoter (or what the data called 1). ";
  card.use +=
      "Use: `bigbird promoter predict -m FOLDER windows.fa`. Probabilities are calibrated to the shares of "
      "the classes in the training windows, not in a genome; `bigbird promoter calibrate` fits them to another.\n";
  return card;
}

}  // namespace

TrainingSummary promoter_finetune(const PromoterFinetuneOptions& asked, kernels::Backend& backend) {
  PromoterFinetuneOptions options = asked;
  check_run(options);
  const ModelFolder init(options.init);
  const Tokenizer& tokenizer = init.tokenizer();
  Sides sides = find_sides(options);
  sides.train.positives_alone = options.fresh_negatives.has_value();
  const ModelConfig& stored = init.config();
  const std::int64_t most =
      options.length > 0 ? input_length(options, stored, 0) : stored.max_position_embeddings;
  LeakCheck leaks;
  const auto read = [&](const LabelledSource& source, std::int64_t max_tokens,
                        const std::function<void(const Window&)>& seen) {
    return encode_labelled_windows(*read_labelled_windows(source), source.path, tokenizer, max_tokens, seen);
  };
  const PromoterDataFacts train_facts = read_promoter_facts(sides.train);
  std::vector<std::string> promoters;
  std::vector<bool> kept;  // of fresh negatives: the windows of class 0 that stay
  EncodedWindows train_windows = read(sides.train, most, [&](const Window& window) {
    if (options.fresh_negatives) kept.push_back(is_genomic(window, train_facts));
    if (options.fresh_negatives && window.label != 1 && !kept.back()) return;
    leaks.add("train", window);
    if (!options.fresh_negatives || window.label != 1) return;
    if (*options.fresh_negatives != NegativeKind::dinucleotide && window.sequence.size() < negative_blocks) {
      throw_bad_input(fmt::format("{}: {}: a window of {} bases cannot be cut into {} blocks",
                                  sides.train.path, window.id, window.sequence.size(), negative_blocks),
                      message("give longer windows, or `fresh_negatives` dinucleotide"));
    }
    promoters.push_back(window.sequence);
  });
  std::optional<FreshNegatives> fresh;
  if (options.fresh_negatives) {
    if (train_windows.classes > 2) {
      throw_bad_input(fmt::format("{}: has {} classes", sides.train.path, train_windows.classes),
                      message("`fresh_negatives` is for promoters (class 1) and what is none (class 0)"));
    }
    fresh.emplace(*options.fresh_negatives, options.seed, std::move(promoters));
    train_windows = with_fresh_negatives(train_windows, kept, *fresh, tokenizer, most);
  }
  const std::int64_t length = input_length(options, stored, train_windows.longest);
  const EncodedWindows valid_windows =
      sides.valid.empty()
          ? EncodedWindows{}
          : read(sides.valid, length, [&](const Window& window) { leaks.add("valid", window); });
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

  LoadedModel loaded = init.load(HeadType::classification, options.seed, classes, options.fresh_head);
  ModelConfig& config = loaded.config;
  if (config.num_labels != classes) {
    throw_bad_input(fmt::format("{}: this classifier has {} classes, the examples have {}", options.init,
                                config.num_labels, classes),
                    message("begin from a pretrained model, or leave this head out: `fresh_head`"));
  }
  const bool fresh_head = options.fresh_head || init.config().head != HeadType::classification;
  choose_pooling(options.pooling, fresh_head, config);
  config.input_length = length;
  validate(config, "the options of the model");

  const bool any_kept = std::find(kept.begin(), kept.end(), true) != kept.end();
  const std::string negatives = negatives_of(options, sides, any_kept);
  log_info(fmt::format("training examples of classes 0, 1 ...: {}{}", class_counts(train_windows, classes),
                       negatives.empty() ? "" : "; negatives: " + negatives));
  log_info(fmt::format("{} training and {} validation windows of {} tokens", train_windows.sequences.size(),
                       valid_windows.sequences.size(), config.input_length));

  TaskDescription task = describe_finetuning(options, loaded);
  task.name = "promoter finetune";
  task.columns.sequence = "class";
  task.samples = train_windows.sequences.size();
  task.validates = !valid_windows.sequences.empty();
  task.identity["data (training windows)"] = std::to_string(task.samples);
  choose_batch(options, task, backend);
  task.extras.model_card = model_card(
      describe_model(options, config, schedule_of(options, task.samples), train_windows, negatives, backend));
  task.extras.files =
      model_task_files(sides.facts.window, profiles_of(classes), share_of_class_1(train_windows, classes));
  RemakeSequence remake;
  if (fresh) {
    task.identity["fresh_negatives"] = negative_kind_name(*options.fresh_negatives);
    remake = [&fresh, &tokenizer, &config,
              samples = task.samples](const Draw& draw) -> std::optional<ClassifiedSequence> {
      if (draw.sample % 2 == 0 || draw.sample >= 2 * fresh->promoters()) return std::nullopt;
      return encoded_negative(*fresh, draw.number / samples, draw.sample / 2, tokenizer, config.input_length);
    };
  }
  const SampleTask batches =
      classification_task(options, config, train_windows.sequences, valid_windows.sequences, remake);
  return run_training(batches, task, options, backend);
}

}  // namespace bigbird
