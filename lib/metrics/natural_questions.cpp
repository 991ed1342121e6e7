// The metrics of Natural Questions; see natural_questions.h.
#include "lib/metrics/natural_questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <unordered_map>

#include "lib/core/error.h"
#include "lib/core/names.h"
#include "lib/core/unicode.h"

namespace bigbird {
namespace {

constexpr int annotations_with_answer = 2;  // long_non_null_threshold and short_non_null_threshold

double nq_ratio(double numerator, double denominator) {
  return denominator == 0 ? 0 : numerator / denominator;
}

double nq_f1(double precision, double recall) {
  return nq_ratio(2 * precision * recall, precision + recall);
}

void check_nq_side(std::int64_t start, std::int64_t end, const char* unit, const std::string& where) {
  if ((start < 0) != (end < 0)) {
    throw_bad_input(
        fmt::format("{}: a span of {} [{}, {}) is null on one side only", where, unit, start, end),
        "give both ends, or -1 for both");
  }
  if (start >= 0 && start >= end) {
    throw_bad_input(
        fmt::format("{}: a span of {} [{}, {}) does not start before its end", where, unit, start, end));
  }
}

void check_nq_span(const NqSpan& span, const std::string& where) {
  check_nq_side(span.start_byte, span.end_byte, "bytes", where);
  check_nq_side(span.start_token, span.end_token, "tokens", where);
}

bool nq_all_null(const std::vector<NqSpan>& spans) {
  return std::all_of(spans.begin(), spans.end(), [](const NqSpan& span) { return span.is_null(); });
}

void check_nq_gold(const NqGold& gold) {
  const std::string where = fmt::format("question {}", gold.id);
  if (gold.annotations.empty()) {
    throw_bad_input(where + " has no annotations", "evaluate on data that has them: the published dev set");
  }
  for (const NqAnnotation& annotation : gold.annotations) {
    check_nq_span(annotation.long_answer, where);
    for (const NqSpan& span : annotation.short_answers) check_nq_span(span, where);
  }
}

void check_nq_prediction(const NqPrediction& prediction) {
  const std::string where = fmt::format("prediction for {}", prediction.id);
  check_nq_span(prediction.long_answer, where);
  for (const NqSpan& span : prediction.short_answers) check_nq_span(span, where);
  if (prediction.yes_no != NqYesNo::none && !nq_all_null(prediction.short_answers)) {
    throw_bad_input(where + ": yes or no together with short answers",
                    "yes_no_answer is NONE where there are spans");
  }
  if (!std::isfinite(prediction.long_score) || !std::isfinite(prediction.short_score)) {
    throw_bad_input(where + ": a score is not a finite number");
  }
}

// In bytes or in tokens, where both sides have them. Neither is null.
bool equal_nq_spans(const NqSpan& a, const NqSpan& b) {
  if (a.start_byte >= 0 && b.start_byte >= 0 && a.start_byte == b.start_byte && a.end_byte == b.end_byte) {
    return true;
  }
  return a.start_token >= 0 && b.start_token >= 0 && a.start_token == b.start_token &&
         a.end_token == b.end_token;
}

// Every span of `spans` that is not null is among `others`.
bool nq_spans_within(const std::vector<NqSpan>& spans, const std::vector<NqSpan>& others) {
  return std::all_of(spans.begin(), spans.end(), [&](const NqSpan& span) {
    return span.is_null() || std::any_of(others.begin(), others.end(), [&](const NqSpan& other) {
             return !other.is_null() && equal_nq_spans(span, other);
           });
  });
}

template <typename HasAnswer>
bool enough_nq_annotations(const NqGold& gold, const HasAnswer& has_answer) {
  return std::count_if(gold.annotations.begin(), gold.annotations.end(), has_answer) >=
         annotations_with_answer;
}

// compute_pr_curves of the script. Sorts the verdicts by falling score.
void append_nq_thresholds(MetricList& metrics, const std::string& prefix, std::vector<NqVerdict>& verdicts) {
  struct Target {
    const char* name;
    double precision;
    double best_recall = 0;
    double precision_there = 0;
  };
  std::array<Target, 3> targets{{{"0.5", 0.5}, {"0.75", 0.75}, {"0.9", 0.9}}};
  std::stable_sort(verdicts.begin(), verdicts.end(),
                   [](const NqVerdict& a, const NqVerdict& b) { return a.score > b.score; });
  double gold = 0;
  for (const NqVerdict& verdict : verdicts) gold += verdict.has_gold ? 1 : 0;

  double correct = 0;
  double predicted = 0;
  double best_f1 = 0;
  double best_precision = 0;
  double best_recall = 0;
  double best_threshold = 0;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    correct += verdicts[i].correct ? 1 : 0;
    predicted += verdicts[i].has_prediction ? 1 : 0;
    // A threshold lets in all questions of its score.
    if (i + 1 < verdicts.size() && verdicts[i + 1].score == verdicts[i].score) continue;
    const double precision = nq_ratio(correct, predicted);
    const double recall = nq_ratio(correct, gold);
    for (Target& target : targets) {
      if (precision >= target.precision && recall > target.best_recall) {
        target.best_recall = recall;
        target.precision_there = precision;
      }
    }
    if (const double f1 = nq_f1(precision, recall); f1 > best_f1) {
      best_f1 = f1;
      best_precision = precision;
      best_recall = recall;
      best_threshold = verdicts[i].score;
    }
  }
  metrics.push_back({prefix + "best-threshold-f1", best_f1});
  metrics.push_back({prefix + "best-threshold-precision", best_precision});
  metrics.push_back({prefix + "best-threshold-recall", best_recall});
  metrics.push_back({prefix + "best-threshold", best_threshold});
  for (const Target& target : targets) {
    metrics.push_back({fmt::format("{}recall-at-precision>={}", prefix, target.name), target.best_recall});
    metrics.push_back(
        {fmt::format("{}precision-at-precision>={}", prefix, target.name), target.precision_there});
  }
}

void append_nq_totals(MetricList& metrics, const std::string& prefix,
                      const std::vector<NqVerdict>& verdicts) {
  double gold = 0;
  double predicted = 0;
  double correct = 0;
  for (const NqVerdict& verdict : verdicts) {
    gold += verdict.has_gold ? 1 : 0;
    predicted += verdict.has_prediction ? 1 : 0;
    correct += verdict.correct ? 1 : 0;
  }
  const double precision = nq_ratio(correct, predicted);
  const double recall = nq_ratio(correct, gold);
  metrics.push_back({prefix + "n", static_cast<double>(verdicts.size()), true});
  metrics.push_back({prefix + "f1", nq_f1(precision, recall)});
  metrics.push_back({prefix + "precision", precision});
  metrics.push_back({prefix + "recall", recall});
}

}  // namespace

NqYesNo parse_nq_yes_no(std::string_view word, const std::string& where) {
  const std::string small = lower(word);
  for (const auto& [value, name] : nq_yes_no_names) {
    if (small == lower(name)) return value;
  }
  throw_bad_input(
      fmt::format("{}: yes_no_answer '{}' is none of YES, NO, NONE", where, text_for_message(word)),
      "NONE means no such answer");
}

NqVerdict nq_long_verdict(const NqGold& gold, const NqPrediction& prediction) {
  NqVerdict verdict;
  verdict.score = prediction.long_score;
  verdict.has_prediction = !prediction.long_answer.is_null();
  verdict.has_gold = enough_nq_annotations(
      gold, [](const NqAnnotation& annotation) { return !annotation.long_answer.is_null(); });
  if (!verdict.has_gold || !verdict.has_prediction) return verdict;
  verdict.correct =
      std::any_of(gold.annotations.begin(), gold.annotations.end(), [&](const NqAnnotation& annotation) {
        return !annotation.long_answer.is_null() &&
               equal_nq_spans(annotation.long_answer, prediction.long_answer);
      });
  return verdict;
}

NqVerdict nq_short_verdict(const NqGold& gold, const NqPrediction& prediction) {
  NqVerdict verdict;
  verdict.score = prediction.short_score;
  const bool yes_or_no = prediction.yes_no != NqYesNo::none;
  verdict.has_prediction = yes_or_no || !nq_all_null(prediction.short_answers);
  verdict.has_gold = enough_nq_annotations(gold, [](const NqAnnotation& annotation) {
    return annotation.yes_no != NqYesNo::none || !nq_all_null(annotation.short_answers);
  });
  if (!verdict.has_gold || !verdict.has_prediction) return verdict;
  verdict.correct =
      std::any_of(gold.annotations.begin(), gold.annotations.end(), [&](const NqAnnotation& annotation) {
        if (yes_or_no) return annotation.yes_no == prediction.yes_no;
        return nq_spans_within(prediction.short_answers, annotation.short_answers) &&
               nq_spans_within(annotation.short_answers, prediction.short_answers);
      });
  return verdict;
}

NqScores nq_scores(std::span<const NqGold> gold, std::span<const NqPrediction> predictions) {
  if (gold.empty()) throw_bad_input("no questions to score", "give gold data with at least one question");
  std::unordered_map<std::int64_t, const NqPrediction*> prediction_of;
  for (const NqPrediction& prediction : predictions) {
    check_nq_prediction(prediction);
    if (!prediction_of.emplace(prediction.id, &prediction).second) {
      throw_bad_input(fmt::format("two predictions for {}", prediction.id));
    }
  }
  const std::string all_needed = "every question needs one prediction, null spans where there is no answer";
  std::vector<NqVerdict> long_verdicts, short_verdicts;
  for (const NqGold& question : gold) {
    check_nq_gold(question);
    const auto found = prediction_of.find(question.id);
    if (found == prediction_of.end()) {
      throw_bad_input(fmt::format("question {} has no prediction", question.id), all_needed);
    }
    if (found->second == nullptr) throw_bad_input(fmt::format("question {} is there twice", question.id));
    long_verdicts.push_back(nq_long_verdict(question, *found->second));
    short_verdicts.push_back(nq_short_verdict(question, *found->second));
    found->second = nullptr;  // used
  }
  for (const NqPrediction& prediction : predictions) {
    if (prediction_of.find(prediction.id)->second == nullptr) continue;
    throw_bad_input(fmt::format("prediction for {}, which is not a question of the gold data", prediction.id),
                    all_needed);
  }
  NqScores scores;
  append_nq_thresholds(scores.metrics, "long-", long_verdicts);
  append_nq_thresholds(scores.metrics, "short-", short_verdicts);
  append_nq_totals(scores.without_scores, "long-answer-", long_verdicts);
  append_nq_totals(scores.without_scores, "short-answer-", short_verdicts);
  return scores;
}

}  // namespace bigbird
