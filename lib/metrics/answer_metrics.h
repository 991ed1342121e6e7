// lib/metrics holds scores of predictions: AUROC with its interval, ranks, classes, calibration errors, and
// the official metrics of text, to the last digit. They know no model and no file: lib/core is all that they
// include. A new one names the script or the paper that defines it.
//
// Metrics of answers that are texts, each equal to the official script of its data set to the last digit:
//
//   SQuAD     evaluate-v1.1.py, evaluate-v2.0.py (rajpurkar/SQuAD-explorer). Sums run in the order of the
//             gold file; all values are percentages but counts and thresholds
//   HotpotQA  hotpot_evaluate_v1.py (hotpotqa/hotpot): answers, supporting facts, and both together. Means
//             over all questions, between 0 and 1
//   TriviaQA  triviaqa_evaluation.py (mandarjoshi90/triviaqa)
//   WikiHop   accuracy; answers are compared in small letters and without white space at their ends, as ETC's
//             data_utils.py (google-research/etcmodel, wikihop) reads them
//
// The first three compare normalised texts and bags of words. White space, words and small letters are
// Python's (lib/core/unicode.h); nothing is brought to a normal form, so that an accent as a combining mark
// is another answer than the letter with it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/metrics/metric_list.h"

namespace bigbird {

struct NormalizedAnswer {
  std::string text;                // words joined by one blank
  std::vector<std::string> words;  // of `text`, sorted: a bag
};

// SQuAD and HotpotQA: small letters; ASCII punctuation removed, which joins what it stood between; the words
// a, an, the left out.
NormalizedAnswer normalize_answer(std::string_view answer);
// TriviaQA: '_' to a blank; small letters; ASCII punctuation and the quotes ‘ ’ ´ to blanks; the words
// a, an, the left out.
NormalizedAnswer normalize_trivia_answer(std::string_view answer);

// How far two bags of words agree. All 0 where they share no word, two empty ones included.
struct WordOverlap {
  double f1 = 0;
  double precision = 0;  // shared words over words of the prediction
  double recall = 0;     // shared words over words of the gold answer
};
WordOverlap word_overlap(const NormalizedAnswer& prediction, const NormalizedAnswer& gold);

// One question's scores: of one gold answer or the best of several, each for itself.
struct AnswerScore {
  bool exact = false;
  double f1 = 0;
};

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

// A paragraph's title and the number of one of its sentences, from 0.
using SupportingFact = std::pair<std::string, std::int64_t>;

// Ids are distinct.
struct HotpotGold {
  std::string id;
  std::string answer;
  std::vector<SupportingFact> supporting_facts;  // a set: repeats count once
};

struct HotpotPredictions {
  AnswerTexts answers;
  std::map<std::string, std::vector<SupportingFact>, std::less<>> supporting_facts;
};

// Exact match, F1, precision and recall of one question.
struct HotpotScore {
  double exact = 0;
  double f1 = 0;
  double precision = 0;
  double recall = 0;
};

// yes, no and noanswer share nothing with any other answer; two answers of no words are exact with F1 0.
HotpotScore hotpot_answer_score(std::string_view prediction, std::string_view gold);
// Two empty sets are exact with F1 0.
HotpotScore hotpot_facts_score(std::span<const SupportingFact> prediction,
                               std::span<const SupportingFact> gold);
// Products of exact match, precision and recall, and the F1 of those two.
HotpotScore hotpot_joint_score(const HotpotScore& answer, const HotpotScore& facts);

struct HotpotScores {
  MetricList metrics;
  IdTally answer_ids;
  IdTally fact_ids;
};

// em f1 prec recall, the same with sp_, the same with joint_. A question without an answer scores 0 there and
// in joint_, one without facts 0 in sp_ and in joint_. Error{bad_input}: no questions.
HotpotScores hotpot_scores(std::span<const HotpotGold> gold, const HotpotPredictions& predictions);

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

// Ids are distinct.
struct WikiHopGold {
  std::string id;
  std::string answer;
  std::vector<std::string> candidates;
};

struct WikiHopScores {
  MetricList metrics;  // accuracy, between 0 and 1
  IdTally ids;
  std::int64_t answers_not_candidates = 0;      // wrong, whatever is predicted
  std::int64_t predictions_not_candidates = 0;  // wrong
};

// Over all questions; one without a prediction is wrong. Error{bad_input}: no questions.
WikiHopScores wikihop_scores(std::span<const WikiHopGold> gold, const AnswerTexts& predictions);

}  // namespace bigbird
