// Matrices, tensors, shards, event files; see describe_parts.h.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/describe/describe_parts.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/io/tables/hdf5.h"
#include "lib/io/tables/npy.h"
#include "lib/io/tables/tsv.h"
#include "lib/io/weights/safetensors.h"
#include "lib/io/weights/tensorflow_bundle.h"
#include "lib/parts/chunked_numbers.h"
#include "lib/training/metrics_log.h"

namespace bigbird {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

// The table that says what the rows of a matrix are: OUT.rows.tsv of OUT.npy, and of OUT.diff.npy. Empty
// where there is none.
std::string rows_table_of(const std::string& path) {
  std::string stem = path.substr(0, path.rfind('.'));
  for (int cut = 0; cut < 2; ++cut) {
    if (file_exists(stem + ".rows.tsv")) return stem + ".rows.tsv";
    const std::size_t dot = stem.rfind('.');
    if (dot == std::string::npos || stem.find('/', dot) != std::string::npos) break;
    stem.erase(dot);
  }
  return {};
}

// What a matrix is whose table of rows is of this kind.
std::string matrix_of(const std::string& kind_of_rows) {
  if (kind_of_rows.starts_with("vectors")) return "vectors";
  if (kind_of_rows.starts_with("variant scores")) return "variant scores";
  if (kind_of_rows.starts_with("substitution effects")) return "substitution effects";
  if (kind_of_rows.starts_with("predicted profiles")) return "predicted profiles";
  return "matrix";
}

std::string next_of_matrix(const std::string& kind) {
  return kind == "predicted profiles" ? "bigbird chromatin evaluate" : "";
}

Json parsed(const std::map<std::string, std::string>& metadata, const char* key) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) return nullptr;
  Json json = Json::parse(found->second, nullptr, false);
  return json.is_discarded() ? Json(found->second) : json;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace

std::string describe_npy(const std::string& path) {
  const NpyHeader header = read_npy_header(path);
  Json json = {{"kind", "matrix"}, {"path", path}};
  const std::string folder = parent_folder(path);
  const std::string rows = rows_table_of(path);
  json["shape"] = header.shape;
  json["type"] = header.type;
  if (!rows.empty()) {
    const TsvReader table(rows);
    json["kind"] = matrix_of(kind_of_columns(table.columns()));
    json["rows_are_in"] = rows;
    const std::vector<std::string> lines = provenance_beside(path);
    json["provenance"] = Json::parse(provenance_of_lines(lines.empty() ? table.comments() : lines));
  } else if (path.ends_with("labels.npy") && file_exists(folder + "/profiles.tsv")) {
    json["kind"] = "labels of a chromatin data set";
    json["note"] = "a row of bits for each bin, eight profiles a byte";
    json["next"] = "bigbird info " + folder;
    return json_text(json);
  } else {
    json["note"] = "no table of rows is next to it";
  }
  if (const std::string next = next_of_matrix(json["kind"].get<std::string>()); !next.empty())
    json["next"] = next;
  return json_text(json);
}

std::string describe_hdf5(const std::string& path) {
  const Hdf5Reader file(path);
  const std::vector<std::string> names = file.names();
  const auto has = [&names](const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const char* const kind = has("predictions")                   ? "predicted profiles"
                           : has("embeddings")                  ? "vectors"
                           : has("profile_name") && has("diff") ? "variant scores"
                           : has("profile_index")               ? "variant scores"
                                                                : "HDF5";
  Json json = {{"kind", kind}, {"path", path}};
  for (const std::string& name : names) json["datasets"][name] = file.shape(name);
  if (const std::string rows = rows_table_of(path); !rows.empty()) json["rows_are_in"] = rows;
  const std::string stored = file.attribute("provenance");
  const Json object = Json::parse(stored, nullptr, false);
  json["provenance"] = object.is_object() ? object : Json::parse(provenance_of_lines(lines_of(stored)));
  if (const std::string next = next_of_matrix(kind); !next.empty()) json["next"] = next;
  return json_text(json);
}

std::string describe_safetensors(const std::string& path) {
  const SafetensorsFile file(path);
  const auto begins = [&file](const char* name) {
    return std::any_of(file.tensors().begin(), file.tensors().end(),
                       [&](const TensorInfo& tensor) { return tensor.name.starts_with(name); });
  };
  const auto stated = file.metadata().find("kind");
  std::string kind = "tensors", next;
  if (stated != file.metadata().end() && stated->second.starts_with("bigbird variant background")) {
    kind = "background of variant effects";
    next = "bigbird variants takes it as background";
  } else if (begins("exp_avg")) {
    kind = "optimizer state";
    next = "it belongs to the checkpoint of its folder";
  } else if (file.has("embeddings")) {
    kind = "vectors";
  } else if (begins("bert.") || begins("model.") || begins("cls.")) {
    kind = "weights of a model";
    next = "bigbird info " + parent_folder(path);
  } else if (begins("last_hidden_state") || begins("hidden_states.") || begins("grad.")) {
    kind = "forward pass";
  } else if (file.has("input_ids")) {
    kind = "input of a forward pass";
    next = "bigbird forward";
  }
  Json json = {{"kind", kind}, {"path", path}, {"tensors", file.tensors().size()}};
  std::uint64_t values = 0;
  constexpr std::size_t most_shapes = 12;
  for (const TensorInfo& tensor : file.tensors()) {
    values += tensor.elements();
    if (file.tensors().size() <= most_shapes) json["shapes"][tensor.name] = tensor.shape;
  }
  json["values"] = values;
  if (const auto found = file.metadata().find("variants"); found != file.metadata().end())
    json["variants"] = found->second;
  if (const std::string rows = rows_table_of(path); !rows.empty()) json["rows_are_in"] = rows;
  json["provenance"] = parsed(file.metadata(), "provenance");
  if (!next.empty()) json["next"] = next;
  return json_text(json);
}

// All tensors: their names are what such a file is looked at for.
std::string describe_tensorflow(const std::string& path) {
  const TensorFlowBundle bundle(path);
  Json json = {{"kind", "checkpoint of TensorFlow"},
               {"path", path},
               {"files", bundle.files()},
               {"tensors", bundle.tensors().size()}};
  std::int64_t values = 0;
  for (const StoredTensor& tensor : bundle.tensors()) {
    values += tensor.elements();
    std::string text = tensor_type_name(tensor.type);
    for (const std::int64_t size : tensor.shape) text += fmt::format(" {}", size);
    json["types_and_shapes"][tensor.name] = text;
  }
  json["values"] = values;
  return json_text(json);
}

std::string describe_shard_file(const std::string& path) {
  const ShardContents contents = MergedShards::contents_of(path);
  const Json output = Json::parse(contents.header.output, nullptr, false);
  std::vector<std::string> comments;
  if (output.is_object() && output.contains("comments") && output["comments"].is_array()) {
    for (const Json& line : output["comments"])
      if (line.is_string()) comments.push_back(line.get<std::string>());
  }
  if (comments.empty()) comments = provenance_beside(path);
  return json_text(
      Json{{"kind", "shard"},
           {"path", path},
           {"of", contents.header.kind},
           {"shard", fmt::format("{}/{}", contents.header.shard.index, contents.header.shard.count)},
           {"chunks", contents.chunks},
           {"records_of_a_chunk", contents.header.chunk},
           {"records_of_the_run", contents.records},
           {"provenance", Json::parse(provenance_of_lines(comments))},
           {"next", "bigbird merge, with the other shards"}});
}

std::string describe_events(const std::string& path) {
  const EventSummary events = read_event_file(path);
  return json_text(Json{{"kind", "event file of TensorBoard"},
                        {"path", path},
                        {"events", events.events},
                        {"last_step", events.last_step},
                        {"tags", events.tags},
                        {"provenance", nullptr},
                        {"next", "tensorboard shows its folder; bigbird report needs none"}});
}

}  // namespace bigbird
