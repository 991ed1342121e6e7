// Questions of HotpotQA as inputs and labels. An input, with pieces that the published vocabulary has, is
//
//   [CLS] <sep_0> question <sep_1> [SEP] <t> title <sep_2> sentence <sep_3> sentence <sep_3> ... [SEP]
//
// with types 0 up to and with the first [SEP], then 1. A sentence's score is read at its <sep_3>, the type of
// the answer at [CLS]. Sentences are encoded one by one; one that does not fit is left out whole, and so is a
// paragraph whose title does not. Labels are those of generate_tf_examples_lib.py (google-research/etcmodel,
// hotpotqa).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/text/qa/encode_question.h"
#include "lib/text/qa/hotpotqa/read.h"
#include "lib/text/qa/windows.h"

namespace bigbird {

// A title or a sentence in an input.
struct HotpotSegment {
  std::size_t paragraph = 0;
  std::optional<std::size_t> sentence;  // none: the title
  std::size_t first = 0;                // position of its first token
  std::size_t mark = 0;                 // position of the piece that closes it, first + spans.size()
  std::vector<TextSpan> spans;          // of its tokens, code points of the title or sentence
};

struct EncodedHotpot : QuestionInput {
  std::vector<HotpotSegment> segments;  // from left to right
  std::size_t left_out = 0;             // sentences
  std::size_t question_tokens = 0;      // kept ones
  bool question_was_cut = false;        // to `max_question`
};

class HotpotEncoder {
 public:
  // The tokenizer must outlive it. Error{bad_input} where it lacks a piece.
  HotpotEncoder(const Tokenizer& tokenizer, const TextEncodingOptions& encoding,
                std::size_t max_question = 64);

  // At most `length` tokens; Error{usage} where a question leaves no room. `unknown`, where given, counts.
  EncodedHotpot encode(const HotpotQuestion& example, std::size_t length,
                       UnknownTally* unknown = nullptr) const;

 private:
  const Tokenizer& tokenizer_;
  TextEncodingOptions encoding_;
  std::size_t max_question_;
  std::uint32_t question_opens_, question_closes_, title_opens_, title_closes_, sentence_closes_;
};

struct HotpotLabel {
  HotpotAnswerType type = HotpotAnswerType::span;
  SpanLabel span;  // 0 and 0 for yes and no, and where no supporting segment of the input holds the answer
  std::vector<std::uint8_t> supporting;  // one for each of the input's segments, 0 for titles
};

// The first occurrence of the answer in a supporting title or sentence; its widest pieces.
HotpotLabel hotpot_label(const HotpotQuestion& example, const EncodedHotpot& input);

}  // namespace bigbird
