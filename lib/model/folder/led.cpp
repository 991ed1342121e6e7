// See led.h; what the names mean is in docs/specification.md 2.6.
#include "lib/model/folder/led.h"

#include <nlohmann/json.hpp>

#include <array>
#include <string_view>

#include "lib/core/json_text.h"
#include "lib/model/folder/bart_form.h"
#include "lib/model/folder/config_json.h"
#include "lib/model/folder/longformer.h"
#include "lib/model/folder/options_json.h"

namespace bigbird {
namespace {

// Fronts of names outside the layers. layernorm_embedding is what it is called, unlike bigbird_pegasus's.
constexpr std::array<BartName, 9> led_outside{
    {{"led.shared.", "bert.embeddings.word_embeddings."},
     {"led.encoder.embed_positions.", "bert.embeddings.position_embeddings."},
     {"led.decoder.embed_positions.", "decoder.embeddings.position_embeddings."},
     {"led.encoder.layernorm_embedding.", "bert.embeddings.LayerNorm."},
     {"led.decoder.layernorm_embedding.", "decoder.embeddings.LayerNorm."},
     {"final_logits_bias", "final_logits_bias"},
     {"lm_head.", "lm_head."},
     {"led.encoder.embed_tokens.", "tied.encoder.embed_tokens."},
     {"led.decoder.embed_tokens.", "tied.decoder.embed_tokens."}}};
constexpr std::array<BartName, 6> led_encoder_parts{{{"self_attn.longformer_self_attn.", "attention.self."},
                                                     {"self_attn.output.", "attention.output.dense."},
                                                     {"self_attn_layer_norm.", "attention.output.LayerNorm."},
                                                     {"fc1.", "intermediate.dense."},
                                                     {"fc2.", "output.dense."},
                                                     {"final_layer_norm.", "output.LayerNorm."}}};
constexpr std::array<BartStack, 2> led_stacks{
    {{{"led.encoder.layers.", "bert.encoder.layer."}, led_encoder_parts},
     {{"led.decoder.layers.", "decoder.layer."}, bart_decoder_parts}}};

constexpr double led_norm_epsilon = 1e-5;
constexpr std::int64_t led_block_size = 64;  // how it is computed and nothing else
constexpr std::array<std::string_view, 2> led_classes{led_class, "LEDModel"};

// LEDConfig's fields and defaults.
constexpr BartField led_encoder_fields[] = {
    {"vocab_size", nullptr, "vocab_size", 50265, true},
    {"d_model", "hidden_size", "hidden_size", 1024, true},
    {"encoder_layers", "num_hidden_layers", "num_hidden_layers", 12, true},
    {"encoder_attention_heads", "num_attention_heads", "num_attention_heads", 16, true},
    {"encoder_ffn_dim", nullptr, "intermediate_size", 4096, true},
    {"max_encoder_position_embeddings", nullptr, "max_position_embeddings", 16384, true},
    {"pad_token_id", nullptr, "pad_token_id", 1, true},
    {"bos_token_id", nullptr, "bos_token_id", 0, true},
    {"eos_token_id", nullptr, "eos_token_id", 2, true},
    {"dropout", nullptr, "hidden_dropout_prob", 0.1, false},
    {"attention_dropout", "attention_probs_dropout_prob", "attention_probs_dropout_prob", 0, false},
    {"classifier_dropout", nullptr, "classifier_dropout", 0, false},
    {"init_std", "initializer_range", "initializer_range", 0.02, false},
};
constexpr BartField led_decoder_fields[] = {
    {"decoder_layers", nullptr, "num_hidden_layers", 12, true},
    {"decoder_attention_heads", nullptr, "num_attention_heads", 16, true},
    {"decoder_ffn_dim", nullptr, "intermediate_size", 4096, true},
    {"decoder_start_token_id", nullptr, "start_token_id", 2, true},
    {"max_decoder_position_embeddings", nullptr, "positions", 1024, true},
    {"encoder_layerdrop", nullptr, "encoder_layer_drop", 0, false},
    {"decoder_layerdrop", nullptr, "layer_drop", 0, false},
};

}  // namespace

std::string led_layout_name(const std::string& name_in_file) {
  const bool bare = name_in_file.starts_with("shared.") || name_in_file.starts_with("encoder.") ||
                    (name_in_file.starts_with("decoder.") && !name_in_file.starts_with("decoder.layer."));
  return respelt(bare ? "led." + name_in_file : name_in_file, led_outside, led_stacks, &BartName::theirs,
                 &BartName::ours);
}

std::string led_stored_name(const std::string& layout_name) {
  return respelt(layout_name, led_outside, led_stacks, &BartName::ours, &BartName::theirs);
}

std::string translated_led_config(const std::string& config_text, const std::string& file) {
  const BartJson json = BartJson::parse(config_text);  // an object: dialect_of() has read it
  BartJson ours;
  ours["architectures"] = {architecture_name(HeadType::generation)};
  ours["tie_word_embeddings"] = value_of(json, "tie_word_embeddings", true);
  if (const BartJson other = other_class(json, led_classes); other.is_string()) ours["class_in_file"] = other;
  for (const BartField& field : led_encoder_fields) ours[field.ours] = value_of(json, field, file);
  BartJson own = value_of(json, "bigbird", BartJson::object());
  if (!own.is_object()) own = BartJson::object();
  ours["type_vocab_size"] = 0;
  ours["sep_token_id"] = value_of(own, "sep_token_id", ours["eos_token_id"]);
  ours["hidden_act"] = value_of(json, "activation_function", "gelu");
  ours["attention_type"] = "block_sparse";
  ours["block_size"] = value_of(own, "block_size", led_block_size);
  ours["num_random_blocks"] = value_of(own, "num_random_blocks", 3);
  ours["layer_norm_eps"] = led_norm_epsilon;
  BartJson options = value_of(own, "attention_options", BartJson::object());
  if (options.is_object())
    options["window"] = longformer_windows(value_of(json, "attention_window", 512),
                                           ours["num_hidden_layers"].get<std::int64_t>(), file);
  own["attention"] = "longformer";
  own["attention_options"] = options;
  own["norm_type"] = "postnorm";
  own["embedding_norm"] = "before-dropout";
  own["positions"] = "absolute";
  BartJson decoder;
  for (const BartField& field : led_decoder_fields) decoder[field.ours] = value_of(json, field, file);
  own["decoder"] = decoder;
  ours["bigbird"] = own;
  return json_text(ours);
}

std::string led_config_json(const ModelConfig& config, const std::string& torch_dtype) {
  using Json = nlohmann::ordered_json;
  // What the two forms have in common, as ours is written.
  const Json own = Json::parse(own_config_json(config, torch_dtype));
  Json json;
  json["architectures"] = {led_class};
  json["model_type"] = "led";
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
  json["attention_window"] = Json::array();
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer)
    json["attention_window"].push_back(longformer_window(config, layer));
  json["max_encoder_position_embeddings"] = config.max_position_embeddings;
  json["max_decoder_position_embeddings"] = config.decoder_positions();
  json["activation_function"] = activation_name(config.activation);
  json["dropout"] = config.hidden_dropout_prob;
  json["attention_dropout"] = config.attention_probs_dropout_prob;
  json["activation_dropout"] = 0.0;
  json["classifier_dropout"] = config.classifier_dropout < 0 ? 0.0 : config.classifier_dropout;
  json["init_std"] = config.initializer_range;
  for (const char* field : {"pad_token_id", "bos_token_id", "eos_token_id"}) json[field] = own.at(field);
  json["decoder_start_token_id"] = config.decoder.start_token_id;
  json["is_encoder_decoder"] = true;
  json["tie_word_embeddings"] = config.tie_word_embeddings;
  json["use_cache"] = true;
  json["torch_dtype"] = torch_dtype;
  Json& ours = json["bigbird"];
  ours["attention_options"] = Json::parse(attention_options_json(config));
  ours["attention_options"].erase("window");  // attention_window
  for (const char* field : {"random_mode", "head_form", "input_length", "tokenizer_sha256"}) {
    if (own.at("bigbird").contains(field)) ours[field] = own.at("bigbird").at(field);
  }
  for (const char* field : {"block_size", "num_random_blocks", "sep_token_id"}) ours[field] = own.at(field);
  return json_text(json, 2) + "\n";
}

}  // namespace bigbird
