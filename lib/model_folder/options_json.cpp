// See options_json.h.
#include "lib/model_folder/options_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/model/network/validate_config.h"

namespace bigbird {
namespace {

using Type = AttentionOption::Type;

const AttentionOption& option_of(const AttentionSystem& system, const std::string& key,
                                 const std::string& where) {
  std::string known;
  for (const AttentionOption& option : system.options) {
    if (key == option.key) return option;
    known += (known.empty() ? "it has " : ", ") + std::string(option.key);
  }
  throw_bad_input(
      fmt::format("{}: {}: attention {} has no such option", where, text_for_message(key), system.name),
      known.empty() ? "it has none: take the line out" : known);
}

// As it is typed on the command line: "10:2" of [10, 2].
std::string as_typed(const nlohmann::json& value, Type type) {
  if ((type == Type::name || type == Type::first) && value.is_string()) return value.get<std::string>();
  if (type != Type::counts || !value.is_array()) return json_text(value);
  std::string typed;
  for (const nlohmann::json& count : value) typed += (typed.empty() ? "" : ":") + json_text(count);
  return typed;
}

}  // namespace

void read_attention_options(const std::string& json, const std::string& where, ModelConfig& config) {
  const auto object = nlohmann::json::parse(json);
  if (!object.is_object()) throw_bad_input(where + " is not an object", "take an object of options, or none");
  const AttentionSystem& system = system_of(config.attention);
  for (const auto& [key, value] : object.items()) {
    const AttentionOption& option = option_of(system, key, where);
    try {
      option.parse(config.attention_options, as_typed(value, option.type), where + ": " + key);
    } catch (const Error& error) {
      throw_bad_input(error.message(), error.hint().empty() ? wrong_field_hint : error.hint());
    }
  }
}

std::string attention_options_json(const ModelConfig& config) {
  nlohmann::ordered_json object;
  for (const AttentionOption& option : system_of(config.attention).options) {
    std::string shown = option.shown(config);
    if (option.type == Type::name || option.type == Type::first) {
      object[option.key] = shown;
      continue;
    }
    std::replace(shown.begin(), shown.end(), ':', ',');
    object[option.key] =
        nlohmann::ordered_json::parse(option.type == Type::counts ? "[" + shown + "]" : shown);
  }
  return object.is_null() ? "" : json_text(object);
}

}  // namespace bigbird
