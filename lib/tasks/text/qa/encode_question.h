// Questions as tokens, ready to be cut into windows; every context is encoded once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/tasks/text/qa/example.h"
#include "lib/tasks/text/qa/windows.h"
#include "lib/tokenization/text_encoding.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {

struct EncodedQuestion {
  std::vector<std::uint32_t> question;           // kept tokens
  std::size_t given_question_tokens = 0;         // before they were cut to `max_question`
  std::shared_ptr<const ContextTokens> context;  // never null

  bool question_was_cut() const { return given_question_tokens > question.size(); }
};

// The tokens of a context with their code points. A word begins with a piece that opens with the tokenizer's
// sign for it, and with the first piece.
ContextTokens context_tokens(const Tokenizer& tokenizer, const EncodedText& text);

class QuestionEncoder {
 public:
  // The tokenizer must outlive it.
  QuestionEncoder(const Tokenizer& tokenizer, const TextEncodingOptions& encoding, std::size_t max_question)
      : tokenizer_(tokenizer), encoding_(encoding), max_question_(max_question) {}

  // The question without the white space at its left. A context that is the one before (the same object) is
  // not encoded again.
  EncodedQuestion encode(const QuestionExample& example);

  // Questions that were cut, and unknown pieces of questions and contexts (each context once).
  std::uint64_t cut_questions() const { return cut_questions_; }
  const UnknownTally& unknown() const { return unknown_; }

 private:
  const Tokenizer& tokenizer_;
  TextEncodingOptions encoding_;
  std::size_t max_question_;
  std::shared_ptr<const std::string> last_text_;
  std::shared_ptr<const ContextTokens> last_context_;
  std::uint64_t cut_questions_ = 0;
  UnknownTally unknown_;
};

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
