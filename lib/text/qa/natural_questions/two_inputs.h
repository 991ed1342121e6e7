// Questions of Natural Questions as BigBird-ETC reads and answers them, after preproc_nq_lib.py and
// eval_nq_lib.py (google-research/etcmodel, nq). Long tokens are those of the model of one input; global ones
// are one for [CLS], for each token of the question and its [SEP], for each top-level candidate of the
// window, and for the last [SEP]. What competes for a position are [CLS] and the tokens of the page. The type
// is read at long token 0.
//
// From the logits of the windows of a page to its prediction, by one of two rules:
//
//   pooled     a position scores what its logit is above that of [CLS]. The best 50 positions of every
//              window go into one pool for the page; the best start wins, then the best end at or after it,
//              of a short answer within `max_answer` words (BigBird, appendix E.2); of equals the first on
//              the page. Where no end is left, the next best start. The type is the one with the highest
//              log-probability on average over the windows; yes and no come without spans
//   etcmodel   a position scores its logit divided by that of [CLS], which turns the order round where that
//              is negative; document tokens are counted, tags too, where words are above; where no end is
//              left, the best start and the best end are taken, in the order of the page; the type is that
//              of the last window
//
// The long answer is made a candidate as without global tokens (questions.h).
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "lib/text/qa/natural_questions/questions.h"
#include "lib/text/qa/two_inputs.h"

namespace bigbird {

// part_ids() with the token of a question that etcmodel's folders of this task have. Of a model of one input
// (no globals) those of windows alone.
PartIds page_part_ids(const Tokenizer& tokenizer, std::size_t most_globals);

std::shared_ptr<const GlobalLayout> page_globals(const EncodedNq& page, const ContextWindow& window,
                                                 const PartIds& ids, std::size_t most_globals);

enum class NqRule { pooled, etcmodel };

struct NqDecoding {
  NqRule rule = NqRule::pooled;
  std::size_t n_best = 50;
  std::size_t max_answer = 38;  // words of a short answer; of etcmodel's rule 32 document tokens are usual
};

// Error{runtime} with the question where a logit is not finite; Error{usage} for a setting of 0.
NqPrediction decode_nq_pooled(const NqQuestion& example, const EncodedNq& page,
                              std::span<const NqLogits> windows, const NqDecoding& options);

}  // namespace bigbird
