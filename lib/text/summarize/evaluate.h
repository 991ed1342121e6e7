// How near predicted summaries come to those that people wrote: ROUGE, document by document and over all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/io/text/summary_pairs.h"
#include "lib/metrics/metric_list.h"
#include "lib/metrics/rouge.h"

namespace bigbird {

struct SummaryEvaluationOptions {
  std::string data;          // with summaries
  std::string predictions;   // with a summary for each id
  SummaryPairOptions pairs;  // of the data
  // A document without a prediction is counted as a bad record; else it is an error.
  bool skip_missing = false;
  std::string prediction_field;  // empty: as in SummaryPairOptions
  RougeOptions rouge;
  std::size_t draws = 1000;  // of the intervals, as rouge_score has it
  std::uint32_t bootstrap_seed = 1;
  // What stands for a line break in either, beside the line break itself: BigBird-Pegasus writes "<n>" (with
  // the blanks around it). Empty: nothing. It matters to rougeLsum alone.
  std::string line_break = "<n>";
};

struct SummaryEvaluation {
  RougeOptions rouge;
  std::size_t draws = 1000;
  std::uint32_t bootstrap_seed = 1;
  std::vector<std::string> ids;                 // in the order of the data
  std::vector<std::vector<RougeScore>> scores;  // [documents][types]
  std::vector<std::size_t> summary_words;       // of the first summary, and of the prediction
  std::vector<std::size_t> predicted_words;
  std::vector<RougeSummary> by_type;
  std::int64_t empty_summaries = 0;  // of the data; such a document counts 0
  std::int64_t empty_predictions = 0;
  std::int64_t unknown = 0;   // predictions for ids that the data do not have
  std::uint64_t skipped = 0;  // bad records of the data (skip_bad)
  std::string first_skipped;
};

// Error{bad_input}: what SummaryPairs refuses; no summaries; a document without a prediction. Predictions are
// held in memory, the data are not.
SummaryEvaluation evaluate_summaries(const SummaryEvaluationOptions& options);

// "rouge": {type: {precision, recall, f1, low: {...}, mid, high}}, where the first three are means over
// documents, and counts. `provenance_json` is put in as it is when not empty.
std::string summary_metrics_json(const SummaryEvaluation& evaluation, const std::string& provenance_json);
// "#id", for each type TYPE_precision, TYPE_recall, TYPE_f1, and the words of both, as TSV.
std::string summary_scores_tsv(const SummaryEvaluation& evaluation,
                               const std::vector<std::string>& provenance_lines);

}  // namespace bigbird
