// What the fuzzers of questions share: a small tokenizer, and what is true of every input and label, whatever
// the question was.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "lib/core/unicode.h"
#include "lib/text/qa/question_file.h"
#include "lib/text/qa/windows.h"
#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_kinds.h"
#include "tests/fuzz/entry_text.h"

namespace bigbird::fuzz {

// The pieces that open and close the parts of an input, every ASCII sign but the blank, two letters beyond,
// and a few words.
inline SentencePieceModel question_model() {
  constexpr float score_of_letters = -9, score_of_words = -4;
  SentencePieceModel model;
  model.normalizer = "identity";
  model.pieces = {{"[PAD]", 0, PieceType::control}, {"[UNK]", 0, PieceType::unknown}};
  for (const char* mark : {"[CLS]", "[SEP]", "[MASK]", "<sep_0>", "<sep_1>", "<sep_2>", "<sep_3>", "<sep_4>",
                           "<t>", "<ans>", "<unused_35>", "<unused_36>"}) {
    model.pieces.push_back({mark, 0, PieceType::user_defined});
  }
  for (char letter = '!'; letter <= '~'; ++letter)
    model.pieces.push_back({std::string(1, letter), score_of_letters});
  for (const char* letter : {"\xE2\x96\x81", "\xC3\xBC", "\xF0\x9F\x98\x80"})
    model.pieces.push_back({letter, score_of_letters});
  const std::string blank = "\xE2\x96\x81";
  for (const char* word : {"the", "cat", "York", "is", "in"})
    model.pieces.push_back({blank + word, score_of_words});
  for (const char* end : {"at", "ing"}) model.pieces.push_back({end, score_of_words});
  return model;
}

// The library's encoder, and the own one that stands for Hugging Face's fast tokenizer.
inline const std::array<std::unique_ptr<Tokenizer>, 2>& question_tokenizers() {
  static const std::array<std::unique_ptr<Tokenizer>, 2> tokenizers = [] {
    const SentencePieceModel model = question_model();
    const std::string bytes = serialize_sentencepiece_model(model);
    return std::array<std::unique_ptr<Tokenizer>, 2>{
        make_sentencepiece_tokenizer(model, {}, bytes, "fuzz"),
        make_subword_tokenizer(converted_definition(model, {}, ConvertedClass::bigbird, "fuzz"), {},
                               piece_table(model), "", "fuzz")};
  }();
  return tokenizers;
}

// Short windows, so that a file of a few hundred bytes has several.
inline WindowOptions short_windows(bool by_step) {
  WindowOptions options;
  options.length = 24;
  options.max_question = 8;
  options.overlap = 5;
  if (by_step) options.step = 7;
  return options;
}

inline void demand_input(const std::vector<std::uint32_t>& ids, const std::vector<std::uint32_t>& types,
                         std::size_t length) {
  if (ids.size() != types.size() || ids.size() > length) std::abort();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= question_tokenizers().front()->vocab_size() || types[i] > 1) std::abort();
    if (i > 0 && types[i] < types[i - 1]) std::abort();
  }
}

// Windows cover their context from end to end, and fit.
inline void demand_windows(const std::vector<ContextWindow>& windows,
                           const std::vector<std::uint32_t>& question, const ContextTokens& context,
                           std::size_t length) {
  const SpecialIds special;
  std::size_t behind = 0;
  for (const ContextWindow& window : windows) {
    if (window.first > behind || window.first + window.count < behind) std::abort();
    behind = window.first + window.count;
    const auto [ids, types, globals] = window_input(question, context, window, special.cls, special.sep);
    if (ids.size() != input_length(question.size(), window)) std::abort();
    demand_input(ids, types, length);
  }
  if (behind != context.ids.size()) std::abort();
}

// On [CLS], or on tokens of the context.
inline void demand_label(const SpanLabel& label, const ContextWindow& window, std::size_t question) {
  if (label == SpanLabel{}) return;
  const std::size_t first = context_position(question);
  for (const std::size_t at : {label.start, label.end}) {
    if (at < first || at >= first + window.count) std::abort();
  }
}

// The tokens that a label stands for hold the answer.
inline void demand_answer(const std::string& text, const ContextTokens& context, const ContextWindow& window,
                          std::size_t question, const TextSpan& answer) {
  const SpanLabel label = span_label(context, window, question, answer);
  demand_label(label, window, question);
  if (label.start == 0 || label.end < label.start) return;
  const TextSpan found = labelled_text(text, context, window, question, label);
  if (found.begin > found.end || found.end > count_code_points(text)) std::abort();
  if (found.end < answer.end) std::abort();
}

// Reads the bytes, a file of this suffix, for training (by the library's tokenizer), evaluation and
// prediction (by the own one, bytes that are no UTF-8 replaced). Returns whether all of it was read for
// training.
template <typename Read>
bool read_for_every_purpose(const char* suffix, const std::uint8_t* data, std::size_t size,
                            const Read& read) {
  bool whole = false;
  with_file(suffix, data, size, [&](const std::string& path) {
    for (const QuestionPurpose purpose :
         {QuestionPurpose::train, QuestionPurpose::evaluate, QuestionPurpose::predict}) {
      const bool trained = purpose == QuestionPurpose::train;
      const bool all = text_read_or_refused(
          [&] { read(path, purpose, !trained, *question_tokenizers()[trained ? 0 : 1]); });
      if (trained) whole = all;
    }
  });
  return whole;
}

}  // namespace bigbird::fuzz
