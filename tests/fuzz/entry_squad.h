// What the fuzzer of SQuAD's files does with its bytes; the suite's short run does the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "lib/text/qa/squad/questions.h"
#include "tests/fuzz/entry_text.h"
#include "tests/fuzz/question_pieces.h"

namespace bigbird::fuzz {

// Windows and labels of a question, with both ways of moving on.
inline void label_squad_question(const QuestionExample& question, QuestionEncoder& encoder, bool trained) {
  const EncodedQuestion encoded = encoder.encode(question);
  if (encoded.context->spans.size() != encoded.context->ids.size()) std::abort();
  for (const bool by_step : {false, true}) {
    const WindowOptions options = short_windows(by_step);
    const std::vector<ContextWindow> windows =
        context_windows(encoded.question.size(), encoded.context->ids.size(), options, question.where);
    demand_windows(windows, encoded.question, *encoded.context, options.length);
    for (const GoldAnswer& answer : question.answers) {
      for (const ContextWindow& window : windows) {
        demand_answer(*question.context, *encoded.context, window, encoded.question.size(), answer.span);
      }
    }
    if (!trained || question.answers.empty()) continue;
    LabelCeiling ceiling;
    ceiling.add(question, encoded, windows);
    if (ceiling.exact() + ceiling.outside() > ceiling.questions()) std::abort();
  }
}

// Reads the bytes for training, evaluation and prediction, and puts labels on what is read. Returns whether
// all of it was read for training, where questions without an answer are allowed.
inline bool squad(const std::uint8_t* data, std::size_t size) {
  const std::array<QuestionReading, 4> ways{{{QuestionPurpose::train, true, false},
                                             {QuestionPurpose::train, false, true},
                                             {QuestionPurpose::evaluate, true, false},
                                             {QuestionPurpose::predict, false, false}}};
  bool whole = false;
  with_file(".json", data, size, [&](const std::string& path) {
    for (std::size_t way = 0; way < ways.size(); ++way) {
      const bool trained = ways[way].purpose == QuestionPurpose::train;
      const bool read = text_read_or_refused([&] {
        SquadReader reader(path, ways[way]);
        const std::size_t max_question = short_windows(false).max_question;
        QuestionEncoder encoder(*question_tokenizers()[way % 2], {}, max_question);
        for (QuestionExample question; reader.next(question);) {
          demand_text(question.id);
          demand_text(question.question);
          demand_text(*question.context);
          for (const GoldAnswer& answer : question.answers) demand_text(answer.text);
          if (ways[way].purpose == QuestionPurpose::predict && !question.answers.empty()) std::abort();
          if (trained && !question.answers.empty()) {
            const TextSpan& span = question.answers.front().span;
            const CodePointIndex index(*question.context);
            if (index.slice(span.begin, span.end) != question.answers.front().text) std::abort();
          }
          label_squad_question(question, encoder, trained);
        }
        if (reader.answerable() > reader.questions()) std::abort();
      });
      if (way == 0) whole = read;
    }
  });
  return whole;
}

}  // namespace bigbird::fuzz
