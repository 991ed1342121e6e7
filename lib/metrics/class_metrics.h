// Scores of a classifier of more than two classes. Definitions as in scikit-learn: macro F1 is the plain mean
// over the classes that occur among labels or predictions; MCC is Gorodkin's (2004) R_K.
// GLUE's metrics stand on them: with the keys of Hugging Face's glue metric and run_glue.py, and values as
// scikit-learn and scipy give them, between -1 and 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/metrics/metric_list.h"

namespace bigbird {

// A class as it is known by: of a whole number without the point and the zeros that a table gives it where it
// keeps whole numbers as fractions ("1" of "1.0", as pandas writes a column with gaps); else as it stands.
std::string_view class_of_label(std::string_view label);

struct ClassMetrics {
  std::size_t classes = 0;
  std::vector<std::int64_t> confusion;  // [classes, classes], rows are labels, columns predictions
  // [classes]; ratios whose denominator is 0 are 0.
  std::vector<double> precision;
  std::vector<double> recall;
  std::vector<double> f1;
  double accuracy = 0;
  double macro_f1 = 0;
  double mcc = 0;  // 0 when labels or predictions are all one class
  std::int64_t examples = 0;
};

// Both are classes below `classes`, equally many and at least one; Error{bad_input} else.
ClassMetrics class_metrics(std::span<const int> labels, std::span<const int> predicted, std::size_t classes);

// A JSON object with the fields above; `provenance_json` is put in as it is when not empty.
std::string class_metrics_json(const ClassMetrics& metrics, const std::string& provenance_json);

enum class GlueMetric {
  matthews,          // CoLA: matthews_correlation
  accuracy,          // SST-2, QNLI, RTE, WNLI, MNLI: accuracy
  accuracy_f1,       // MRPC, QQP: accuracy, f1 (of class 1), combined_score
  pearson_spearman,  // STS-B: pearson, spearmanr, combined_score
};

// Classes by number, below `classes` (2 for all metrics but accuracy). Matthews' correlation and F1 are 0
// where a denominator is. Error{bad_input} for different lengths, no examples, a class out of range.
MetricList glue_class_metrics(GlueMetric metric, std::span<const int> labels, std::span<const int> predicted,
                              std::size_t classes);

// pearson, spearmanr, combined_score; NaN where labels or predictions are all the same. Error{bad_input} for
// different lengths, no examples, a value that is not finite.
MetricList glue_regression_metrics(std::span<const double> labels, std::span<const double> predicted);

// MNLI's two development sets under the names accuracy and accuracy_mm: the metrics of the first, then those
// of the second with "_mm" behind their names.
MetricList join_mnli_metrics(MetricList matched, const MetricList& mismatched);

// Linear correlation (scipy.stats.pearsonr) and the same of ranks, equal values taking their mean rank
// (scipy.stats.spearmanr). As many values on either side, all finite; NaN where one side is constant.
double pearson_correlation(std::span<const double> x, std::span<const double> y);
double spearman_correlation(std::span<const double> x, std::span<const double> y);

}  // namespace bigbird
