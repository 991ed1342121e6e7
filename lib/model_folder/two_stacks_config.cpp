// config.json of bigbird_pegasus and of led, in our own form and as transformers reads it; see pegasus.h and
// led.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/led.h"
#include "lib/model_folder/longformer.h"
#include "lib/model_folder/options_json.h"
#include "lib/model_folder/pegasus.h"

namespace bigbird {
namespace {

using BartJson = nlohmann::basic_json<OrderedMap>;

// A field of theirs and ours, with transformers' default. A second name of theirs is what its code takes too.
struct BartField {
  const char* theirs;
  const char* also;
  const char* ours;
  double otherwise;
  bool whole;
};

constexpr double torch_epsilon = 1e-5;  // PyTorch's, which the published classes do not set
constexpr const char* architecture = "BigBirdPegasusForConditionalGeneration";
constexpr std::array<std::string_view, 2> pegasus_classes{architecture, "BigBirdPegasusModel"};

constexpr BartField encoder_fields[] = {
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
constexpr BartField decoder_fields[] = {
    {"decoder_layers", nullptr, "num_hidden_layers", 16, true},
    {"decoder_attention_heads", nullptr, "num_attention_heads", 16, true},
    {"decoder_ffn_dim", nullptr, "intermediate_size", 4096, true},
    {"decoder_start_token_id", nullptr, "start_token_id", 2, true},
    {"encoder_layerdrop", nullptr, "encoder_layer_drop", 0, false},
    {"decoder_layerdrop", nullptr, "layer_drop", 0, false},
};

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

// Error{bad_input} naming file and field where it is not such a number.
BartJson value_of(const BartJson& json, const BartField& field, const std::string& file) {
  for (const char* name : {field.theirs, field.also}) {
    if (name == nullptr || !json.contains(name) || json.at(name).is_null()) continue;
    const BartJson& value = json.at(name);
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

BartJson value_of(const BartJson& json, const char* name, BartJson otherwise) {
  return json.contains(name) && !json.at(name).is_null() ? json.at(name) : otherwise;
}

// The first of "architectures" where it is none of these; null otherwise.
BartJson other_class(const BartJson& json, std::span<const std::string_view> read) {
  const BartJson classes = value_of(json, "architectures", BartJson::array());
  if (!classes.is_array() || classes.empty() || !classes[0].is_string()) return nullptr;
  const auto name = classes[0].get<std::string>();
  return std::find(read.begin(), read.end(), name) == read.end() ? classes[0] : BartJson();
}

// What both classes write of a model, in three pieces: each class has fields of its own between them.
template <typename Json>
void write_stacks(Json& json, const ModelConfig& config) {
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
}

template <typename Json>
void write_rates(Json& json, const ModelConfig& config) {
  json["activation_function"] = activation_name(config.activation);
  json["dropout"] = config.hidden_dropout_prob;
  json["attention_dropout"] = config.attention_probs_dropout_prob;
  json["activation_dropout"] = 0.0;
  json["classifier_dropout"] = config.classifier_dropout < 0 ? 0.0 : config.classifier_dropout;
  json["init_std"] = config.initializer_range;
}

template <typename Json>
void write_ends(Json& json, const ModelConfig& config, const std::string& torch_dtype) {
  json["pad_token_id"] = config.pad_token_id;
  json["bos_token_id"] = config.bos_token_id;
  json["eos_token_id"] = config.eos_token_id;
  json["decoder_start_token_id"] = config.decoder.start_token_id;
  json["is_encoder_decoder"] = true;
  json["tie_word_embeddings"] = config.tie_word_embeddings;
  json["use_cache"] = true;
  json["torch_dtype"] = torch_dtype;
}

}  // namespace

std::string translated_pegasus_config(const std::string& config_text, const std::string& file) {
  const BartJson json = BartJson::parse(config_text);  // an object: dialect_of() has read it
  BartJson ours;
  ours["architectures"] = {architecture};
  ours["tie_word_embeddings"] = value_of(json, "tie_word_embeddings", true);
  const BartJson other = other_class(json, pegasus_classes);
  if (other.is_string() && !other.get<std::string>().starts_with("Pegasus")) ours["class_in_file"] = other;
  for (const BartField& field : encoder_fields) ours[field.ours] = value_of(json, field, file);
  ours["type_vocab_size"] = 0;
  ours["sep_token_id"] = ours["eos_token_id"];
  ours["hidden_act"] = value_of(json, "activation_function", "gelu_new");
  ours["attention_type"] = value_of(json, "attention_type", "block_sparse");
  ours["use_bias"] = value_of(json, "use_bias", false);
  ours["rescale_embeddings"] = value_of(json, "scale_embedding", true);
  BartJson own = value_of(json, "bigbird", BartJson::object());
  if (!own.is_object()) own = BartJson::object();
  ours["layer_norm_eps"] = value_of(own, "layer_norm_eps", torch_epsilon);
  own["norm_type"] = "prenorm";
  own["final_norm"] = true;
  own["embedding_norm"] = "none";
  own["positions"] = "absolute";
  own["output_bias"] = ours["use_bias"];
  BartJson decoder;
  for (const BartField& field : decoder_fields) decoder[field.ours] = value_of(json, field, file);
  own["decoder"] = decoder;
  ours["bigbird"] = own;
  return json_text(ours);
}

std::string pegasus_config_json(const ModelConfig& config, const std::string& torch_dtype) {
  BartJson json;
  json["architectures"] = {architecture};
  json["model_type"] = "bigbird_pegasus";
  write_stacks(json, config);
  json["max_position_embeddings"] = config.max_position_embeddings;
  write_rates(json, config);
  json["scale_embedding"] = config.rescale_embeddings;
  json["use_bias"] = config.use_bias;
  json["attention_type"] = config.attention == AttentionPattern::full ? "original_full" : "block_sparse";
  json["block_size"] = config.block_size;
  json["num_random_blocks"] = config.num_random_blocks;
  write_ends(json, config, torch_dtype);
  BartJson& own = json["bigbird"];
  own["attention"] = name_of(config.attention);
  own["random_mode"] = name_of(config.random_mode);
  own["layer_norm_eps"] = config.layer_norm_eps;
  own["input_length"] = config.input_length;
  own["tokenizer_sha256"] = config.tokenizer_digest;
  return json_text(json, 2) + "\n";
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
  ours["layer_norm_eps"] = torch_epsilon;
  BartJson options = value_of(own, "attention_options", BartJson::object());
  if (options.is_object())
    options["window"] =
        BartJson::parse(longformer_windows(json_text(value_of(json, "attention_window", 512)),
                                           ours["num_hidden_layers"].get<std::int64_t>(), file));
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
  using Ordered = nlohmann::ordered_json;
  // What the two forms have in common, as ours is written.
  const Ordered own = Ordered::parse(own_config_json(config, torch_dtype));
  Ordered json;
  json["architectures"] = {led_class};
  json["model_type"] = "led";
  write_stacks(json, config);
  json["attention_window"] = Ordered::array();
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer)
    json["attention_window"].push_back(longformer_window(config, layer));
  json["max_encoder_position_embeddings"] = config.max_position_embeddings;
  json["max_decoder_position_embeddings"] = config.decoder_positions();
  write_rates(json, config);
  write_ends(json, config, torch_dtype);
  Ordered& ours = json["bigbird"];
  ours["attention_options"] = Ordered::parse(attention_options_json(config));
  ours["attention_options"].erase("window");  // attention_window
  for (const char* field : {"random_mode", "head_form", "input_length", "tokenizer_sha256"}) {
    if (own.at("bigbird").contains(field)) ours[field] = own.at("bigbird").at(field);
  }
  for (const char* field : {"block_size", "num_random_blocks", "sep_token_id"}) ours[field] = own.at(field);
  return json_text(json, 2) + "\n";
}

}  // namespace bigbird
