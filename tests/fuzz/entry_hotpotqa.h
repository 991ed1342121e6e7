// What the fuzzer of HotpotQA's files does with its bytes; the suite's short run does the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "lib/text/qa/hotpotqa/questions.h"
#include "tests/fuzz/entry_text.h"
#include "tests/fuzz/question_pieces.h"

namespace bigbird::fuzz {

inline void demand_hotpot(const HotpotQuestion& example) {
  demand_text(example.id);
  demand_text(example.question);
  demand_text(example.answer);
  if (example.paragraphs.empty()) std::abort();
  for (const HotpotParagraph& paragraph : example.paragraphs) {
    demand_text(paragraph.title);
    for (const std::string& sentence : paragraph.sentences) demand_text(sentence);
  }
}

// Titles and sentences lie one behind the other; a label lies in one of them.
inline void label_hotpot(const HotpotQuestion& example, const HotpotEncoder& encoder,
                         const Tokenizer& tokenizer, std::size_t length) {
  const EncodedHotpot input = encoder.encode(example, length);
  demand_input(input.ids, input.types, length);
  std::size_t behind = 0, sentences = 0;
  for (const HotpotSegment& segment : input.segments) {
    if (segment.first < behind || segment.mark != segment.first + segment.spans.size()) std::abort();
    if (segment.mark + 1 >= input.ids.size()) std::abort();
    if (tokenizer.piece(input.ids[segment.mark]) != (segment.sentence ? "<sep_3>" : "<sep_2>")) std::abort();
    behind = segment.mark + 1;
    if (segment.sentence) ++sentences;
  }
  std::size_t given = 0;
  for (const HotpotParagraph& paragraph : example.paragraphs) given += paragraph.sentences.size();
  if (sentences + input.left_out != given) std::abort();
  const HotpotLabel label = hotpot_label(example, input);
  if (label.supporting.size() != input.segments.size()) std::abort();
  if (label.span == SpanLabel{}) return;
  bool inside = false;
  for (const HotpotSegment& segment : input.segments) {
    inside = inside || (segment.first <= label.span.start && label.span.start <= label.span.end &&
                        label.span.end < segment.mark);
  }
  if (!inside || label.type != HotpotAnswerType::span) std::abort();
}

// Reads the bytes for training, evaluation and prediction, and puts labels on what is read. Returns whether
// all of it was read for training.
inline bool hotpotqa(const std::uint8_t* data, std::size_t size) {
  const auto read = [](const std::string& path, QuestionPurpose purpose, bool replace_invalid,
                       const Tokenizer& tokenizer) {
    HotpotReader reader(path, {purpose, false, replace_invalid});
    const HotpotEncoder encoder(tokenizer, {}, short_windows(false).max_question);
    for (HotpotQuestion example; reader.next(example);) {
      if (purpose == QuestionPurpose::predict && !example.answer.empty()) std::abort();
      demand_hotpot(example);
      for (const std::size_t length : {24u, 256u}) label_hotpot(example, encoder, tokenizer, length);
    }
  };
  return read_for_every_purpose(".json", data, size, read);
}

}  // namespace bigbird::fuzz
