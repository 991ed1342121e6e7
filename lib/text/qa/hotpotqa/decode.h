// lib/text/qa/hotpotqa holds the questions of HotpotQA: reading them, what the model reads of them, answers
// out of its logits, training. The loops over questions are in lib/text/qa; they reach this folder by its row
// in the registry of data sets.
//
// From the logits of a HotpotQA input to its answer and its supporting sentences, after eval_utils.py of
// google-research/etcmodel (hotpotqa):
//
//   supporting  sentences whose mark has a probability of `support_threshold` or more
//   answer      "yes" or "no" where that type is the likeliest; else of the `n_best` best starts and ends the
//               pair of the highest product of probabilities that lies in one supporting sentence, or in the
//               title of a paragraph that has one, and has at most `max_answer` tokens; "" where none does
//
// Probabilities of starts and of ends are softmaxes over the whole input, so that their products rank as the
// sums of logits do. Of equals the first wins.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/metrics/answer_metrics.h"
#include "lib/text/qa/answer_files.h"
#include "lib/text/qa/hotpotqa/encode.h"

namespace bigbird {

// [tokens of the input] each, and [3] by HotpotAnswerType.
struct HotpotLogits {
  std::span<const float> start;
  std::span<const float> end;
  std::span<const float> support;
  std::span<const float> types;
};

struct HotpotDecoding {
  double support_threshold = 0.5;
  std::size_t n_best = 50;
  std::size_t max_answer = 30;  // tokens
};

// Places in the scores of the head.
enum HotpotTokenScore : std::size_t { hotpot_start, hotpot_end, hotpot_support };

struct DecodedHotpot {
  std::string text;
  std::vector<SupportingFact> facts;  // in the order of the input
};

// Error{runtime} with the question where a logit is not finite; Error{usage} for a setting out of range.
DecodedHotpot decode_hotpot(const HotpotQuestion& example, const EncodedHotpot& input,
                            const HotpotLogits& logits, const HotpotDecoding& options);
// The usual values where nothing is given. Error{usage} for a setting out of range.
HotpotDecoding hotpot_decoding(std::optional<double> support_threshold, std::optional<std::size_t> n_best,
                               std::optional<std::size_t> max_answer);

// {"answer": {id: text}, "sp": {id: [[title, n], ...]}} (ChunkForm::json_answers_and_facts).
AnswerEntry hotpot_entry(const std::string& id, const DecodedHotpot& answer);

}  // namespace bigbird
