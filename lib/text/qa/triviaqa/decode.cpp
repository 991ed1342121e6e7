// Answers of TriviaQA; see decode.h.
#include "lib/text/qa/triviaqa/decode.h"

#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/text/qa/logits.h"

namespace bigbird {
namespace {

// First and last token of the context.
struct DocumentTokens {
  std::size_t first = 0;
  std::size_t last = 0;
  double score = 0;
};

void take_best_tokens(const DecodedQuestion& question, const WindowLogits& logits, std::size_t most_words,
                      std::optional<DocumentTokens>& best) {
  const std::size_t at = context_position(question.question_tokens);
  const ContextWindow& window = logits.window;
  for (std::size_t i = 0; i < window.count; ++i) {
    const auto start = static_cast<double>(logits.start[at + i]);
    std::size_t words = 1;
    for (std::size_t j = i; j < window.count; ++j) {
      if (j > i && question.context.word_begins[window.first + j] != 0 && ++words > most_words) break;
      const double score = start + static_cast<double>(logits.end[at + j]);
      if (!best || score > best->score) best = {window.first + i, window.first + j, score};
    }
  }
}

}  // namespace

std::size_t checked_document_answer(std::size_t max_answer) {
  if (max_answer == 0) throw_usage(message("`max_answer` must be at least 1"), "the default is 16 words");
  return max_answer;
}

std::optional<DocumentAnswer> decode_trivia(const DecodedQuestion& question,
                                            std::span<const WindowLogits> windows, std::size_t max_answer) {
  checked_document_answer(max_answer);
  std::optional<DocumentTokens> best;
  for (const WindowLogits& logits : windows) {
    require_finite_logits({logits.start, logits.end}, input_length(question.question_tokens, logits.window),
                          question.example.where);
    take_best_tokens(question, logits, max_answer, best);
  }
  if (!best) return std::nullopt;
  DocumentAnswer answer;
  answer.score = best->score;
  answer.span = {question.context.spans[best->first].begin, question.context.spans[best->last].end};
  const CodePointIndex index(*question.example.context);
  answer.text = strip_white_space_left(index.slice(answer.span.begin, answer.span.end));
  answer.span.begin = answer.span.end - count_code_points(answer.text);
  return answer;
}

}  // namespace bigbird
