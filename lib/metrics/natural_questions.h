// The metrics of Natural Questions, equal to nq_eval.py and eval_utils.py (google-research-datasets/
// natural-questions) to the last digit: long and short answers, each at the best of all score thresholds.
// Values lie between 0 and 1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/metrics/metric_list.h"

namespace bigbird {

// Half-open bytes of the page's HTML and half-open tokens; -1 where there is none.
struct NqSpan {
  std::int64_t start_byte = -1;
  std::int64_t end_byte = -1;
  std::int64_t start_token = -1;
  std::int64_t end_token = -1;

  bool is_null() const { return start_byte < 0 && end_byte < 0 && start_token < 0 && end_token < 0; }
  bool operator==(const NqSpan&) const = default;
};

enum class NqYesNo { none, yes, no };
constexpr std::array<std::pair<NqYesNo, const char*>, 3> nq_yes_no_names{
    {{NqYesNo::none, "NONE"}, {NqYesNo::yes, "YES"}, {NqYesNo::no, "NO"}}};
// In capital or small letters; Error{bad_input} for another word, naming `where`.
NqYesNo parse_nq_yes_no(std::string_view word, const std::string& where);

struct NqAnnotation {
  NqSpan long_answer;
  std::vector<NqSpan> short_answers;
  NqYesNo yes_no = NqYesNo::none;
  std::optional<std::size_t> candidate = {};  // which of the page's the long answer is; not scored
};

struct NqGold {
  std::int64_t id = 0;
  std::vector<NqAnnotation> annotations;
};

struct NqPrediction {
  std::int64_t id = 0;
  NqSpan long_answer;
  double long_score = 0;
  std::vector<NqSpan> short_answers;
  double short_score = 0;
  NqYesNo yes_no = NqYesNo::none;
};

// What one question adds to precision and recall.
struct NqVerdict {
  bool has_gold = false;        // two annotations or more have an answer
  bool has_prediction = false;  // the prediction is not null
  bool correct = false;
  double score = 0;
};
NqVerdict nq_long_verdict(const NqGold& gold, const NqPrediction& prediction);
NqVerdict nq_short_verdict(const NqGold& gold, const NqPrediction& prediction);

struct NqScores {
  // long-best-threshold-f1, -precision, -recall, long-best-threshold; long-recall-at-precision>=0.5 and
  // long-precision-at-precision>=0.5, both also for 0.75 and 0.9; the same with short-.
  MetricList metrics;
  // long-answer-n, -f1, -precision, -recall and short-answer-*: every prediction that is not null counts,
  // whatever its score.
  MetricList without_scores;
};

// Precision and recall at every distinct score, from the highest down; the first strict maximum wins.
// Error{bad_input}: no questions, other ids on one side than on the other or an id twice, a question without
// annotations, a span whose start is not before its end or that is null on one side only, a prediction with
// yes or no together with short answers, a score that is not finite.
NqScores nq_scores(std::span<const NqGold> gold, std::span<const NqPrediction> predictions);

}  // namespace bigbird
