// Provenance as text and JSON; see provenance.h.
#include "lib/io/files/provenance.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/core/ordered_map.h"
#include "lib/io/files/file.h"

namespace bigbird {
namespace {

std::string on_one_line(std::string text) {
  for (char& letter : text) {
    if (letter == '\t' || letter == '\n' || letter == '\r') letter = ' ';
  }
  return text;
}

using Json = nlohmann::basic_json<OrderedMap>;

// What follows `key` in `line`; nothing where it begins otherwise.
std::string_view after(std::string_view line, std::string_view key) {
  return line.starts_with(key) ? line.substr(key.size()) : std::string_view();
}

// "model:run/final sha256=0f.. arithmetic=int8" as provenance_lines() writes it. A path may hold blanks.
Json input_of_line(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {{"path", std::string(text)}};
  Json input = {{"role", std::string(text.substr(0, colon))}, {"path", ""}};
  std::string_view path = text.substr(colon + 1);
  std::string arithmetic, sha256;
  for (auto [key, value] : {std::pair{" arithmetic=", &arithmetic}, std::pair{" sha256=", &sha256}}) {
    const std::size_t at = path.rfind(key);
    if (at == std::string_view::npos) continue;
    *value = path.substr(at + std::string_view(key).size());
    path = path.substr(0, at);
  }
  input["path"] = std::string(path);
  if (!sha256.empty()) input["sha256"] = sha256;
  if (!arithmetic.empty()) input["arithmetic"] = arithmetic;
  return input;
}

std::string line_of_input(const Json& input) {
  std::string line = "bigbird_input=";
  if (input.contains("role")) line += input["role"].get<std::string>() + ":";
  line += input.at("path").get<std::string>();
  for (const char* key : {"sha256", "arithmetic"}) {
    if (input.contains(key)) line += fmt::format(" {}={}", key, input[key].get<std::string>());
  }
  return line;
}

}  // namespace

std::string bigbird_version() {
  return BIGBIRD_VERSION;
}

std::vector<std::string> provenance_lines(const Provenance& provenance) {
  std::vector<std::string> lines;
  lines.push_back("bigbird_version=" + on_one_line(provenance.version));
  lines.push_back("bigbird_command=" + on_one_line(provenance.command));
  if (provenance.seed) lines.push_back(fmt::format("bigbird_seed={}", *provenance.seed));
  if (!provenance.reference.empty())
    lines.push_back("bigbird_reference=" + on_one_line(provenance.reference));
  for (const ProvenanceInput& input : provenance.inputs) {
    std::string line = fmt::format("bigbird_input={}:{}", on_one_line(input.role), on_one_line(input.path));
    if (!input.sha256.empty()) line += " sha256=" + input.sha256;
    if (!input.arithmetic.empty()) line += " arithmetic=" + input.arithmetic;
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string provenance_json(const Provenance& provenance) {
  nlohmann::ordered_json json;
  json["version"] = provenance.version;
  json["command"] = provenance.command;
  if (provenance.seed) json["seed"] = *provenance.seed;
  if (!provenance.reference.empty()) json["reference"] = provenance.reference;
  if (!provenance.inputs.empty()) json["inputs"] = nlohmann::ordered_json::array();
  for (const ProvenanceInput& input : provenance.inputs) {
    nlohmann::ordered_json entry{{"role", input.role}, {"path", input.path}};
    if (!input.sha256.empty()) entry["sha256"] = input.sha256;
    if (!input.arithmetic.empty()) entry["arithmetic"] = input.arithmetic;
    json["inputs"].push_back(std::move(entry));
  }
  // Paths may hold any bytes; what is no UTF-8 is replaced rather than refused.
  return json_text(json);
}

std::string provenance_path(const std::string& output) {
  return output + ".provenance.json";
}

std::string provenance_json(const std::vector<std::string>& lines, std::optional<std::uint64_t> bytes) {
  Json json, settings;
  for (const std::string& line : lines) {
    if (const auto version = after(line, "bigbird_version="); !version.empty()) {
      json = Json{{"version", std::string(version)}};
    } else if (const auto command = after(line, "bigbird_command="); !command.empty()) {
      // Lines of one version say it once.
      if (json.contains("command")) json = Json{{"version", json.value("version", std::string())}};
      json["command"] = std::string(command);
    } else if (const auto seed = after(line, "bigbird_seed="); !seed.empty()) {
      const Json number = Json::parse(seed, nullptr, false);
      json["seed"] = number.is_number() ? number : Json(std::string(seed));
    } else if (const auto from = after(line, "bigbird_reference="); !from.empty()) {
      json["reference"] = std::string(from);
    } else if (const auto input = after(line, "bigbird_input="); !input.empty()) {
      json["inputs"].push_back(input_of_line(input));
    } else if (const std::size_t equals = line.find('='); equals != std::string::npos) {
      settings[line.substr(0, equals)] = line.substr(equals + 1);
    }
  }
  if (!settings.is_null()) json["settings"] = std::move(settings);
  if (bytes && !json.is_null()) json["bytes"] = *bytes;
  return json_text(json);
}

namespace {

// `bytes`: of the file beside it, where that is asked for.
std::vector<std::string> read_lines(const std::string& path, std::optional<std::uint64_t> bytes) {
  if (!file_is_regular(path)) return {};
  std::vector<std::string> lines;
  try {
    const Json json = Json::parse(read_file(path));
    if (bytes && json.contains("bytes") && json["bytes"].get<std::uint64_t>() != *bytes) {
      log_warning_once(fmt::format("{} is not read: it was written with a file of {} bytes, not of {}", path,
                                   json["bytes"].get<std::uint64_t>(), *bytes));
      return {};
    }
    const auto add = [&](const char* key) {
      if (!json.contains(key)) return;
      const Json& value = json[key];
      lines.push_back(
          fmt::format("bigbird_{}={}", key, value.is_string() ? value.get<std::string>() : json_text(value)));
    };
    for (const char* key : {"version", "command", "seed", "reference"}) add(key);
    for (const Json& input : json.value("inputs", Json::array())) lines.push_back(line_of_input(input));
    const Json settings = json.value("settings", Json::object());
    for (const auto& [key, value] : settings.items()) lines.push_back(key + "=" + value.get<std::string>());
  } catch (const Json::exception& error) {
    throw_bad_input(fmt::format("{}: {}", path, json_problem(error)),
                    "it is written with the file that it is named after, and may be removed");
  }
  return lines;
}

}  // namespace

std::vector<std::string> provenance_beside(const std::string& output) {
  if (output == "-") return {};
  std::optional<std::uint64_t> bytes;
  if (file_is_regular(output)) bytes = std::filesystem::file_size(output);
  return read_lines(provenance_path(output), bytes);
}

std::vector<std::string> read_provenance(const std::string& path) {
  return read_lines(path, {});
}

}  // namespace bigbird
