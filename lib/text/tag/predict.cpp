// See predict.h.
#include "lib/text/tag/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/inference/probabilities.h"
#include "lib/io/tables/tsv.h"
#include "lib/metrics/entities.h"
#include "lib/text/tag/word_pieces.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

void add_sentence(Sha256& digest, const TaggedSentence& sentence) {
  add_to_digest(digest, sentence.id);
  add_to_digest(digest, sentence.words);
}

std::vector<std::string> names_of(const ModelConfig& config) {
  std::vector<std::string> names = config.label_names;
  for (auto i = static_cast<std::int64_t>(names.size()); i < config.num_labels; ++i)
    names.push_back(fmt::format("LABEL_{}", i));
  return names;
}

}  // namespace

void TagTally::add(const TagTally& more) {
  sentences += more.sentences;
  words += more.words;
  in_windows += more.in_windows;
  without_piece += more.without_piece;
  unknown.add(more.unknown);
}

// A sentence until the last of its windows has come back.
struct Tagger::Open {
  TaggedSentence sentence;
  std::vector<WindowInput> windows;
  std::vector<WordClass> classes;
  std::size_t left = 0;  // windows with a row
  TagTally tally;
};

Tagger::Tagger(const TaggerOptions& options, kernels::Backend& backend) : folder_(options.model) {
  folder_.require_token_classifier();
  folder_.require(Alphabet::text);
  settings_ = read_text_settings(options.model);
  if (settings_.task.value_or(TextTask::tagging) != TextTask::tagging) {
    throw_bad_input(fmt::format("{}: a model for {}, not for words", options.model, name_of(*settings_.task)),
                    "make one with `bigbird text tag finetune`");
  }
  length_ = options.length != 0     ? options.length
            : settings_.length != 0 ? settings_.length
                                    : most_tokens(folder_.config());
  room_ = room_of(length_, folder_.tokenizer());
  const bool as_trained = options.length == 0 && settings_.overlap.has_value();
  overlap_ = options.overlap.value_or(as_trained ? *settings_.overlap : usual_word_overlap(room_));
  if (overlap_ >= room_)
    throw_usage(message("`overlap` {}: a window has room for {} pieces", overlap_, room_));
  before_ = blank_before_words(folder_.tokenizer());
  names_ = names_of(folder_.config());
  SequenceRunnerOptions runner;
  runner.batch = options.batch;
  runner.class_logits = true;
  runner.longest = length_;
  runner.waits = true;
  runner_ = std::make_unique<SequenceRunner>(folder_, runner, backend);
}

void Tagger::add(std::vector<TaggedSentence> sentences,
                 const std::function<void(const TaggedSentence&, const std::vector<WordClass>&)>& done) {
  std::vector<std::shared_ptr<Open>> opened(sentences.size());
  const auto outside = std::find(names_.begin(), names_.end(), "O");
  const WordClass without_piece{outside == names_.end() ? names_.front() : *outside, 0};
  kernels::parallel_for(sentences.size(), [&](std::size_t i) {
    const auto open = std::make_shared<Open>();
    open->sentence = std::move(sentences[i]);
    const auto pieces = pieces_of_words(folder_.tokenizer(), before_, open->sentence.words,
                                        settings_.encoding, &open->tally.unknown);
    for (const auto& word : pieces) open->tally.without_piece += word.empty() ? 1U : 0U;
    for (const WordWindow& window : word_windows(pieces, room_, overlap_)) {
      open->windows.push_back(window_input(pieces, window, room_, folder_.tokenizer()));
      if (!open->windows.back().rows.empty()) ++open->left;
    }
    open->tally.sentences = 1;
    open->tally.words = pieces.size();
    open->tally.in_windows = open->windows.size() > 1 ? 1U : 0U;
    open->classes.assign(pieces.size(), without_piece);
    opened[i] = open;
  });
  const auto labels = static_cast<std::size_t>(folder_.config().num_labels);
  for (const std::shared_ptr<Open>& open : opened) {
    tally_.add(open->tally);
    if (open->left == 0) {  // nothing to read: those before it come first
      runner_->finish();
      done(open->sentence, open->classes);
      continue;
    }
    for (const WindowInput& window : open->windows) {
      if (window.rows.empty()) continue;
      SequenceInput input{window.ids};
      input.labelled = window.rows;
      runner_->add(input, [this, open, labels, done, words = window.words](const SequenceResult& result) {
        for (std::size_t i = 0; i < words.size(); ++i) {
          const std::span<const float> logits = result.class_logits.subspan(i * labels, labels);
          const auto best = std::max_element(logits.begin(), logits.end());
          if (!std::all_of(logits.begin(), logits.end(), [](float logit) { return std::isfinite(logit); }))
            throw_runtime(folder_.path() + ": the model gives values that are not finite",
                          "see bigbird check");
          const auto label = static_cast<std::size_t>(best - logits.begin());
          open->classes[words[i]] = {names_[label], Softmax(logits)(*best)};
        }
        if (--open->left == 0) done(open->sentence, open->classes);
      });
    }
  }
}

void Tagger::finish() {
  runner_->finish();
}

void say_tally(const std::string& path, const TagTally& tally, std::int64_t length) {
  if (tally.in_windows > 0) {
    log_warning(fmt::format("{}: {} of {} sentences have more than {} tokens, and were read in windows", path,
                            tally.in_windows, tally.sentences, length));
  }
  if (tally.without_piece > 0) {
    log_warning(fmt::format("{}: {} of {} words have no piece, and get no class of the model", path,
                            tally.without_piece, tally.words));
  }
  if (const auto warning = tally.unknown.warning()) log_warning(path + ": " + *warning);
}

std::string tagged_text(const TaggedSentence& sentence, const std::vector<WordClass>& classes, TagForm form) {
  std::string text;
  if (form == TagForm::conll) {
    for (std::size_t i = 0; i < classes.size(); ++i) {
      text += fmt::format("{}\t{}\t{:.9g}\n", escape_controls(sentence.words[i]),
                          escape_controls(classes[i].label), classes[i].score);
    }
    return text + "\n";
  }
  nlohmann::ordered_json json;
  json["id"] = sentence.id;
  json["tokens"] = sentence.words;
  json["labels"] = nlohmann::ordered_json::array();
  json["scores"] = nlohmann::ordered_json::array();
  std::vector<std::string> labels;
  for (const WordClass& one : classes) {
    labels.push_back(one.label);
    json["labels"].push_back(one.label);
    json["scores"].push_back(one.score);
  }
  if (are_entity_labels(labels)) {
    for (const Entity& entity : entities_of(labels)) {
      const auto words = std::span(sentence.words).subspan(entity.begin, entity.end - entity.begin);
      json["entities"].push_back({{"type", entity.type},
                                  {"start", entity.begin},
                                  {"end", entity.end},
                                  {"text", fmt::format("{}", fmt::join(words, " "))}});
    }
  }
  return json_text(json) + "\n";
}

TagTally predict_tags(const TagPredictionOptions& options, Tagger& tagger) {
  TaggedSentenceOptions reading = options.sentences;
  reading.labels = Labels::ignored;
  TaggedSentences source(options.input, reading);
  RunIdentity identity = model_identity(tagger.folder(), tagger.settings(), options.precision);
  identity["length"] = std::to_string(tagger.length());
  identity["overlap"] = std::to_string(tagger.overlap());
  std::string head;
  if (options.form == TagForm::conll)
    for (const std::string& comment : options.comments) head += "##" + comment + "\n";
  ChunkedOutputs outputs(
      {{options.output, options.form == TagForm::jsonl ? "jsonl" : "conll", ChunkForm::lines, head}},
      identity, options.input, options.work);
  if (outputs.are_whole()) return {};
  outputs.run<TaggedSentence>([&](TaggedSentence& sentence) { return source.next(sentence); }, add_sentence,
                              [&](std::vector<TaggedSentence>& chunk) {
                                tagger.add(std::move(chunk), [&](const TaggedSentence& sentence,
                                                                 const std::vector<WordClass>& classes) {
                                  outputs.write(0, bigbird::tagged_text(sentence, classes, options.form));
                                });
                                tagger.finish();
                              },
                              {options.input + ": there are no sentences", "give a word at least"});
  return tagger.tally();
}

}  // namespace bigbird
