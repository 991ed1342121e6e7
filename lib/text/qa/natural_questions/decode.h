// lib/text/qa/natural_questions holds the questions of Natural Questions: reading them, what the model reads
// of them, answers out of its logits, training. The loops over questions are in lib/text/qa; they reach this
// folder by its row in the registry of data sets.
//
// From the logits of a page's windows to a prediction of Natural Questions:
//
//   a span   in every window the best start, then the best end at or after it (BigBird, appendix E.2), of a
//            short answer within `max_answer` words; its score is start + end less what [CLS] has of both
//            (bert_joint's run_nq.py), and the window of the highest score wins
//   type     the likeliest one of the window of the short answer. Where no short answer scores above 0, as
//            for yes and no, whose short answers are trained to be [CLS]: of the window of the long one
//   long     the top-level candidate that holds the long answer's start and end; where none holds both, the
//            one around the short answer, else the one that the long answer begins in. Only whole candidates
//            score
//   short    the span; for the types yes and no none, and the score is that type's logit less the null type's
//
// A prediction is made for every page that has text: the official script looks for the best threshold of the
// scores. A word is a token of the page that is no tag. Of equals the first wins.
#pragma once

#include <cstddef>
#include <span>

#include "lib/metrics/natural_questions.h"
#include "lib/text/qa/answer_files.h"
#include "lib/text/qa/natural_questions/encode.h"

namespace bigbird {

// [tokens of the window's input] each, and [5] by NqAnswerType.
struct NqLogits {
  ContextWindow window;
  std::span<const float> short_start;
  std::span<const float> short_end;
  std::span<const float> long_start;
  std::span<const float> long_end;
  std::span<const float> types;
};

// Places in the scores of the head.
enum NqTokenScore : std::size_t { nq_short_start, nq_short_end, nq_long_start, nq_long_end };

// Error{usage} for 0.
std::size_t checked_page_answer(std::size_t max_answer);
// `max_answer`: words of a short answer. Error{runtime} with the question where a logit is not finite;
// Error{usage} for a `max_answer` of 0.
NqPrediction decode_nq(const NqQuestion& example, const EncodedNq& page, std::span<const NqLogits> windows,
                       std::size_t max_answer);

// An object of {"predictions": [...]}, on a line, as nq_eval.py reads it (ChunkForm::json_predictions).
AnswerEntry nq_entry(const NqPrediction& prediction);

}  // namespace bigbird
