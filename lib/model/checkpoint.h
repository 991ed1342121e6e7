// Model folders in Hugging Face's layout: config.json, model.safetensors (names of specification 2.2), the
// tokenizer's files and a README.md model card; written whole or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/model/config.h"
#include "lib/model/layout.h"

namespace bigbird {

struct LoadedModel {
  ModelConfig config;
  std::vector<float> parameters;  // in ParameterLayout(config) order
};

// Loads config.json and model.safetensors. Tensors may be F32, BF16 or F16 and in any order;
// `cls.predictions.decoder.*` must equal the tied tensors when present; position_ids and unknown extra
// tensors are ignored with a warning; a missing tensor or a wrong shape is Error{bad_input} naming file and
// tensor. head: the head that is wanted. When the folder holds another one, its encoder is used and the head
// starts from initial_parameters(seed), said in one log line.
LoadedModel load_model(const std::string& folder, HeadType head, std::uint64_t seed,
                       std::int64_t num_labels = 2);

// Writes config.json, model.safetensors and README.md (model_card, Markdown) into an existing, unpublished
// folder: the caller owns the AtomicFolder, because a checkpoint holds trainer files beside these. Copies the
// tokenizer's files when tokenizer_folder is not empty.
void write_model_files(const std::string& folder, const ModelConfig& config, const ParameterLayout& layout,
                       const std::vector<float>& parameters, const std::string& tokenizer_folder,
                       const std::string& model_card);

// Throws Error{bad_input} when the tokenizer in the model folder (or the given one) has another vocabulary
// than the model.
void check_tokenizer_agrees(const ModelConfig& config, std::int64_t vocabulary_size,
                            const std::string& tokenizer_digest, const std::string& model_folder,
                            const std::string& tokenizer_folder);

}  // namespace bigbird
