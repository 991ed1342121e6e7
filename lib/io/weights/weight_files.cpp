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
#include "lib/io/weights/tensorflow_bundle.h"
#include "lib/io/weights/torch_file.h"

namespace bigbird {
namespace {

using Json = nlohmann::json;

// In order of preference.
constexpr std::array<const char*, 4> weight_names{"model.safetensors", "model.safetensors.index.json",
                                                  "pytorch_model.bin", "pytorch_model.bin.index.json"};
constexpr std::size_t most_index_bytes = 64u << 20;
constexpr std::size_t most_nested_objects = 1000;

// Weights of other frameworks and forms, by the names of their files: where `middle` stands in it and it ends
// so. `hint` may hold {} for the folder and FILE for the file.
struct ForeignWeights {
  const char* middle;
  const char* end;
  const char* what;
  const char* hint;
};
constexpr const char* from_tensorflow =
    "convert them: python -c \"from transformers import AutoModelForPreTraining as M; M.from_pretrained('{}', "
    "from_tf=True).save_pretrained('converted')\"";
constexpr const char* from_flax =
    "convert them: python -c \"from transformers import AutoModelForPreTraining as M; M.from_pretrained('{}', "
    "from_flax=True).save_pretrained('converted')\"";
constexpr const char* as_state =
    "if it holds a dictionary of tensors: python -c \"import torch; w = torch.load('FILE', map_location='cpu'); w "
    "= w.get('state_dict', w); torch.save(w, '{}/pytorch_model.bin')\"";
constexpr const char* from_original =
    "take the folder that it was made from: one with model.safetensors or pytorch_model.bin";
constexpr std::array<ForeignWeights, 17> foreign_weights{
    {{".ckpt", ".index", "weights of TensorFlow are not read", from_tensorflow},
     {"tf_model", ".h5", "weights of TensorFlow are not read", from_tensorflow},
     {"tf_model", ".h5.index.json", "weights of TensorFlow are not read", from_tensorflow},
     {"saved_model", ".pb", "weights of TensorFlow are not read", from_tensorflow},
     {"flax_model", ".msgpack", "weights of Flax are not read", from_flax},
     {"flax_model", ".msgpack.index.json", "weights of Flax are not read", from_flax},
     {"adapter_model", ".safetensors", "an adapter (PEFT, LoRA) without the model that it changes",
      "merge it into its model: python -c \"from peft import AutoPeftModel as M; "
      "M.from_pretrained('{}').merge_and_unload().save_pretrained('merged')\""},
     {"adapter_model", ".bin", "an adapter (PEFT, LoRA) without the model that it changes",
      "merge it into its model: python -c \"from peft import AutoPeftModel as M; "
      "M.from_pretrained('{}').merge_and_unload().save_pretrained('merged')\""},
     {"rust_model", ".ot", "weights of rust-bert are not read", from_original},
     {"", ".onnx", "an ONNX program, whose weights are not read", from_original},
     {"", ".gguf", "GGUF weights are not read", from_original},
     {"openvino", ".bin", "an OpenVINO program, whose weights are not read", from_original},
     {"", ".mlmodel", "a Core ML program, whose weights are not read", from_original},
     {"", ".ckpt",
      "a checkpoint of another program (PyTorch Lightning, TensorFlow), which is not read by that name",
      as_state},
     {"", ".pth", "weights are not read by that name", as_state},
     {"", ".pt", "weights are not read by that name", as_state},
     {"", ".safetensors", "weights are not read by that name", "name it {}/model.safetensors"}}};

struct FoundForeign {
  std::string name;
  const ForeignWeights* kind = nullptr;
};

// The first kind of the table that is there, of several files the first by name.
FoundForeign foreign_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  for (const ForeignWeights& kind : foreign_weights) {
    for (const std::string& name : names) {
      if (has_suffix(name, kind.end) && name.find(kind.middle) != std::string::npos) return {name, &kind};
    }
  }
  return {};
}

// The hint, with the names put in.
std::string hint_for(const FoundForeign& found, const std::string& folder) {
  std::string hint = found.kind->hint;
  const auto put = [&](std::string_view mark, const std::string& text) {
    if (const std::size_t at = hint.find(mark); at != std::string::npos) hint.replace(at, mark.size(), text);
  };
  put("FILE", one_line_name(folder + "/" + found.name));
  put("{}", one_line_name(folder));
  return hint;
}

// A folder of etcmodel holds etc_config.json and a checkpoint of TensorFlow.
std::string checkpoint_in(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (has_suffix(name, ".index") && !has_suffix(name, ".index.json")) found.push_back(name);
  }
  std::sort(found.begin(), found.end());
  if (found.empty()) {
    throw_bad_input(folder + ": etc_config.json, but no checkpoint of TensorFlow",
                    "etcmodel's folders hold model.ckpt.index and model.ckpt.data-00000-of-00001");
  }
  if (found.size() > 1) {
    throw_bad_input(
        fmt::format("{}: {} checkpoints, {} and {} among them", folder, found.size(), found[0], found[1]),
        "leave the one in the folder that is wanted");
  }
  return folder + "/" + found[0];
}

std::string find_weights(const std::string& folder) {
  if (file_exists(folder + "/etc_config.json") && !file_exists(folder + "/config.json"))
    return checkpoint_in(folder);
  std::vector<std::string> present;
  for (const char* name : weight_names) {
    if (file_exists(folder + "/" + name)) present.emplace_back(name);
  }
  if (present.empty()) {
    const FoundForeign foreign = foreign_in(folder);
    if (foreign.kind == nullptr) {
      throw_bad_input(folder + ": no weights: neither model.safetensors nor pytorch_model.bin",
                      "a model folder holds config.json and one of these (or their shards with an index)");
    }
    throw_bad_input(fmt::format("{}/{}: {}", folder, one_line_name(foreign.name), foreign.kind->what),
                    hint_for(foreign, folder));
  }
  if (present.size() > 1) {
    log_info_once(fmt::format("{}: {} is read; {} next to it is not", folder, present[0],
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
      fail_index(index, fmt::format("the shard of tensor {} is not text", one_line_name(name)));
    const auto shard = value.get<std::string>();
    if (shard.empty() || shard == "." || shard == ".." ||
        shard.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos) {
      fail_index(index,
                 fmt::format("'{}' is not the name of a shard next to the index", one_line_name(shard)));
    }
    shards[name] = shard;
  }
  return shards;
}

}  // namespace

WeightFiles::WeightFiles(const std::string& path) : path_(folder_exists(path) ? find_weights(path) : path) {
  if (const auto prefix = TensorFlowBundle::prefix_of(path_)) {
    open_bundle(*prefix);
  } else if (has_suffix(path_, ".index.json")) {
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
  add(std::move(found));
}

void WeightFiles::open_bundle(const std::string& prefix) {
  const auto reader = std::make_shared<const TensorFlowBundle>(prefix);
  reader->check_numbers();
  readers_.push_back(reader);
  files_ = reader->files();
  path_ = files_.front();
  add(reader->tensors());
}

void WeightFiles::add(std::vector<StoredTensor> found) {
  for (StoredTensor& tensor : found) {
    if (!by_name_.emplace(tensor.name, tensors_.size()).second) {
      throw_bad_input(fmt::format("{}: tensor {} is in {} as well", tensor.file, one_line_name(tensor.name),
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
      fail_index(index,
                 fmt::format("tensor {} is in {}, and the index {}", one_line_name(tensor.name), tensor.file,
                             listed == shard_of.end() ? "does not list it"
                                                      : "names " + one_line_name(listed->second)));
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
