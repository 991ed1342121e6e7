// WikiHop's accuracy: answers are compared in small letters and without white space at their ends, as ETC's
// data_utils.py (google-research/etcmodel, wikihop) reads them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/metrics/metric_list.h"

namespace bigbird {

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
