// HotpotQA's metrics; see hotpotqa.h.
#include "lib/metrics/hotpotqa.h"

#include <set>

#include "lib/core/error.h"

namespace bigbird {
namespace {

// Answers that are no words of a text.
bool is_hotpot_verdict(std::string_view answer) {
  return answer == "yes" || answer == "no" || answer == "noanswer";
}

void add_hotpot_score(HotpotScore& sum, const HotpotScore& score) {
  sum.exact += score.exact;
  sum.f1 += score.f1;
  sum.precision += score.precision;
  sum.recall += score.recall;
}

void append_hotpot_means(MetricList& metrics, const std::string& prefix, const HotpotScore& sum,
                         double questions) {
  metrics.push_back({prefix + "em", sum.exact / questions});
  metrics.push_back({prefix + "f1", sum.f1 / questions});
  metrics.push_back({prefix + "prec", sum.precision / questions});
  metrics.push_back({prefix + "recall", sum.recall / questions});
}

}  // namespace

HotpotScore hotpot_answer_score(std::string_view prediction, std::string_view gold) {
  const NormalizedAnswer predicted = normalize_answer(prediction);
  const NormalizedAnswer wanted = normalize_answer(gold);
  HotpotScore score;
  const bool exact = predicted.text == wanted.text;
  score.exact = exact ? 1 : 0;
  if (!exact && (is_hotpot_verdict(predicted.text) || is_hotpot_verdict(wanted.text))) return score;
  const WordOverlap overlap = word_overlap(predicted, wanted);
  score.f1 = overlap.f1;
  score.precision = overlap.precision;
  score.recall = overlap.recall;
  return score;
}

HotpotScore hotpot_facts_score(std::span<const SupportingFact> prediction,
                               std::span<const SupportingFact> gold) {
  const std::set<SupportingFact> predicted(prediction.begin(), prediction.end());
  const std::set<SupportingFact> wanted(gold.begin(), gold.end());
  double shared = 0;
  for (const SupportingFact& fact : predicted) shared += wanted.contains(fact) ? 1 : 0;
  HotpotScore score;
  score.precision = predicted.empty() ? 0 : shared / static_cast<double>(predicted.size());
  score.recall = wanted.empty() ? 0 : shared / static_cast<double>(wanted.size());
  const double sum = score.precision + score.recall;
  score.f1 = sum > 0 ? 2 * score.precision * score.recall / sum : 0;
  score.exact = predicted == wanted ? 1 : 0;
  return score;
}

HotpotScore hotpot_joint_score(const HotpotScore& answer, const HotpotScore& facts) {
  HotpotScore score;
  score.exact = answer.exact * facts.exact;
  score.precision = answer.precision * facts.precision;
  score.recall = answer.recall * facts.recall;
  const double sum = score.precision + score.recall;
  score.f1 = sum > 0 ? 2 * score.precision * score.recall / sum : 0;
  return score;
}

HotpotScores hotpot_scores(std::span<const HotpotGold> gold, const HotpotPredictions& predictions) {
  if (gold.empty()) throw_bad_input("no questions to score", "give gold data with at least one question");
  HotpotScores scores;
  scores.answer_ids = tally_ids(ids_of(gold), ids_of(predictions.answers));
  scores.fact_ids = tally_ids(ids_of(gold), ids_of(predictions.supporting_facts));
  HotpotScore answer_sum, facts_sum, joint_sum;
  for (const HotpotGold& question : gold) {
    const auto answer = predictions.answers.find(question.id);
    const auto facts = predictions.supporting_facts.find(question.id);
    const bool has_answer = answer != predictions.answers.end();
    const bool has_facts = facts != predictions.supporting_facts.end();
    HotpotScore answer_score, facts_score;
    if (has_answer) answer_score = hotpot_answer_score(answer->second, question.answer);
    if (has_facts) facts_score = hotpot_facts_score(facts->second, question.supporting_facts);
    add_hotpot_score(answer_sum, answer_score);
    add_hotpot_score(facts_sum, facts_score);
    if (has_answer && has_facts) add_hotpot_score(joint_sum, hotpot_joint_score(answer_score, facts_score));
  }
  const double questions = static_cast<double>(gold.size());
  append_hotpot_means(scores.metrics, "", answer_sum, questions);
  append_hotpot_means(scores.metrics, "sp_", facts_sum, questions);
  append_hotpot_means(scores.metrics, "joint_", joint_sum, questions);
  return scores;
}

}  // namespace bigbird
