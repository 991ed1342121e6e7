// What lies beside outputs; see side_file.h.
#include "lib/parts/side_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/names.h"
#include "lib/core/ordered_map.h"
#include "lib/io/files/file.h"

namespace bigbird {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

constexpr std::array<std::pair<ChunkForm, const char*>, 4> form_names{
    {{ChunkForm::lines, "lines"},
     {ChunkForm::json_object, "json_object"},
     {ChunkForm::json_predictions, "json_predictions"},
     {ChunkForm::json_answers_and_facts, "json_answers_and_facts"}}};

Json file_json(const FileDigest& digest) {
  return {{"bytes", digest.bytes}, {"sha256", digest.sha256}};
}

FileDigest file_of(const Json& json) {
  return {json.at("bytes").get<std::uint64_t>(), json.at("sha256").get<std::string>()};
}

Json shard_json(const OutputShard& shard) {
  Json json;
  json["shard"] = {{"index", shard.shard.index}, {"count", shard.shard.count}, {"lines", shard.lines}};
  json["kind"] = shard.kind;
  json["form"] = find_name(form_names, shard.form);
  json["head"] = shard.has_head;
  json["input"] = {{"records", shard.records}, {"sha256", shard.input_digest}, {"chunk", shard.chunk}};
  if (!shard.input_file.sha256.empty()) json["input"]["file"] = file_json(shard.input_file);
  json["output"] = file_json(shard.output);
  json["run"] = shard.identity;
  return json;
}

// But for the files.
Json record_json(const ShardHeader& header) {
  Json json;
  json["kind"] = header.kind;
  json["run"] = header.identity;
  json["shard"] = {header.shard.index, header.shard.count};
  json["chunk"] = header.chunk;
  json["input"] = file_json(header.input_file);
  json["output"] = Json::parse(header.output);
  return json;
}

// "../x/out.npy" beside "../x/out.h5" is "out.npy".
std::string name_beside(const std::string& output, const std::string& file) {
  return std::filesystem::path(file).lexically_relative(parent_folder(output)).string();
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
    throw_bad_input(path + ": there is nothing that says which shard this is of",
                    message("give what runs with `shard` I/N wrote, with the files beside it"));
  }
  OutputShard shard;
  try {
    const Json json = Json::parse(read_file(path));
    shard.shard = {json.at("shard").at("index").get<std::uint64_t>(),
                   json.at("shard").at("count").get<std::uint64_t>()};
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
    if (input.contains("file")) shard.input_file = file_of(input.at("file"));
    if (json.contains("output")) shard.output = file_of(json.at("output"));
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

std::string run_record_path(const std::string& output) {
  return output + ".run.json";
}

void write_run_record(const std::string& output, const ShardHeader& header,
                      const std::vector<std::string>& files, const OutputSet& outputs) {
  Json json = record_json(header);
  for (const std::string& file : files)
    json["files"][name_beside(output, file)] = file_json(digest_of_file(outputs.written_path(file)));
  write_text_atomic(run_record_path(output), json_text(json, 2) + "\n");
}

bool is_recorded_whole(const std::string& output, const ShardHeader& header) {
  if (header.input_file.sha256.empty() || !file_exists(run_record_path(output))) return false;
  try {
    Json json = Json::parse(read_file(run_record_path(output)));
    const Json files = json.at("files");
    json.erase("files");
    if (json != record_json(header) || files.empty()) return false;
    for (const auto& [name, digest] : files.items()) {
      if (!file_has_digest(parent_folder(output) + "/" + name, file_of(digest))) return false;
    }
  } catch (const Json::exception&) {  // not written by a run that ended
    return false;
  }
  return true;
}

}  // namespace bigbird
