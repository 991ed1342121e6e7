// Normalised answers, their overlap, and the metrics of four data sets; see answer_metrics.h.
#include "lib/metrics/answer_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <string_view>
#include <unordered_map>

#include "lib/core/error.h"
#include "lib/core/unicode.h"

namespace bigbird {
namespace {

bool is_article(std::string_view word) {
  return word == "a" || word == "an" || word == "the";
}

// re.sub(r'\b(a|an|the)\b', ' ', text): a run of word characters that is an article becomes a blank.
std::string without_articles(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  std::size_t word = 0;  // where the run of word characters before the current place begins
  const auto close_word = [&](std::size_t end) {
    const std::string_view run = text.substr(word, end - word);
    result += is_article(run) ? std::string_view(" ") : run;
  };
  for (const CodePoint& c : CodePoints(text)) {
    if (is_word_character(c.value)) continue;
    close_word(c.begin);
    result += text.substr(c.begin, c.end - c.begin);
    word = c.end;
  }
  close_word(text.size());
  return result;
}

NormalizedAnswer join_words(std::string_view text) {
  NormalizedAnswer answer;
  for (const std::string_view word : split_white_space(text)) {
    if (!answer.text.empty()) answer.text += ' ';
    answer.text += word;
    answer.words.emplace_back(word);
  }
  std::sort(answer.words.begin(), answer.words.end());
  return answer;
}

bool is_trivia_quote(char32_t c) {
  return c == 0x2018 || c == 0x2019 || c == 0xB4;
}

// Takes one more gold answer of a question: the best of exact match and of F1, each for itself.
void take_best(AnswerScore& best, const NormalizedAnswer& predicted, const NormalizedAnswer& gold) {
  best.exact = best.exact || predicted.text == gold.text;
  best.f1 = std::max(best.f1, word_overlap(predicted, gold).f1);
}

[[noreturn]] void throw_no_questions(const char* what = "no questions to score") {
  throw_bad_input(what, "give gold data with at least one question");
}

struct Squad2Question {
  bool has_answer = false;
  bool predicted_empty = false;  // the text as it was given
  AnswerScore raw;
  double no_answer = 0;
  // After the threshold.
  double exact = 0;
  double f1 = 0;
};

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

// Answers that are no words of a text.
bool is_hotpot_verdict(std::string_view answer) {
  return answer == "yes" || answer == "no" || answer == "noanswer";
}

double hotpot_f1(const HotpotScore& score) {
  const double sum = score.precision + score.recall;
  return sum > 0 ? 2 * score.precision * score.recall / sum : 0;
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

std::string plain_candidate(std::string_view text) {
  const std::string small = lower(text);
  return std::string(strip_white_space(small));
}

}  // namespace

NormalizedAnswer normalize_answer(std::string_view answer) {
  std::string text = lower(answer);
  std::erase_if(text, [](char byte) { return is_ascii_punctuation(static_cast<unsigned char>(byte)); });
  return join_words(without_articles(text));
}

NormalizedAnswer normalize_trivia_answer(std::string_view answer) {
  std::string blanks(answer);
  std::replace(blanks.begin(), blanks.end(), '_', ' ');
  const std::string small = lower(blanks);
  std::string text;
  text.reserve(small.size());
  for (const CodePoint& c : CodePoints(small)) {
    if (is_ascii_punctuation(c.value) || is_trivia_quote(c.value)) {
      text += ' ';
    } else {
      text += std::string_view(small).substr(c.begin, c.end - c.begin);
    }
  }
  return join_words(without_articles(text));
}

WordOverlap word_overlap(const NormalizedAnswer& prediction, const NormalizedAnswer& gold) {
  std::size_t shared = 0;
  for (auto p = prediction.words.begin(), g = gold.words.begin();
       p != prediction.words.end() && g != gold.words.end();) {
    const int order = p->compare(*g);
    if (order == 0) ++shared;
    if (order <= 0) ++p;
    if (order >= 0) ++g;
  }
  if (shared == 0) return {};
  WordOverlap overlap;
  overlap.precision = static_cast<double>(shared) / static_cast<double>(prediction.words.size());
  overlap.recall = static_cast<double>(shared) / static_cast<double>(gold.words.size());
  overlap.f1 = (2 * overlap.precision * overlap.recall) / (overlap.precision + overlap.recall);
  return overlap;
}

AnswerScore squad1_answer_score(std::string_view prediction, std::span<const std::string> answers) {
  const NormalizedAnswer predicted = normalize_answer(prediction);
  AnswerScore best;
  for (const std::string& answer : answers) take_best(best, predicted, normalize_answer(answer));
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
    take_best(best, predicted, gold);
  }
  if (any) return best;
  const bool right = predicted.text.empty();
  return {right, right ? 1.0 : 0.0};
}

TaskScores squad1_scores(std::span<const SquadGold> gold, const AnswerTexts& predictions) {
  if (gold.empty()) throw_no_questions();
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
  if (gold.empty()) throw_no_questions();
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
  score.f1 = hotpot_f1(score);
  score.exact = predicted == wanted ? 1 : 0;
  return score;
}

HotpotScore hotpot_joint_score(const HotpotScore& answer, const HotpotScore& facts) {
  HotpotScore score;
  score.exact = answer.exact * facts.exact;
  score.precision = answer.precision * facts.precision;
  score.recall = answer.recall * facts.recall;
  score.f1 = hotpot_f1(score);
  return score;
}

HotpotScores hotpot_scores(std::span<const HotpotGold> gold, const HotpotPredictions& predictions) {
  if (gold.empty()) throw_no_questions();
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

AnswerScore trivia_answer_score(std::string_view prediction, const TriviaGold& gold) {
  const NormalizedAnswer predicted = normalize_trivia_answer(prediction);
  AnswerScore best;
  const auto take = [&](std::string_view answer) {
    take_best(best, predicted, normalize_trivia_answer(answer));
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
  if (scored.empty() && !gold.empty()) throw_no_questions("none of the questions is verified");
  if (scored.empty()) throw_no_questions();
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

WikiHopScores wikihop_scores(std::span<const WikiHopGold> gold, const AnswerTexts& predictions) {
  if (gold.empty()) throw_no_questions();
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
