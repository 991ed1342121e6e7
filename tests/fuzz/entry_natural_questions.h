// What the fuzzer of Natural Questions' files does with its bytes; the suite's short run does the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "lib/text/qa/natural_questions/questions.h"
#include "tests/fuzz/entry_text.h"
#include "tests/fuzz/question_pieces.h"

namespace bigbird::fuzz {

inline void demand_page(const NqQuestion& page) {
  demand_text(page.question);
  demand_text(page.title);
  const auto demand_span = [&](const NqSpan& span) {
    if (span.start_token < 0 || span.start_token >= span.end_token) std::abort();
    if (static_cast<std::size_t>(span.end_token) > page.tokens.size()) std::abort();
  };
  for (const PageToken& token : page.tokens) demand_text(token.text);
  for (const PageCandidate& candidate : page.candidates) demand_span(candidate.span);
  for (const NqAnnotation& annotation : page.annotations) {
    if (annotation.candidate && *annotation.candidate >= page.candidates.size()) std::abort();
    for (const NqSpan& span : annotation.short_answers) demand_span(span);
  }
}

inline void label_page(const NqQuestion& page, const NqEncoder& encoder) {
  const EncodedNq encoded = encoder.encode(page);
  if (encoded.tokens.size() != encoded.pieces.ids.size()) std::abort();
  if (encoded.pieces.word_begins.size() != encoded.pieces.ids.size()) std::abort();
  for (std::size_t i = 0; i < encoded.tokens.size(); ++i) {
    if (encoded.tokens[i] >= page.tokens.size()) std::abort();
    if (i > 0 && encoded.tokens[i] < encoded.tokens[i - 1]) std::abort();
  }
  const std::size_t question = encoded.question.size();
  for (const bool by_step : {false, true}) {
    const WindowOptions options = short_windows(by_step);
    const std::vector<ContextWindow> windows =
        context_windows(question, encoded.pieces.ids.size(), options, page.where);
    demand_windows(windows, encoded.question, encoded.pieces, options.length);
    for (const ContextWindow& window : windows) {
      const NqLabel label = nq_label(page, encoded, window);
      for (const SpanLabel& span : {label.long_answer, label.short_answer}) {
        demand_label(span, window, question);
        if (span.end < span.start) std::abort();
      }
      const bool has_short = label.short_answer.start != 0;
      if (has_short != (label.type == NqAnswerType::short_answer)) std::abort();
      if (label.type == NqAnswerType::null && label.long_answer.start != 0) std::abort();
    }
  }
}

// Reads the bytes for training, evaluation and prediction, and puts labels on what is read. Returns whether
// all of it was read for training.
inline bool natural_questions(const std::uint8_t* data, std::size_t size) {
  const auto read = [](const std::string& path, QuestionPurpose purpose, bool replace_invalid,
                       const Tokenizer& tokenizer) {
    NqReader reader(path, {purpose, false, replace_invalid});
    const NqEncoder encoder(tokenizer, {}, short_windows(false).max_question);
    for (NqQuestion page; reader.next(page);) {
      if (purpose == QuestionPurpose::predict && !page.annotations.empty()) std::abort();
      demand_page(page);
      label_page(page, encoder);
    }
  };
  return read_for_every_purpose(".jsonl", data, size, read);
}

}  // namespace bigbird::fuzz
