// Scores of predicted answers; see evaluate.h.
#include "lib/tasks/text/qa/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/core/unicode.h"
#include "lib/tasks/text/metrics/natural_questions.h"
#include "lib/tasks/text/metrics/squad.h"
#include "lib/tasks/text/metrics/wikihop.h"
#include "lib/tasks/text/qa/hotpotqa_input.h"
#include "lib/tasks/text/qa/natural_questions_input.h"
#include "lib/tasks/text/qa/prediction_files.h"
#include "lib/tasks/text/qa/squad_reader.h"
#include "lib/tasks/text/qa/trivia_gold.h"
#include "lib/tasks/text/qa/wikihop.h"
#include "lib/tasks/text/qa/worst_answers.h"

namespace bigbird {
namespace {

constexpr double squad2_threshold = 1.0;  // na-prob-thresh of evaluate-v2.0.py

std::optional<std::string> predicted_text(const AnswerTexts& predictions, const std::string& id) {
  const auto found = predictions.find(id);
  return found == predictions.end() ? std::nullopt : std::optional<std::string>(found->second);
}

MarkedPassage squad_passage(const QuestionExample& example, const std::string& prediction) {
  MarkedPassage passage;
  passage.text = *example.context;
  const CodePointIndex index(passage.text);
  for (const GoldAnswer& answer : example.answers) {
    const TextSpan& span = answer.span;
    if (span.begin < span.end && span.end <= index.size() &&
        std::find(passage.gold.begin(), passage.gold.end(), span) == passage.gold.end())
      passage.gold.push_back(span);
  }
  passage.predicted = place_of(passage.text, prediction, passage.gold.empty() ? 0 : passage.gold[0].begin);
  return passage;
}

AnswerEvaluation evaluate_squad(const AnswerEvaluationOptions& options) {
  const AnswerTexts predictions = read_answer_texts(options.predictions);
  NoAnswerScores scores;
  if (!options.null_odds.empty()) scores = read_null_odds(options.null_odds);
  const double threshold = options.null_threshold.value_or(squad2_threshold);
  std::map<std::string_view, double> score_of(scores.begin(), scores.end());

  // Which version it is shows at the end: until then what is worst is kept for both.
  SquadReader reader(options.data, {QuestionPurpose::evaluate, true, options.replace_invalid});
  std::vector<SquadGold> gold;
  WorstAnswers worst1(options.worst), worst2(options.worst);
  QuestionExample example;
  while (reader.next(example)) {
    throw_if_cancelled();
    SquadGold& question = gold.emplace_back();
    question.id = example.id;
    for (const GoldAnswer& answer : example.answers) question.answers.push_back(answer.text);
    if (options.worst == 0) continue;
    const std::optional<std::string> given = predicted_text(predictions, example.id);
    const auto judge = [&](WorstAnswers& worst, const AnswerScore& score, std::optional<std::string> text) {
      if (!worst.wants(score.exact, score.f1)) return;
      worst.add({example.id,
                 example.question,
                 question.answers,
                 text,
                 score.exact,
                 score.f1,
                 {squad_passage(example, text.value_or(""))}});
    };
    if (!example.answers.empty())
      judge(worst1, given ? squad1_answer_score(*given, question.answers) : AnswerScore{}, given);
    const auto score = score_of.find(example.id);
    const bool silent = score != score_of.end() && score->second > threshold;
    const std::optional<std::string> text = given && silent ? std::string() : given;
    judge(worst2, text ? squad2_answer_score(*text, question.answers) : AnswerScore{}, text);
  }
  AnswerEvaluation evaluation;
  evaluation.noted = reader.noted();
  const bool version_2 = options.version_2 || reader.answerable() < reader.questions();
  if (!version_2 && (!options.null_odds.empty() || options.null_threshold)) {
    throw_usage(
        "`null_odds` and `null_threshold` are SQuAD 2.0's, and every question of the data has an answer",
        "`version_2` scores it as 2.0 all the same");
  }
  TaskScores result;
  if (version_2) {
    Squad2Options squad2;
    squad2.no_answer_scores = options.null_odds.empty() ? nullptr : &scores;
    squad2.no_answer_threshold = threshold;
    result = squad2_scores(gold, predictions, squad2);
  } else {
    result = squad1_scores(gold, predictions);
  }
  evaluation.metrics = std::move(result.metrics);
  evaluation.ids.emplace_back("", std::move(result.ids));
  evaluation.worst = version_2 ? worst2.take() : worst1.take();
  return evaluation;
}

// A paragraph each: those that the gold facts or the predicted ones are of; their sentences as one text.
std::vector<MarkedPassage> hotpot_passages(const HotpotExample& example, const std::string& prediction,
                                           const std::vector<SupportingFact>& predicted_facts) {
  std::vector<MarkedPassage> passages;
  for (const HotpotParagraph& paragraph : example.paragraphs) {
    const auto is_of = [&](const SupportingFact& fact) { return fact.first == paragraph.title; };
    if (std::none_of(example.supporting_facts.begin(), example.supporting_facts.end(), is_of) &&
        std::none_of(predicted_facts.begin(), predicted_facts.end(), is_of))
      continue;
    MarkedPassage& passage = passages.emplace_back();
    passage.title = paragraph.title;
    for (const std::string& sentence : paragraph.sentences) passage.text += sentence;
    passage.gold = places_of(passage.text, example.answer);
    passage.predicted = places_of(passage.text, prediction);
  }
  return passages;
}

AnswerEvaluation evaluate_hotpot(const AnswerEvaluationOptions& options) {
  const HotpotPredictions predictions = read_hotpot_predictions(options.predictions);
  HotpotReader reader(options.data, QuestionPurpose::evaluate, options.replace_invalid);
  std::vector<HotpotGold> gold;
  WorstAnswers worst(options.worst);
  HotpotExample example;
  while (reader.next(example)) {
    throw_if_cancelled();
    const std::optional<std::string> given = predicted_text(predictions.answers, example.id);
    const HotpotScore score = given ? hotpot_answer_score(*given, example.answer) : HotpotScore{};
    if (worst.wants(score.exact > 0, score.f1)) {
      const auto facts = predictions.supporting_facts.find(example.id);
      worst.add({example.id,
                 example.question,
                 {example.answer},
                 given,
                 score.exact > 0,
                 score.f1,
                 hotpot_passages(example, given.value_or(""),
                                 facts == predictions.supporting_facts.end() ? std::vector<SupportingFact>{}
                                                                             : facts->second)});
    }
    gold.push_back({example.id, example.answer, example.supporting_facts});
  }
  HotpotScores scores = hotpot_scores(gold, predictions);
  AnswerEvaluation evaluation;
  evaluation.noted = reader.noted();
  evaluation.metrics = std::move(scores.metrics);
  evaluation.ids.emplace_back("", std::move(scores.answer_ids));
  evaluation.ids.emplace_back("sp", std::move(scores.fact_ids));
  evaluation.worst = worst.take();
  return evaluation;
}

NqSpan nq_span_of(const PageSpan& span) {
  return {span.start_byte, span.end_byte, span.start_token, span.end_token};
}

NqGold nq_gold_of(const PageQuestion& example) {
  NqGold gold;
  gold.id = example.id;
  for (const PageAnnotation& given : example.annotations) {
    NqAnnotation& annotation = gold.annotations.emplace_back();
    if (given.candidate) annotation.long_answer = nq_span_of(example.candidates.at(*given.candidate).span);
    for (const PageSpan& span : given.short_answers) annotation.short_answers.push_back(nq_span_of(span));
    annotation.yes_no = given.yes_no == YesNoAnswer::yes  ? NqYesNo::yes
                        : given.yes_no == YesNoAnswer::no ? NqYesNo::no
                                                          : NqYesNo::none;
  }
  return gold;
}

// The words of document tokens [begin, end), without tags.
std::string page_text(const PageQuestion& example, std::int64_t begin, std::int64_t end) {
  std::string text;
  for (std::int64_t i = std::max<std::int64_t>(begin, 0);
       i < std::min<std::int64_t>(end, static_cast<std::int64_t>(example.tokens.size())); ++i) {
    const PageToken& token = example.tokens[static_cast<std::size_t>(i)];
    if (!token.is_tag) text += (text.empty() ? "" : " ") + token.text;
  }
  return text;
}

std::string page_answer(const PageQuestion& example, const std::vector<NqSpan>& spans, NqYesNo yes_no) {
  std::string text;
  for (const NqSpan& span : spans)
    text += (text.empty() ? "" : "; ") + page_text(example, span.start_token, span.end_token);
  if (yes_no != NqYesNo::none) text = yes_no == NqYesNo::yes ? "yes" : "no";
  return text;
}

JudgedAnswer judge_page(const PageQuestion& example, const NqGold& gold, const NqPrediction* given,
                        bool exact, double f1) {
  JudgedAnswer judged{std::to_string(example.id), example.question, {}, std::nullopt, exact, f1, {}};
  const auto add_passage = [&](const std::string& title, const NqSpan& span) -> MarkedPassage& {
    MarkedPassage& passage = judged.passages.emplace_back();
    passage.title = title;
    passage.text = page_text(example, span.start_token, span.end_token);
    return passage;
  };
  for (const NqAnnotation& annotation : gold.annotations) {
    const std::string answer = page_answer(example, annotation.short_answers, annotation.yes_no);
    if (!answer.empty() && std::find(judged.gold.begin(), judged.gold.end(), answer) == judged.gold.end())
      judged.gold.push_back(answer);
    if (judged.passages.empty() && !annotation.long_answer.is_null()) {
      MarkedPassage& passage = add_passage("gold long answer", annotation.long_answer);
      passage.gold = places_of(passage.text, answer);
    }
  }
  if (given == nullptr) return judged;
  judged.prediction = page_answer(example, given->short_answers, given->yes_no);
  if (!given->long_answer.is_null()) {
    MarkedPassage& passage = add_passage("predicted long answer", given->long_answer);
    passage.predicted = places_of(passage.text, *judged.prediction);
  }
  return judged;
}

AnswerEvaluation evaluate_pages(const AnswerEvaluationOptions& options) {
  const std::vector<NqPrediction> predictions = read_nq_predictions(options.predictions);
  std::map<std::int64_t, const NqPrediction*> prediction_of;
  for (const NqPrediction& prediction : predictions) prediction_of.emplace(prediction.id, &prediction);
  NaturalQuestionsReader reader(options.data, QuestionPurpose::evaluate, options.replace_invalid);
  std::vector<NqGold> gold;
  WorstAnswers worst(options.worst);
  PageQuestion example;
  while (reader.next(example)) {
    throw_if_cancelled();
    gold.push_back(nq_gold_of(example));
    if (options.worst == 0) continue;
    const auto found = prediction_of.find(example.id);
    const NqPrediction* given = found == prediction_of.end() ? nullptr : found->second;
    const auto right = [](const NqVerdict& verdict) {
      return verdict.has_gold ? verdict.correct : !verdict.has_prediction;
    };
    const bool long_right = given != nullptr && right(nq_long_verdict(gold.back(), *given));
    const bool short_right = given != nullptr && right(nq_short_verdict(gold.back(), *given));
    const double f1 = (long_right ? 0.5 : 0.0) + (short_right ? 0.5 : 0.0);
    if (worst.wants(long_right && short_right, f1))
      worst.add(judge_page(example, gold.back(), given, long_right && short_right, f1));
  }
  NqScores scores = nq_scores(gold, predictions);
  AnswerEvaluation evaluation;
  evaluation.metrics = std::move(scores.metrics);
  evaluation.metrics.insert(evaluation.metrics.end(), scores.without_scores.begin(),
                            scores.without_scores.end());
  IdTally ids;  // other ids on one side than on the other are an error of the metric
  ids.questions = static_cast<std::int64_t>(gold.size());
  evaluation.ids.emplace_back("", ids);
  evaluation.worst = worst.take();
  return evaluation;
}

AnswerEvaluation evaluate_trivia(const AnswerEvaluationOptions& options) {
  const AnswerTexts predictions = read_answer_texts(options.predictions);
  const TriviaGoldFile file = read_trivia_gold(options.data, options.replace_invalid);
  WorstAnswers worst(options.worst);
  for (std::size_t i = 0; i < file.gold.size() && options.worst > 0; ++i) {
    const TriviaGold& gold = file.gold[i];
    if (file.verified_only && !gold.verified) continue;
    const std::optional<std::string> given = predicted_text(predictions, gold.id);
    const AnswerScore score = given ? trivia_answer_score(*given, gold) : AnswerScore{};
    if (!worst.wants(score.exact, score.f1)) continue;
    std::vector<std::string> answers = gold.normalized_aliases;
    answers.insert(answers.end(), gold.human_answers.begin(), gold.human_answers.end());
    worst.add({gold.id, file.questions[i], std::move(answers), given, score.exact, score.f1, {}});
  }
  TaskScores scores = trivia_scores(file.gold, predictions, file.verified_only);
  AnswerEvaluation evaluation;
  evaluation.metrics = std::move(scores.metrics);
  evaluation.ids.emplace_back("", std::move(scores.ids));
  evaluation.worst = worst.take();
  return evaluation;
}

AnswerEvaluation evaluate_wikihop(const AnswerEvaluationOptions& options) {
  const AnswerTexts predictions = read_answer_texts(options.predictions);
  WikiHopReader reader(options.data, QuestionPurpose::evaluate, options.replace_invalid);
  std::vector<WikiHopGold> gold;
  WorstAnswers worst(options.worst);
  WikiHopExample example;
  while (reader.next(example)) {
    throw_if_cancelled();
    gold.push_back({example.id, example.answer, example.candidates});
    if (options.worst == 0) continue;
    const std::optional<std::string> given = predicted_text(predictions, example.id);
    AnswerTexts alone;
    if (given) alone.emplace(example.id, *given);
    const bool right =
        metric_value(wikihop_scores(std::span(&gold.back(), 1), alone).metrics, "accuracy") == 1;
    if (!worst.wants(right, right ? 1 : 0)) continue;
    JudgedAnswer judged{example.id, example.query, {example.answer}, given, right, right ? 1.0 : 0.0, {}};
    for (const std::string& support : example.supports) {
      const MarkedPassage passage{"", support, places_of(support, example.answer),
                                  places_of(support, given.value_or(""))};
      if (!passage.gold.empty() || !passage.predicted.empty()) judged.passages.push_back(passage);
    }
    worst.add(std::move(judged));
  }
  WikiHopScores scores = wikihop_scores(gold, predictions);
  if (scores.predictions_not_candidates > 0) {
    log_warning(fmt::format("{}: {} predictions are no candidate of their question: wrong",
                            options.predictions, scores.predictions_not_candidates));
  }
  AnswerEvaluation evaluation;
  evaluation.noted = reader.noted();
  evaluation.metrics = std::move(scores.metrics);
  evaluation.ids.emplace_back("", std::move(scores.ids));
  evaluation.worst = worst.take();
  return evaluation;
}

AnswerEvaluation evaluate_format(const AnswerEvaluationOptions& options) {
  switch (options.format) {
    case QuestionFormat::squad:
      return evaluate_squad(options);
    case QuestionFormat::hotpotqa:
      return evaluate_hotpot(options);
    case QuestionFormat::natural_questions:
      return evaluate_pages(options);
    case QuestionFormat::triviaqa:
      return evaluate_trivia(options);
    case QuestionFormat::wikihop:
      return evaluate_wikihop(options);
  }
  throw_runtime("a format without metrics");
}

void say_ids(const AnswerEvaluationOptions& options, const std::string& part, const IdTally& ids) {
  const std::string what = part.empty() ? "" : " of " + part;
  if (ids.missing > 0) {
    log_warning(fmt::format("{}: {} of {} questions have no prediction{}: {}", options.predictions,
                            ids.missing, ids.questions, what, fmt::join(ids.missing_ids, ", ")));
  }
  if (ids.unknown > 0) {
    log_warning(fmt::format("{}: {} predictions{} are of ids that the data lack: {}", options.predictions,
                            ids.unknown, what, fmt::join(ids.unknown_ids, ", ")));
  }
}

}  // namespace

AnswerEvaluation evaluate_answers(const AnswerEvaluationOptions& options) {
  if (options.format != QuestionFormat::squad &&
      (!options.null_odds.empty() || options.null_threshold || options.version_2)) {
    throw_usage(fmt::format("`null_odds`, `null_threshold` and `version_2` are SQuAD 2.0's, not {}'s",
                            name_of(options.format)),
                "leave them away");
  }
  AnswerEvaluation evaluation = evaluate_format(options);
  evaluation.format = options.format;
  for (const auto& [part, ids] : evaluation.ids) say_ids(options, part, ids);
  if (!evaluation.noted.empty()) log_info(fmt::format("{}: {}", options.data, evaluation.noted.text()));
  return evaluation;
}

std::string answer_metrics_json(const AnswerEvaluation& evaluation, const std::string& provenance_json) {
  nlohmann::ordered_json json;
  for (const Metric& metric : evaluation.metrics) {
    if (!std::isfinite(metric.value)) {
      json[metric.name] = nullptr;
    } else if (metric.count) {
      json[metric.name] = static_cast<std::int64_t>(metric.value);
    } else {
      json[metric.name] = metric.value;
    }
  }
  for (const auto& [part, ids] : evaluation.ids) {
    json[part.empty() ? "predictions" : part + "_predictions"] = {
        {"questions", ids.questions}, {"missing", ids.missing}, {"unknown", ids.unknown}};
  }
  if (!provenance_json.empty()) json["provenance"] = nlohmann::ordered_json::parse(provenance_json);
  return json_text(json, 2) + "\n";
}

}  // namespace bigbird
