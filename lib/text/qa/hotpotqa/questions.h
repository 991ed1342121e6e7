// lib/text/qa/hotpotqa holds the questions of HotpotQA: reading them, what the model reads of them, answers
// out of its logits; and training, prediction and scoring by them in task.cpp, which lib/text/qa reaches by
// its row in the registry of data sets.
//
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
// hotpotqa), and answers after its eval_utils.py:
//
//   supporting  sentences whose mark has a probability of `support_threshold` or more
//   answer      "yes" or "no" where that type is the likeliest; else of the `n_best` best starts and ends the
//               pair of the highest product of probabilities that lies in one supporting sentence, or in the
//               title of a paragraph that has one, and has at most `max_answer` tokens; "" where none does
//
// Probabilities of starts and of ends are softmaxes over the whole input, so that their products rank as the
// sums of logits do. Of equals the first wins. What BigBird-ETC reads is in two_inputs.h; labels and answers
// are the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/metrics/answer_metrics.h"
#include "lib/text/qa/answer_files.h"
#include "lib/text/qa/question_file.h"
#include "lib/text/qa/two_inputs.h"
#include "lib/text/qa/windows.h"

namespace bigbird {

struct HotpotParagraph {
  std::string title;
  std::vector<std::string> sentences;
};

struct HotpotQuestion {
  std::string id;
  std::string question;
  std::vector<HotpotParagraph> paragraphs;
  // Empty for QuestionPurpose::predict.
  std::string answer;
  std::vector<SupportingFact> supporting_facts;
  std::string where;
};

enum class HotpotAnswerType { span, yes, no };
HotpotAnswerType answer_type(const std::string& answer);
// Whether a fact is of this sentence, or, without one, of the paragraph.
bool supports(const HotpotQuestion& question, const HotpotParagraph& paragraph,
              std::optional<std::size_t> sentence);

// Holds one record. Error{bad_input}: as QuestionFile; no paragraphs. skipped(), for training: questions
// whose answer stands in no supporting title or sentence. noted(): supporting facts whose title or sentence
// is not there, without a label and scored as they are.
class HotpotReader : public QuestionFile {
 public:
  explicit HotpotReader(const std::string& path, const QuestionReading& reading = {})
      : QuestionFile(path, reading) {}

  bool next(HotpotQuestion& question);

 private:
  void read_answer(const RecordField& root, HotpotQuestion& question);
};

// A title or a sentence in an input.
struct HotpotSegment {
  std::size_t paragraph = 0;
  std::optional<std::size_t> sentence;  // none: the title
  std::size_t first = 0;                // position of its first token
  // Position of the piece that closes it, first + spans.size(); of BigBird-ETC its global token.
  std::size_t mark = 0;
  std::vector<TextSpan> spans;  // of its tokens, code points of the title or sentence
};

struct EncodedHotpot : QuestionInput {
  std::vector<HotpotSegment> segments;  // from left to right
  std::size_t left_out = 0;             // sentences
  std::size_t question_tokens = 0;      // kept ones
  bool question_was_cut = false;        // to `max_question`
};

class HotpotEncoder {
 public:
  // The tokenizer must outlive it. Error{bad_input} where it lacks a piece. `globals`: of BigBird-ETC, most
  // global tokens (two_inputs.h).
  HotpotEncoder(const Tokenizer& tokenizer, const TextEncodingOptions& encoding,
                std::size_t max_question = 64, std::size_t globals = 0);

  // At most `length` tokens; Error{usage} where a question leaves no room. `unknown`, where given, counts.
  EncodedHotpot encode(const HotpotQuestion& example, std::size_t length,
                       UnknownTally* unknown = nullptr) const;

 private:
  EncodedHotpot encode_one(const HotpotQuestion& example, std::size_t length, UnknownTally* unknown) const;

  const Tokenizer& tokenizer_;
  TextEncodingOptions encoding_;
  std::size_t max_question_, globals_;
  PartIds part_ids_;
  std::uint32_t question_opens_ = 0, question_closes_ = 0, title_opens_ = 0, title_closes_ = 0,
                sentence_closes_ = 0;
};

struct HotpotLabel {
  HotpotAnswerType type = HotpotAnswerType::span;
  SpanLabel span;  // 0 and 0 for yes and no, and where no supporting segment of the input holds the answer
  std::vector<std::uint8_t> supporting;  // one for each of the input's segments, 0 for titles
};

// The first occurrence of the answer in a supporting title or sentence; its widest pieces.
HotpotLabel hotpot_label(const HotpotQuestion& example, const EncodedHotpot& input);

// [tokens of the input] each, and [3] by HotpotAnswerType.
struct HotpotLogits {
  std::span<const float> start;
  std::span<const float> end;
  std::span<const float> support;  // of BigBird-ETC [global tokens]
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
