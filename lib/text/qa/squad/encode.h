// What the labels of SQuAD can give back: encoder and windows are those of all questions about one text
// (encode_question.h, windows.h).
#pragma once

#include <cstdint>
#include <vector>

#include "lib/text/qa/encode_question.h"
#include "lib/text/qa/windows.h"

namespace bigbird {

// What a model that puts every label right would score: a token may hold more than the answer in it, and an
// answer may lie in no window whole. Exact match of SQuAD, of the answer that is trained on.
class LabelCeiling {
 public:
  void add_unanswerable() { ++questions_, ++exact_; }
  // One question with an answer; `windows` are all of its.
  void add(const QuestionExample& example, const EncodedQuestion& encoded,
           const std::vector<ContextWindow>& windows);

  std::uint64_t questions() const { return questions_; }
  // Answers that no window holds whole.
  std::uint64_t outside() const { return outside_; }
  // Labels that give the answer back after normalisation.
  std::uint64_t exact() const { return exact_; }
  // In percent; 100 without questions.
  double exact_match() const;

 private:
  std::uint64_t questions_ = 0;
  std::uint64_t outside_ = 0;
  std::uint64_t exact_ = 0;
};

}  // namespace bigbird
