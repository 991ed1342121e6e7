// See pegasus.h; what the names mean is in docs/specification.md 2.6.
#include "lib/model/folder/pegasus.h"

#include <array>
#include <string_view>

#include "lib/core/json_text.h"
#include "lib/model/folder/bart_form.h"
#include "lib/model/folder/config_json.h"

namespace bigbird {
namespace {

// Fronts of names outside the layers. layernorm_embedding is the last norm of its stack, whatever its name.
// What stands second for one of ours is how an original Pegasus spells it; the first is written.
constexpr std::array<BartName, 11> outside_layers{
    {{"model.shared.", "bert.embeddings.word_embeddings."},
     {"model.encoder.embed_positions.", "bert.embeddings.position_embeddings."},
     {"model.decoder.embed_positions.", "decoder.embeddings.position_embeddings."},
     {"model.encoder.layernorm_embedding.", "bert.encoder.LayerNorm."},
     {"model.decoder.layernorm_embedding.", "decoder.LayerNorm."},
     {"final_logits_bias", "final_logits_bias"},
     {"lm_head.", "lm_head."},
     {"model.encoder.embed_tokens.", "tied.encoder.embed_tokens."},
     {"model.decoder.embed_tokens.", "tied.decoder.embed_tokens."},
     {"model.encoder.layer_norm.", "bert.encoder.LayerNorm."},
     {"model.decoder.layer_norm.", "decoder.LayerNorm."}}};

// What follows the number of a layer; final_layer_norm stands before the feed-forward part.
constexpr std::array<BartName, 10> encoder_parts{{{"self_attn.self.", "attention.self."},
                                                  {"self_attn.output.", "attention.output.dense."},
                                                  {"self_attn_layer_norm.", "attention.output.LayerNorm."},
                                                  {"fc1.", "intermediate.dense."},
                                                  {"fc2.", "output.dense."},
                                                  {"final_layer_norm.", "output.LayerNorm."},
                                                  {"self_attn.q_proj.", "attention.self.query."},
                                                  {"self_attn.k_proj.", "attention.self.key."},
                                                  {"self_attn.v_proj.", "attention.self.value."},
                                                  {"self_attn.out_proj.", "attention.output.dense."}}};
constexpr std::array<BartStack, 2> stacks{
    {{{"model.encoder.layers.", "bert.encoder.layer."}, encoder_parts},
     {{"model.decoder.layers.", "decoder.layer."}, bart_decoder_parts}}};

constexpr double torch_epsilon = 1e-5;  // PyTorch's, which the published class does not set
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

}  // namespace

std::string pegasus_layout_name(const std::string& name_in_file) {
  // A module that held the model: transformers' own names begin with "model." once.
  std::string stored_name = name_in_file;
  for (const std::string_view doubled : {"model.model.", "model.lm_head.", "model.final_logits_bias"}) {
    if (stored_name.starts_with(doubled)) stored_name.erase(0, 6);
  }
  const bool bare = stored_name.starts_with("shared.") || stored_name.starts_with("encoder.") ||
                    (stored_name.starts_with("decoder.") && !stored_name.starts_with("decoder.layer."));
  return respelt(bare ? "model." + stored_name : stored_name, outside_layers, stacks, &BartName::theirs,
                 &BartName::ours);
}

std::string pegasus_stored_name(const std::string& layout_name) {
  return respelt(layout_name, outside_layers, stacks, &BartName::ours, &BartName::theirs);
}

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
  BartJson& own = json["bigbird"];
  own["attention"] = name_of(config.attention);
  own["random_mode"] = name_of(config.random_mode);
  own["layer_norm_eps"] = config.layer_norm_eps;
  own["input_length"] = config.input_length;
  own["tokenizer_sha256"] = config.tokenizer_digest;
  return json_text(json, 2) + "\n";
}

}  // namespace bigbird
