// Pages of Natural Questions as inputs and labels, after preproc_nq_lib.py of google-research/etcmodel: the
// tokens of top-level candidates, each encoded alone, an opening tag as <unused_35>, a closing one as
// <unused_36>; windows as in windows.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/text/qa/encode_question.h"
#include "lib/text/qa/natural_questions/read.h"
#include "lib/text/qa/windows.h"

namespace bigbird {

struct EncodedNq {
  std::vector<std::uint32_t> question;  // kept tokens
  // The pieces of the page, a stretch of one document token each; `tokens[i]` is the number of that token.
  // The spans of `pieces` are empty: there is no text that they lie in.
  ContextTokens pieces;
  std::vector<std::uint32_t> tokens;
  bool question_was_cut = false;  // to `max_question`
};

class NqEncoder {
 public:
  // The tokenizer must outlive it. Error{bad_input} where it lacks a piece.
  NqEncoder(const Tokenizer& tokenizer, const TextEncodingOptions& encoding, std::size_t max_question = 64);
  // `unknown`, where given, counts every word of the page once.
  EncodedNq encode(const NqQuestion& example, UnknownTally* unknown = nullptr) const;

 private:
  const Tokenizer& tokenizer_;
  TextEncodingOptions encoding_;
  std::size_t max_question_;
  std::uint32_t opening_tag_, closing_tag_;
};

// What is answered at [CLS]; the head stores them by name, since the published programs number them
// differently.
enum class NqAnswerType { null, yes, no, long_answer, short_answer };

// The annotation that is trained on: of those with a long answer the one of the lowest candidate, those with
// short answers first (bert_joint's run_nq.py). Null where there is none.
const PageAnnotation* trained_annotation(const NqQuestion& example);

struct NqLabel {
  NqAnswerType type = NqAnswerType::null;
  SpanLabel long_answer;
  SpanLabel short_answer;  // from the first to the last of several
};

// Positions of a window's input, first and last piece. A span that the window does not hold whole is 0 and 0;
// without the short answer (where there is one), or else without the long one, the type is null and all is 0.
NqLabel nq_label(const NqQuestion& example, const EncodedNq& page, const ContextWindow& window);

}  // namespace bigbird
