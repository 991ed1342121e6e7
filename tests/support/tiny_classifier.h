// Fine-tuned genome models of random weights, small enough for tests of seconds: a DNA tokenizer, a
// classifier whose outputs differ clearly between sequences, window.json and profiles.tsv. Header-only: the
// including test links bigbird_lib.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "lib/inference/model_identity.h"
#include "lib/inference/model_task.h"
#include "lib/model_folder/checkpoint.h"
#include "tests/support/support.h"
#include "tests/support/tiny_training_data.h"

namespace bigbird::testing {

struct TinyClassifier {
  ProblemType problem = ProblemType::multi_label;
  std::vector<Profile> profiles = {{"K562|CTCF", "TF"}, {"K562|CTCF", "TF"}, {"K562|DNase", "DHS"}};
  std::int64_t labels = 0;  // 0: as many as profiles; two for the single profile of a promoter model
  ModelWindow window{"chromatin", 100, 40, 20};
  std::int64_t input_length = 128;  // tokens
  std::uint64_t seed = 1;           // of the weights
};

// The model folder: 1 layer, width 16, blocks of 8 tokens.
inline void write_tiny_classifier(const std::filesystem::path& folder, const TinyClassifier& shape = {}) {
  write_tiny_tokenizer(folder);
  ModelConfig config;
  config.vocab_size = static_cast<std::int64_t>(load_tokenizer(folder.string())->vocab_size());
  config.hidden_size = 16;
  config.num_hidden_layers = 1;
  config.num_attention_heads = 2;
  config.intermediate_size = 32;
  config.max_position_embeddings = shape.input_length;
  config.input_length = shape.input_length;
  config.block_size = 8;
  config.num_random_blocks = 1;
  config.random_mode = RandomMode::hf_train;
  config.sep_token_id = 3;
  config.head = HeadType::classification;
  config.problem_type = shape.problem;
  config.num_labels = shape.labels > 0 ? shape.labels : static_cast<std::int64_t>(shape.profiles.size());
  config.initializer_range = 0.4;  // many times the usual spread: logits that differ between sequences
  config.tokenizer_digest = load_tokenizer(folder.string())->digest();
  const ParameterLayout layout(config);
  write_model_files(folder.string(), config, layout, initial_parameters(layout, config, shape.seed), "",
                    "tiny\n");
  for (const auto& [name, text] : model_task_files(shape.window, shape.profiles))
    write_text(folder / name, text);
}

// From now on no weight of the folder can be read: each is no number. What lies beside an output tells of
// them as if it were made with these.
inline void spoil_weights(const std::filesystem::path& folder, const std::filesystem::path& told) {
  const auto digests = [&] {
    const ModelFolder model(folder.string());
    return std::vector<std::string>{model.weights_digest(), model_digest(model)};
  };
  const std::vector<std::string> before = digests();
  std::string weights = read_text(folder / "model.safetensors");
  std::uint64_t header = 0;
  std::memcpy(&header, weights.data(), sizeof header);
  std::fill(weights.begin() + static_cast<std::ptrdiff_t>(sizeof header + header), weights.end(), '\xff');
  write_text(folder / "model.safetensors", weights);
  const std::vector<std::string> now = digests();
  std::string text = read_text(told);
  for (std::size_t i = 0; i < before.size(); ++i) {
    for (std::size_t at = 0; (at = text.find(before[i], at)) != std::string::npos;)
      text.replace(at, before[i].size(), now[i]);
  }
  write_text(told, text);
}

}  // namespace bigbird::testing
