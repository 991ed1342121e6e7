// See weight_files.h.
#include "lib/io/weights/weight_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "lib/io/files/sha256.h"
#include "lib/io/weights/safetensors.h"
#include "lib/io/weights/torch_file.h"

namespace bigbird {
namespace {

using Json = nlohmann::json;

// In order of preference.
constexpr std::array<const char*, 4> weight_names{"model.safetensors", "model.safetensors.index.json",
                                                  "pytorch_model.bin", "pytorch_model.bin.index.json"};
constexpr std::size_t most_index_bytes = 64u << 20;
constexpr std::size_t most_nested_objects = 1000;

// Weights of other frameworks, by the names of their files.
std::string foreign_weights(const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    const bool checkpoint = name.find(".ckpt") != std::string::npos && has_suffix(name, ".index");
    if (checkpoint || name == "tf_model.h5" || name == "saved_model.pb" || name == "flax_model.msgpack")
      return name;
  }
  return {};
}

std::string find_weights(const std::string& folder) {
  std::vector<std::string> present;
  for (const char* name : weight_names) {
    if (file_exists(folder + "/" + name)) present.emplace_back(name);
  }
  if (present.empty()) {
    const std::string foreign = foreign_weights(folder);
    if (foreign.empty()) {
      throw_bad_input(folder + ": no weights: neither model.safetensors nor pytorch_model.bin",
                      "a model folder holds config.json and one of these (or their shards with an index)");
    }
    const bool is_flax = foreign == "flax_model.msgpack";
    throw_bad_input(
        fmt::format("{}: weights of {} are not read", folder + "/" + foreign,
                    is_flax ? "Flax" : "TensorFlow"),
        fmt::format("convert them: python -c \"from transformers import AutoModelForPreTraining as M; "
                    "M.from_pretrained('{}', {}=True).save_pretrained('converted')\"",
                    one_line_name(folder), is_flax ? "from_flax" : "from_tf"));
  }
  if (present.size() > 1) {
    log_info_once(fmt::format("{}: {} is read; {} beside it is not", folder, present[0],
                              fmt::join(present.begin() + 1, present.end(), ", ")));
  }
  return folder + "/" + present[0];
}

void refuse_lfs_pointer(const MappedFile& file) {
  constexpr std::string_view mark = "version https://git-lfs";
  const std::string_view start(reinterpret_cast<const char*>(file.data()),
                               std::min(file.size(), mark.size()));
  if (start != mark) return;
  throw_bad_input(file.path() + ": a Git LFS pointer, not the weights themselves",
                  "run `git lfs pull` in the repository that the file came from");
}

[[noreturn]] void fail_index(const std::string& index, const std::string& what) {
  throw_bad_input(fmt::format("{}: {}", index, what),
                  "the index and its shards must come from the same model");
}

// weight_map of an index: tensor -> shard.
std::map<std::string, std::string> read_weight_map(const std::string& index) {
  const MappedFile file(index);
  refuse_lfs_pointer(file);
  if (file.size() > most_index_bytes) fail_index(index, "an index of more than 64 MB");
  std::set<std::string> names;
  std::size_t nested = 0;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > 4) fail_index(index, "the JSON is nested too deeply");
    // At the end of each the parser looks through what is around it: many of them would take for ever.
    if (event == Json::parse_event_t::object_start && depth > 1 && ++nested > most_nested_objects) {
      fail_index(index, "the JSON holds too many objects");
    }
    if (event == Json::parse_event_t::key && depth == 2 && !names.insert(value.get<std::string>()).second) {
      fail_index(index, fmt::format("{} is listed twice", one_line_name(value.get<std::string>())));
    }
    if (event == Json::parse_event_t::object_end && depth == 1) names.clear();
    return true;
  };
  Json json;
  const char* text = reinterpret_cast<const char*>(file.data());
  try {
    json = Json::parse(text, text + file.size(), watch);
  } catch (const Json::exception&) {
    fail_index(index, "not valid JSON");
  }
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object() ||
      json["weight_map"].empty()) {
    fail_index(index, "no weight_map in it");
  }
  std::map<std::string, std::string> shards;
  for (const auto& [name, value] : json["weight_map"].items()) {
    if (!value.is_string())
      fail_index(index, fmt::format("the shard of tensor {} is no text", one_line_name(name)));
    const auto shard = value.get<std::string>();
    if (shard.empty() || shard == "." || shard == ".." ||
        shard.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos) {
      fail_index(index,
                 fmt::format("'{}' is not the name of a shard beside the index", one_line_name(shard)));
    }
    shards[name] = shard;
  }
  return shards;
}

}  // namespace

WeightFiles::WeightFiles(const std::string& path) : path_(folder_exists(path) ? find_weights(path) : path) {
  if (has_suffix(path_, ".index.json")) {
    open_index(path_);
  } else {
    open_file(path_);
  }
}

const StoredTensor* WeightFiles::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

void WeightFiles::open_file(const std::string& file) {
  refuse_lfs_pointer(MappedFile(file));
  std::vector<StoredTensor> found;
  if (has_suffix(file, ".safetensors")) {
    const auto reader = std::make_shared<const SafetensorsFile>(file);
    for (const TensorInfo& tensor : reader->tensors()) found.push_back(reader->stored(tensor.name));
    readers_.push_back(reader);
  } else {
    const auto reader = std::make_shared<const TorchFile>(file);
    found = reader->tensors();
    readers_.push_back(reader);
  }
  files_.push_back(file);
  for (StoredTensor& tensor : found) {
    if (!by_name_.emplace(tensor.name, tensors_.size()).second) {
      throw_bad_input(fmt::format("{}: tensor {} lies in {} as well", file, one_line_name(tensor.name),
                                  find(tensor.name)->file),
                      "every tensor belongs into one shard");
    }
    tensors_.push_back(std::move(tensor));
  }
}

void WeightFiles::open_index(const std::string& index) {
  const std::map<std::string, std::string> shard_of = read_weight_map(index);
  files_.push_back(index);
  std::set<std::string> shards;
  for (const auto& [name, shard] : shard_of) shards.insert(shard);
  const std::string folder = parent_folder(index) + "/";
  for (const std::string& shard : shards) {
    if (!file_exists(folder + shard))
      fail_index(index, fmt::format("shard {} is missing", one_line_name(shard)));
    open_file(folder + shard);
  }
  for (const StoredTensor& tensor : tensors_) {
    const auto listed = shard_of.find(tensor.name);
    if (listed == shard_of.end() || folder + listed->second != tensor.file) {
      fail_index(index, fmt::format("tensor {} lies in {}, and the index {}", one_line_name(tensor.name),
                                    tensor.file,
                                    listed == shard_of.end() ? "does not list it"
                                                             : "says " + one_line_name(listed->second)));
    }
  }
  for (const auto& [name, shard] : shard_of) {
    if (find(name) == nullptr) {
      fail_index(index,
                 fmt::format("tensor {} is not in shard {}", one_line_name(name), one_line_name(shard)));
    }
  }
}

std::string weights_digest(const std::string& folder) {
  const WeightFiles weights(folder);
  if (weights.files().size() == 1) return sha256_file(weights.path());
  std::string digests;
  for (const std::string& file : weights.files()) digests += sha256_file(file) + "\n";
  return sha256_bytes(digests);
}

}  // namespace bigbird
