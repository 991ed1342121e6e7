// text.json of a model folder, texts as the model reads them, and what a run depends on; see text_settings.h.
#include "lib/text/text_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/names.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/dialect.h"
#include "lib/model_folder/model_folder.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

constexpr const char* text_settings_file = "text.json";

constexpr std::array<std::pair<TextTask, const char*>, 4> text_task_names{
    {{TextTask::classification, "classify"},
     {TextTask::question_answering, "qa"},
     {TextTask::summarization, "summarize"},
     {TextTask::tagging, "tag"}}};
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

EncodedInput encode_input(const Tokenizer& tokenizer, std::string_view text,
                          std::optional<std::string_view> pair, const TextSettings& settings,
                          std::int64_t length, UnknownTally* unknown) {
  const std::int64_t special = pair ? 3 : 2;
  if (length < special + (pair ? 2 : 1)) {
    throw_usage(message("`length` {}: no room for a token next to [CLS] and [SEP]", length),
                "the usual values are 128 to 4096");
  }
  const auto room = static_cast<std::size_t>(length - special);
  EncodedText first, second;
  // One more than there is room for tells that a text is cut.
  for (std::size_t least = room + 1;; least *= 4) {
    first = encode_text_begin(tokenizer, text, settings.encoding, least);
    if (pair) second = encode_text_begin(tokenizer, *pair, settings.encoding, least);
    // Which of two long texts is the longer one is known once one of them has been read to its end.
    if (!pair || first.whole || second.whole) break;
  }
  if (unknown != nullptr) {
    unknown->add(first);
    if (pair) unknown->add(second);
  }
  EncodedInput input;
  input.blank = first.ids.empty() && second.ids.empty();
  std::size_t a = first.ids.size(), b = second.ids.size();
  if (a + b > room) {
    input.cut = true;
    // The longer one down to the shorter; then to a half each, and an odd token to the longer.
    const bool first_is_longer = a > b;
    std::size_t& longer = first_is_longer ? a : b;
    std::size_t& shorter = first_is_longer ? b : a;
    shorter = std::min(shorter, room / 2);
    longer = room - shorter;
  }
  const auto append = [&](const std::vector<std::uint32_t>& ids, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) input.ids.push_back(static_cast<std::int32_t>(ids[i]));
    input.ids.push_back(static_cast<std::int32_t>(tokenizer.special().sep));
  };
  input.ids.reserve(a + b + static_cast<std::size_t>(special));
  input.ids.push_back(static_cast<std::int32_t>(tokenizer.special().cls));
  append(first.ids, a);
  if (pair) {
    const std::size_t begin = input.ids.size();
    append(second.ids, b);
    if (settings.second_type) {
      input.types.assign(input.ids.size(), 0);
      std::fill(input.types.begin() + static_cast<std::ptrdiff_t>(begin), input.types.end(), 1);
    }
  }
  return input;
}

RunIdentity model_identity(const ModelFolder& folder, const TextSettings& settings,
                           kernels::Precision precision) {
  RunIdentity identity;
  identity["version"] = bigbird_version();
  identity["model"] = folder.weights_digest();
  identity["config.json"] = sha256_file(config_file(folder.path()));
  if (const std::string chosen = chosen_attention().identity(); !chosen.empty())
    identity["random_mode"] = chosen;
  identity["tokenizer"] = folder.tokenizer().digest();
  identity["second_type"] = settings.second_type ? "true" : "false";
  identity["whitespace"] = settings.encoding.white_space == WhiteSpace::keep ? "keep" : "fold";
  identity["ascii_punctuation"] = settings.encoding.ascii_punctuation ? "true" : "false";
  identity["precision"] = kernels::name_of(precision);
  return identity;
}

void add_to_digest(Sha256& digest, std::string_view text) {
  const std::uint64_t size = text.size();
  digest.update(&size, sizeof size);
  digest.update(text.data(), text.size());
}

void add_to_digest(Sha256& digest, const std::vector<std::string>& texts) {
  add_to_digest(digest, std::to_string(texts.size()));
  for (const std::string& text : texts) add_to_digest(digest, text);
}

}  // namespace bigbird
