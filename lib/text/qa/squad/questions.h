// lib/text/qa/squad holds the questions of SQuAD 1.1 and 2.0: reading them, what labels can give back,
// answers out of logits; and training, prediction and scoring by them in task.cpp, which lib/text/qa reaches
// by its row in the registry of data sets.
//
// Files are those of SQuAD and shaped like them:
//
//   nested   {"data": [{"paragraphs": [{"context", "qas": [{"id", "question", "answers": [{"text",
//            "answer_start"}], "is_impossible"}]}]}]}
//   flat     {"data": [{"id", "question", "context", "answers": {"text": [], "answer_start": []}}]}, what
//            Hugging Face's run_qa reads; also a bare list of such objects, or one object a line
//
// Either form of "answers" may stand in either layout. answer_start counts code points. Where is_impossible
// says something else than the answers do, the answers decide, as in the official evaluation.
//
//   SquadReader reader("train-v2.0.json", {QuestionPurpose::train, true});
//   QuestionExample question;
//   while (reader.next(question)) ...
//   log_info(reader.skipped().text());
//
// Inputs are those of all questions about one text (windows.h). From start and end logits to answers, over
// all windows of a question:
//
//   decode_spans     Hugging Face's run_qa: utils_qa.py, postprocess_qa_predictions
//   decode_pipeline  Hugging Face's pipeline("question-answering") of transformers 4.57.1
//
// Both equal theirs but for three things: white space at the left of an answer is dropped (the metric is
// blind to it), equal logits rank by position, the lower first (numpy's order is undefined), and answers
// without a probability above 0 are none in the pipeline.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/core/unicode.h"
#include "lib/text/qa/question_file.h"
#include "lib/text/qa/windows.h"

namespace bigbird {

// Holds one record of the file (an article, or a flat question). Error{bad_input} besides those of
// QuestionFile: a question without an answer unless version_2; and, once a file for training has been read to
// its end, more than 1 % of questions whose answer is not where answer_start says.
//
// skipped(), for training only: questions whose first answer, the one that is trained on, is not the text at
// answer_start (the first five are logged), lies behind the end of the context, or is empty. noted():
// contexts of white space alone, is_impossible against the answers; for evaluation also first answers that
// are not where they should be.
class SquadReader : public QuestionFile {
 public:
  explicit SquadReader(const std::string& path, const QuestionReading& reading = {});

  bool next(QuestionExample& example);

  // Questions read, skipped ones included.
  std::uint64_t questions() const { return questions_; }
  // Of those with an answer.
  std::uint64_t answerable() const { return answerable_; }

 private:
  // Where the next question is: in the record that was parsed last, or in the one after it.
  bool advance();
  void take_context(const RecordField& field);
  void read_question(const RecordField& field, QuestionExample& example);
  std::string question_id(const RecordField& field) const;
  void read_answers(const RecordField& field, QuestionExample& example);
  void add_answer(const RecordField& text, const RecordField& start, QuestionExample& example);
  bool first_answer_fits(const QuestionExample& example);
  void check_end() const;

  bool nested_ = false;
  bool has_record_ = false;
  std::size_t paragraph_ = 0;
  std::size_t question_ = 0;
  std::shared_ptr<const std::string> context_;
  CodePointIndex index_;
  bool context_is_blank_ = false;
  std::int64_t first_start_ = 0;  // of the question that is being read, as the file has it
  std::uint64_t questions_ = 0;
  std::uint64_t answerable_ = 0;
  std::uint64_t misplaced_ = 0;
  std::array<std::uint64_t, 3> fitting_{};  // misplaced ones by what their answer_start may have counted
};

// What a model that puts every label right would score: a token may hold more than the answer in it, and an
// answer may lie in no window whole. Exact match of SQuAD, of the answer that is trained on.
class LabelCeiling {
 public:
  void add_unanswerable() { ++questions_, ++exact_; }
  // One question with an answer; `windows` are all of its.
  void add(const QuestionExample& example, const EncodedQuestion& encoded,
           const std::vector<ContextWindow>& windows);

  std::uint64_t questions() const { return questions_; }
  // Answers that no window holds whole.
  std::uint64_t outside() const { return outside_; }
  // Labels that give the answer back after normalisation.
  std::uint64_t exact() const { return exact_; }
  // In percent; 100 without questions.
  double exact_match() const;

 private:
  std::uint64_t questions_ = 0;
  std::uint64_t outside_ = 0;
  std::uint64_t exact_ = 0;
};

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
