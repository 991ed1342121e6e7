// lib/text/qa/squad holds the questions of SQuAD 1.1 and 2.0: reading them, what the model reads of them,
// answers out of its logits, training. The loops over questions are in lib/text/qa; they reach this folder by
// its row in the registry of data sets.
//
// From start and end logits to answers, over all windows of a question.
//
//   decode_spans     Hugging Face's run_qa: utils_qa.py, postprocess_qa_predictions
//   decode_pipeline  Hugging Face's pipeline("question-answering") of transformers 4.57.1
//
// Both equal theirs but for three things: white space at the left of an answer is dropped (the metric is
// blind to it), equal logits rank by position, the lower first (numpy's order is undefined), and answers
// without a probability above 0 are none in the pipeline.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "lib/text/qa/example.h"
#include "lib/text/qa/logits.h"

namespace bigbird {

struct SpanDecoding {
  std::size_t n_best = 20;
  std::size_t max_answer = 30;  // tokens
  bool version_2 = false;       // the empty answer is one, as in SQuAD 2.0
  // No answer where null - best is above it.
  double null_threshold = 0;
};

// A candidate. `text` is the context's `span`.
struct CandidateAnswer {
  std::string text;
  TextSpan span;
  float start_logit = 0;
  float end_logit = 0;
  double probability = 0;  // among the candidates that were kept
};

struct DecodedAnswer {
  std::string text;  // empty: no answer
  TextSpan span;     // of `text`; empty for no answer
  double probability = 0;
  // Score of the empty answer (the least one of all windows) minus that of the best other; with version_2.
  float null_odds = 0;
  std::vector<CandidateAnswer> candidates;  // best first
};

// Error{runtime} with the id where a logit is not finite; Error{usage} for settings of 0.
DecodedAnswer decode_spans(const DecodedQuestion& question, std::span<const WindowLogits> windows,
                           const SpanDecoding& options);

struct PipelineDecoding {
  std::size_t top_k = 1;
  std::size_t max_answer = 15;     // tokens
  bool impossible_answer = false;  // the empty answer is one
  bool align_to_words = true;      // spans are widened to words between white space
};

// Answers with their scores, best first, at most top_k: a score is the product of two probabilities within a
// window, summed over the spans of all windows whose texts are equal in small letters. The first of equal
// texts gives the letters and the span. Errors as above.
struct ScoredAnswer {
  std::string text;
  TextSpan span;
  double score = 0;
};
std::vector<ScoredAnswer> decode_pipeline(const DecodedQuestion& question,
                                          std::span<const WindowLogits> windows,
                                          const PipelineDecoding& options);

}  // namespace bigbird
