// Folders that are neither model, tokenizer nor run; see describe_parts.h.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/describe/describe_parts.h"
#include "lib/inference/model_task.h"
#include "lib/io/files/file.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

Json manifest_of(const std::string& path) {
  Json manifest = Json::parse(read_file(path), nullptr, false);
  if (!manifest.is_object()) throw_bad_input(path + ": not a JSON object", "make the folder again");
  return manifest;
}

// Of `chromatin build`: its manifest, and how many profiles each group has.
std::string describe_chromatin(const std::string& folder) {
  Json json = {{"kind", "chromatin data set"}, {"path", folder}};
  json.update(manifest_of(folder + "/manifest.json"));
  for (const Profile& profile : read_profiles(folder + "/profiles.tsv")) {
    Json& count = json["profiles_by_group"][profile.group];
    count = count.is_null() ? 1 : count.get<std::int64_t>() + 1;
  }
  json["next"] = "bigbird chromatin finetune";
  return json_text(json);
}

std::string describe_promoters(const std::string& folder) {
  Json json = {{"kind", "promoter data set"}, {"path", folder}};
  for (const char* side : {"train", "valid", "test"}) {
    const std::string path = fmt::format("{}/{}.tsv", folder, side);
    if (!file_exists(path)) continue;
    TsvReader table(path);
    std::uint64_t windows = 0;
    for (std::vector<std::string_view> fields; table.next(fields);) ++windows;
    json["windows"][side] = windows;
  }
  json.update(manifest_of(folder + "/manifest.json"));
  json["next"] = "bigbird promoter finetune";
  return json_text(json);
}

bool is_event_file(const std::string& name) {
  return name.find("tfevents") != std::string::npos;
}

std::string describe_parts_folder(const std::string& folder, const std::vector<std::string>& names) {
  const auto chunks = std::count_if(names.begin(), names.end(),
                                    [](const std::string& name) { return name.starts_with("chunk-"); });
  return json_text(Json{{"kind", "unfinished work in parts"},
                        {"path", folder},
                        {"finished_chunks", chunks},
                        {"next", "the same command with resume goes on from them"}});
}

}  // namespace

std::string describe_folder(const std::string& folder) {
  const auto has = [&folder](const char* name) { return file_exists(folder + "/" + name); };
  if (has("labels.npy") && has("manifest.json")) return describe_chromatin(folder);
  const bool folds = folder_exists(folder + "/fold1") || folder_exists(folder + "/fold0");
  if (has("manifest.json") && (has("train.tsv") || folds)) return describe_promoters(folder);
  if (has("simulate.json")) {
    Json json = {{"kind", "simulated genome"}, {"path", folder}};
    json.update(manifest_of(folder + "/simulate.json"));
    json["next"] = "bigbird chunk, promoter build, chromatin build and variants take its files";
    return json_text(json);
  }
  if (has("tracks.tsv")) {
    Json json = Json::parse(describe_table(folder + "/tracks.tsv"));
    const std::uint64_t tracks = json["rows"].get<std::uint64_t>();
    return json_text(Json{{"kind", "tracks"},
                          {"path", folder},
                          {"tracks", tracks},
                          {"provenance", json["provenance"]},
                          {"next", "a genome browser shows each file"}});
  }
  if (has("peaks.tsv")) {
    const Json json = Json::parse(describe_table(folder + "/peaks.tsv"));
    return json_text(Json{{"kind", "peaks"},
                          {"path", folder},
                          {"tracks", json["rows"]},
                          {"next", "bigbird chromatin build takes its peaks.tsv"}});
  }
  const std::vector<std::string> names = names_in(folder);
  const auto count = [&names](auto&& is) {
    return static_cast<std::size_t>(std::count_if(names.begin(), names.end(), is));
  };
  if (names.empty()) return json_text(Json{{"kind", "empty folder"}, {"path", folder}});
  if (folder.ends_with(".parts") || folder.ends_with(".parts/")) return describe_parts_folder(folder, names);
  if (const std::size_t events = count(is_event_file); events > 0) {
    const auto last = std::find_if(names.rbegin(), names.rend(), is_event_file);
    Json json = {{"kind", "event files of TensorBoard"}, {"path", folder}, {"files", events}};
    json.update(Json::parse(describe_events(folder + "/" + *last)));
    json["kind"] = "event files of TensorBoard";
    json["path"] = folder;
    return json_text(json);
  }
  const auto ends = [](const char* suffix) {
    return [suffix](const std::string& name) { return name.ends_with(suffix); };
  };
  if (count(ends(".svg")) == names.size())
    return json_text(Json{{"kind", "pictures"}, {"path", folder}, {"pictures", names.size()}});
  if (count(ends(".tsv")) == names.size()) {
    const Json first = Json::parse(describe_table(folder + "/" + names.front()));
    if (first["kind"] == "GLUE predictions") {
      return json_text(
          Json{{"kind", "GLUE predictions"},
               {"path", folder},
               {"files", names},
               {"next", "the benchmark's site takes them, zipped; bigbird text glue evaluate those of dev"}});
    }
  }
  if (count(ends("_mqc.json")) == names.size()) {
    return json_text(Json{{"kind", "custom content for MultiQC"},
                          {"path", folder},
                          {"files", names.size()},
                          {"next", "multiqc " + folder}});
  }
  if (const std::size_t logs = count([](const std::string& name) {
        return name.ends_with(".log") && std::isdigit(static_cast<unsigned char>(name.front())) != 0;
      });
      logs > 0) {
    return json_text(Json{
        {"kind", "job in shards"}, {"path", folder}, {"logs", logs}, {"next", "bigbird report " + folder}});
  }
  throw_bad_input(folder + ": a folder with nothing in it that is described",
                  "a model has config.json, a run config.toml, a tokenizer spiece.model or tokenizer.json");
}

}  // namespace bigbird
