// text.json of a model folder; see text_settings.h.
#include "lib/text/text_settings.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/names.h"
#include "lib/io/files/file.h"

namespace bigbird {
namespace {

constexpr const char* text_settings_file = "text.json";

constexpr std::array<std::pair<TextTask, const char*>, 3> text_task_names{
    {{TextTask::classification, "classify"},
     {TextTask::question_answering, "qa"},
     {TextTask::summarization, "summarize"}}};
constexpr std::array<std::pair<WhiteSpace, const char*>, 2> white_space_names{
    {{WhiteSpace::fold, "fold"}, {WhiteSpace::keep, "keep"}}};

// A field that later versions have added: nothing where it is not there.
template <typename Value>
void read_optional(const nlohmann::json& json, const char* key, std::optional<Value>& value) {
  if (json.contains(key)) value = json.at(key).get<Value>();
}

template <typename Value>
void write_optional(nlohmann::ordered_json& json, const char* key, const std::optional<Value>& value) {
  if (value) json[key] = *value;
}

}  // namespace

std::string name_of(TextTask task) {
  return find_name(text_task_names, task);
}

TextSettings read_text_settings(const std::string& model_folder) {
  const std::string path = model_folder + "/" + text_settings_file;
  TextSettings settings;
  if (!file_exists(path)) return settings;
  try {
    const auto json = nlohmann::json::parse(read_file(path));
    const auto task = find_value(text_task_names, json.at("task").get<std::string>());
    const auto white_space = find_value(white_space_names, json.at("white_space").get<std::string>());
    if (!task || !white_space) {
      throw_bad_input(path + ": a task or a way of white space that is not known",
                      "it may be of a later version of bigbird");
    }
    settings.task = *task;
    settings.encoding.white_space = *white_space;
    settings.encoding.ascii_punctuation = json.at("ascii_punctuation").get<bool>();
    settings.data_format = json.at("data_format").get<std::string>();
    settings.length = json.at("length").get<std::int64_t>();
    settings.second_type = json.at("second_type").get<bool>();
    read_optional(json, "overlap", settings.overlap);
    read_optional(json, "step", settings.step);
    read_optional(json, "max_question", settings.max_question);
    read_optional(json, "version_2", settings.version_2);
    read_optional(json, "line_marks", settings.line_marks);
  } catch (const nlohmann::json::exception& error) {
    throw_bad_input(fmt::format("{}: is damaged ({})", path, json_problem(error)),
                    "copy it again from the folder that finetune wrote");
  }
  if (settings.length < 0) throw_bad_input(path + ": a negative length", "copy the model folder again");
  for (const auto& tokens : {settings.overlap, settings.step, settings.max_question}) {
    if (tokens && *tokens > static_cast<std::size_t>(settings.length))
      throw_bad_input(path + ": windows beyond its length", "copy the model folder again");
  }
  return settings;
}

TokenizerFolderOptions tokenizer_options(const TextSettings& settings) {
  TokenizerFolderOptions options;
  options.encoding = settings.encoding;
  options.second_type = settings.second_type && settings.task == TextTask::classification;
  return options;
}

std::map<std::string, std::string> text_settings_files(const TextSettings& settings) {
  nlohmann::ordered_json json;
  json["task"] = find_name(text_task_names, settings.task.value());
  json["data_format"] = settings.data_format;
  json["length"] = settings.length;
  json["second_type"] = settings.second_type;
  json["white_space"] = find_name(white_space_names, settings.encoding.white_space);
  json["ascii_punctuation"] = settings.encoding.ascii_punctuation;
  write_optional(json, "overlap", settings.overlap);
  write_optional(json, "step", settings.step);
  write_optional(json, "max_question", settings.max_question);
  write_optional(json, "version_2", settings.version_2);
  write_optional(json, "line_marks", settings.line_marks);
  return {{text_settings_file, json_text(json, 2) + "\n"}};
}

}  // namespace bigbird
