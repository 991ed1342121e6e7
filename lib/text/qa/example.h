// One question about one text, whatever data set it came from. Positions in texts are code points (an index
// of a Python str), half-open.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace bigbird {

// What a file of questions is read for: training and evaluation want answers, prediction does not look at
// them.
enum class QuestionPurpose { train, evaluate, predict };

struct TextSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool operator==(const TextSpan&) const = default;
};

// An answer as the file gives it. `span` is where it stands in the context; for QuestionPurpose::evaluate it
// may be wrong, since only the text is scored.
struct GoldAnswer {
  std::string text;
  TextSpan span;
};

struct QuestionExample {
  std::string id;
  std::string question;
  // Questions about one paragraph share it. Never null.
  std::shared_ptr<const std::string> context;
  // None for an unanswerable question, and for QuestionPurpose::predict.
  std::vector<GoldAnswer> answers;
  std::string where;  // "FILE: question 'ID' (line N)", to open a message with
};

}  // namespace bigbird
