// Provenance as text and JSON; see provenance.h.
#include "lib/io/files/provenance.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lib/core/json_text.h"

namespace bigbird {
namespace {

std::string on_one_line(std::string text) {
  for (char& letter : text) {
    if (letter == '\t' || letter == '\n' || letter == '\r') letter = ' ';
  }
  return text;
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

}  // namespace bigbird
