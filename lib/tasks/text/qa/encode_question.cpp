// Questions as tokens; see encode_question.h.
#include "lib/tasks/text/qa/encode_question.h"

#include "lib/core/unicode.h"
#include "lib/tasks/text/metrics/answer_text.h"

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

EncodedQuestion QuestionEncoder::encode(const QuestionExample& example) {
  EncodedQuestion encoded;
  const EncodedText question = encode_text(tokenizer_, strip_white_space_left(example.question), encoding_);
  unknown_.add(question);
  encoded.given_question_tokens = question.ids.size();
  encoded.question = question.ids;
  if (encoded.question.size() > max_question_) {
    encoded.question.resize(max_question_);
    ++cut_questions_;
  }
  if (last_text_ != example.context) {
    const EncodedText context = encode_text(tokenizer_, *example.context, encoding_);
    unknown_.add(context);
    last_context_ = std::make_shared<const ContextTokens>(context_tokens(tokenizer_, context));
    last_text_ = example.context;
  }
  encoded.context = last_context_;
  return encoded;
}

void LabelCeiling::add(const QuestionExample& example, const EncodedQuestion& encoded,
                       const std::vector<ContextWindow>& windows) {
  ++questions_;
  const GoldAnswer& answer = example.answers.front();
  const std::size_t question = encoded.question.size();
  for (const ContextWindow& window : windows) {
    const SpanLabel label = span_label(*encoded.context, window, question, answer.span);
    if (label.start == 0) continue;
    const TextSpan span = labelled_text(*example.context, *encoded.context, window, question, label);
    const std::string_view text = CodePointIndex(*example.context).slice(span.begin, span.end);
    if (normalize_answer(text).text == normalize_answer(answer.text).text) ++exact_;
    return;
  }
  ++outside_;
}

double LabelCeiling::exact_match() const {
  return questions_ == 0 ? 100 : 100 * static_cast<double>(exact_) / static_cast<double>(questions_);
}

}  // namespace bigbird
