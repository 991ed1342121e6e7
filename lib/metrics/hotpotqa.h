// HotpotQA's metrics, equal to hotpot_evaluate_v1.py (hotpotqa/hotpot) to the last digit: answers, supporting
// facts, and both together. Means over all questions, between 0 and 1.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/metrics/answer_text.h"
#include "lib/metrics/metric_list.h"

namespace bigbird {

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

}  // namespace bigbird
