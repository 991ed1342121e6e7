// Which form a path is of; see describe.h. What each form holds is told by the other files of describe*.cpp.
#include "lib/describe/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/describe/describe_parts.h"
#include "lib/io/files/file.h"
#include "lib/parts/chunked_numbers.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

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
  if (has_any_suffix(path, {".vcf", ".vcf.gz", ".bcf"})) return describe_variants;
  if (has_any_suffix(path, {".bed", ".bed.gz", ".narrowPeak", ".narrowPeak.gz"})) return describe_bed;
  if (has_any_suffix(path, {".fa", ".fa.gz", ".fasta", ".fasta.gz", ".fna", ".fna.gz", ".fai"}))
    return describe_genome;
  if (has_any_suffix(path, {".tsv", ".tsv.gz"})) return describe_table;
  if (has_any_suffix(path, {".json", ".json.gz"})) return describe_json;
  if (has_any_suffix(path, {".jsonl", ".jsonl.gz"})) return describe_json_lines;
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
  if (text.starts_with("#") && text.find('\t') != std::string::npos) return describe_table;
  return nullptr;
}

// Verbs end every line. A last one without an end is cut, wherever that was: its fields may look whole. Of
// files that others wrote nothing is known.
void require_last_line(const std::string& path, const std::string& described) {
  const nlohmann::json json = nlohmann::json::parse(described);
  const MappedFile file(path);
  const bool compressed = file.size() > 1 && file.data()[0] == std::byte{0x1f};
  if (compressed || file.size() == 0 || file.data()[file.size() - 1] == std::byte{'\n'}) return;
  if (!json.contains("provenance") || !json["provenance"].is_object()) return;
  throw_bad_input(fmt::format("{}: the last line has no end, byte {}", path, file.size()),
                  "the file was cut short; copy or make it again");
}

std::string describe_file(const std::string& path) {
  const std::string stored = first_bytes(path, false);
  if (stored.empty()) return describe_empty(path);
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
    if (has("config.json")) return describe_model(path, options, backend);
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
