// window.json and profiles.tsv of a model folder; see model_task.h.
#include "lib/inference/model_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/names.h"
#include "lib/io/files/file.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

// The first name of each is the one that is written.
constexpr std::array<std::pair<Strands, const char*>, 6> strand_names{{{Strands::automatic, "auto"},
                                                                       {Strands::both, "both"},
                                                                       {Strands::forward, "+"},
                                                                       {Strands::forward, "forward"},
                                                                       {Strands::reverse, "-"},
                                                                       {Strands::reverse, "reverse"}}};

constexpr const char* window_file = "window.json";
constexpr const char* profiles_file = "profiles.tsv";
constexpr std::string_view train_prior_key = "train_prior=";

// A column number below `count`, or nothing.
std::optional<std::size_t> column_number(const std::string& text, std::size_t count) {
  std::size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number >= count) return std::nullopt;
  return number;
}

}  // namespace

std::vector<std::string> profile_labels(const std::vector<Profile>& profiles) {
  std::map<std::string_view, std::size_t> count;
  for (const Profile& profile : profiles) ++count[profile.name];
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const std::string& name = profiles[i].name;
    labels.push_back(count[name] > 1 ? fmt::format("{}:{}", name, i) : name);
    for (char& letter : labels.back()) {
      if (std::string_view(" \t,;=").find(letter) != std::string_view::npos) letter = '_';
    }
  }
  return labels;
}

std::optional<std::size_t> find_profile(const std::vector<Profile>& profiles, std::string_view label) {
  const std::vector<std::string> labels = profile_labels(profiles);
  const auto found = std::find(labels.begin(), labels.end(), label);
  if (found != labels.end()) return static_cast<std::size_t>(found - labels.begin());
  return column_number(std::string(label), profiles.size());
}

std::vector<Profile> read_profiles(const std::string& path) {
  TsvReader table(path);
  const std::size_t index = table.column("index"), name = table.column("name"), group = table.column("group");
  std::vector<Profile> profiles;
  std::vector<std::string_view> fields;
  while (table.next(fields)) {
    if (fields[index] != std::to_string(profiles.size())) {
      throw_bad_input(
          fmt::format("{}: index {} where {} is due", table.where(), fields[index], profiles.size()),
          "rows count from 0 in the order of the model's outputs");
    }
    profiles.push_back(
        {std::string(fields[name]), is_missing(fields[group]) ? "." : std::string(fields[group])});
  }
  return profiles;
}

std::string profiles_tsv(const std::vector<Profile>& profiles, const std::vector<std::string>& comments) {
  std::string text;
  for (const std::string& comment : comments) text += "##" + comment + "\n";
  text += "index\tname\tgroup\n";
  for (std::size_t i = 0; i < profiles.size(); ++i)
    text += fmt::format("{}\t{}\t{}\n", i, profiles[i].name, text_field(profiles[i].group));
  return text;
}

std::string window_json(const ModelWindow& window) {
  nlohmann::ordered_json json;
  json["task"] = window.task;
  json["length"] = window.length;
  json["target_offset"] = window.target_offset;
  json["target_length"] = window.target_length;
  return json_text(json, 2) + "\n";
}

std::optional<ModelWindow> read_model_window(const std::string& model_folder) {
  const std::string path = model_folder + "/" + window_file;
  if (!file_exists(path)) return std::nullopt;
  ModelWindow window;
  try {
    const auto json = nlohmann::json::parse(read_file(path));
    window.task = json.at("task").get<std::string>();
    window.length = json.at("length").get<std::int64_t>();
    window.target_offset = json.at("target_offset").get<std::int64_t>();
    window.target_length = json.at("target_length").get<std::int64_t>();
  } catch (const nlohmann::json::exception& error) {
    throw_bad_input(fmt::format("{}: {}", path, json_problem(error)),
                    "it is written by `bigbird promoter finetune` and `bigbird chromatin finetune`");
  }
  if (window.length < 1 || window.target_offset < 0 || window.target_length < 1 ||
      window.target_offset > window.length - window.target_length) {
    throw_bad_input(fmt::format("{}: a target of {} bases at {} is not in a window of {}", path,
                                window.target_length, window.target_offset, window.length));
  }
  return window;
}

ModelWindow centred_window(std::int64_t length) {
  return {"", length, middle_base(0, length), 1};
}

ModelWindow with_offset(ModelWindow window, std::int64_t offset) {
  if (offset < 0) return window;
  if (offset >= window.length) {
    throw_usage(message("`offset` {}: outside of the window of {} bp", offset, window.length),
                "it counts from 0, below the window's length");
  }
  window.target_offset = offset;
  window.target_length = 1;
  return window;
}

std::vector<Profile> read_model_profiles(const std::string& model_folder, std::size_t outputs,
                                         const std::vector<std::string>& label_names) {
  const std::string path = model_folder + "/" + profiles_file;
  if (file_exists(path)) {
    std::vector<Profile> profiles = read_profiles(path);
    if (profiles.size() != outputs) {
      throw_bad_input(
          fmt::format("{}: {} profiles, and the model has {} outputs", path, profiles.size(), outputs));
    }
    return profiles;
  }
  std::vector<Profile> profiles;
  for (std::size_t i = 0; i < outputs; ++i)
    profiles.push_back({label_names.size() == outputs ? label_names[i] : fmt::format("output{}", i), "."});
  return profiles;
}

std::optional<double> read_train_prior(const std::string& model_folder) {
  const std::string path = model_folder + "/" + profiles_file;
  if (!file_exists(path)) return std::nullopt;
  const TsvReader table(path);
  for (const std::string& comment : table.comments()) {
    if (!comment.starts_with(train_prior_key)) continue;
    const double prior =
        parse_number(std::string_view(comment).substr(train_prior_key.size()), path, "train_prior");
    if (prior > 0 && prior < 1) return prior;
    throw_bad_input(fmt::format("{}: train_prior {}: must be between 0 and 1", path, prior),
                    "it is written by `bigbird promoter finetune`");
  }
  return std::nullopt;
}

std::map<std::string, std::string> model_task_files(const std::optional<ModelWindow>& window,
                                                    const std::vector<Profile>& profiles,
                                                    std::optional<double> train_prior) {
  std::map<std::string, std::string> files;
  if (window) files[window_file] = window_json(*window);
  std::vector<std::string> comments;
  if (train_prior) comments.push_back(fmt::format("{}{}", train_prior_key, *train_prior));
  if (!profiles.empty()) files[profiles_file] = profiles_tsv(profiles, comments);
  return files;
}

void copy_model_task(const std::string& from, const std::string& to) {
  for (const char* name : {window_file, profiles_file}) {
    const std::string file = from + "/" + name;
    if (file_exists(file)) write_text_atomic(to + "/" + name, read_file(file));
  }
}

Strands parse_strands(const std::string& word) {
  return parse_name(strand_names, word, message("choice of `strands`"));
}

std::string name_of(Strands strands) {
  return find_name(strand_names, strands);
}

PredictionColumns select_profiles(const std::vector<Profile>& profiles, const std::string& list) {
  PredictionColumns columns{profiles, {}};
  if (list.empty() || list == "all") {
    for (std::size_t i = 0; i < profiles.size(); ++i) columns.selected.push_back(i);
    return columns;
  }
  if (list == "none")
    throw_usage(message("`profiles` none: leaves nothing to write"), "name at least one, or take all");
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string word = list.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t before = columns.selected.size();
    const std::size_t dash = word.find('-');
    if (const auto one = column_number(word, profiles.size())) {
      columns.selected.push_back(*one);
    } else if (dash != std::string::npos) {
      const auto first = column_number(word.substr(0, dash), profiles.size());
      const auto last = column_number(word.substr(dash + 1), profiles.size());
      for (std::size_t i = first.value_or(1); first && last && i <= *last; ++i) columns.selected.push_back(i);
    }
    for (std::size_t i = 0; columns.selected.size() == before && i < profiles.size(); ++i) {
      if (profiles[i].name != word) continue;
      for (std::size_t k = i; k < profiles.size(); ++k) {
        if (profiles[k].name == word) columns.selected.push_back(k);
      }
    }
    if (columns.selected.size() == before) {
      throw_usage(
          message("`profiles` {}: there is no profile {}", list, word),
          fmt::format("the model has profiles 0 to {}: give numbers, ranges such as 0-3, or names of its "
                      "profiles.tsv",
                      profiles.size() - 1));
    }
  }
  return columns;
}

std::vector<std::size_t> written_profiles(const std::string& list, const std::vector<Profile>& profiles,
                                          std::size_t all_up_to) {
  if (list == "none" || (list.empty() && profiles.size() > all_up_to)) return {};
  const std::vector<std::size_t> selected = select_profiles(profiles, list).selected;
  const std::set<std::size_t> written(selected.begin(), selected.end());
  return {written.begin(), written.end()};
}

}  // namespace bigbird
