// What the encoders of the data sets share: questions about one text as tokens, ready to be cut into windows
// (every context is encoded once), and pieces of the vocabulary by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/text/qa/example.h"
#include "lib/text/qa/windows.h"
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
  // not encoded again. `unknown`, where given, counts pieces of questions and contexts (each context once).
  EncodedQuestion encode(const QuestionExample& example, UnknownTally* unknown = nullptr);

 private:
  const Tokenizer& tokenizer_;
  TextEncodingOptions encoding_;
  std::size_t max_question_;
  std::shared_ptr<const std::string> last_text_;
  std::shared_ptr<const ContextTokens> last_context_;
};

// The id of the piece with this name ("<sep_0>", "<ans>"), which opens or closes a part of an input;
// Error{bad_input} where the vocabulary has none. Looks through the whole vocabulary: once a run, not once a
// question.
std::uint32_t piece_named(const Tokenizer& tokenizer, const std::string& name);

}  // namespace bigbird
