// Answers to questions of TriviaQA by a model of BigBird-ETC; its inputs are windows with a global token for
// each sentence (lib/text/qa/two_inputs.h). What is the same after the official normalisation is one answer:
// its score is the log-sum-exp of its places in all documents of the question, each start + end; the best one
// wins, as it stands at its best place. A stretch of a document that several windows hold counts once, with
// its best score. Stretches of which nothing is left after normalisation are no answers. Of equals the first
// wins, in the order of documents and of their texts.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/text/qa/triviaqa/questions.h"

namespace bigbird {

struct DecodedDocument {
  DecodedQuestion question;
  std::vector<WindowLogits> windows;
};

struct PooledAnswer {
  std::string text;
  double score = 0;
};

// Nothing where no stretch of at most `max_answer` words is an answer. Errors as decode_trivia().
std::optional<PooledAnswer> decode_trivia_pooled(std::span<const DecodedDocument> documents,
                                                 std::size_t max_answer);

}  // namespace bigbird
