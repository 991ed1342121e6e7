// Which form a path is of, see describe.h; and what folders hold that are neither model, tokenizer nor run.
// What the other forms hold is told by the other files of describe*.cpp.
#include "lib/describe/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/describe/describe_parts.h"
#include "lib/inference/model_task.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"
#include "lib/io/genome/vcf.h"
#include "lib/io/tables/tsv.h"
#include "lib/io/weights/tensorflow_bundle.h"
#include "lib/model_folder/dialect.h"
#include "lib/parts/chunked_numbers.h"
#include "lib/tokenization/tokenizer.h"

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
  if (has("scored.tsv") && has("effects.svg")) {
    return json_text(Json{{"kind", "demonstration"},
                          {"path", folder},
                          {"scores", Json::parse(describe_table(folder + "/scored.tsv"))},
                          {"next", "bigbird report " + folder + "/scored.tsv"}});
  }
  const std::vector<std::string> names = names_in(folder);
  std::vector<std::string> models;
  std::copy_if(names.begin(), names.end(), std::back_inserter(models),
               [&](const std::string& name) { return file_exists(config_file(folder + "/" + name)); });
  if (!models.empty()) {
    return json_text(Json{{"kind", "models"},
                          {"path", folder},
                          {"models", models},
                          {"next", "bigbird info " + folder + "/" + models.front()}});
  }
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
      return json_text(Json{
          {"kind", "GLUE predictions"},
          {"path", folder},
          {"files", names},
          {"next",
           "the benchmark's site takes them, zipped; bigbird text glue evaluate takes the ones of dev"}});
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

// "P" for P, P.bin, P.idx, P.json and P.00000.idx; empty when there are no shards.
std::string shard_prefix(const std::string& path) {
  std::string prefix = path;
  for (const char* suffix : {".bin", ".idx", ".json"}) {
    if (has_suffix(prefix, suffix)) prefix.erase(prefix.size() - std::string(suffix).size());
  }
  const std::size_t number = prefix.rfind('.');
  constexpr std::size_t digits = 5;
  const bool numbered = number != std::string::npos && prefix.size() - number == digits + 1 &&
                        prefix.find_first_not_of("0123456789", number + 1) == std::string::npos;
  if (numbered) prefix.erase(number);
  return file_exists(prefix + ".idx") || file_exists(prefix + ".00000.idx") ? prefix : std::string();
}

bool has_any_suffix(const std::string& path, std::initializer_list<const char*> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](const char* suffix) { return has_suffix(path, suffix); });
}

std::string name_in_folder(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// The first bytes of a file, as stored and seen through compression.
std::string first_bytes(const std::string& path, bool compressed) {
  constexpr std::size_t enough = 512;
  if (compressed) {
    InputStream in(path);
    std::string bytes(enough, '\0');
    std::size_t size = 0;
    while (size < enough) {
      const std::size_t more = in.read(bytes.data() + size, enough - size);
      if (more == 0) break;
      size += more;
    }
    bytes.resize(size);
    return bytes;
  }
  const MappedFile file(path);
  return {reinterpret_cast<const char*>(file.data()), std::min(file.size(), enough)};
}

using Describer = std::string (*)(const std::string&);

// By the bytes that a file of this form begins with; null for text and for what is not known.
Describer by_first_bytes(const std::string& stored) {
  if (stored.starts_with("\x93NUMPY")) return describe_npy;
  if (stored.starts_with("\x89HDF")) return describe_hdf5;
  if (stored.starts_with("bigbird shard")) return describe_shard_file;
  if (stored.starts_with("\x26\xFC\x8F\x88")) return describe_bigwig;
  return nullptr;
}

// By what its name says. A name that ends otherwise than its verb writes it is told by its bytes.
Describer by_name(const std::string& path) {
  const std::string name = name_in_folder(path);
  if (has_any_suffix(path, {".npy"})) return describe_npy;
  if (has_any_suffix(path, {".h5", ".hdf5"})) return describe_hdf5;
  if (has_any_suffix(path, {".bw", ".bigwig", ".bigWig"})) return describe_bigwig;
  if (has_any_suffix(path, {".safetensors"})) return describe_safetensors;
  if (name.find("tfevents") != std::string::npos) return describe_events;
  if (has_any_suffix(path, {".bedgraph", ".bedGraph", ".bg", ".bedgraph.gz", ".bedGraph.gz"}))
    return describe_bedgraph;
  if (vcf_type_of(path)) return describe_variants;
  if (has_any_suffix(path, {".bed", ".bed.gz", ".narrowPeak", ".narrowPeak.gz"})) return describe_bed;
  if (has_any_suffix(path, {".fa", ".fa.gz", ".fasta", ".fasta.gz", ".fna", ".fna.gz", ".fai"}))
    return describe_genome;
  if (has_any_suffix(path, {".tsv", ".tsv.gz"})) return describe_table;
  if (has_any_suffix(path, {".json", ".json.gz"})) return describe_json;
  if (has_any_suffix(path, {".jsonl", ".jsonl.gz"})) return describe_json_lines;
  if (has_any_suffix(path, {".conll", ".conllu", ".conll.gz", ".conllu.gz"})) return describe_tagged;
  if (has_any_suffix(path, {".svg"})) return describe_picture;
  if (has_any_suffix(path, {".html"})) return describe_page;
  if (has_any_suffix(path, {".toml"})) return describe_options;
  if (has_any_suffix(path, {".sh", ".sbatch"})) return describe_script;
  if (has_any_suffix(path, {".md"})) return describe_model_card;
  if (has_any_suffix(path, {".vocab"})) return describe_piece_list;
  if (has_any_suffix(path, {".txt", ".txt.gz", ".log"})) return describe_lines;
  return nullptr;
}

// By how its text begins.
Describer by_text(const std::string& text) {
  if (text.starts_with("BCF") || text.starts_with("##fileformat=VCF")) return describe_variants;
  if (text.starts_with(">")) return describe_genome;
  if (text.starts_with("{")) return describe_json;
  if (text.starts_with("<svg")) return describe_picture;
  if (text.starts_with("<!DOCTYPE html")) return describe_page;
  if (text.starts_with("#!")) return describe_script;
  // Names of columns, and no place of a BED.
  const std::string first = text.substr(0, text.find('\n'));
  const std::size_t tab = first.find('\t');
  if (text.starts_with("##bigbird_")) return describe_table;
  if (tab != std::string::npos && (first[tab + 1] < '0' || first[tab + 1] > '9')) return describe_table;
  return nullptr;
}

// Verbs end every line. A last one without an end is cut, wherever that was: its fields may look whole. Of
// files that others wrote nothing is known.
void require_last_line(const std::string& path, const std::string& described) {
  const nlohmann::json json = nlohmann::json::parse(described);
  const MappedFile file(path);
  const bool compressed = file.size() > 1 && file.data()[0] == std::byte{0x1f};
  if (compressed || file.size() == 0 || file.data()[file.size() - 1] == std::byte{'\n'}) return;
  // What lies beside counts here whatever the size: a cut file has another than it was written with.
  const bool told = json.contains("provenance") && json["provenance"].is_object();
  if (!told && read_provenance(provenance_path(path)).empty()) return;
  throw_bad_input(fmt::format("{}: the last line has no end, byte {}", path, file.size()),
                  "the file was cut short; copy or make it again");
}

std::string describe_file(const std::string& path) {
  const std::string stored = first_bytes(path, false);
  if (stored.empty() && provenance_beside(path).empty()) return describe_empty(path);
  if (const Describer describer = by_first_bytes(stored)) return describer(path);
  if (name_in_folder(path) == "spiece.model") return describe_tokenizer(parent_folder(path));
  Describer describer = by_name(path);
  // PyTorch's weights are a zip archive, and told through their folder.
  const bool weights = has_any_suffix(path, {".bin", ".pt", ".pth", ".ckpt"}) && stored.starts_with("PK");
  if (describer == nullptr && !weights) describer = by_text(first_bytes(path, true));
  if (describer != nullptr) {
    std::string described = describer(path);
    const bool lines = describer == describe_table || describer == describe_bed ||
                       describer == describe_bedgraph ||
                       (describer == describe_variants && stored.starts_with("#"));
    if (lines) require_last_line(path, described);
    return described;
  }
  throw_bad_input(
      path + ": not a kind of file that is described",
      "a folder of a model, run or tokenizer, the prefix of token shards, or a file that bigbird wrote");
}

std::string describe_path(const std::string& path, const DescribeOptions& options,
                          const kernels::Backend& backend) {
  if (folder_exists(path)) {
    const auto has = [&path](const char* name) { return file_exists(path + "/" + name); };
    if (file_exists(config_file(path))) return describe_model(path, options, backend);
    if (has("config.toml") || has("metrics.tsv") || has("rates.tsv")) return describe_run(path);
    if (!tokenizer_files(path).empty()) return describe_tokenizer(path);
    return describe_folder(path);
  }
  // What lies beside an index belongs to it, whatever its name.
  for (const char* index : {".gzi", ".tbi", ".csi"}) {
    if (!has_suffix(path, index) || !file_exists(path)) continue;
    const std::string file = path.substr(0, path.size() - 4);
    return json_text(Json{{"kind", "index"},
                          {"path", path},
                          {"of", file_exists(file) ? Json(file) : nullptr},
                          {"next", "bigbird info " + file}});
  }
  if (TensorFlowBundle::prefix_of(path)) return describe_tensorflow(path);
  const bool exists = file_exists(path);
  if (const std::string prefix = shard_prefix(path); !prefix.empty()) return describe_shards(prefix);
  if (exists) return describe_file(path);
  throw_bad_input(
      path + ": no such file or folder",
      "a folder of a model, run or tokenizer, the prefix of token shards, or a file that bigbird wrote");
}

}  // namespace

std::string describe(const std::string& path, const DescribeOptions& options,
                     const kernels::Backend& backend) {
  try {
    return describe_path(path, options, backend);
  } catch (const std::exception& error) {
    if (!is_json_problem(error)) throw;
    throw_bad_input(fmt::format("{}: {}", path, json_problem(error)),
                    "give the file as a verb has written it");
  }
}

}  // namespace bigbird
