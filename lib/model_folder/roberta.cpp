// See roberta.h.
#include "lib/model_folder/roberta.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "lib/core/json_text.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/longformer.h"

namespace bigbird {
namespace {

using BertJson = nlohmann::ordered_json;

// `name` with another front; as it is where it has none of this.
std::string with_front(std::string name, std::string_view front, std::string_view other) {
  if (name.starts_with(front)) name.replace(0, front.size(), other);
  return name;
}

}  // namespace

bool is_written_as_roberta(const ModelConfig& config) {
  return config.type_vocab_size == 1;
}

bool has_bert_tensor(const std::string& layout_name, const ModelConfig& config) {
  return config.uses_pooler() || !layout_name.starts_with("bert.pooler.");
}

std::string bert_stored_name(const std::string& layout_name) {
  if (layout_name.starts_with("classifier.dense."))
    return with_front(layout_name, "classifier.dense.", "bert.pooler.dense.");
  if (layout_name.starts_with("classifier.out_proj."))
    return with_front(layout_name, "classifier.out_proj.", "classifier.");
  return with_front(layout_name, "bert.pooler.", "bert.pooler.dense.");
}

std::string roberta_stored_name(const std::string& layout_name) {
  return with_front(longformer_stored_name(layout_name), "longformer.", "roberta.");
}

std::string bert_class(const ModelConfig& config) {
  return with_front(architecture_name(config.head), "BigBird",
                    is_written_as_roberta(config) ? "Roberta" : "Bert");
}

std::string bert_config_json(const ModelConfig& config, const std::string& torch_dtype) {
  constexpr std::array<const char*, 3> separators{"bos_token_id", "eos_token_id", "sep_token_id"};
  const bool roberta = is_written_as_roberta(config);
  // What the two forms have in common, as ours is written.
  const BertJson own = BertJson::parse(own_config_json(config, torch_dtype));
  BertJson json;
  json["architectures"] = {bert_class(config)};
  json["model_type"] = roberta ? "roberta" : "bert";
  for (const char* field :
       {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
        "hidden_act", "hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout"})
    json[field] = own.at(field);
  json["max_position_embeddings"] =
      config.max_position_embeddings + (roberta ? longformer_first_position(config) : 0);
  json["position_embedding_type"] = "absolute";
  for (const char* field : {"type_vocab_size", "initializer_range", "layer_norm_eps", "pad_token_id"})
    json[field] = own.at(field);
  for (const char* field : separators) {
    if (roberta) json[field] = own.at(field);  // bert has none
  }
  for (const char* field : {"tie_word_embeddings", "torch_dtype", "problem_type", "id2label", "label2id"}) {
    if (own.contains(field)) json[field] = own.at(field);
  }
  BertJson& ours = json["bigbird"];
  ours = BertJson::parse(fields_without_a_place(config));
  ours.erase("classifier_dropout");
  for (const char* field : separators) ours[field] = own.at(field);
  return json_text(json, 2) + "\n";
}

}  // namespace bigbird
