// config.json of BigBird-Pegasus, read and written; see pegasus.h.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/model/folder/config_json.h"
#include "lib/model/folder/pegasus.h"

namespace bigbird {
namespace {

using OrderedJson = nlohmann::basic_json<OrderedMap>;

constexpr double torch_epsilon = 1e-5;  // PyTorch's, which the published class does not set
constexpr const char* architecture = "BigBirdPegasusForConditionalGeneration";

// Their fields and ours, with transformers' defaults. A second name of theirs is what its code takes too.
struct Field {
  const char* theirs;
  const char* also;
  const char* ours;
  double otherwise;
  bool whole;
};
constexpr Field encoder_fields[] = {
    {"vocab_size", nullptr, "vocab_size", 96103, true},
    {"d_model", "hidden_size", "hidden_size", 1024, true},
    {"encoder_layers", "num_hidden_layers", "num_hidden_layers", 16, true},
    {"encoder_attention_heads", "num_attention_heads", "num_attention_heads", 16, true},
    {"encoder_ffn_dim", nullptr, "intermediate_size", 4096, true},
    {"max_position_embeddings", nullptr, "max_position_embeddings", 4096, true},
    {"block_size", nullptr, "block_size", 64, true},
    {"num_random_blocks", nullptr, "num_random_blocks", 3, true},
    {"pad_token_id", nullptr, "pad_token_id", 0, true},
    {"bos_token_id", nullptr, "bos_token_id", 2, true},
    {"eos_token_id", nullptr, "eos_token_id", 1, true},
    {"dropout", nullptr, "hidden_dropout_prob", 0.1, false},
    {"attention_dropout", "attention_probs_dropout_prob", "attention_probs_dropout_prob", 0, false},
    {"classifier_dropout", nullptr, "classifier_dropout", 0, false},
    {"init_std", nullptr, "initializer_range", 0.02, false},
};
constexpr Field decoder_fields[] = {
    {"decoder_layers", nullptr, "num_hidden_layers", 16, true},
    {"decoder_attention_heads", nullptr, "num_attention_heads", 16, true},
    {"decoder_ffn_dim", nullptr, "intermediate_size", 4096, true},
    {"decoder_start_token_id", nullptr, "start_token_id", 2, true},
    {"encoder_layerdrop", nullptr, "encoder_layer_drop", 0, false},
    {"decoder_layerdrop", nullptr, "layer_drop", 0, false},
};

OrderedJson value_of(const OrderedJson& json, const Field& field, const std::string& file) {
  for (const char* name : {field.theirs, field.also}) {
    if (name == nullptr || !json.contains(name) || json.at(name).is_null()) continue;
    const OrderedJson& value = json.at(name);
    if (field.whole ? !value.is_number_integer() : !value.is_number()) {
      throw_bad_input(fmt::format("{}: field {} is not a{} number: {}", file, name,
                                  field.whole ? " whole" : "", json_text(value)),
                      "correct the value, or take a folder as bigbird or Hugging Face wrote it");
    }
    return value;
  }
  if (field.whole) return static_cast<std::int64_t>(field.otherwise);
  return field.otherwise;
}

OrderedJson value_of(const OrderedJson& json, const char* name, OrderedJson otherwise) {
  return json.contains(name) && !json.at(name).is_null() ? json.at(name) : otherwise;
}

}  // namespace

std::string translated_pegasus_config(const std::string& config_text, const std::string& file) {
  const OrderedJson json = OrderedJson::parse(config_text);  // an object: dialect_of() has read it
  OrderedJson ours;
  ours["architectures"] = {architecture};
  ours["tie_word_embeddings"] = value_of(json, "tie_word_embeddings", true);
  const OrderedJson classes = value_of(json, "architectures", OrderedJson::array());
  if (classes.is_array() && !classes.empty() && classes[0] != architecture &&
      classes[0] != "BigBirdPegasusModel" && !classes[0].get<std::string>().starts_with("Pegasus"))
    ours["class_in_file"] = classes[0];
  for (const Field& field : encoder_fields) ours[field.ours] = value_of(json, field, file);
  ours["type_vocab_size"] = 0;
  ours["sep_token_id"] = ours["eos_token_id"];
  ours["hidden_act"] = value_of(json, "activation_function", "gelu_new");
  ours["attention_type"] = value_of(json, "attention_type", "block_sparse");
  ours["use_bias"] = value_of(json, "use_bias", false);
  ours["rescale_embeddings"] = value_of(json, "scale_embedding", true);
  OrderedJson own = value_of(json, "bigbird", OrderedJson::object());
  if (!own.is_object()) own = OrderedJson::object();
  ours["layer_norm_eps"] = value_of(own, "layer_norm_eps", torch_epsilon);
  own["norm_type"] = "prenorm";
  own["final_norm"] = true;
  own["embedding_norm"] = "none";
  own["positions"] = "absolute";
  own["output_bias"] = ours["use_bias"];
  OrderedJson decoder;
  for (const Field& field : decoder_fields) decoder[field.ours] = value_of(json, field, file);
  own["decoder"] = decoder;
  ours["bigbird"] = own;
  return json_text(ours);
}

std::string pegasus_config_json(const ModelConfig& config, const std::string& torch_dtype) {
  OrderedJson json;
  json["architectures"] = {architecture};
  json["model_type"] = "bigbird_pegasus";
  json["vocab_size"] = config.vocab_size;
  json["d_model"] = config.hidden_size;
  json["encoder_layers"] = config.num_hidden_layers;
  json["encoder_attention_heads"] = config.num_attention_heads;
  json["encoder_ffn_dim"] = config.intermediate_size;
  json["encoder_layerdrop"] = config.decoder.encoder_layer_drop;
  json["decoder_layers"] = config.decoder.num_hidden_layers;
  json["decoder_attention_heads"] = config.decoder.num_attention_heads;
  json["decoder_ffn_dim"] = config.decoder.intermediate_size;
  json["decoder_layerdrop"] = config.decoder.layer_drop;
  json["max_position_embeddings"] = config.max_position_embeddings;
  json["activation_function"] = activation_name(config.activation);
  json["dropout"] = config.hidden_dropout_prob;
  json["attention_dropout"] = config.attention_probs_dropout_prob;
  json["activation_dropout"] = 0.0;
  json["classifier_dropout"] = config.classifier_dropout < 0 ? 0.0 : config.classifier_dropout;
  json["init_std"] = config.initializer_range;
  json["scale_embedding"] = config.rescale_embeddings;
  json["use_bias"] = config.use_bias;
  json["attention_type"] = config.attention == AttentionPattern::full ? "original_full" : "block_sparse";
  json["block_size"] = config.block_size;
  json["num_random_blocks"] = config.num_random_blocks;
  json["pad_token_id"] = config.pad_token_id;
  json["bos_token_id"] = config.bos_token_id;
  json["eos_token_id"] = config.eos_token_id;
  json["decoder_start_token_id"] = config.decoder.start_token_id;
  json["is_encoder_decoder"] = true;
  json["tie_word_embeddings"] = config.tie_word_embeddings;
  json["use_cache"] = true;
  json["torch_dtype"] = torch_dtype;
  OrderedJson& own = json["bigbird"];
  own["attention"] = name_of(config.attention);
  own["random_mode"] = name_of(config.random_mode);
  own["layer_norm_eps"] = config.layer_norm_eps;
  own["input_length"] = config.input_length;
  own["tokenizer_sha256"] = config.tokenizer_digest;
  return json_text(json, 2) + "\n";
}

}  // namespace bigbird
