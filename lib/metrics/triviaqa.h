// TriviaQA's metrics, equal to triviaqa_evaluation.py (mandarjoshi90/triviaqa) to the last digit.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/metrics/answer_text.h"
#include "lib/metrics/metric_list.h"

namespace bigbird {

struct TriviaGold {
  // Distinct. Domain Wikipedia: QuestionId; Web: "QuestionId--Filename", one for every document.
  std::string id;
  std::vector<std::string> normalized_aliases;
  std::vector<std::string> human_answers;
  // QuestionPartOfVerifiedEval. Of the domain Web, a question or document that is not verified has false.
  bool verified = true;
};

// Best over aliases and human answers, exact match and F1 each for itself. Two answers of no words are exact
// with F1 0.
AnswerScore trivia_answer_score(std::string_view prediction, const TriviaGold& gold);

// exact_match, f1 (percentages over all questions, one without a prediction scores 0), common (questions with
// a prediction), denominator, pred_len, gold_len. `verified_only` (VerifiedEval of the file) leaves out all
// other questions, whose predictions are then unknown ids. Error{bad_input}: no questions, or one without any
// answer.
TaskScores trivia_scores(std::span<const TriviaGold> gold, const AnswerTexts& predictions,
                         bool verified_only = false);

}  // namespace bigbird
