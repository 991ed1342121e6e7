// A RoBERTa folder of random weights, small enough for tests of seconds, written as transformers writes one:
// config.json, model.safetensors, vocab.json and merges.txt. Header-only: the including test links
// bigbird_model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "lib/io/weights/safetensors.h"
#include "lib/model/config.h"
#include "lib/model/network/layout.h"
#include "tests/support/support.h"
#include "tests/support/tiny_text_data.h"

namespace bigbird::testing {

struct TinyRoberta {
  ModelConfig config;  // as the file has it: 18 position rows, one token type
  std::vector<float> parameters;
};

// 16 positions that are used (so 128 in BigBird), width 8, 2 layers.
inline TinyRoberta write_tiny_roberta(const std::filesystem::path& folder) {
  write_tiny_byte_level_tokenizer(folder);
  TinyRoberta roberta;
  ModelConfig& config = roberta.config;
  config.vocab_size = static_cast<std::int64_t>(load_tokenizer(folder.string())->vocab_size());
  config.hidden_size = 8;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 2;
  config.intermediate_size = 12;
  config.max_position_embeddings = 18;
  config.block_size = 2;
  config.type_vocab_size = 1;
  config.pad_token_id = 1;
  config.head = HeadType::masked_lm;
  write_text(folder / "config.json",
             R"({"architectures": ["RobertaForMaskedLM"], "model_type": "roberta", "vocab_size": )" +
                 std::to_string(config.vocab_size) +
                 R"(, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
                 "intermediate_size": 12, "max_position_embeddings": 18, "type_vocab_size": 1,
                 "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "layer_norm_eps": 1e-05})");
  const ParameterLayout layout(config);
  roberta.parameters = initial_parameters(layout, config, 11);
  const TensorSpec& bias = *layout.find("cls.predictions.bias");
  for (std::int64_t i = 0; i < bias.count; ++i) {
    roberta.parameters[static_cast<std::size_t>(bias.offset + i)] = 0.01f * static_cast<float>(i + 1);
  }
  const std::map<std::string, std::string> heads{
      {"cls.predictions.transform.dense.weight", "lm_head.dense.weight"},
      {"cls.predictions.transform.dense.bias", "lm_head.dense.bias"},
      {"cls.predictions.transform.LayerNorm.weight", "lm_head.layer_norm.weight"},
      {"cls.predictions.transform.LayerNorm.bias", "lm_head.layer_norm.bias"},
      {"cls.predictions.bias", "lm_head.bias"}};
  std::vector<TensorToWrite> tensors;
  for (const TensorSpec& spec : layout.tensors()) {
    const auto found = heads.find(spec.name);
    tensors.push_back({found != heads.end() ? found->second : "roberta" + spec.name.substr(4),
                       TensorType::f32, spec.shape, roberta.parameters.data() + spec.offset});
  }
  write_safetensors((folder / "model.safetensors").string(), tensors);
  return roberta;
}

}  // namespace bigbird::testing
