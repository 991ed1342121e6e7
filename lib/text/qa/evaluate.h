// Predictions of a data set against their gold answers, by the official metrics; and the questions that
// were answered worst, with what they were asked of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/core/reason_counts.h"
#include "lib/metrics/metric_list.h"
#include "lib/text/qa/question_file.h"
#include "lib/text/qa/question_task.h"

namespace bigbird {

// A part of the text that a question is about, and what stands in it.
struct MarkedPassage {
  std::string title;  // may be empty
  std::string text;
  std::vector<TextSpan> gold;  // code points of `text`
  std::vector<TextSpan> predicted;
};

struct JudgedAnswer {
  std::string id;
  std::string question;
  std::vector<std::string> gold;  // empty: there is no answer
  std::optional<std::string> prediction;
  bool exact = false;
  double f1 = 0;  // between 0 and 1
  std::vector<MarkedPassage> passages;
};

// The answers of lowest F1 of a stream, whatever its length.
class WorstAnswers {
 public:
  explicit WorstAnswers(std::size_t most) : most_(most) {}

  // Whether an answer of this score, the next of the stream, is among the worst so far: only then the rest of
  // it need be made, for add().
  bool wants(bool exact, double f1) const;
  void add(JudgedAnswer answer);
  // The worst first; of equals the earlier one.
  std::vector<JudgedAnswer> take();

 private:
  std::size_t most_;
  std::vector<JudgedAnswer> kept_;  // as take() hands them out
};

// Where `wanted` stands in a text, as it is written: of several places the one closest to `near` (a code
// point); nothing where it stands nowhere. Code points.
std::vector<TextSpan> place_of(std::string_view text, std::string_view wanted, std::size_t near = 0);
// All places, at most `most`, none inside of another.
std::vector<TextSpan> places_of(std::string_view text, std::string_view wanted, std::size_t most = 20);

struct AnswerEvaluationOptions {
  const QuestionTask* task = &squad_task();
  std::string data;         // the data set's file with answers
  std::string predictions;  // answer_files.h
  // SQuAD 2.0: a file of scores that a question has no answer, and above which of them a prediction counts as
  // "" (1, as in the official script).
  std::string null_odds;
  std::optional<double> null_threshold;
  // SQuAD: score as 2.0 even where every question has an answer.
  bool version_2 = false;
  bool replace_invalid = false;  // in `data`
  std::size_t worst = 0;         // how many of the worst answers are kept
};

struct AnswerEvaluation {
  std::string format;  // QuestionTask::name
  MetricList metrics;  // with the official keys, in their order
  // How ids fit, by what is predicted: "" for answers, "sp" for supporting facts.
  std::vector<std::pair<std::string, IdTally>> ids;
  ReasonCounts noted;               // what of the data was read as it is
  std::vector<JudgedAnswer> worst;  // of lowest F1, in the order of the data among equals
};

// The scoring of one file of predictions, by the folder of its data set.
class AnswerScorer {
 public:
  virtual ~AnswerScorer() = default;
  // Takes the next question of the data and judges its prediction; false behind the last one.
  virtual bool judge_next() = 0;
  // Of all that were taken; `format` is the caller's.
  virtual AnswerEvaluation scores() = 0;

 protected:
  explicit AnswerScorer(const AnswerEvaluationOptions& options) : options_(options), worst_(options.worst) {}
  // With what is worst; `noted` of the reader.
  AnswerEvaluation evaluation(TaskScores scores, const ReasonCounts& noted = {});

  const AnswerEvaluationOptions options_;
  WorstAnswers worst_;
};

// Of a row of the registry.
template <typename Scorer>
std::unique_ptr<AnswerScorer> make_scorer(const AnswerEvaluationOptions& options) {
  return std::make_unique<Scorer>(options);
}

// Reads the gold file once, as a stream; what is held of it are ids and answers. Error{bad_input}: what the
// readers and metrics refuse. Error{usage}: null odds for another set than SQuAD 2.0.
AnswerEvaluation evaluate_answers(const AnswerEvaluationOptions& options);

// The metrics as JSON: official keys, whole numbers without a point, null for what is undefined; then
// "predictions" on ids that are missing and unknown.
std::string answer_metrics_json(const AnswerEvaluation& evaluation, const std::string& provenance_json);

}  // namespace bigbird
