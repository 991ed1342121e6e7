// HotpotQA in the distractor setting: ten paragraphs, an answer (a span, yes or no) and the sentences that
// support it.
//
//   [{"_id", "question", "answer", "supporting_facts": [[title, n]], "context": [[title, [sentence, ...]]]}]
//
// An input, with pieces that the published vocabulary has, is
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
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/tasks/reason_counts.h"
#include "lib/tasks/text/metrics/hotpotqa.h"
#include "lib/tasks/text/qa/example.h"
#include "lib/tasks/text/qa/windows.h"
#include "lib/tokenization/text_encoding.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {

struct HotpotParagraph {
  std::string title;
  std::vector<std::string> sentences;
};

struct HotpotExample {
  std::string id;
  std::string question;
  std::vector<HotpotParagraph> paragraphs;
  // Empty for QuestionPurpose::predict.
  std::string answer;
  std::vector<SupportingFact> supporting_facts;
  std::string where;
};

// Holds one record. Error{bad_input}: what JsonRecords refuses; fields that are missing, null or of another
// type; an id that was there before; an empty question; no paragraphs.
class HotpotReader {
 public:
  explicit HotpotReader(const std::string& path, QuestionPurpose purpose = QuestionPurpose::train,
                        bool replace_invalid = false);
  ~HotpotReader();
  HotpotReader(HotpotReader&&) noexcept;
  HotpotReader& operator=(HotpotReader&&) noexcept;

  bool next(HotpotExample& example);
  // For training: questions whose answer stands in no supporting title or sentence.
  const ReasonCounts& skipped() const;
  // Supporting facts whose title or sentence is not there: without a label, scored as they are.
  const ReasonCounts& noted() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A title or a sentence in an input.
struct HotpotSegment {
  std::size_t paragraph = 0;
  std::optional<std::size_t> sentence;  // none: the title
  std::size_t first = 0;                // position of its first token
  std::size_t mark = 0;                 // position of the piece that closes it, first + spans.size()
  std::vector<TextSpan> spans;          // of its tokens, code points of the title or sentence
};

struct HotpotInput {
  std::vector<std::uint32_t> ids;
  std::vector<std::uint32_t> types;
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
  HotpotInput encode(const HotpotExample& example, std::size_t length, UnknownTally* unknown = nullptr) const;

 private:
  const Tokenizer& tokenizer_;
  TextEncodingOptions encoding_;
  std::size_t max_question_;
  std::uint32_t question_opens_, question_closes_, title_opens_, title_closes_, sentence_closes_;
};

enum class HotpotAnswerType { span, yes, no };

struct HotpotLabel {
  HotpotAnswerType type = HotpotAnswerType::span;
  SpanLabel span;  // 0 and 0 for yes and no, and where no supporting segment of the input holds the answer
  std::vector<std::uint8_t> supporting;  // one for each of the input's segments, 0 for titles
};

// The first occurrence of the answer in a supporting title or sentence; its widest pieces.
HotpotLabel hotpot_label(const HotpotExample& example, const HotpotInput& input);

}  // namespace bigbird
