// See describe.h.
#include "lib/report/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "lib/core/error.h"
#include "lib/data/token_shards.h"
#include "lib/io/files/file.h"
#include "lib/io/genome/bed.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/weights/safetensors.h"
#include "lib/io/weights/weight_files.h"
#include "lib/model/folder/config_json.h"
#include "lib/model/folder/model_card.h"
#include "lib/model/folder/self_test.h"
#include "lib/model/network/layout.h"
#include "lib/tasks/calibration_file.h"
#include "lib/tasks/model_task.h"
#include "lib/tasks/probabilities.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/training/memory_plan.h"
#include "lib/training/run_folder.h"

namespace bigbird {
namespace {

using Json = nlohmann::ordered_json;

// --- models

Json parameters_by_part(const ModelConfig& config, const ParameterLayout& layout) {
  Json parts = {{"total", layout.count()}, {"embeddings", 0}, {"layers", 0}, {"pooler", 0}, {"head", 0}};
  if (config.has_decoder()) parts["decoder"] = 0;
  for (const TensorSpec& spec : layout.tensors()) {
    const char* part = is_decoder_tensor(spec.name)                ? "decoder"
                       : spec.name.starts_with("bert.embeddings.") ? "embeddings"
                       : spec.name.starts_with("bert.encoder.")    ? "layers"
                       : spec.name.starts_with("bert.pooler.")     ? "pooler"
                                                                   : "head";
    parts[part] = parts[part].get<std::int64_t>() + spec.count;
  }
  return parts;
}

Json memory_of(const std::vector<MemoryRow>& rows) {
  Json json = Json::object();
  std::size_t total = 0;
  for (const MemoryRow& row : rows) {
    if (row.bytes > 0) json[row.what] = row.bytes;
    total += row.bytes;
  }
  json["total"] = total;
  json["total_text"] = format_bytes(total);
  return json;
}

Json memory_json(const ModelConfig& config, const DescribeOptions& options, const kernels::Backend& backend) {
  const std::int64_t length = options.length > 0        ? options.length
                              : config.input_length > 0 ? config.input_length
                                                        : config.max_position_embeddings;
  if (length > config.max_position_embeddings) {
    throw_usage(
        fmt::format("`length` {}: the model has {} positions", length, config.max_position_embeddings));
  }
  const std::int64_t padded = (length + config.block_size - 1) / config.block_size * config.block_size;
  BatchLimits limits{padded * options.batch, options.batch, 0, padded};
  // A decoder's rows as the paper has them for long documents (table 17).
  if (config.has_decoder()) limits.target_tokens = 256 * options.batch;
  Json json = {{"length", length}, {"padded_length", padded}, {"batch", options.batch}};
  if (config.has_decoder()) json["decoder_length"] = limits.target_tokens / options.batch;
  json["inference"] = memory_of(plan_model_memory(config, limits, {}, backend));
  if (config.has_mlm()) limits.masked_tokens = std::max<std::int64_t>(1, limits.tokens * 15 / 100);
  if (config.head != HeadType::encoder) {
    for (const bool checkpoint : {false, true}) {
      const ModelOptions training{.training = true, .grad_checkpoint = checkpoint};
      json[checkpoint ? "training_grad_checkpoint" : "training"] =
          memory_of(plan_training_memory(config, limits, training, backend, {}).places.front().rows);
    }
  }
  return json;
}

Json tokenizer_json(const std::string& folder) {
  const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(folder);
  const SpecialIds& special = tokenizer->special();
  return {{"files", tokenizer_files(folder)},
          {"alphabet", tokenizer->is_dna() ? "DNA" : "text"},
          {"pieces", tokenizer->vocab_size()},
          {"longest_piece",
           *std::max_element(tokenizer->piece_lengths().begin(), tokenizer->piece_lengths().end())},
          {"special_ids",
           {{"pad", special.pad},
            {"unknown", special.unknown},
            {"cls", special.cls},
            {"sep", special.sep},
            {"mask", special.mask}}},
          {"sha256", tokenizer->digest()}};
}

Json weights_json(const WeightFiles& weights) {
  Json json = {{"files", weights.files()}, {"tensors", weights.tensors().size()}};
  Json types = Json::object();
  for (const StoredTensor& tensor : weights.tensors()) {
    const char* type = tensor_type_name(tensor.type);
    types[type] = types.value(type, std::int64_t{0}) + tensor.elements();
  }
  json["values_by_type"] = types;
  return json;
}

// What the header of the weights says about where they come from.
Json provenance_of(const WeightFiles& weights) {
  if (!has_suffix(weights.path(), ".safetensors")) return nullptr;
  const SafetensorsFile file(weights.path());
  const auto found = file.metadata().find("provenance");
  if (found == file.metadata().end()) return nullptr;
  Json json = Json::parse(found->second, nullptr, false);
  return json.is_discarded() ? Json(found->second) : json;
}

Json calibration_json(const std::string& folder, const ModelConfig& config) {
  try {
    const std::optional<Calibration> calibration = read_calibration(folder, outputs_of(config));
    if (!calibration) return nullptr;
    return {{"fitted_on", calibration->fitted_on},
            {"windows", calibration->windows},
            {"strands", name_of(calibration->strands)},
            {"outputs", calibration->outputs.size()},
            {"fitted_outputs", calibration->fitted()},
            {"prior", calibration->prior ? Json(*calibration->prior) : Json()}};
  } catch (const Error& error) {
    return {{"error", error.message()}};
  }
}

Json model_json(const std::string& folder, const DescribeOptions& options, const kernels::Backend& backend) {
  const std::string config_file = folder + "/config.json";
  const ModelConfig config = read_config(config_file);
  const ParameterLayout layout(config);
  Json json = {{"kind", "model"}, {"path", folder}};
  json["dialect"] = name_of(dialect_of(read_file(config_file), config_file));
  json["head"] = name_of(config.head);
  json["parameters"] = parameters_by_part(config, layout);
  const WeightFiles weights(folder);
  json["weights"] = weights_json(weights);
  json["random_mode"] = name_of(config.random_mode);
  json["attention"] = attention_line(config);
  json["full_attention"] = full_attention_line(config);
  json["padding"] =
      config.input_length > 0
          ? fmt::format("to {} tokens, at the right end", config.input_length)
          : fmt::format("to the next multiple of {} tokens, at the right end", config.block_size);
  json["loads_in_transformers"] = is_huggingface_architecture(config);
  json["config"] = Json::parse(config_json(config));
  json["tokenizer"] = nullptr;
  if (!tokenizer_files(folder).empty()) {
    try {
      json["tokenizer"] = tokenizer_json(folder);
    } catch (const Error& error) {
      json["tokenizer"] = {{"files", tokenizer_files(folder)}, {"error", error.message()}};
    }
  }
  json["self_test"] = read_self_test(folder).has_value();
  json["calibration"] = calibration_json(folder, config);
  json["provenance"] = provenance_of(weights);
  json["memory_bytes"] = memory_json(config, options, backend);
  return json;
}

// --- runs

Json run_json(const std::string& folder) {
  Json json = {{"kind", "run"}, {"path", folder}};
  json["finished"] = folder_exists(folder + "/final");
  std::string last_line, header;
  std::uint64_t steps = 0;
  if (file_exists(folder + "/metrics.tsv")) {
    LineReader lines(folder + "/metrics.tsv");
    for (std::string_view line; lines.next(line);) {
      if (line.starts_with("##") || line.empty()) continue;
      if (line.starts_with("#")) {
        header = line.substr(1);
        continue;
      }
      last_line = line;
      ++steps;
    }
  }
  json["logged_steps"] = steps;
  Json last = Json::object();
  for (std::size_t name = 0, value = 0;
       !last_line.empty() && name < header.size() && value < last_line.size();) {
    const std::size_t name_end = std::min(header.find('\t', name), header.size());
    const std::size_t value_end = std::min(last_line.find('\t', value), last_line.size());
    last[header.substr(name, name_end - name)] = last_line.substr(value, value_end - value);
    name = name_end + 1;
    value = value_end + 1;
  }
  json["last_step"] = last;
  std::vector<std::string> checkpoints;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("checkpoint-") && entry.is_directory()) checkpoints.push_back(name);
  }
  // By their step: the shorter number is the smaller one.
  std::sort(checkpoints.begin(), checkpoints.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  json["checkpoints"] = checkpoints;
  if (!checkpoints.empty()) {
    const TrainState state = read_train_state(folder + "/" + checkpoints.back());
    json["device"] = state.device.empty() ? Json(nullptr) : Json(state.device);
    json["precision"] = state.precision.empty() ? Json(nullptr) : Json(state.precision);
  }
  if (file_exists(folder + "/config.toml")) json["options"] = read_file(folder + "/config.toml");
  return json;
}

// --- data

Json shards_json(const std::string& prefix) {
  const TokenShards shards(prefix);
  const auto per = [](std::uint64_t amount, std::uint64_t count) {
    return count == 0 ? 0.0 : static_cast<double>(amount) / static_cast<double>(count);
  };
  Json json = {{"kind", "shards"},
               {"path", prefix},
               {"shards", shards.shard_count()},
               {"documents", shards.document_count()},
               {"sentences", shards.sentence_count()},
               {"tokens", shards.token_count()},
               {shards.is_text() ? "bytes" : "bases", shards.base_count()},
               {"tokens_per_sentence", per(shards.token_count(), shards.sentence_count())},
               {shards.is_text() ? "bytes_per_token" : "bases_per_token",
                per(shards.base_count(), shards.token_count())},
               {"tokenizer_sha256", shards.tokenizer_digest()}};
  return json;
}

Json documents_json(const std::string& path) {
  BedReader reader(path);
  std::uint64_t records = 0, blocks = 0, reverse = 0, bases = 0, documents = 0;
  std::int64_t shortest = 0, longest = 0;
  std::vector<std::string> chromosomes;
  for (BedRecord record; reader.next(record); ++records) {
    const std::int64_t length = record.end - record.begin;
    shortest = records == 0 ? length : std::min(shortest, length);
    longest = std::max(longest, length);
    bases += static_cast<std::uint64_t>(length);
    blocks += record.blocks.size();
    documents += record.columns == 12 ? 1 : 0;
    reverse += record.strand == '-' ? 1 : 0;
    if (std::find(chromosomes.begin(), chromosomes.end(), record.chrom) == chromosomes.end()) {
      chromosomes.push_back(record.chrom);
    }
  }
  const bool all_documents = records > 0 && documents == records;
  return {{"kind", all_documents ? "documents" : "intervals"},
          {"path", path},
          {"records", records},
          {"sentences", blocks},
          {"bases", bases},
          {"shortest", shortest},
          {"longest", longest},
          {"reverse_strand", reverse},
          {"chromosomes", chromosomes}};
}

Json genome_json(const std::string& path) {
  Json json = {{"kind", "genome"}, {"path", path}};
  std::int64_t bases = 0;
  Json contigs = Json::object();
  for (const Contig& contig : load_fai(path)) {
    bases += contig.length;
    contigs[contig.name] = contig.length;
  }
  json["sequences"] = contigs.size();
  json["bases"] = bases;
  json["lengths"] = contigs;
  return json;
}

// Of `chromatin build`: its manifest, and how many profiles each group has.
Json chromatin_json(const std::string& folder) {
  const std::string path = folder + "/manifest.json";
  Json manifest = Json::parse(read_file(path), nullptr, false);
  if (!manifest.is_object()) throw_bad_input(path + ": not a JSON object", "make the data set again");
  Json json = {{"kind", "chromatin data set"}, {"path", folder}};
  json.update(manifest);
  for (const Profile& profile : read_profiles(folder + "/profiles.tsv")) {
    Json& count = json["profiles_by_group"][profile.group];
    count = count.is_null() ? 1 : count.get<std::int64_t>() + 1;
  }
  return json;
}

// "P" for P, P.bin, P.idx, P.json and P.00000.idx; empty when there are no shards.
std::string shard_prefix(const std::string& path) {
  std::string prefix = path;
  for (const char* suffix : {".bin", ".idx", ".json"}) {
    if (has_suffix(prefix, suffix)) prefix.erase(prefix.size() - std::string(suffix).size());
  }
  if (has_suffix(prefix, ".00000")) prefix.erase(prefix.size() - 6);
  return file_exists(prefix + ".idx") || file_exists(prefix + ".00000.idx") ? prefix : std::string();
}

bool has_any_suffix(const std::string& path, std::initializer_list<const char*> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](const char* suffix) { return has_suffix(path, suffix); });
}

Json description(const std::string& path, const DescribeOptions& options, const kernels::Backend& backend) {
  if (folder_exists(path)) {
    if (file_exists(path + "/config.json")) return model_json(path, options, backend);
    if (file_exists(path + "/config.toml") || file_exists(path + "/metrics.tsv")) return run_json(path);
    if (!tokenizer_files(path).empty()) {
      Json json = {{"kind", "tokenizer"}, {"path", path}};
      json.update(tokenizer_json(path));
      return json;
    }
    if (file_exists(path + "/labels.npy") && file_exists(path + "/manifest.json"))
      return chromatin_json(path);
    throw_bad_input(path + ": a folder with no model, run, tokenizer or chromatin data set in it",
                    "a model has config.json, a run config.toml, a tokenizer spiece.model or tokenizer.json");
  }
  if (has_any_suffix(path, {".bed", ".bed.gz"})) return documents_json(path);
  if (has_any_suffix(path, {".fa", ".fa.gz", ".fasta", ".fasta.gz", ".fna", ".fna.gz", ".fai"})) {
    return genome_json(path);
  }
  if (const std::string prefix = shard_prefix(path); !prefix.empty()) return shards_json(prefix);
  throw_bad_input(
      path + (file_exists(path) ? ": not a kind of file that is described" : ": no such file or folder"),
      "a folder of a model, run or tokenizer, the prefix of token shards, a .bed or a FASTA file");
}

}  // namespace

std::string describe(const std::string& path, const DescribeOptions& options,
                     const kernels::Backend& backend) {
  return description(path, options, backend).dump();
}

}  // namespace bigbird
