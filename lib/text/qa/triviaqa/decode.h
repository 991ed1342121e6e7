// From the logits of a document's windows to TriviaQA's answer in it: of all windows the span of the highest
// start + end that has at most `max_answer` words between white space (BigBird, appendix E.2: 16). A training
// sample is a document, so that the sums of its windows can be compared; where several documents of a
// question compete, softmax over their best sums keeps the order, and the highest wins. Of equals the first
// wins.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "lib/text/qa/logits.h"

namespace bigbird {

struct DocumentAnswer {
  std::string text;
  TextSpan span;  // code points of the document
  double score = 0;
};

// Error{usage} for 0.
std::size_t checked_document_answer(std::size_t max_answer);
// Nothing for a document without tokens. Error{runtime} with the question where a logit is not finite;
// Error{usage} for a `max_answer` of 0.
std::optional<DocumentAnswer> decode_trivia(const DecodedQuestion& question,
                                            std::span<const WindowLogits> windows, std::size_t max_answer);

}  // namespace bigbird
