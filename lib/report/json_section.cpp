// The JSON of evaluations, summaries and counts in a report: whatever a verb writes is shown, and what has a
// usual picture gets it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/io/files/file.h"
#include "lib/report/evaluation_first.h"
#include "lib/report/labels.h"
#include "lib/report/report_inputs.h"

namespace bigbird {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

constexpr std::size_t most_bars = 60;
constexpr std::size_t most_drawn_classes = 60;  // of a confusion that is drawn

// What groups are compared by, the first that they have; and the fields around it, where it has some.
struct Measure {
  const char* name;
  const char* low;
  const char* high;
  bool share;  // of 1
};
constexpr std::array<Measure, 7> measures = {{{"median_auroc", "min_auroc", "max_auroc", true},
                                              {"auroc", "auroc_low", "auroc_high", true},
                                              {"f1", "f1_low", "f1_high", true},
                                              {"f", "f_low", "f_high", true},
                                              {"accuracy", "accuracy_low", "accuracy_high", true},
                                              {"spearman", "", "", true},
                                              {"score", "", "", false}}};

std::string value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "no value";
  return json_text(value);
}

bool is_flat(const Json& object) {
  return object.is_object() &&
         std::all_of(object.begin(), object.end(), [](const Json& v) { return v.is_primitive(); });
}

bool are_flat(const Json& values) {
  return !values.empty() && std::all_of(values.begin(), values.end(), is_flat);
}

double number_of(const Json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_number() ? found->get<double>()
                                                  : std::numeric_limits<double>::quiet_NaN();
}

class Walk {
 public:
  explicit Walk(ReportSection& section) : section_(section) {}

  void object(const Json& json, const std::string& prefix) {
    ReportFacts facts;
    const bool drawn = is_confusion(json);
    for (const auto& [key, value] : json.items()) {
      if (drawn && (key == "tp" || key == "fp" || key == "tn" || key == "fn")) continue;
      if (value.is_primitive()) facts.emplace_back(label_of(key), value_text(value));
    }
    if (!facts.empty()) section_.add(std::move(facts));
    pictures(json, prefix);
    for (const auto& [key, value] : json.items()) {
      if (key == "provenance" || key == "run" || key == "files" || value.is_primitive()) continue;
      member(key, value, prefix);
    }
  }

 private:
  // Numbers of each class, and the confusion of all.
  void pictures(const Json& json, const std::string& prefix) {
    std::vector<std::string> names;
    for (const char* key : {"class_names", "labels", "names"}) {
      if (json.contains(key) && json[key].is_array() && !json[key].empty() && json[key][0].is_string())
        names = json[key].get<std::vector<std::string>>();
    }
    ReportCharts charts;
    if (is_confusion(json)) {
      charts.emplace_back(
          MatrixChart{prefix + "confusion",
                      {"0", "1"},
                      {json.value("tn", std::int64_t{0}), json.value("fp", std::int64_t{0}),
                       json.value("fn", std::int64_t{0}), json.value("tp", std::int64_t{0})}});
    }
    if (const auto confusion = json.find("confusion"); confusion != json.end() && is_square(*confusion)) {
      MatrixChart chart{prefix + "confusion", names, {}};
      for (std::size_t i = names.size(); i < confusion->size(); ++i) chart.names.push_back(std::to_string(i));
      for (const Json& row : *confusion) {
        for (const Json& count : row) chart.counts.push_back(count.get<std::int64_t>());
      }
      chart.names.resize(confusion->size());
      charts.emplace_back(std::move(chart));
    }
    for (const char* measure : {"f1", "precision", "recall"}) {
      const auto values = json.find(measure);
      if (values == json.end() || !values->is_array() || values->size() > most_bars) continue;
      BarChart chart{prefix + label_of(measure) + " by class", "", {}, 1.0};
      for (std::size_t i = 0; i < values->size(); ++i) {
        const bool known = (*values)[i].is_number();
        chart.bars.push_back({i < names.size() ? names[i] : std::to_string(i),
                              known ? (*values)[i].get<double>() : std::numeric_limits<double>::quiet_NaN(),
                              {}});
      }
      charts.emplace_back(std::move(chart));
    }
    if (!charts.empty()) section_.add(std::move(charts));
  }

  // Its counts are drawn, not listed.
  static bool is_confusion(const Json& json) {
    return json.contains("tp") && json.contains("fn") && json["tp"].is_number_integer();
  }

  static bool is_square(const Json& rows) {
    return rows.is_array() && !rows.empty() && rows.size() <= most_drawn_classes &&
           std::all_of(rows.begin(), rows.end(), [&](const Json& row) {
             return row.is_array() && row.size() == rows.size() &&
                    std::all_of(row.begin(), row.end(), [](const Json& v) { return v.is_number_integer(); });
           });
  }

  void member(const std::string& key, const Json& value, const std::string& prefix) {
    const std::string name = prefix + label_of(key);
    if (value.empty()) return;
    if (are_flat(value)) return rows(name, value);
    if (are_sets_of_groups(value)) return sets_of_groups(name, value);
    if (value.is_array()) {
      if (value[0].is_object()) {
        for (std::size_t i = 0; i < value.size(); ++i) {
          const std::string own =
              set_name(value[i].value("name", value.size() > 1 ? std::to_string(i + 1) : std::string()));
          section_.add(ReportText{name + (own.empty() ? "" : ", " + own)});
          object(value[i], own.empty() ? prefix : own + ": ");
        }
      } else if (value[0].is_primitive() && key != "f1" && key != "precision" && key != "recall") {
        std::string text;
        for (const Json& each : value) text += (text.empty() ? "" : ", ") + value_text(each);
        section_.add(ReportFacts{{name, text}});
      }
      return;
    }
    section_.add(ReportText{name});
    object(value, prefix);
  }

  // Several sets of predictions of the same groups of profiles.
  static bool are_sets_of_groups(const Json& values) {
    return values.is_array() && std::all_of(values.begin(), values.end(), [](const Json& each) {
             return each.is_object() && each.contains("name") && each["name"].is_string() &&
                    each.contains("groups") && are_flat(each["groups"]);
           });
  }

  // One table of all, by group; and what each set has beside its groups.
  void sets_of_groups(const std::string& name, const Json& sets) {
    Json joined = Json::array(), own = Json::array();
    for (const auto& [group, first] : sets[0]["groups"].items()) {
      for (const Json& set : sets) {
        const auto found = set["groups"].find(group);
        if (found == set["groups"].end()) continue;
        Json row = {{"group", group}, {"predictions", set_name(set["name"].get<std::string>())}};
        for (const auto& [key, value] : found->items()) row[key] = value;
        joined.push_back(std::move(row));
      }
    }
    rows(name, joined);
    for (const Json& set : sets) {
      Json row = {{"predictions", set_name(set["name"].get<std::string>())}};
      for (const auto& [key, value] : set.items()) {
        if (key != "name" && key != "predictions" && value.is_primitive()) row[key] = value;
      }
      own.push_back(std::move(row));
    }
    if (own[0].size() > 1) rows(name + ", examples", own);
    for (const Json& set : sets) {
      for (const auto& [key, value] : set.items()) {
        if (key != "groups" && !value.is_primitive())
          member(key, value, set_name(set["name"].get<std::string>()) + ": ");
      }
    }
  }

  // Objects of the same kind: a table, and bars of what they are compared by.
  void rows(const std::string& name, const Json& values) {
    ReportTable table;
    table.caption = name;
    if (values.is_object()) table.columns.emplace_back("");
    std::vector<std::string> keys;
    for (const Json& row : values) {
      for (const auto& [key, value] : row.items()) {
        if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
      }
    }
    for (const std::string& key : keys) table.columns.push_back(label_of(key));
    const Measure* measure = nullptr;
    for (const Measure& each : measures) {
      if (measure == nullptr && std::find(keys.begin(), keys.end(), each.name) != keys.end()) measure = &each;
    }
    BarChart chart;
    for (const auto& [key, row] : values.items()) {
      std::vector<std::string> cells;
      std::string words = values.is_object() ? set_name(key) : std::string();
      if (values.is_object()) cells.push_back(set_name(key));
      for (const std::string& column : keys) {
        const auto found = row.find(column);
        cells.push_back(found == row.end() ? "" : value_text(*found));
        if (found != row.end() && found->is_string()) words += (words.empty() ? "" : " ") + cells.back();
      }
      table.rows.push_back(std::move(cells));
      if (measure == nullptr || chart.bars.size() == most_bars) continue;
      Bar bar{words.empty() ? key : words, number_of(row, measure->name), {}};
      if (const double low = number_of(row, measure->low), high = number_of(row, measure->high); low <= high)
        bar.interval = {low, high};
      chart.bars.push_back(std::move(bar));
    }
    if (measure != nullptr) {
      chart.title = name + ": " + label_of(measure->name);
      if (*measure->low != '\0' && std::any_of(chart.bars.begin(), chart.bars.end(),
                                               [](const Bar& bar) { return bar.interval.has_value(); }))
        chart.x_label = fmt::format("lines: {} to {}", label_of(measure->low), label_of(measure->high));
      if (measure->share) chart.x_high = 1.0;
      if (std::string_view(measure->name).find("auroc") != std::string_view::npos) {
        chart.mark = 0.5;
        chart.mark_name = "chance";
      }
      section_.add(ReportCharts{std::move(chart)});
    }
    table.folded = table.rows.size() > 20;
    section_.add(std::move(table));
  }

  ReportSection& section_;
};

}  // namespace

ReportSection json_section(const std::string& path) {
  ReportSection section{path, "evaluation", {}};
  Json json;
  std::string text;
  try {
    text = InputStream(path).read_all();
    json = Json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw_bad_input(fmt::format("{}: no JSON: {}", path, json_problem(error)),
                    "give the JSON that a verb has written");
  }
  if (!json.is_object()) throw_bad_input(path + ": no JSON object", "give the JSON that a verb has written");
  section.first = evaluation_first_screen(text, path);
  Walk(section).object(json, "");
  if (const auto provenance = json.find("provenance"); provenance != json.end() && provenance->is_object()) {
    ReportFacts facts;
    for (const auto& [key, value] : provenance->items()) {
      if (value.is_primitive()) facts.emplace_back(label_of(key), value_text(value));
    }
    for (const Json& input : provenance->value("inputs", Json::array()))
      facts.emplace_back(label_of(input.value("role", "input")), input.value("path", ""));
    section.add(std::move(facts));
  }
  return section;
}

}  // namespace bigbird
