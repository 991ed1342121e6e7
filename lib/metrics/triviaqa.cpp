// TriviaQA's metrics; see triviaqa.h.
#include "lib/metrics/triviaqa.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/core/error.h"

namespace bigbird {

AnswerScore trivia_answer_score(std::string_view prediction, const TriviaGold& gold) {
  const NormalizedAnswer predicted = normalize_trivia_answer(prediction);
  AnswerScore best;
  const auto take = [&](std::string_view answer) {
    const NormalizedAnswer wanted = normalize_trivia_answer(answer);
    best.exact = best.exact || predicted.text == wanted.text;
    best.f1 = std::max(best.f1, word_overlap(predicted, wanted).f1);
  };
  for (const std::string& alias : gold.normalized_aliases) take(alias);
  // The script normalises these twice.
  for (const std::string& answer : gold.human_answers) take(normalize_trivia_answer(answer).text);
  return best;
}

TaskScores trivia_scores(std::span<const TriviaGold> gold, const AnswerTexts& predictions,
                         bool verified_only) {
  std::vector<std::string_view> scored;
  double exact = 0;
  double f1 = 0;
  double common = 0;
  for (const TriviaGold& question : gold) {
    if (verified_only && !question.verified) continue;
    scored.emplace_back(question.id);
    if (question.normalized_aliases.empty() && question.human_answers.empty()) {
      throw_bad_input(fmt::format("question '{}' has no answers", text_for_message(question.id)),
                      "NormalizedAliases or HumanAnswers holds the answers that count as right");
    }
    const auto prediction = predictions.find(question.id);
    if (prediction == predictions.end()) continue;
    const AnswerScore score = trivia_answer_score(prediction->second, question);
    common += 1;
    exact += score.exact ? 1 : 0;
    f1 += score.f1;
  }
  if (scored.empty()) {
    throw_bad_input(
        verified_only && !gold.empty() ? "none of the questions is verified" : "no questions to score",
        "give gold data with at least one question");
  }
  const double total = static_cast<double>(scored.size());
  TaskScores scores;
  scores.ids = tally_ids(scored, ids_of(predictions));
  scores.metrics.push_back({"exact_match", 100.0 * exact / total});
  scores.metrics.push_back({"f1", 100.0 * f1 / total});
  scores.metrics.push_back({"common", common, true});
  scores.metrics.push_back({"denominator", total, true});
  scores.metrics.push_back({"pred_len", static_cast<double>(predictions.size()), true});
  scores.metrics.push_back({"gold_len", total, true});
  return scores;
}

}  // namespace bigbird
