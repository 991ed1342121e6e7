// WikiHop's accuracy; see wikihop.h.
#include "lib/metrics/wikihop.h"

#include <algorithm>
#include <string_view>

#include "lib/core/error.h"
#include "lib/core/unicode.h"

namespace bigbird {
namespace {

std::string plain_candidate(std::string_view text) {
  const std::string small = lower(text);
  return std::string(strip_white_space(small));
}

}  // namespace

WikiHopScores wikihop_scores(std::span<const WikiHopGold> gold, const AnswerTexts& predictions) {
  if (gold.empty()) throw_bad_input("no questions to score", "give gold data with at least one question");
  WikiHopScores scores;
  scores.ids = tally_ids(ids_of(gold), ids_of(predictions));
  double right = 0;
  for (const WikiHopGold& question : gold) {
    std::vector<std::string> candidates;
    for (const std::string& candidate : question.candidates) candidates.push_back(plain_candidate(candidate));
    const auto is_candidate = [&](const std::string& text) {
      return std::find(candidates.begin(), candidates.end(), text) != candidates.end();
    };
    const std::string answer = plain_candidate(question.answer);
    const bool answer_is_candidate = is_candidate(answer);
    scores.answers_not_candidates += answer_is_candidate ? 0 : 1;
    const auto found = predictions.find(question.id);
    if (found == predictions.end()) continue;
    const std::string prediction = plain_candidate(found->second);
    scores.predictions_not_candidates += is_candidate(prediction) ? 0 : 1;
    right += answer_is_candidate && prediction == answer ? 1 : 0;
  }
  scores.metrics.push_back({"accuracy", right / static_cast<double>(gold.size())});
  return scores;
}

}  // namespace bigbird
