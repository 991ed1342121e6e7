// GLUE's metrics with the keys of Hugging Face's glue metric and run_glue.py; values as scikit-learn and
// scipy give them, between -1 and 1.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "lib/metrics/metric_list.h"

namespace bigbird {

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

// Classes by name, which is what holds between models that number them otherwise; `names` are the names there
// are, in the order of the class numbers. Error{bad_input} for a label or a prediction that is none of them.
MetricList glue_named_metrics(GlueMetric metric, std::span<const std::string> labels,
                              std::span<const std::string> predicted, std::span<const std::string> names);

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
