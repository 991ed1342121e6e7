// What every metric of a text task hands out: named values in the order of the data set's official script,
// and how the ids of predictions and gold questions fit together.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bigbird {

struct Metric {
  std::string name;    // the official script's key
  double value = 0;    // NaN: undefined, null in JSON
  bool count = false;  // a whole number, written without a point ("total")
};
using MetricList = std::vector<Metric>;

// The value of that name; Error{runtime} if the list has none, a defect of the program.
double metric_value(const MetricList& metrics, std::string_view name);

// Predicted answers by question id. An ordered map, so that what is reported of it does not depend on the
// platform.
using AnswerTexts = std::map<std::string, std::string, std::less<>>;

struct IdTally {
  std::int64_t questions = 0;  // gold
  std::int64_t missing = 0;    // gold questions without a prediction
  std::int64_t unknown = 0;    // predictions for ids that no gold question has
  // The first five of each, in the order of the spans.
  std::vector<std::string> missing_ids;
  std::vector<std::string> unknown_ids;
};

// Ids are distinct on either side.
IdTally tally_ids(std::span<const std::string_view> gold, std::span<const std::string_view> predicted);

struct TaskScores {
  MetricList metrics;
  IdTally ids;
};

// The ids of anything with a member `id`, and of a map's keys; views into them.
template <typename Questions>
std::vector<std::string_view> ids_of(const Questions& questions) {
  std::vector<std::string_view> ids;
  ids.reserve(questions.size());
  for (const auto& question : questions) ids.emplace_back(question.id);
  return ids;
}

template <typename Value>
std::vector<std::string_view> ids_of(const std::map<std::string, Value, std::less<>>& predictions) {
  std::vector<std::string_view> ids;
  ids.reserve(predictions.size());
  for (const auto& [id, value] : predictions) ids.emplace_back(id);
  return ids;
}

}  // namespace bigbird
