// What labels can give back; see encode.h.
#include "lib/text/qa/squad/encode.h"

#include "lib/core/unicode.h"
#include "lib/metrics/answer_metrics.h"

namespace bigbird {

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
