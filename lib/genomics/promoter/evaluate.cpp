// Evaluation of promoter predictions; see evaluate.h.
#include "lib/genomics/promoter/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/io/tables/tsv.h"
#include "lib/metrics/class_metrics.h"
#include "lib/metrics/metrics.h"

namespace bigbird {
namespace {

constexpr std::string_view negatives_key = "negatives=";

int class_below(std::string_view text, const std::string& where, std::size_t classes) {
  const std::int64_t label = parse_integer(class_of_label(text), where, "label");
  if (label >= 0 && static_cast<std::size_t>(label) < classes) return static_cast<int>(label);
  if (classes == 2) {
    throw_bad_input(fmt::format("{}: label '{}' is neither 0 nor 1", where, text),
                    "labels are 1 for promoters, else 0");
  }
  throw_bad_input(fmt::format("{}: label '{}' is none of the {} classes", where, text, classes));
}

}  // namespace

LabelledPredictions read_labelled_predictions(const std::string& path) {
  TsvReader table(path);
  LabelledPredictions predictions;
  std::vector<std::size_t> columns;
  if (table.has_column("score")) {
    columns.push_back(table.column("score"));
  } else {
    for (std::string name = "p0"; table.has_column(name); name = fmt::format("p{}", columns.size())) {
      columns.push_back(table.column(name));
    }
    predictions.classes = columns.size();
  }
  if (!table.has_column("label") || columns.empty() || predictions.classes < 2) {
    throw_bad_input(path + ": needs columns 'label' and 'score', or 'label', 'p0', 'p1' ...",
                    "bigbird promoter predict keeps the labels of a data set");
  }
  for (const std::string& comment : table.comments()) {
    if (comment.starts_with(negatives_key)) predictions.negatives = comment.substr(negatives_key.size());
  }
  const std::size_t label = table.column("label");
  std::vector<std::string_view> fields;
  while (table.next(fields)) {
    const int known = class_below(fields[label], table.where(), predictions.classes);
    if (fields[columns.front()] == ".") {
      ++predictions.left_out;
      continue;
    }
    predictions.labels.push_back(known);
    for (const std::size_t column : columns) {
      predictions.scores.push_back(parse_number(fields[column], table.where(), "score"));
    }
  }
  if (predictions.labels.empty()) throw_bad_input(path + ": no predictions in it", "give at least one row");
  return predictions;
}

std::string evaluation_json(const LabelledPredictions& predictions, double threshold,
                            const std::string& provenance_json) {
  std::string text;
  if (predictions.classes == 2) {
    text = metrics_json(binary_metrics(predictions.labels, predictions.scores, threshold), "");
  } else {
    std::vector<int> predicted;
    const auto classes = static_cast<std::ptrdiff_t>(predictions.classes);
    for (auto row = predictions.scores.begin(); row != predictions.scores.end(); row += classes) {
      predicted.push_back(static_cast<int>(std::max_element(row, row + classes) - row));
    }
    text = class_metrics_json(class_metrics(predictions.labels, predicted, predictions.classes), "");
  }
  auto json = nlohmann::basic_json<OrderedMap>::parse(text);
  if (predictions.left_out > 0) json["left_out"] = predictions.left_out;
  if (!predictions.negatives.empty()) json["negatives"] = predictions.negatives;
  if (!provenance_json.empty()) json["provenance"] = nlohmann::basic_json<OrderedMap>::parse(provenance_json);
  return json_text(json, 2) + "\n";
}

std::string negatives_comment(const std::string& kind) {
  return std::string(negatives_key) + kind;
}

}  // namespace bigbird
