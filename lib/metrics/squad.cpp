// SQuAD's metrics; see squad.h.
#include "lib/metrics/squad.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <unordered_map>

#include "lib/core/error.h"

namespace bigbird {
namespace {

struct Squad2Question {
  bool has_answer = false;
  bool predicted_empty = false;  // the text as it was given
  AnswerScore raw;
  double no_answer = 0;
  // After the threshold.
  double exact = 0;
  double f1 = 0;
};

void require_squad_questions(std::span<const SquadGold> gold) {
  if (gold.empty()) throw_bad_input("no questions to score", "give gold data with at least one question");
}

void require_squad2_predictions(const IdTally& ids) {
  if (ids.missing == 0) return;
  throw_bad_input(fmt::format("{} of {} questions have no prediction, the first is '{}'", ids.missing,
                              ids.questions, text_for_message(ids.missing_ids.front())),
                  "SQuAD 2.0 wants a text for every question, \"\" where there is no answer");
}

// exact, f1 and total of the questions that `counts` admits, in their order; nothing if there are none.
template <typename Counts>
void append_squad2_means(MetricList& metrics, const std::string& prefix,
                         const std::vector<Squad2Question>& questions, const Counts& counts) {
  double exact = 0;
  double f1 = 0;
  double total = 0;
  for (const Squad2Question& question : questions) {
    if (!counts(question)) continue;
    exact += question.exact;
    f1 += question.f1;
    total += 1;
  }
  if (total == 0) return;
  metrics.push_back({prefix + "exact", 100.0 * exact / total});
  metrics.push_back({prefix + "f1", 100.0 * f1 / total});
  metrics.push_back({prefix + "total", total, true});
}

// find_best_thresh of the script. `by_score`: questions by rising score, equal ones in the order of their
// file.
template <typename Score>
void append_best_threshold(MetricList& metrics, const std::string& name,
                           const std::vector<Squad2Question>& questions,
                           const std::vector<std::size_t>& by_score, const Score& score) {
  double current = 0;
  for (const Squad2Question& question : questions) current += question.has_answer ? 0 : 1;
  double best = current;
  double threshold = 0;
  for (const std::size_t index : by_score) {
    const Squad2Question& question = questions[index];
    current += question.has_answer ? score(question) : question.predicted_empty ? 0 : -1;
    if (current > best) {
      best = current;
      threshold = question.no_answer;
    }
  }
  metrics.push_back({name, 100.0 * best / static_cast<double>(questions.size())});
  metrics.push_back({name + "_thresh", threshold});
}

// Puts the scores into the questions, and hands out the questions by rising score.
std::vector<std::size_t> read_no_answer_scores(std::span<const SquadGold> gold, const NoAnswerScores& scores,
                                               std::vector<Squad2Question>& questions) {
  std::unordered_map<std::string_view, std::size_t> index_of;
  for (std::size_t i = 0; i < gold.size(); ++i) index_of.emplace(gold[i].id, i);
  std::vector<std::size_t> order;
  for (const auto& [id, score] : scores) {
    const auto found = index_of.find(id);
    if (found == index_of.end()) continue;
    if (!std::isfinite(score)) {
      throw_bad_input(
          fmt::format("question '{}': the no-answer score is not a finite number", text_for_message(id)));
    }
    questions[found->second].no_answer = score;
    order.push_back(found->second);
    index_of.erase(found);  // one score for each question; what is left has none
  }
  if (!index_of.empty()) {
    const auto first = std::find_if(
        gold.begin(), gold.end(), [&](const SquadGold& question) { return index_of.contains(question.id); });
    throw_bad_input(fmt::format("{} of {} questions have no no-answer score, the first is '{}'",
                                index_of.size(), gold.size(), text_for_message(first->id)));
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return questions[a].no_answer < questions[b].no_answer;
  });
  return order;
}

}  // namespace

AnswerScore squad1_answer_score(std::string_view prediction, std::span<const std::string> answers) {
  const NormalizedAnswer predicted = normalize_answer(prediction);
  AnswerScore best;
  for (const std::string& answer : answers) {
    const NormalizedAnswer gold = normalize_answer(answer);
    best.exact = best.exact || predicted.text == gold.text;
    best.f1 = std::max(best.f1, word_overlap(predicted, gold).f1);
  }
  return best;
}

AnswerScore squad2_answer_score(std::string_view prediction, std::span<const std::string> answers) {
  const NormalizedAnswer predicted = normalize_answer(prediction);
  AnswerScore best;
  bool any = false;
  for (const std::string& answer : answers) {
    const NormalizedAnswer gold = normalize_answer(answer);
    if (gold.text.empty()) continue;
    any = true;
    best.exact = best.exact || predicted.text == gold.text;
    best.f1 = std::max(best.f1, word_overlap(predicted, gold).f1);
  }
  if (any) return best;
  const bool right = predicted.text.empty();
  return {right, right ? 1.0 : 0.0};
}

TaskScores squad1_scores(std::span<const SquadGold> gold, const AnswerTexts& predictions) {
  require_squad_questions(gold);
  TaskScores scores;
  scores.ids = tally_ids(ids_of(gold), ids_of(predictions));
  double exact = 0;
  double f1 = 0;
  for (const SquadGold& question : gold) {
    if (question.answers.empty()) {
      throw_bad_input(fmt::format("question '{}' has no answers", text_for_message(question.id)),
                      "score data with unanswerable questions as SQuAD 2.0");
    }
    const auto prediction = predictions.find(question.id);
    if (prediction == predictions.end()) continue;
    const AnswerScore score = squad1_answer_score(prediction->second, question.answers);
    exact += score.exact ? 1 : 0;
    f1 += score.f1;
  }
  const double total = static_cast<double>(gold.size());
  scores.metrics.push_back({"exact_match", 100.0 * exact / total});
  scores.metrics.push_back({"f1", 100.0 * f1 / total});
  return scores;
}

TaskScores squad2_scores(std::span<const SquadGold> gold, const AnswerTexts& predictions,
                         const Squad2Options& options) {
  require_squad_questions(gold);
  TaskScores scores;
  scores.ids = tally_ids(ids_of(gold), ids_of(predictions));
  require_squad2_predictions(scores.ids);

  std::vector<Squad2Question> questions(gold.size());
  std::vector<std::size_t> by_score;
  if (options.no_answer_scores != nullptr) {
    by_score = read_no_answer_scores(gold, *options.no_answer_scores, questions);
  }
  for (std::size_t i = 0; i < gold.size(); ++i) {
    Squad2Question& question = questions[i];
    const std::string& prediction = predictions.find(gold[i].id)->second;
    question.has_answer = !gold[i].answers.empty();
    question.predicted_empty = prediction.empty();
    question.raw = squad2_answer_score(prediction, gold[i].answers);
    if (question.no_answer > options.no_answer_threshold) {
      question.exact = question.f1 = question.has_answer ? 0 : 1;
    } else {
      question.exact = question.raw.exact ? 1 : 0;
      question.f1 = question.raw.f1;
    }
  }

  append_squad2_means(scores.metrics, "", questions, [](const Squad2Question&) { return true; });
  append_squad2_means(scores.metrics, "HasAns_", questions,
                      [](const Squad2Question& question) { return question.has_answer; });
  append_squad2_means(scores.metrics, "NoAns_", questions,
                      [](const Squad2Question& question) { return !question.has_answer; });
  if (options.no_answer_scores != nullptr) {
    append_best_threshold(scores.metrics, "best_exact", questions, by_score,
                          [](const Squad2Question& question) { return question.raw.exact ? 1.0 : 0.0; });
    append_best_threshold(scores.metrics, "best_f1", questions, by_score,
                          [](const Squad2Question& question) { return question.raw.f1; });
  }
  return scores;
}

}  // namespace bigbird
