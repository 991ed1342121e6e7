// Scores of predicted answers; see evaluate.h.
#include "lib/text/qa/evaluate.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"

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
