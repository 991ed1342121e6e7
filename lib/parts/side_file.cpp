// What lies beside outputs; see side_file.h.
#include "lib/parts/side_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/names.h"
#include "lib/core/ordered_map.h"
#include "lib/io/files/file.h"
#include "lib/parts/json_fields.h"

namespace bigbird {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

constexpr std::array<std::pair<ChunkForm, const char*>, 4> form_names{
    {{ChunkForm::lines, "lines"},
     {ChunkForm::json_object, "json_object"},
     {ChunkForm::json_predictions, "json_predictions"},
     {ChunkForm::json_answers_and_facts, "json_answers_and_facts"}}};

Json shard_json(const OutputShard& shard) {
  Json json;
  json["shard"] = shard.shard;
  json["shard"]["lines"] = shard.lines;
  json["kind"] = shard.kind;
  json["form"] = find_name(form_names, shard.form);
  json["head"] = shard.has_head;
  json["input"] = {{"records", shard.records}, {"sha256", shard.input_digest}, {"chunk", shard.chunk}};
  if (!shard.input_file.sha256.empty()) json["input"]["file"] = shard.input_file;
  json["output"] = shard.output;
  json["run"] = shard.identity;
  return json;
}

}  // namespace

std::string output_shard_path(const std::string& output) {
  return output + ".shard.json";
}

void write_output_shard(const std::string& output, const OutputShard& shard) {
  write_text_atomic(output_shard_path(output), json_text(shard_json(shard), 2) + "\n");
}

OutputShard read_output_shard(const std::string& output) {
  const std::string path = output_shard_path(output);
  if (!file_exists(output)) throw_bad_input(output + ": no such file", "give the outputs of all shards");
  if (!file_exists(path)) {
    throw_bad_input(path + ": there is nothing that names its shard",
                    message("give what runs with `shard` I/N wrote, with the files next to it"));
  }
  OutputShard shard;
  try {
    const Json json = Json::parse(read_file(path));
    json.at("shard").get_to(shard.shard);
    json.at("shard").at("lines").get_to(shard.lines);
    json.at("kind").get_to(shard.kind);
    const auto form = find_value(form_names, json.at("form").get<std::string>());
    if (!form) throw_bad_input(path + ": of a form that this version does not know", "run this shard again");
    shard.form = *form;
    json.at("head").get_to(shard.has_head);
    const Json& input = json.at("input");
    input.at("records").get_to(shard.records);
    input.at("sha256").get_to(shard.input_digest);
    input.at("chunk").get_to(shard.chunk);
    json.at("run").get_to(shard.identity);
    // Nothing is known where an earlier version wrote the file.
    if (input.contains("file")) input.at("file").get_to(shard.input_file);
    if (json.contains("output")) json.at("output").get_to(shard.output);
  } catch (const Json::exception& error) {
    throw_bad_input(fmt::format("{}: not written by bigbird: {}", path, json_problem(error)),
                    "run this shard again");
  }
  return shard;
}

bool is_whole_output(const std::string& output, const OutputShard& run) {
  if (run.input_file.sha256.empty() || !file_exists(output) || !file_exists(output_shard_path(output))) {
    return false;
  }
  OutputShard told;
  try {
    told = read_output_shard(output);
  } catch (const Error&) {
    return false;
  }
  OutputShard whole = run;
  whole.lines = told.lines;
  whole.records = told.records;
  whole.input_digest = told.input_digest;
  whole.output = told.output;
  return shard_json(told) == shard_json(whole) && file_has_digest(output, told.output);
}

}  // namespace bigbird
