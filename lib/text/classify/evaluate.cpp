// Metrics of text classification; see evaluate.h.
#include "lib/text/classify/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/io/tables/tsv.h"
#include "lib/metrics/class_metrics.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

double quotient(double numerator, double denominator) {
  return denominator == 0 ? 0 : numerator / denominator;
}

nlohmann::ordered_json finite_or_null(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

std::int32_t known_class(const ClassNames& classes, const std::string& label, const std::string& place) {
  if (const auto number = classes.number(label)) return *number;
  throw_bad_input(
      fmt::format("{}: label '{}' is none of the model's classes", place, text_for_message(label)),
      message("they are: {}; where the data call them otherwise, give `labels`: their names in "
              "the order of the model's outputs",
              text_for_message(fmt::format("{}", fmt::join(classes.names(), ", ")), 300)));
}

double gold_value(const LabelledText& row) {
  return regression_label(row.labels, row.place, "predictions are numbers, and so must the labels be");
}

const std::string& one_label(const LabelledText& row) {
  return single_label(row.labels, row.place, "the model gives one class to each text");
}

void append_sets(nlohmann::ordered_json& json, const ScoredTexts& scored) {
  const std::size_t classes = scored.classes.size();
  std::vector<double> hits(classes, 0), gold(classes, 0), guessed(classes, 0);
  double exact = 0;
  for (std::size_t i = 0; i < scored.rows(); ++i) {
    for (std::size_t c = 0; c < classes; ++c) {
      gold[c] += scored.gold_sets[i][c] ? 1 : 0;
      guessed[c] += scored.predicted_sets[i][c] ? 1 : 0;
      hits[c] += scored.gold_sets[i][c] && scored.predicted_sets[i][c] ? 1 : 0;
    }
    exact += scored.gold_sets[i] == scored.predicted_sets[i] ? 1 : 0;
  }
  double all_hits = 0, all = 0, f1_sum = 0;
  nlohmann::ordered_json per_class;
  for (std::size_t c = 0; c < classes; ++c) {
    const double f1 = quotient(2 * hits[c], gold[c] + guessed[c]);
    all_hits += hits[c];
    all += gold[c] + guessed[c];
    f1_sum += f1;
    per_class[scored.classes.names()[c]] = {{"precision", quotient(hits[c], guessed[c])},
                                            {"recall", quotient(hits[c], gold[c])},
                                            {"f1", f1},
                                            {"support", static_cast<std::int64_t>(gold[c])}};
  }
  json["exact_match"] = exact / static_cast<double>(scored.rows());
  json["micro_f1"] = quotient(2 * all_hits, all);
  json["macro_f1"] = f1_sum / static_cast<double>(classes);
  json["per_class"] = per_class;
}

void append_classes(nlohmann::ordered_json& json, const ScoredTexts& scored) {
  const std::size_t classes = scored.classes.size();
  const ClassMetrics metrics = class_metrics(scored.labels, scored.predicted, classes);
  std::vector<std::int64_t> support(classes, 0);
  for (const int label : scored.labels) ++support[static_cast<std::size_t>(label)];
  json["accuracy"] = metrics.accuracy;
  json["micro_f1"] = metrics.accuracy;
  json["macro_f1"] = metrics.macro_f1;
  json["mcc"] = metrics.mcc;
  json["majority"] = static_cast<double>(*std::max_element(support.begin(), support.end())) /
                     static_cast<double>(metrics.examples);
  nlohmann::ordered_json per_class;
  for (std::size_t c = 0; c < classes; ++c) {
    per_class[scored.classes.names()[c]] = {{"precision", metrics.precision[c]},
                                            {"recall", metrics.recall[c]},
                                            {"f1", metrics.f1[c]},
                                            {"support", support[c]}};
    const auto row = metrics.confusion.begin() + static_cast<std::ptrdiff_t>(c * classes);
    json["confusion"].push_back(std::vector<std::int64_t>(row, row + static_cast<std::ptrdiff_t>(classes)));
  }
  json["per_class"] = per_class;
}

void append_values(nlohmann::ordered_json& json, const ScoredTexts& scored) {
  double squares = 0;
  for (std::size_t i = 0; i < scored.rows(); ++i) {
    const double difference = scored.values[i] - scored.predicted_values[i];
    squares += difference * difference;
  }
  json["pearson"] = finite_or_null(pearson_correlation(scored.values, scored.predicted_values));
  json["spearmanr"] = finite_or_null(spearman_correlation(scored.values, scored.predicted_values));
  json["mse"] = squares / static_cast<double>(scored.rows());
}

// What a table of predictions says of an id.
struct PredictedText {
  std::string label;         // of numbers the score
  std::vector<bool> labels;  // [classes of the table]: its value is at least label_threshold
  std::string place;
  bool used = false;
};

struct PredictedTable {
  bool regression = false;           // it has scores and no labels
  std::vector<std::string> classes;  // of the columns p.NAME
  std::map<std::string, PredictedText> rows;
};

PredictedTable read_predicted_table(const std::string& path) {
  TsvReader file(path);
  PredictedTable table;
  table.regression = !file.has_column("label");
  const std::size_t id = file.column("id"), label = file.column(table.regression ? "score" : "label");
  std::vector<std::size_t> columns;
  for (std::size_t column = 0; column < file.columns().size(); ++column) {
    if (file.columns()[column].rfind("p.", 0) != 0) continue;
    table.classes.push_back(file.columns()[column].substr(2));
    columns.push_back(column);
  }
  std::vector<std::string_view> fields;
  while (file.next(fields)) {
    PredictedText row{std::string(fields[label]), {}, file.where()};
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const double value = parse_number(fields[columns[c]], row.place, file.columns()[columns[c]]);
      row.labels.push_back(value >= label_threshold);
    }
    const auto [found, is_new] = table.rows.try_emplace(std::string(fields[id]), std::move(row));
    if (!is_new) {
      throw_bad_input(fmt::format("{}: id {} is at {} too", file.where(), found->first, found->second.place),
                      "a text has one prediction");
    }
  }
  return table;
}

using GoldAndPredicted = std::vector<std::pair<std::vector<std::string>, const PredictedText*>>;

// The classes, or what the data call them.
std::vector<std::string> renamed_classes(const std::vector<std::string>& classes,
                                         const std::vector<std::string>& labels) {
  if (labels.empty()) return classes;
  const bool distinct = std::set<std::string>(labels.begin(), labels.end()).size() == labels.size();
  if (labels.size() == classes.size() && distinct) return labels;
  throw_usage(
      message("`labels` {}: {} where the model has {} classes", fmt::join(labels, ","),
              distinct ? fmt::format("{} names", labels.size()) : "a name is there twice", classes.size()),
      fmt::format("one for each of {}, in that order", fmt::join(classes, ",")));
}

void rename_classes(PredictedTable& table, const std::vector<std::string>& labels, const std::string& path) {
  if (table.classes.empty()) {
    throw_usage(message("`labels`: {} has no columns p.NAME, which name the classes", path),
                "give the table that `bigbird text classify predict` wrote");
  }
  const ClassNames before = ClassNames::in_order(table.classes);
  table.classes = renamed_classes(table.classes, labels);
  for (auto& [id, row] : table.rows) {
    if (const auto number = before.number(row.label))
      row.label = table.classes[static_cast<std::size_t>(*number)];
  }
}

// A label that no class of the predictions has can only be wrong: of other names for the same classes every
// score would be 0 without a word.
void warn_of_foreign_labels(const std::string& data, const std::string& predictions,
                            const PredictedTable& table, const GoldAndPredicted& pairs) {
  std::set<std::string> names(table.classes.begin(), table.classes.end());
  const bool all_known = !names.empty();  // else a class that is not there was perhaps never predicted
  if (!all_known) {
    for (const auto& [labels, row] : pairs) names.emplace(row->label);
  }
  const ClassNames classes = ClassNames::in_order({names.begin(), names.end()});
  std::set<std::string> foreign;
  std::size_t rows = 0;
  for (const auto& [labels, row] : pairs) {
    bool known = true;
    for (const std::string& label : labels) {
      if (classes.number(label)) continue;
      known = false;
      foreign.emplace(label);
    }
    rows += known ? 0 : 1;
  }
  if (rows == 0 || (!all_known && rows < pairs.size())) return;
  const auto listed = [](const std::set<std::string>& all) {
    return text_for_message(fmt::format("{}", fmt::join(all, ", ")), 120);
  };
  log_warning(
      message("{}: the labels of {} of {} rows ({}) are not a class of {} ({}), and count as wrong; where "
              "they are other names of its classes, give `labels`",
              data, rows, pairs.size(), listed(foreign), predictions, listed(names)));
}

// Gold labels that the table has no column for are classes of their own, behind its own.
void append_label_sets(ScoredTexts& scored, const PredictedTable& table, const GoldAndPredicted& pairs) {
  std::vector<std::string> names = table.classes;
  std::set<std::string> known(names.begin(), names.end());
  for (const auto& [labels, row] : pairs) {
    for (const std::string& label : labels)
      if (known.insert(label).second) names.push_back(label);
  }
  scored.classes = ClassNames::in_order(std::move(names));
  for (const auto& [labels, row] : pairs) {
    std::vector<bool> is_gold(scored.classes.size(), false), is_predicted = row->labels;
    is_predicted.resize(scored.classes.size(), false);
    for (const std::string& label : labels)
      is_gold[static_cast<std::size_t>(*scored.classes.number(label))] = true;
    scored.gold_sets.push_back(std::move(is_gold));
    scored.predicted_sets.push_back(std::move(is_predicted));
  }
}

}  // namespace

std::size_t ScoredTexts::rows() const {
  return std::max({labels.size(), gold_sets.size(), values.size()});
}

ScoredTexts score_texts(const TextRows& gold, TextClassifier& classifier,
                        const std::vector<std::string>& labels) {
  ScoredTexts scored;
  scored.problem = classifier.problem();
  if (scored.problem != ProblemType::regression) {
    scored.classes = ClassNames::in_order(renamed_classes(classifier.names(), labels));
  } else if (!labels.empty()) {
    throw_usage(message("`labels`: the model gives numbers, which have no classes"));
  }
  scored.inputs =
      classify_texts(gold.next, classifier, [&](const LabelledText& row, std::span<const double> values) {
        switch (scored.problem) {
          case ProblemType::regression:
            scored.values.push_back(gold_value(row));
            scored.predicted_values.push_back(values.front());
            break;
          case ProblemType::multi_label: {
            std::vector<bool> is_gold(values.size(), false), is_predicted(values.size(), false);
            for (const std::string& label : row.labels)
              is_gold[static_cast<std::size_t>(known_class(scored.classes, label, row.place))] = true;
            for (std::size_t c = 0; c < values.size(); ++c) is_predicted[c] = values[c] >= label_threshold;
            scored.gold_sets.push_back(std::move(is_gold));
            scored.predicted_sets.push_back(std::move(is_predicted));
            break;
          }
          case ProblemType::single_label:
            scored.labels.push_back(known_class(scored.classes, one_label(row), row.place));
            scored.predicted.push_back(static_cast<int>(best_output(values)));
            break;
        }
      });
  if (scored.rows() == 0)
    throw_bad_input(gold.name + ": there are no examples to score", "give labelled texts");
  return scored;
}

ScoredTexts read_scored_texts(const TextRows& gold, const std::string& predictions,
                              const std::vector<std::string>& labels) {
  PredictedTable table = read_predicted_table(predictions);
  if (!labels.empty()) rename_classes(table, labels, predictions);
  ScoredTexts scored;
  // Labels as the table of predictions has them, without tabs and line ends.
  GoldAndPredicted pairs;
  std::set<std::string> names;
  bool lists = false;
  LabelledText row;
  while (gold.next(row)) {
    const auto found = table.rows.find(escape_controls(row.id));
    if (found == table.rows.end()) {
      throw_bad_input(
          fmt::format("{}: id {} has no prediction in {}", row.place, escape_controls(row.id), predictions),
          "predict the same file");
    }
    found->second.used = true;
    if (table.regression) {
      const auto value = parse_regression_label(found->second.label);
      if (!value)
        throw_bad_input(
            fmt::format("{}: score '{}' is not a number", found->second.place, found->second.label),
            "give what `bigbird text classify predict` wrote");
      scored.values.push_back(gold_value(row));
      scored.predicted_values.push_back(*value);
      continue;
    }
    lists = lists || row.label_is_list;
    if (!lists) one_label(row);
    std::vector<std::string> own;
    for (const std::string& label : row.labels) own.push_back(escape_controls(label));
    pairs.emplace_back(std::move(own), &found->second);
  }
  if (table.regression) {
    scored.problem = ProblemType::regression;
  } else if (lists) {
    if (table.classes.empty()) {
      throw_bad_input(predictions + ": no columns p.NAME, a probability for each class",
                      "give the table that `bigbird text classify predict` wrote");
    }
    scored.problem = ProblemType::multi_label;
    append_label_sets(scored, table, pairs);
  } else {
    scored.problem = ProblemType::single_label;
    for (const auto& [own, predicted] : pairs) {
      names.emplace(class_of_label(own.front()));
      names.emplace(class_of_label(predicted->label));
    }
    scored.classes = ClassNames({names.begin(), names.end()});
    for (const auto& [own, predicted] : pairs) {
      scored.labels.push_back(*scored.classes.number(own.front()));
      scored.predicted.push_back(*scored.classes.number(predicted->label));
    }
  }
  if (!table.regression) warn_of_foreign_labels(gold.name, predictions, table, pairs);
  if (scored.rows() == 0)
    throw_bad_input(gold.name + ": there are no examples to score", "give labelled texts");
  const auto unused = std::count_if(table.rows.begin(), table.rows.end(),
                                    [](const auto& entry) { return !entry.second.used; });
  if (unused > 0)
    log_warning(fmt::format("{}: {} predictions are of ids that the data lack", predictions, unused));
  return scored;
}

std::string text_metrics_json(const ScoredTexts& scored, const std::string& provenance_json) {
  nlohmann::ordered_json json;
  switch (scored.problem) {
    case ProblemType::single_label:
      append_classes(json, scored);
      break;
    case ProblemType::multi_label:
      append_sets(json, scored);
      break;
    case ProblemType::regression:
      append_values(json, scored);
      break;
  }
  json["examples"] = scored.rows();
  json["cut"] = scored.inputs.cut;
  if (!provenance_json.empty()) json["provenance"] = nlohmann::ordered_json::parse(provenance_json);
  return json_text(json, 2) + "\n";
}

std::string class_table_tsv(const ScoredTexts& scored) {
  if (scored.problem != ProblemType::single_label) {
    throw_bad_input("there is no table of classes where texts have several labels or numbers",
                    "leave the table away");
  }
  const ClassMetrics metrics = class_metrics(scored.labels, scored.predicted, scored.classes.size());
  std::string text = "class\tprecision\trecall\tf1\tsupport";
  for (const std::string& name : scored.classes.names()) text += "\tas." + escape_controls(name);
  text += "\n";
  for (std::size_t c = 0; c < metrics.classes; ++c) {
    std::int64_t support = 0;
    std::string row;
    for (std::size_t other = 0; other < metrics.classes; ++other) {
      const std::int64_t count = metrics.confusion[c * metrics.classes + other];
      support += count;
      row += fmt::format("\t{}", count);
    }
    text += fmt::format("{}\t{:.6g}\t{:.6g}\t{:.6g}\t{}{}\n", escape_controls(scored.classes.names()[c]),
                        metrics.precision[c], metrics.recall[c], metrics.f1[c], support, row);
  }
  return text;
}

}  // namespace bigbird
