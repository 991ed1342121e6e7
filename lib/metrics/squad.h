// SQuAD's metrics, equal to evaluate-v1.1.py and evaluate-v2.0.py (rajpurkar/SQuAD-explorer) to the last
// digit: sums run in the order of the gold file. All values are percentages but counts and thresholds.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/metrics/answer_text.h"
#include "lib/metrics/metric_list.h"

namespace bigbird {

// Ids are distinct. No answers: the question cannot be answered (2.0 only).
struct SquadGold {
  std::string id;
  std::vector<std::string> answers;
};

// Best over the gold answers, exact match and F1 each for itself. 1.1: `answers` is not empty; two answers of
// no words are an exact match with F1 0.
AnswerScore squad1_answer_score(std::string_view prediction, std::span<const std::string> answers);
// 2.0: gold answers without words are dropped; where none is left, only a prediction without words is right.
AnswerScore squad2_answer_score(std::string_view prediction, std::span<const std::string> answers);

// exact_match, f1. A question without a prediction scores 0. Error{bad_input}: no questions, or one without
// an answer.
TaskScores squad1_scores(std::span<const SquadGold> gold, const AnswerTexts& predictions);

// By question id, in the order of their file, which decides between equal scores; ids of no gold question are
// passed over.
using NoAnswerScores = std::vector<std::pair<std::string, double>>;

struct Squad2Options {
  // How likely a question has no answer; nullptr: 0 for every question, and no best thresholds.
  const NoAnswerScores* no_answer_scores = nullptr;
  double no_answer_threshold = 1.0;  // a score above it makes the prediction ""
};

// exact, f1, total; HasAns_exact, HasAns_f1, HasAns_total where questions have answers, NoAns_* where some
// have none; with scores best_exact, best_exact_thresh, best_f1, best_f1_thresh. Error{bad_input}: no
// questions, one without a prediction (the script stops there as well) or, where scores are given, without a
// finite score.
TaskScores squad2_scores(std::span<const SquadGold> gold, const AnswerTexts& predictions,
                         const Squad2Options& options = {});

}  // namespace bigbird
