// Hugging Face model folders, read and written; see checkpoint.h.
#include "lib/model/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/file.h"
#include "lib/io/safetensors.h"
#include "lib/model/plan_table.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

constexpr const char* word_table = "bert.embeddings.word_embeddings.weight";

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

bool is_head_tensor(const std::string& name) {
  return name.starts_with("cls.") || name.starts_with("classifier.") || name.starts_with("bert.pooler.");
}

// Tensors that repeat tied ones, with the tensor they must equal.
struct TiedTensor {
  const char* name;
  const char* equals;
};
constexpr std::array<TiedTensor, 2> tied_tensors{{{"cls.predictions.decoder.weight", word_table},
                                                  {"cls.predictions.decoder.bias", "cls.predictions.bias"}}};

void check_tied(const SafetensorsFile& file) {
  for (const TiedTensor& tied : tied_tensors) {
    if (!file.has(tied.name) || !file.has(tied.equals)) continue;
    if (file.floats(tied.name) != file.floats(tied.equals)) {
      throw_bad_input(fmt::format("{}: tensor {} differs from {}", file.path(), tied.name, tied.equals),
                      "BigBird ties the two; this file holds another kind of model");
    }
  }
}

void warn_about_unknown(const SafetensorsFile& file, const ParameterLayout& layout, bool same_head) {
  for (const TensorInfo& tensor : file.tensors()) {
    const auto is_tied = [&](const TiedTensor& tied) { return tensor.name == tied.name; };
    if (std::any_of(tied_tensors.begin(), tied_tensors.end(), is_tied)) continue;
    if (tensor.name == "bert.embeddings.position_ids" || layout.find(tensor.name) != nullptr) continue;
    if (is_head_tensor(tensor.name) && (!same_head || tensor.name.starts_with("bert.pooler."))) continue;
    log_warning(
        fmt::format("{}: tensor {} is not part of this model and is ignored", file.path(), tensor.name));
  }
}

}  // namespace

LoadedModel load_model(const std::string& folder, HeadType head, std::uint64_t seed,
                       std::int64_t num_labels) {
  if (!folder_exists(folder)) {
    throw_bad_input(folder + ": no such model folder",
                    "a model folder holds config.json and model.safetensors");
  }
  LoadedModel model;
  model.config = read_config(folder + "/config.json");
  const bool same_head = model.config.head == head;
  if (!same_head) {
    model.config.head = head;
    model.config.num_labels = num_labels;
    log_info(fmt::format("{}: encoder taken, the {} head starts from random values", folder,
                         head == HeadType::classification ? "classification" : "pretraining"));
  }
  const ParameterLayout layout(model.config);
  const SafetensorsFile file(folder + "/model.safetensors");
  if (same_head) {
    model.parameters.resize(static_cast<std::size_t>(layout.count()));
  } else {
    model.parameters = initial_parameters(layout, model.config, seed);
  }
  for (const TensorSpec& spec : layout.tensors()) {
    if (!file.has(spec.name)) {
      if (!same_head && is_head_tensor(spec.name)) continue;
      throw_bad_input(fmt::format("{}: tensor {} is missing", file.path(), spec.name),
                      "config.json and model.safetensors must come from the same model");
    }
    const TensorInfo& info = file.info(spec.name);
    if (info.shape != spec.shape) {
      throw_bad_input(fmt::format("{}: tensor {} has shape {}, config.json asks for {}", file.path(),
                                  spec.name, shape_text(info.shape), shape_text(spec.shape)),
                      "config.json and model.safetensors must come from the same model");
    }
    file.read_floats(
        spec.name, std::span<float>(model.parameters)
                       .subspan(static_cast<std::size_t>(spec.offset), static_cast<std::size_t>(spec.count)));
  }
  check_tied(file);
  warn_about_unknown(file, layout, same_head);
  return model;
}

void write_model_files(const std::string& folder, const ModelConfig& config, const ParameterLayout& layout,
                       const std::vector<float>& parameters, const std::string& tokenizer_folder,
                       const std::string& model_card) {
  std::vector<TensorToWrite> tensors;
  for (const TensorSpec& spec : layout.tensors()) {
    tensors.push_back({spec.name, TensorType::f32, spec.shape, parameters.data() + spec.offset});
  }
  write_safetensors(folder + "/model.safetensors", tensors);
  write_text_atomic(folder + "/config.json", config_json(config));
  if (config.plan != nullptr) write_text_atomic(folder + "/attention_plan.json", config.plan->json());
  write_text_atomic(folder + "/README.md", model_card);
  if (tokenizer_folder.empty()) return;
  for (const std::string& name : tokenizer_files(tokenizer_folder)) {
    const std::string file = "/" + name;
    write_text_atomic(folder + file, read_file(tokenizer_folder + file));
  }
}

void check_tokenizer_agrees(const ModelConfig& config, std::int64_t vocabulary_size,
                            const std::string& tokenizer_digest, const std::string& model_folder,
                            const std::string& tokenizer_folder) {
  if (vocabulary_size != config.vocab_size) {
    throw_bad_input(fmt::format("{}: the tokenizer has {} pieces, the model in {} was trained with {}",
                                tokenizer_folder, vocabulary_size, model_folder, config.vocab_size),
                    "use the tokenizer that lies in the model's own folder");
  }
  if (!config.tokenizer_digest.empty() && !tokenizer_digest.empty() &&
      config.tokenizer_digest != tokenizer_digest) {
    throw_bad_input(
        fmt::format("{}: this tokenizer (sha256 {}...) is not the one of the model in {} (sha256 {}...)",
                    tokenizer_folder, tokenizer_digest.substr(0, 12), model_folder,
                    config.tokenizer_digest.substr(0, 12)),
        "equal vocabulary sizes, other pieces: use the tokenizer that lies in the model's own folder");
  }
}

}  // namespace bigbird
