// Outputs of shards put together; see output_shards.h.
#include "lib/tasks/output_shards.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/names.h"
#include "lib/core/ordered_map.h"
#include "lib/io/files/file.h"
#include "lib/tasks/merge_shards.h"

namespace bigbird {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

constexpr std::array<std::pair<ChunkForm, const char*>, 4> form_names{
    {{ChunkForm::lines, "lines"},
     {ChunkForm::json_object, "json_object"},
     {ChunkForm::json_predictions, "json_predictions"},
     {ChunkForm::json_answers_and_facts, "json_answers_and_facts"}}};

ShardFacts facts_of(const std::string& output, const OutputShard& shard) {
  ShardFacts facts{output, shard.shard, {}};
  facts.same = {{"what is in them differs", shard.kind},
                // Before the records: their digest is made of those of chunks.
                {"sizes of chunks differ", std::to_string(shard.chunk)},
                {"made from different records", fmt::format("{} {}", shard.records, shard.input_digest)}};
  for (const auto& [name, value] : shard.identity) {
    facts.same.emplace_back(fmt::format("`{}` differs", name), value);
  }
  return facts;
}

Json shard_digest_json(const FileDigest& digest) {
  return {{"bytes", digest.bytes}, {"sha256", digest.sha256}};
}

// Nothing is known where an earlier version wrote the file.
FileDigest read_digest(const Json& json, const char* name) {
  if (!json.contains(name)) return {};
  return {json.at(name).at("bytes").get<std::uint64_t>(), json.at(name).at("sha256").get<std::string>()};
}

void refuse_changed(const std::string& output, const OutputShard& shard) {
  if (shard.output.sha256.empty() || file_has_digest(output, shard.output)) return;
  throw_bad_input(output + ": was cut or changed after it was written", "run this shard again");
}

// Every record is in a chunk of one of the shards.
void check_chunks(const std::vector<OutputShard>& shards, const std::string& output) {
  const OutputShard& first = shards.front();
  const std::uint64_t expected = first.chunk == 0 ? 0 : (first.records + first.chunk - 1) / first.chunk;
  std::uint64_t chunks = 0;
  for (const OutputShard& shard : shards) chunks += shard.lines.size();
  if (chunks == expected) return;
  throw_bad_input(
      fmt::format("{}: its input has {} chunks, the shards {}", output_shard_path(output), expected, chunks),
      "run the shards again, all with the same options");
}

}  // namespace

const EntriesLayout& entries_layout(ChunkForm form) {
  switch (form) {
    case ChunkForm::json_object:
      return json_object_layout();
    case ChunkForm::json_predictions:
      return json_predictions_layout();
    case ChunkForm::json_answers_and_facts:
      return json_answers_and_facts_layout();
    case ChunkForm::lines:
      break;
  }
  throw_runtime("lines are put one behind the other, without a frame");
}

std::string output_shard_path(const std::string& output) {
  return output + ".shard.json";
}

void write_output_shard(const std::string& output, const OutputShard& shard) {
  Json json;
  json["shard"] = {{"index", shard.shard.index}, {"count", shard.shard.count}, {"lines", shard.lines}};
  json["kind"] = shard.kind;
  json["form"] = find_name(form_names, shard.form);
  json["head"] = shard.has_head;
  json["input"] = {{"records", shard.records}, {"sha256", shard.input_digest}, {"chunk", shard.chunk}};
  if (!shard.input_file.sha256.empty()) json["input"]["file"] = shard_digest_json(shard.input_file);
  json["output"] = shard_digest_json(shard.output);
  json["run"] = shard.identity;
  write_text_atomic(output_shard_path(output), json_text(json, 2) + "\n");
}

OutputShard read_output_shard(const std::string& output) {
  const std::string path = output_shard_path(output);
  if (!file_exists(output)) throw_bad_input(output + ": no such file", "give the outputs of all shards");
  if (!file_exists(path)) {
    const bool is_variants = file_exists(output + ".summary.json");
    throw_bad_input(path + ": there is nothing that says which shard this is of",
                    is_variants ? "outputs of variants are put together by `bigbird variants merge`"
                                : "give what runs with `shard` I/N wrote, with the files beside it");
  }
  OutputShard shard;
  try {
    const Json json = Json::parse(read_file(path));
    shard.shard = {json.at("shard").at("index").get<std::uint64_t>(),
                   json.at("shard").at("count").get<std::uint64_t>()};
    shard.lines = json.at("shard").at("lines").get<std::vector<std::uint64_t>>();
    shard.kind = json.at("kind").get<std::string>();
    const auto form = find_value(form_names, json.at("form").get<std::string>());
    if (!form) throw_bad_input(path + ": of a form that this version does not know", "run this shard again");
    shard.form = *form;
    shard.has_head = json.at("head").get<bool>();
    shard.records = json.at("input").at("records").get<std::uint64_t>();
    shard.input_digest = json.at("input").at("sha256").get<std::string>();
    shard.chunk = json.at("input").at("chunk").get<std::uint64_t>();
    shard.identity = json.at("run").get<RunIdentity>();
    shard.input_file = read_digest(json.at("input"), "file");
    shard.output = read_digest(json, "output");
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
  const auto facts = [](const OutputShard& shard) {
    return std::tie(shard.kind, shard.form, shard.has_head, shard.shard.index, shard.shard.count, shard.chunk,
                    shard.identity, shard.input_file.bytes, shard.input_file.sha256);
  };
  return facts(told) == facts(run) && file_has_digest(output, told.output);
}

std::uint64_t merge_outputs(const std::vector<std::string>& shards, const std::string& output) {
  std::vector<OutputShard> opened;
  std::vector<ShardFacts> facts;
  for (const std::string& shard : shards) {
    facts.push_back(facts_of(shard, opened.emplace_back(read_output_shard(shard))));
  }
  std::vector<ChunkedTable> tables;
  for (const std::size_t i : order_of_shards(facts)) tables.push_back({shards[i], opened[i].lines});
  for (std::size_t i = 0; i < shards.size(); ++i) refuse_changed(shards[i], opened[i]);
  check_chunks(opened, shards.front());
  const OutputShard& first = opened.front();
  if (first.form != ChunkForm::lines) {
    merge_json(tables, entries_layout(first.form), output);
  } else if (first.has_head) {
    merge_tables(tables, RowNumbers::keep, output);
  } else {
    merge_lines(tables, output);
  }
  return first.records;
}

}  // namespace bigbird
