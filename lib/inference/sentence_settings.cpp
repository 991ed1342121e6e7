// Settings of sentence-transformers; see sentence_settings.h.
#include "lib/inference/sentence_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/core/names.h"
#include "lib/io/files/file.h"

namespace bigbird {
namespace {

using SettingsJson = nlohmann::json;

constexpr const char* modules_file = "modules.json";
constexpr const char* sentence_file = "sentence_bert_config.json";
constexpr const char* package_file = "config_sentence_transformers.json";  // prompts, versions
constexpr const char* copy_hint = "copy the folder again, with the folders in it";

std::string pool_hint() {
  return message("take a copy without modules.json, and name `pool`");
}

// As 1_Pooling/config.json has them, in the order in which sentence-transformers joins several.
constexpr std::array<std::pair<const char*, const char*>, 6> pooling_flags{
    {{"pooling_mode_cls_token", "cls"},
     {"pooling_mode_max_tokens", "max"},
     {"pooling_mode_mean_tokens", "mean"},
     {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens"},
     {"pooling_mode_weightedmean_tokens", "weightedmean"},
     {"pooling_mode_lasttoken", "lasttoken"}}};

SettingsJson json_of(const std::string& path) {
  if (!file_exists(path)) throw_bad_input(path + ": no such file, which modules.json names", copy_hint);
  SettingsJson json = SettingsJson::parse(read_file(path), nullptr, false);
  if (json.is_discarded()) throw_bad_input(path + ": not valid JSON", copy_hint);
  return json;
}

std::string member_text(const SettingsJson& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::vector<std::string> poolings_of(const SettingsJson& json) {
  std::vector<std::string> names;
  const auto named = json.find("pooling_mode");
  if (named != json.end() && named->is_string()) return {named->get<std::string>()};
  if (named != json.end() && named->is_array()) {
    for (const SettingsJson& name : *named) names.push_back(name.is_string() ? name.get<std::string>() : "?");
    return names;
  }
  for (const auto& [key, name] : pooling_flags) {
    if (json.contains(key) && json[key] == true) names.emplace_back(name);
  }
  if (names.empty()) names.emplace_back("mean");
  return names;
}

Pooling pooling_of(const std::string& path) {
  const SettingsJson json = json_of(path);
  if (!json.is_object()) throw_bad_input(path + ": not a JSON object", copy_hint);
  const std::vector<std::string> names = poolings_of(json);
  if (names.size() != 1) {
    throw_bad_input(
        fmt::format("{}: {} poolings, whose vectors are joined, are not read", path, names.size()),
        pool_hint());
  }
  const auto kind = find_value(whole_poolings, names.front());
  if (!kind) {
    throw_bad_input(fmt::format("{}: pooling {} is not read", path, one_line_name(names.front())),
                    pool_hint());
  }
  Pooling pooling;
  pooling.kind = *kind;
  pooling.with_ends = true;
  return pooling;
}

}  // namespace

std::optional<SentenceSettings> read_sentence_settings(const std::string& folder) {
  const std::string path = folder + "/" + modules_file;
  if (!file_exists(path)) return std::nullopt;
  const SettingsJson modules = json_of(path);
  if (!modules.is_array()) throw_bad_input(path + ": not a list of modules", copy_hint);
  SentenceSettings settings;
  bool has_pooling = false;
  for (const SettingsJson& module : modules) {
    const std::string type = member_text(module, "type"), place = member_text(module, "path");
    const std::string kind = type.substr(type.rfind('.') + 1);  // of a path of Python
    if (kind == "Transformer" && place.empty()) continue;
    if (kind == "Transformer") {
      throw_bad_input(
          fmt::format("{}: a Transformer with the path {} is not read", path, one_line_name(place)),
          "copy the files of that folder next to modules.json, and make the path empty");
    }
    if (kind == "Pooling" && !has_pooling) {
      settings.pooling = pooling_of(folder + "/" + place + "/config.json");
      has_pooling = true;
    } else if (kind == "Normalize" && has_pooling) {
      settings.pooling.normalize = true;
    } else {
      throw_bad_input(fmt::format("{}: module {} is not read", path, one_line_name(type)),
                      "a Transformer, one Pooling and then Normalize are");
    }
  }
  if (!has_pooling)
    throw_bad_input(path + ": no module makes one vector of a text",
                    "a Transformer and a Pooling are needed");
  const std::string limits = folder + "/" + sentence_file;
  if (!file_exists(limits)) return settings;
  const SettingsJson json = json_of(limits);
  if (!json.is_object()) throw_bad_input(limits + ": not a JSON object", copy_hint);
  const auto longest = json.find("max_seq_length");
  if (longest != json.end() && !longest->is_null()) {
    if (!longest->is_number_unsigned() || longest->get<std::uint64_t>() < 3 ||
        longest->get<std::uint64_t>() > (std::uint64_t{1} << 30))
      throw_bad_input(limits + ": field max_seq_length is not a number of tokens", copy_hint);
    settings.longest = longest->get<std::int64_t>();
  }
  settings.lowers = json.contains("do_lower_case") && json["do_lower_case"] == true;
  return settings;
}

void copy_sentence_settings(const std::string& from, const std::string& to) {
  std::vector<std::string> files{modules_file};
  try {
    if (!read_sentence_settings(from)) return;
    for (const SettingsJson& module : json_of(from + "/" + modules_file)) {
      const std::string place = member_text(module, "path");
      if (place.find('/') != std::string::npos || place.starts_with(".")) {
        throw_bad_input(fmt::format("{}/{}: module path {} is not a folder's name", from, modules_file,
                                    one_line_name(place)),
                        copy_hint);
      }
      if (const std::string file = place + "/config.json"; !place.empty() && file_exists(from + "/" + file))
        files.push_back(file);
    }
  } catch (const Error& error) {
    log_warning(fmt::format("{}; what sentence-transformers reads is left out", error.message()));
    return;
  }
  for (const char* file : {sentence_file, package_file}) {
    if (file_exists(from + "/" + file)) files.emplace_back(file);
  }
  for (const std::string& file : files) {
    if (const std::size_t folder = file.find('/'); folder != std::string::npos)
      make_folders(to + "/" + file.substr(0, folder));
    write_text_atomic(to + "/" + file, read_file(from + "/" + file));
  }
}

EmbedderOptions sentence_options(const ModelFolder& folder, const SentenceChoice& choice,
                                 const BatchSize& batch) {
  const std::optional<SentenceSettings> stored = read_sentence_settings(folder.path());
  EmbedderOptions options{.pooling = {}, .batch = batch, .longest = most_tokens(folder.config())};
  options.pooling.with_ends = true;
  if (stored) {
    options.pooling = stored->pooling;
    options.lowers = stored->lowers;
    if (stored->longest > 0) options.longest = std::min(options.longest, stored->longest);
  }
  if (choice.pool != "auto") {
    options.pooling.kind = parse_name(whole_poolings, choice.pool, "pooling");
  } else if (!stored) {
    log_info(folder.path() + ": no modules.json: vectors are the mean over all tokens of a text");
  }
  constexpr std::array<std::pair<bool, const char*>, 2> answers{{{true, "yes"}, {false, "no"}}};
  if (choice.normalize != "auto") options.pooling.normalize = parse_name(answers, choice.normalize, "answer");
  if (choice.length > 0) options.longest = choice.length;
  if (options.longest < 3) {
    throw_usage(message("`length` {}: [CLS], [SEP] and a token are three", options.longest),
                "texts need room for a token");
  }
  return options;
}

std::string describe_sentences(const EmbedderOptions& options) {
  return fmt::format("{} with ends{}, {} tokens{}", find_name(whole_poolings, options.pooling.kind),
                     options.pooling.normalize ? ", normalized" : "", options.longest,
                     options.lowers ? ", in small letters" : "");
}

}  // namespace bigbird
