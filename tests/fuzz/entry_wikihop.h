// What the fuzzer of WikiHop's files does with its bytes; the suite's short run does the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "lib/text/qa/wikihop/questions.h"
#include "tests/fuzz/entry_text.h"
#include "tests/fuzz/question_pieces.h"

namespace bigbird::fuzz {

inline void demand_wikihop(const WikiHopQuestion& example, QuestionPurpose purpose) {
  demand_text(example.id);
  demand_text(example.query);
  demand_text(example.answer);
  for (const std::string& text : example.candidates) demand_text(text);
  for (const std::string& text : example.supports) demand_text(text);
  if (example.candidates.empty()) std::abort();
  if (example.answer_candidate && *example.answer_candidate >= example.candidates.size()) std::abort();
  if (purpose == QuestionPurpose::train && !example.answer_candidate) std::abort();
  if (purpose == QuestionPurpose::predict && example.answer_candidate) std::abort();
}

// Every window has every candidate at the same place.
inline void lay_out_wikihop(const WikiHopQuestion& example, const WikiHopEncoder& encoder,
                            const Tokenizer& tokenizer) {
  constexpr std::size_t length = 48;
  const EncodedWikiHop inputs = encoder.encode(example, length);
  if (inputs.windows.empty() || inputs.candidate_marks.size() != example.candidates.size()) std::abort();
  for (const QuestionInput& input : inputs.windows) {
    demand_input(input.ids, input.types, length);
    if (input.ids.back() != tokenizer.special().sep) std::abort();
    for (const std::size_t mark : inputs.candidate_marks) {
      if (mark >= input.ids.size() || tokenizer.piece(input.ids[mark]) != "<ans>") std::abort();
    }
  }
}

// Reads the bytes for training, evaluation and prediction, and makes inputs of what is read. Returns whether
// all of it was read for training.
inline bool wikihop(const std::uint8_t* data, std::size_t size) {
  const auto read = [](const std::string& path, QuestionPurpose purpose, bool replace_invalid,
                       const Tokenizer& tokenizer) {
    WikiHopReader reader(path, {purpose, false, replace_invalid});
    const WikiHopEncoder encoder(tokenizer, {});
    for (WikiHopQuestion example; reader.next(example);) {
      demand_wikihop(example, purpose);
      // Query and candidates may leave no room: an Error, and the next record is read all the same.
      text_read_or_refused([&] { lay_out_wikihop(example, encoder, tokenizer); });
    }
  };
  return read_for_every_purpose(".json", data, size, read);
}

}  // namespace bigbird::fuzz
