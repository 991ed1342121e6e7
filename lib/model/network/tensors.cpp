// Roles to Hugging Face names; see tensors.h.
#include "lib/model/network/tensors.h"

#include <fmt/format.h>

#include <string>

namespace bigbird {

ModelTensors model_tensors(const ModelConfig& config, const ParameterLayout& layout, float* base) {
  const auto tensor = [&](const std::string& name) { return base + layout.offset(name); };
  const auto linear = [&](const std::string& name) {
    float* const weight = tensor(name + ".weight");
    const std::vector<std::int64_t>& shape = layout.find(name + ".weight")->shape;
    return LinearTensors{weight, tensor(name + ".bias"), shape[1], shape[0]};
  };
  const auto norm = [&](const std::string& name) {
    return NormTensors{tensor(name + ".weight"), tensor(name + ".bias"),
                       static_cast<float>(config.layer_norm_eps), config.hidden_size};
  };

  ModelTensors tensors;
  tensors.embeddings.word = tensor("bert.embeddings.word_embeddings.weight");
  if (config.position_type == PositionType::absolute) {
    tensors.embeddings.position = tensor("bert.embeddings.position_embeddings.weight");
  }
  tensors.embeddings.type = tensor("bert.embeddings.token_type_embeddings.weight");
  if (config.embedding_norm != EmbeddingNorm::none)
    tensors.embeddings.norm = norm("bert.embeddings.LayerNorm");
  if (config.has_final_norm()) tensors.final_norm = norm("bert.encoder.LayerNorm");
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    const std::string prefix = fmt::format("bert.encoder.layer.{}.", layer);
    LayerTensors& of = tensors.layers.emplace_back();
    of.attention.qkv = {tensor(prefix + "attention.self.query.weight"),
                        config.use_bias ? tensor(prefix + "attention.self.query.bias") : nullptr,
                        config.hidden_size, 3 * config.hidden_size};
    of.attention.output = linear(prefix + "attention.output.dense");
    of.attention.norm = norm(prefix + "attention.output.LayerNorm");
    of.feed_forward.inner = linear(prefix + "intermediate.dense");
    of.feed_forward.output = linear(prefix + "output.dense");
    of.feed_forward.norm = norm(prefix + "output.LayerNorm");
  }
  if (config.uses_pooler()) tensors.pooled.pooler = linear("bert.pooler");
  if (config.has_mlm()) {
    tensors.masked.transform = linear("cls.predictions.transform.dense");
    tensors.masked.norm = norm("cls.predictions.transform.LayerNorm");
    tensors.masked.decoder = {tensors.embeddings.word, tensor("cls.predictions.bias"), config.hidden_size,
                              config.vocab_size};
  }
  if (config.head == HeadType::pretraining) tensors.pooled.next_sentence = linear("cls.seq_relationship");
  if (config.head == HeadType::classification) {
    tensors.classification.dense = linear("classifier.dense");
    tensors.classification.output = linear("classifier.out_proj");
  }
  if (config.head == HeadType::question_answering) {
    tensors.question.block.inner = linear("qa_classifier.intermediate.dense");
    tensors.question.block.output = linear("qa_classifier.output.dense");
    tensors.question.block.norm = norm("qa_classifier.output.LayerNorm");
    tensors.question.output = linear("qa_classifier.qa_outputs");
  }
  if (config.head == HeadType::structured_answers) {
    tensors.answers.token = linear("answer_scores.token");
    if (config.num_labels > 0) tensors.answers.type = linear("answer_scores.type");
  }
  return tensors;
}

}  // namespace bigbird
