// Roles to Hugging Face names; see tensors.h.
#include "lib/model/tensors.h"

#include <fmt/format.h>

#include <string>

namespace bigbird {

ModelTensors model_tensors(const ModelConfig& config, const ParameterLayout& layout, float* base) {
  const auto tensor = [&](const std::string& name) { return base + layout.offset(name); };
  const auto linear = [&](const std::string& name) {
    return LinearTensors{tensor(name + ".weight"), tensor(name + ".bias")};
  };
  const auto norm = [&](const std::string& name) {
    return NormTensors{tensor(name + ".weight"), tensor(name + ".bias")};
  };

  ModelTensors tensors;
  tensors.embeddings.word = tensor("bert.embeddings.word_embeddings.weight");
  tensors.embeddings.position = tensor("bert.embeddings.position_embeddings.weight");
  tensors.embeddings.type = tensor("bert.embeddings.token_type_embeddings.weight");
  if (config.norm_type == NormType::postnorm) {
    tensors.embeddings.norm = norm("bert.embeddings.LayerNorm");
  } else {
    tensors.final_norm = norm("bert.encoder.LayerNorm");
  }
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const std::string prefix = fmt::format("bert.encoder.layer.{}.", layer);
    LayerTensors& of = tensors.layers.emplace_back();
    of.attention.qkv.weight = tensor(prefix + "attention.self.query.weight");
    if (config.use_bias) of.attention.qkv.bias = tensor(prefix + "attention.self.query.bias");
    of.attention.output = linear(prefix + "attention.output.dense");
    of.attention.norm = norm(prefix + "attention.output.LayerNorm");
    of.feed_forward.inner = linear(prefix + "intermediate.dense");
    of.feed_forward.output = linear(prefix + "output.dense");
    of.feed_forward.norm = norm(prefix + "output.LayerNorm");
  }
  if (config.head == HeadType::pretraining) {
    tensors.pretraining.transform = linear("cls.predictions.transform.dense");
    tensors.pretraining.norm = norm("cls.predictions.transform.LayerNorm");
    tensors.pretraining.decoder = {tensors.embeddings.word, tensor("cls.predictions.bias")};
    tensors.pretraining.pooler = linear("bert.pooler");
    tensors.pretraining.next_sentence = linear("cls.seq_relationship");
  } else {
    tensors.classification.dense = linear("classifier.dense");
    tensors.classification.output = linear("classifier.out_proj");
  }
  return tensors;
}

}  // namespace bigbird
