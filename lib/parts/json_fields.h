// Facts as JSON and back, for what lies beside outputs and in shards. A type names its fields once, in its
// own namespace, for both directions, as for chunk_bytes.h:
//
//   template <typename Fields>
//   void pass_fields(Fields& fields, Facts& facts) { fields("step", facts.step); }
//
// Knows no JSON library: headers may not, and whoever includes this has it.
#pragma once

#include <fmt/format.h>

#include <string>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/io/files/sha256.h"
#include "lib/io/genome/contig_names.h"
#include "lib/parts/finished_chunks.h"

namespace bigbird {

template <typename Json>
void to_json(Json& json, const FileDigest& digest) {
  json = {{"bytes", digest.bytes}, {"sha256", digest.sha256}};
}
template <typename Json>
void from_json(const Json& json, FileDigest& digest) {
  json.at("bytes").get_to(digest.bytes);
  json.at("sha256").get_to(digest.sha256);
}

template <typename Json>
void to_json(Json& json, const Shard& shard) {
  json = {{"index", shard.index}, {"count", shard.count}};
}
template <typename Json>
void from_json(const Json& json, Shard& shard) {
  json.at("index").get_to(shard.index);
  json.at("count").get_to(shard.count);
}

template <typename Json>
void to_json(Json& json, const Contig& contig) {
  json = Json::array({contig.name, contig.length});
}
template <typename Json>
void from_json(const Json& json, Contig& contig) {
  json.at(0).get_to(contig.name);
  json.at(1).get_to(contig.length);
}

template <typename Json, typename Facts>
std::string text_of_facts(Facts facts) {
  Json json;
  const auto write = [&](const char* name, const auto& value) { json[name] = value; };
  pass_fields(write, facts);
  return json_text(json);
}

// Error{bad_input} naming `path`, whose text this is, where it is none of text_of_facts().
template <typename Facts, typename Json>
Facts facts_of_text(const std::string& text, const std::string& path) {
  Facts facts;
  try {
    const Json json = Json::parse(text);
    const auto read = [&](const char* name, auto& value) { json.at(name).get_to(value); };
    pass_fields(read, facts);
  } catch (const typename Json::exception& error) {
    throw_bad_input(fmt::format("{}: not written by bigbird: {}", path, json_problem(error)),
                    "run this shard again");
  }
  return facts;
}

}  // namespace bigbird
