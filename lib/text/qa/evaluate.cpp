// Scores of predicted answers, and the worst of them; see evaluate.h.
#include "lib/text/qa/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/core/unicode.h"

namespace bigbird {
namespace {

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

bool WorstAnswers::wants(bool exact, double f1) const {
  if (kept_.size() < most_) return true;
  return most_ > 0 && std::tuple(f1, exact) < std::tuple(kept_.back().f1, kept_.back().exact);
}

void WorstAnswers::add(JudgedAnswer answer) {
  if (!wants(answer.exact, answer.f1)) return;
  const auto place =
      std::upper_bound(kept_.begin(), kept_.end(), answer, [](const JudgedAnswer& a, const JudgedAnswer& b) {
        return std::tuple(a.f1, a.exact) < std::tuple(b.f1, b.exact);
      });
  kept_.insert(place, std::move(answer));
  if (kept_.size() > most_) kept_.pop_back();
}

std::vector<JudgedAnswer> WorstAnswers::take() {
  return std::move(kept_);
}

std::vector<TextSpan> places_of(std::string_view text, std::string_view wanted, std::size_t most) {
  std::vector<TextSpan> places;
  if (wanted.empty()) return places;
  const CodePointIndex index(text);
  for (std::size_t at = text.find(wanted); at != std::string_view::npos && places.size() < most;
       at = text.find(wanted, at + wanted.size())) {
    places.push_back({index.code_point_of(at), index.code_point_of(at + wanted.size())});
  }
  return places;
}

std::vector<TextSpan> place_of(std::string_view text, std::string_view wanted, std::size_t near) {
  std::vector<TextSpan> places = places_of(text, wanted, text.size());
  if (places.empty()) return places;
  const auto distance = [&](const TextSpan& span) {
    return span.begin > near ? span.begin - near : near - span.begin;
  };
  return {*std::min_element(places.begin(), places.end(),
                            [&](const TextSpan& a, const TextSpan& b) { return distance(a) < distance(b); })};
}

AnswerEvaluation AnswerScorer::evaluation(TaskScores scores, const ReasonCounts& noted) {
  return {{}, std::move(scores.metrics), {{"", std::move(scores.ids)}}, noted, worst_.take()};
}

AnswerEvaluation evaluate_answers(const AnswerEvaluationOptions& options) {
  const QuestionTask& task = *options.task;
  if (!task.takes("null_odds") &&
      (!options.null_odds.empty() || options.null_threshold || options.version_2)) {
    throw_usage(message("`null_odds`, `null_threshold` and `version_2` are SQuAD 2.0's, not {}'s", task.name),
                "leave them away");
  }
  const std::unique_ptr<AnswerScorer> scorer = task.scorer(options);
  while (scorer->judge_next()) throw_if_cancelled();
  AnswerEvaluation evaluation = scorer->scores();
  evaluation.format = task.name;
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
