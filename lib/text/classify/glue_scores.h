// A classifier on GLUE's terms: its outputs as classes of a task, submission files, official metrics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/metrics/metric_list.h"
#include "lib/text/classify/glue_files.h"
#include "lib/text/classify/predict.h"

namespace bigbird {

// Which class of the task every output of the model is, by name: models number their classes in many ways.
class GlueOutputs {
 public:
  // `labels` names the outputs in their order where the model's own names (LABEL_0, LABEL_1 ...) tell
  // nothing; else empty. A model that was trained on another task of GLUE gets a warning. Error{bad_input}:
  // outputs that are not the task's classes, each once, or not the one number of STS-B. Error{usage}:
  // `labels` that are not.
  GlueOutputs(const GlueTask& task, const TextClassifier& classifier, const std::vector<std::string>& labels);

  // Of the values of the classifier: the class with the highest one, the first output of equals.
  std::size_t predicted_class(std::span<const double> values) const;
  // STS-B's number as a submission has it, between 0 and 5.
  static double clamped_score(double value);
  // As a submission has it: the class's word, or the clamped score.
  std::string prediction(std::span<const double> values) const;

 private:
  const GlueTask& task_;
  std::vector<std::size_t> classes_;  // [outputs]
};

// "index<TAB>prediction" and a line for each row, in the order of the file. What was seen of the inputs.
std::pair<std::string, InputTally> glue_submission(const GlueTask& task, GlueFile& file,
                                                   TextClassifier& classifier, const GlueOutputs& outputs);

struct GlueScores {
  MetricList metrics;  // the official ones
  std::uint64_t examples = 0;
  InputTally inputs;  // of the model's; all 0 where predictions were read
  GlueTally rows;
};

// Rows with labels through the model. Error{bad_input}: no rows.
GlueScores score_glue_model(const GlueTask& task, GlueFile& gold, TextClassifier& classifier,
                            const GlueOutputs& outputs);
// Rows with labels beside a submission file, found by index (GlueFile's id). Error{bad_input} "FILE:LINE":
// not the header index and prediction; an index twice; a prediction that is no class, or no finite number of
// STS-B; a row without a prediction. Predictions for other indices are counted in a warning.
GlueScores score_glue_predictions(const GlueTask& task, GlueFile& gold, const std::string& predictions);

// Of one file its metrics; of MNLI's two those of the first, and of the second with "_mm" behind their names.
// With examples, cut inputs, rows skipped and dropped. `provenance_json` is put in when not empty.
std::string glue_metrics_json(const GlueTask& task, const std::vector<GlueScores>& scores,
                              const std::string& provenance_json);

}  // namespace bigbird
