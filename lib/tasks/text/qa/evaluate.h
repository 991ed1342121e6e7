// Predictions of five data sets against their gold answers, by the official metrics; and the questions that
// were answered worst, with what they were asked of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/tasks/reason_counts.h"
#include "lib/tasks/text/metrics/metric_list.h"
#include "lib/tasks/text/qa/example.h"
#include "lib/tasks/text/qa/question_format.h"

namespace bigbird {

struct AnswerEvaluationOptions {
  QuestionFormat format = QuestionFormat::squad;
  std::string data;         // the data set's file with answers
  std::string predictions;  // prediction_files.h
  // SQuAD 2.0: a file of scores that a question has no answer, and above which of them a prediction counts as
  // "" (1, as in the official script).
  std::string null_odds;
  std::optional<double> null_threshold;
  // SQuAD: score as 2.0 even where every question has an answer.
  bool version_2 = false;
  bool replace_invalid = false;  // in `data`
  std::size_t worst = 0;         // how many of the worst answers are kept
};

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

struct AnswerEvaluation {
  QuestionFormat format = QuestionFormat::squad;
  MetricList metrics;  // with the official keys, in their order
  // How ids fit, by what is predicted: "" for answers, "sp" for supporting facts.
  std::vector<std::pair<std::string, IdTally>> ids;
  ReasonCounts noted;               // what of the data was read as it is
  std::vector<JudgedAnswer> worst;  // of lowest F1, in the order of the data among equals
};

// Reads the gold file once, as a stream; what is held of it are ids and answers. Error{bad_input}: what the
// readers and metrics refuse. Error{usage}: null odds for another set than SQuAD 2.0.
AnswerEvaluation evaluate_answers(const AnswerEvaluationOptions& options);

// The metrics as JSON: official keys, whole numbers without a point, null for what is undefined; then
// "predictions" on ids that are missing and unknown.
std::string answer_metrics_json(const AnswerEvaluation& evaluation, const std::string& provenance_json);

}  // namespace bigbird
