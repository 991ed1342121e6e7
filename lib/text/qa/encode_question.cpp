// Questions as tokens; see encode_question.h.
#include "lib/text/qa/encode_question.h"

#include "lib/core/error.h"
#include "lib/core/unicode.h"

namespace bigbird {

ContextTokens context_tokens(const Tokenizer& tokenizer, const EncodedText& text) {
  ContextTokens tokens;
  tokens.ids = text.ids;
  tokens.spans.reserve(text.ids.size());
  tokens.word_begins.reserve(text.ids.size());
  for (std::size_t i = 0; i < text.ids.size(); ++i) {
    tokens.spans.push_back({text.begin[i], text.end[i]});
    const bool begins = i == 0 || tokenizer.piece(text.ids[i]).starts_with(tokenizer.word_start());
    tokens.word_begins.push_back(begins ? 1 : 0);
  }
  return tokens;
}

EncodedQuestion QuestionEncoder::encode(const QuestionExample& example, UnknownTally* unknown) {
  EncodedQuestion encoded;
  const EncodedText question = encode_text(tokenizer_, strip_white_space_left(example.question), encoding_);
  if (unknown != nullptr) unknown->add(question);
  encoded.given_question_tokens = question.ids.size();
  encoded.question = question.ids;
  if (encoded.question.size() > max_question_) encoded.question.resize(max_question_);
  if (last_text_ != example.context) {
    const EncodedText context = encode_text(tokenizer_, *example.context, encoding_);
    if (unknown != nullptr) unknown->add(context);
    last_context_ = std::make_shared<const ContextTokens>(context_tokens(tokenizer_, context));
    last_text_ = example.context;
  }
  encoded.context = last_context_;
  return encoded;
}

std::uint32_t piece_named(const Tokenizer& tokenizer, const std::string& name) {
  for (std::size_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const auto number = static_cast<std::uint32_t>(id);
    if (tokenizer.piece(number) == name) return number;
  }
  throw_bad_input("the vocabulary has no piece " + name + ", which marks a part of the input",
                  "take the vocabulary of a published BigBird, or one made by text vocabulary");
}

}  // namespace bigbird
