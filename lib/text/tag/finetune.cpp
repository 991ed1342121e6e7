// See finetune.h.
#include "lib/text/tag/finetune.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/finetuning/finetuning.h"
#include "lib/io/files/sha256.h"
#include "lib/model/network/validate_config.h"
#include "lib/model_folder/model_folder.h"
#include "lib/text/class_names.h"
#include "lib/text/tag/word_pieces.h"
#include "lib/training/training_run.h"

namespace bigbird {
namespace {

constexpr std::size_t sentences_read_at_once = 4096;

// A window, with the class of each of its rows.
struct TagSample {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> rows;
  std::vector<std::int32_t> labels;
};

// The sentences of a side.
struct TagSide {
  std::vector<TagSample> samples;
  std::vector<std::vector<std::string>> label_names;  // [samples], until they have numbers
  std::vector<std::string> places;                    // [samples], of their sentences
  std::uint64_t sentences = 0, words = 0, in_windows = 0, without_piece = 0;
  std::int64_t longest = 0;      // tokens
  std::int64_t most_labels = 0;  // of a sample
  UnknownTally unknown;
};

struct Encoded {
  std::vector<WindowInput> windows;
  std::size_t without_piece = 0;
  UnknownTally unknown;
};

void take(const TaggedSentence& sentence, Encoded& encoded, TagSide& side) {
  ++side.sentences;
  side.words += sentence.words.size();
  side.in_windows += encoded.windows.size() > 1 ? 1U : 0U;
  side.without_piece += encoded.without_piece;
  side.unknown.add(encoded.unknown);
  for (WindowInput& window : encoded.windows) {
    if (window.rows.empty()) continue;
    std::vector<std::string> names;
    for (const std::size_t word : window.words) names.push_back(sentence.labels[word]);
    side.longest = std::max(side.longest, static_cast<std::int64_t>(window.ids.size()));
    side.most_labels = std::max(side.most_labels, static_cast<std::int64_t>(window.rows.size()));
    side.samples.push_back({std::move(window.ids), std::move(window.rows), {}});
    side.label_names.push_back(std::move(names));
    side.places.push_back(sentence.place);
  }
}

TagSide read_side(const std::string& path, const TagFinetuneOptions& options, const Tokenizer& tokenizer,
                  const TextSettings& settings) {
  TaggedSentences source(path, options.sentences);
  const std::string before = blank_before_words(tokenizer);
  const std::size_t room = room_of(settings.length, tokenizer);
  TagSide side;
  std::vector<TaggedSentence> sentences;
  TaggedSentence sentence;
  for (bool more = true; more;) {
    throw_if_cancelled();
    sentences.clear();
    while (sentences.size() < sentences_read_at_once && (more = source.next(sentence)))
      sentences.push_back(std::move(sentence));
    std::vector<Encoded> encoded(sentences.size());
    kernels::parallel_for(sentences.size(), [&](std::size_t i) {
      const auto pieces =
          pieces_of_words(tokenizer, before, sentences[i].words, settings.encoding, &encoded[i].unknown);
      for (const auto& word : pieces) encoded[i].without_piece += word.empty() ? 1U : 0U;
      for (const WordWindow& window : word_windows(pieces, room, *settings.overlap))
        encoded[i].windows.push_back(window_input(pieces, window, room, tokenizer));
    });
    for (std::size_t i = 0; i < sentences.size(); ++i) take(sentences[i], encoded[i], side);
  }
  if (side.samples.empty())
    throw_bad_input(path + ": there are no words", "give a sentence with labels at least");
  log_info(fmt::format("{}: {} sentences of {} words", path, side.sentences, side.words));
  if (side.in_windows > 0) {
    log_warning(fmt::format("{}: {} sentences have more than {} tokens, and are read in windows", path,
                            side.in_windows, settings.length));
  }
  if (side.without_piece > 0)
    log_warning(
        fmt::format("{}: {} words have no piece, and no class is learned of them", path, side.without_piece));
  if (const auto warning = side.unknown.warning()) log_warning(path + ": " + *warning);
  return side;
}

ClassNames class_names(const TagFinetuneOptions& options, const TagSide& train) {
  if (!options.classes.empty()) return ClassNames::in_order(options.classes);
  std::set<std::string> names;
  for (const auto& of_sample : train.label_names) names.insert(of_sample.begin(), of_sample.end());
  return ClassNames({names.begin(), names.end()});
}

// Names to numbers; the counts of the classes.
std::vector<std::uint64_t> number_labels(TagSide& side, const ClassNames& classes) {
  std::vector<std::uint64_t> counts(classes.size(), 0);
  for (std::size_t i = 0; i < side.samples.size(); ++i) {
    for (const std::string& name : side.label_names[i]) {
      const auto number = classes.number(name);
      if (!number) {
        throw_bad_input(
            fmt::format("{}: label '{}' is none of the {} classes", side.places[i], name, classes.size()),
            message("name all with `labels`; they are: {}", fmt::join(classes.names(), ", ")));
      }
      side.samples[i].labels.push_back(*number);
      ++counts[static_cast<std::size_t>(*number)];
    }
  }
  side.label_names.clear();
  return counts;
}

void append(Batch& batch, const ModelConfig& config, const TagSample& sample) {
  const auto first = static_cast<std::int32_t>(batch.tokens());
  batch.append(sample.ids, {}, config.block_size, static_cast<std::int32_t>(config.pad_token_id));
  for (const std::int32_t row : sample.rows) batch.output_spans.push_back({first + row, 1});
  batch.sequence_labels.insert(batch.sequence_labels.end(), sample.labels.begin(), sample.labels.end());
}

std::string identity_of(const TagSide& side) {
  Sha256 digest;
  for (const TagSample& sample : side.samples) {
    for (const auto* numbers : {&sample.ids, &sample.rows, &sample.labels}) {
      const std::uint64_t size = numbers->size();
      digest.update(&size, sizeof size);
      digest.update(numbers->data(), numbers->size() * sizeof numbers->front());
    }
  }
  return fmt::format("{}, sha256 {}", side.samples.size(), digest.finish());
}

TextSettings settings_of(const TagFinetuneOptions& options, const ModelFolder& init) {
  const std::int64_t most = init.config().max_position_embeddings;
  if (options.length != 0 && (options.length < 3 || options.length > most)) {
    throw_usage(message("`length` {}: must be between 3 and the model's {} positions", options.length, most));
  }
  TextSettings settings;
  settings.task = TextTask::tagging;
  settings.length = options.length != 0 ? options.length : most;
  settings.encoding = options.encoding;
  const std::size_t room = room_of(settings.length, init.tokenizer());
  settings.overlap = options.overlap.value_or(usual_word_overlap(room));
  if (*settings.overlap >= room)
    throw_usage(message("`overlap` {}: a window has room for {} pieces", *settings.overlap, room));
  return settings;
}

}  // namespace

RunOptions tag_defaults(Recipe recipe) {
  RunOptions options = finetuning_defaults(recipe);
  options.batch = 32;
  options.epochs = 3;
  if (recipe == Recipe::paper) options.learning_rate = 2e-5;
  return options;
}

TrainingSummary tag_finetune(const TagFinetuneOptions& given, kernels::Backend& backend) {
  TagFinetuneOptions options = given;
  check_run(options);
  const ModelFolder init(options.init);
  init.require(Alphabet::text);
  const TextSettings settings = settings_of(options, init);
  options.sentences.labels = Labels::required;
  TagSide train = read_side(options.train, options, init.tokenizer(), settings);
  const ClassNames classes = class_names(options, train);
  if (classes.size() < 2)
    throw_bad_input(options.train + ": one class only", "give words of two classes at least");
  const std::vector<std::uint64_t> counts = number_labels(train, classes);
  TagSide valid;
  if (!options.valid.empty()) {
    valid = read_side(options.valid, options, init.tokenizer(), settings);
    number_labels(valid, classes);
  }

  LoadedModel loaded = init.load(HeadType::token_classification, options.seed,
                                 static_cast<std::int64_t>(classes.size()), options.fresh_head);
  ModelConfig& config = loaded.config;
  if (config.num_labels != static_cast<std::int64_t>(classes.size())) {
    throw_bad_input(
        fmt::format("{}: it has {} classes, the data {}", options.init, config.num_labels, classes.size()),
        message("begin from a pretrained model, or leave this head out: `fresh_head`"));
  }
  config.label_names = classes.names();
  config.input_length = 0;
  validate(config, "the options of the model");

  TaskDescription task = describe_finetuning(options, loaded);
  describe_ragged_inputs(task, config, std::max(train.longest, valid.longest));
  const std::int64_t most_labels = std::max(train.most_labels, valid.most_labels);
  task.limits = [length = task.length, most_labels](std::int64_t sequences, std::int64_t) {
    BatchLimits limits{sequences * length, sequences, 0, length};
    limits.outputs = sequences * most_labels;
    return limits;
  };
  task.name = "text tag finetune";
  task.columns.sequence = "word";
  task.columns.sequence_accuracy = true;
  task.samples = train.samples.size();
  task.validates = !valid.samples.empty();
  task.identity["data (training sentences)"] = identity_of(train);
  task.identity["labels"] = fmt::format("{}", fmt::join(classes.names(), ", "));
  task.identity["length"] = std::to_string(settings.length);
  task.identity["whitespace"] = settings.encoding.white_space == WhiteSpace::keep ? "keep" : "fold";
  task.identity["ascii_punctuation"] = settings.encoding.ascii_punctuation ? "true" : "false";
  choose_batch(options, task, backend);
  std::vector<std::string> counted;
  for (std::size_t i = 0; i < classes.size(); ++i)
    counted.push_back(fmt::format("{} {}", classes.names()[i], counts[i]));
  ModelCard card =
      finetune_card(options, config, schedule_of(options, task.samples), backend,
                    "BigBird that gives classes to words, fine-tuned by bigbird", {"token-classification"},
                    {{"sentences, words", fmt::format("{}, {}", train.sentences, train.words)},
                     {"classes", fmt::format("{}", fmt::join(counted, ", "))},
                     {"most tokens of an input", std::to_string(settings.length)}});
  card.use =
      "Use: `bigbird text tag predict -m FOLDER sentences.conll`, or the token-classification pipeline of "
      "transformers.\n";
  task.extras.model_card = model_card(card);
  task.extras.files = text_settings_files(settings);
  task.extras.tokenizer = tokenizer_options(settings);
  const SampleTask batches = task_of_samples(
      options, train.samples.size(),
      [&](const Draw& draw, Batch& batch) {
        append(batch, config, train.samples[static_cast<std::size_t>(draw.sample)]);
      },
      valid.samples.size(), [&](std::size_t i, Batch& batch) { append(batch, config, valid.samples[i]); });
  return run_training(batches, task, options, backend);
}

}  // namespace bigbird
