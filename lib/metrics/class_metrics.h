// Scores of a classifier of more than two classes. Definitions as in scikit-learn: macro F1 is the plain mean
// over the classes that occur among labels or predictions; MCC is Gorodkin's (2004) R_K.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace bigbird
