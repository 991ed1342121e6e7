// GLUE's predictions and scores; see glue_scores.h.
#include "lib/text/classify/glue_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/io/text/text_lines.h"

namespace bigbird {
namespace {

constexpr const char* submission_header = "index\tprediction\n";

std::string name_list(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ","));
}

// The classes behind the names, each once; nothing where they are not the task's.
std::optional<std::vector<std::size_t>> classes_behind(const GlueTask& task,
                                                       const std::vector<std::string>& names) {
  std::vector<std::size_t> numbers;
  for (const std::string& name : names) {
    const auto number = task.class_number(name);
    if (!number || std::find(numbers.begin(), numbers.end(), *number) != numbers.end()) return std::nullopt;
    numbers.push_back(*number);
  }
  if (numbers.size() != task.classes.size()) return std::nullopt;
  return numbers;
}

// What is gathered row by row, and turned into metrics at the end.
struct GoldAndGuess {
  std::vector<int> labels, predicted;
  std::vector<double> scores, predicted_scores;

  // `guess`: the number of the class, or of a task without classes the score.
  void add(const GlueTask& task, const std::string& gold, double guess) {
    if (task.classes.empty()) {
      scores.push_back(*parse_regression_label(gold));
      predicted_scores.push_back(guess);
    } else {
      labels.push_back(static_cast<int>(*task.class_number(gold)));
      predicted.push_back(static_cast<int>(guess));
    }
  }
};

GlueScores finish_scores(const GlueTask& task, const GlueFile& gold, const GoldAndGuess& rows) {
  GlueScores result;
  result.rows = gold.tally();
  result.examples = gold.tally().rows;
  if (result.examples == 0)
    throw_bad_input(gold.path() + ": there are no examples to score", "give a file with labelled rows");
  result.metrics = task.classes.empty()
                       ? glue_regression_metrics(rows.scores, rows.predicted_scores)
                       : glue_class_metrics(task.metric, rows.labels, rows.predicted, task.classes.size());
  say_glue_tally(gold);
  return result;
}

struct SubmittedRow {
  double value = 0;  // the number of the class, or the score
  std::uint64_t line = 0;
  bool used = false;
};

SubmittedRow read_prediction(const GlueTask& task, const std::string& cell, const std::string& place) {
  SubmittedRow row;
  if (task.classes.empty()) {
    const auto score = parse_regression_label(cell);
    if (!score)
      throw_bad_input(fmt::format("{}: prediction '{}' is not a number", place, text_for_message(cell)),
                      "STS-B's predictions are numbers from 0 to 5");
    row.value = *score;
    return row;
  }
  const auto number = task.class_number(cell);
  if (!number) {
    std::vector<std::string> words;
    for (const GlueClass& one : task.classes) words.push_back(one.word);
    throw_bad_input(fmt::format("{}: prediction '{}' is none of {}'s classes", place, text_for_message(cell),
                                task.folder),
                    fmt::format("they are: {}", fmt::join(words, ", ")));
  }
  row.value = static_cast<double>(*number);
  return row;
}

std::map<std::string, SubmittedRow> read_submission(const GlueTask& task, const std::string& path) {
  DelimitedOptions form;
  form.separator = '\t';
  form.quoting = Quoting::none;
  DelimitedReader reader(path, form);
  if (reader.header() != std::vector<std::string>{"index", "prediction"}) {
    throw_bad_input(path + ":1: the header is not index<TAB>prediction",
                    "give what `bigbird text glue predict` wrote, or a file of that form");
  }
  std::map<std::string, SubmittedRow> rows;
  std::vector<std::string> cells;
  while (reader.next(cells)) {
    SubmittedRow row = read_prediction(task, cells[1], reader.where());
    row.line = reader.line_number();
    const auto [found, is_new] = rows.try_emplace(cells[0], row);
    if (!is_new) {
      throw_bad_input(fmt::format("{}: index {} is in line {} too", reader.where(),
                                  text_for_message(cells[0]), found->second.line),
                      "a row has one prediction");
    }
  }
  return rows;
}

}  // namespace

GlueOutputs::GlueOutputs(const GlueTask& task, const TextClassifier& classifier,
                         const std::vector<std::string>& labels)
    : task_(task) {
  const std::string& model = classifier.folder().path();
  const std::string& trained_on = classifier.settings().data_format;
  if (!trained_on.empty() && trained_on != task.name)
    log_warning(fmt::format("{}: was trained on {}, not on {}", model, trained_on, task.name));
  const std::size_t outputs = classifier.names().size();
  const bool regression = classifier.problem() == ProblemType::regression;
  if (task.classes.empty()) {
    if (!labels.empty()) throw_usage(message("`labels`: STS-B has no classes, its model gives one number"));
    if (!regression || outputs != 1) {
      throw_bad_input(
          fmt::format("{}: gives {} classes, and STS-B needs a model that gives one number", model, outputs),
          "make one with `bigbird text glue finetune`");
    }
    return;
  }
  if (regression || outputs != task.classes.size()) {
    throw_bad_input(fmt::format("{}: gives {}, and {} has {} classes", model,
                                regression ? "a number" : fmt::format("{} classes", outputs), task.folder,
                                task.classes.size()),
                    "make one with `bigbird text glue finetune`");
  }
  const auto found = classes_behind(task, labels.empty() ? classifier.names() : labels);
  if (!found && !labels.empty()) {
    throw_usage(message("`labels` {}: are not {}'s classes, each once", name_list(labels), task.folder),
                fmt::format("{} in the order of the model's outputs", name_list(task.class_names())));
  }
  if (!found) {
    throw_bad_input(fmt::format("{}: its outputs are named {}, and {}'s classes are {}", model,
                                name_list(classifier.names()), task.folder, name_list(task.class_names())),
                    message("give `labels`: the classes in the order of the model's outputs"));
  }
  classes_ = *found;
}

std::size_t GlueOutputs::predicted_class(std::span<const double> values) const {
  return classes_[best_output(values)];
}

double GlueOutputs::clamped_score(double value) {
  return std::clamp(value, 0.0, 5.0);
}

std::string GlueOutputs::prediction(std::span<const double> values) const {
  if (task_.classes.empty()) return fmt::format("{:.6f}", clamped_score(values.front()));
  return task_.classes[predicted_class(values)].word;
}

std::pair<std::string, InputTally> glue_submission(const GlueTask& task, GlueFile& file,
                                                   TextClassifier& classifier, const GlueOutputs& outputs) {
  std::string text = submission_header;
  const InputTally tally = classify_texts([&](LabelledText& row) { return file.next(row); }, classifier,
                                          [&](const LabelledText& row, std::span<const double> values) {
                                            text += row.id + "\t" + outputs.prediction(values) + "\n";
                                          });
  if (tally.inputs == 0)
    throw_bad_input(fmt::format("{}: there are no rows of {}", file.path(), task.folder),
                    "download it again");
  say_glue_tally(file);
  return {std::move(text), tally};
}

GlueScores score_glue_model(const GlueTask& task, GlueFile& gold, TextClassifier& classifier,
                            const GlueOutputs& outputs) {
  GoldAndGuess rows;
  const InputTally inputs =
      classify_texts([&](LabelledText& row) { return gold.next(row); }, classifier,
                     [&](const LabelledText& row, std::span<const double> values) {
                       rows.add(task, row.labels.front(),
                                task.classes.empty() ? GlueOutputs::clamped_score(values.front())
                                                     : static_cast<double>(outputs.predicted_class(values)));
                     });
  GlueScores scores = finish_scores(task, gold, rows);
  scores.inputs = inputs;
  return scores;
}

GlueScores score_glue_predictions(const GlueTask& task, GlueFile& gold, const std::string& predictions) {
  std::map<std::string, SubmittedRow> submitted = read_submission(task, predictions);
  GoldAndGuess rows;
  LabelledText row;
  while (gold.next(row)) {
    const auto found = submitted.find(row.id);
    if (found == submitted.end()) {
      throw_bad_input(fmt::format("{}: index {} has no prediction in {}", row.place, row.id, predictions),
                      "predict the same file; rows are numbered from 0");
    }
    SubmittedRow& guess = found->second;
    guess.used = true;
    rows.add(task, row.labels.front(), guess.value);
  }
  GlueScores scores = finish_scores(task, gold, rows);
  // Predictions of rows that have no label are not wrong.
  const auto unused = static_cast<std::uint64_t>(std::count_if(
      submitted.begin(), submitted.end(), [](const auto& entry) { return !entry.second.used; }));
  if (unused > scores.rows.unlabelled) {
    log_warning(fmt::format("{}: {} predictions are of indices that {} lacks", predictions,
                            unused - scores.rows.unlabelled, gold.path()));
  }
  return scores;
}

std::string glue_metrics_json(const GlueTask& task, const std::vector<GlueScores>& scores,
                              const std::string& provenance_json) {
  MetricList metrics = scores.front().metrics;
  if (scores.size() > 1) metrics = join_mnli_metrics(metrics, scores[1].metrics);
  nlohmann::ordered_json json;
  json["task"] = task.name;
  for (const Metric& metric : metrics) {
    json[metric.name] =
        std::isfinite(metric.value) ? nlohmann::ordered_json(metric.value) : nlohmann::ordered_json(nullptr);
  }
  std::uint64_t examples = 0, cut = 0, unlabelled = 0, dropped = 0;
  for (const GlueScores& one : scores) {
    examples += one.examples;
    cut += one.inputs.cut;
    unlabelled += one.rows.unlabelled;
    dropped += one.rows.dropped;
  }
  json["examples"] = examples;
  json["cut"] = cut;
  json["unlabelled"] = unlabelled;
  json["dropped"] = dropped;
  if (!provenance_json.empty()) json["provenance"] = nlohmann::ordered_json::parse(provenance_json);
  return json_text(json, 2) + "\n";
}

}  // namespace bigbird
