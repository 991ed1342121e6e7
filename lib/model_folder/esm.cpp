// See esm.h.
#include "lib/model_folder/esm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/longformer.h"
#include "lib/model_folder/two_stacks.h"

namespace bigbird {
namespace {

using EsmJson = nlohmann::ordered_json;

// Outside of the layers. Heads for classes have the same names.
constexpr std::array<BartName, 8> esm_outside{
    {{"esm.embeddings.layer_norm.", "bert.embeddings.LayerNorm."},
     {"esm.embeddings.", "bert.embeddings."},
     {"esm.encoder.emb_layer_norm_after.", "bert.encoder.LayerNorm."},
     {"esm.pooler.dense.", "bert.pooler."},
     {"lm_head.dense.", "cls.predictions.transform.dense."},
     {"lm_head.layer_norm.", "cls.predictions.transform.LayerNorm."},
     {"lm_head.decoder.", "cls.predictions.decoder."},
     {"lm_head.bias", "cls.predictions.bias"}}};
// Within one: a LayerNorm stands before its branch, and is not a part of the branch's output there.
constexpr std::array<BartName, 2> esm_parts{
    {{"attention.LayerNorm.", "attention.output.LayerNorm."}, {"LayerNorm.", "output.LayerNorm."}}};
constexpr std::array<BartStack, 1> esm_stack{{{{"esm.encoder.layer.", "bert.encoder.layer."}, esm_parts}}};
constexpr std::array<HeadType, 4> esm_heads{HeadType::encoder, HeadType::masked_lm, HeadType::classification,
                                            HeadType::token_classification};

[[noreturn]] void refuse_esm(const std::string& file, const std::string& what, const std::string& hint) {
  throw_bad_input(file + ": " + what, hint);
}

std::int64_t esm_number(const EsmJson& json, const char* field, const std::string& file) {
  const auto found = json.find(field);
  if (found == json.end() || found->is_null())
    refuse_esm(file, fmt::format("field {} is missing", field), "take the model's own config.json");
  constexpr std::int64_t most = 1 << 24;
  if (!found->is_number_integer() || found->get<std::int64_t>() < 0 || found->get<std::int64_t>() > most)
    refuse_esm(file, fmt::format("field {} is not a whole number from 0 on: {}", field, json_text(*found)),
               "take the model's own config.json");
  return found->get<std::int64_t>();
}

bool is_true(const EsmJson& json, const char* field) {
  const auto found = json.find(field);
  return found != json.end() && found->is_boolean() && found->get<bool>();
}

// Blocks are how full attention is computed and nothing else: the largest of some whole vectors that
// positions are a multiple of.
std::int64_t block_of(std::int64_t positions) {
  constexpr std::int64_t largest = 64, vector = 8;
  for (std::int64_t block = largest; block >= vector; block -= vector) {
    if (positions % block == 0) return block;
  }
  std::int64_t block = vector / 2;
  while (positions % block != 0) block /= 2;
  return block;
}

}  // namespace

std::string esm_layout_name(const std::string& stored_name) {
  std::string name = stored_name;
  for (const std::string_view bare : {"embeddings.", "encoder.", "pooler.", "contact_head."}) {
    if (name.starts_with(bare)) name.insert(0, "esm.");
  }
  if (name.starts_with("esm.contact_head.")) return {};
  return respelt(name, esm_outside, esm_stack, &BartName::theirs, &BartName::ours);
}

std::string esm_stored_name(const std::string& layout_name) {
  return respelt(layout_name, esm_outside, esm_stack, &BartName::ours, &BartName::theirs);
}

const char* esm_class(HeadType head) {
  if (head == HeadType::encoder) return "EsmModel";
  if (head == HeadType::masked_lm) return "EsmForMaskedLM";
  if (head == HeadType::token_classification) return "EsmForTokenClassification";
  return head == HeadType::classification ? "EsmForSequenceClassification" : nullptr;
}

std::string translated_esm_config(const std::string& config_text, const std::string& file) {
  EsmJson json = EsmJson::parse(config_text);
  if (is_true(json, "is_folding_model"))
    refuse_esm(file, "a model that folds proteins (is_folding_model)",
               "encoders with esm's other heads are read");
  const std::int64_t unused = esm_number(json, "pad_token_id", file) + 1;
  const std::int64_t rows = esm_number(json, "max_position_embeddings", file);
  if (rows <= unused)
    refuse_esm(file, fmt::format("{} positions, the first {} of which no token has", rows, unused),
               "take the model's own config.json");
  const EsmJson kind = json.value("position_embedding_type", EsmJson("absolute"));
  if (kind != "absolute" && kind != "rotary")
    refuse_esm(file, fmt::format("position_embedding_type {} is not read", json_text(kind)),
               "absolute and rotary are");
  EsmJson own = json.value("bigbird", EsmJson::object());
  if (!own.is_object()) own = EsmJson::object();
  const bool gated = json.contains("add_bias_fnn");
  own["norm_type"] = "prenorm";
  own["final_norm"] = true;
  own["embedding_norm"] = is_true(json, "emb_layer_norm_before") ? "before-dropout" : "none";
  own["positions"] = kind;
  if (kind == "rotary") {
    const std::int64_t heads_of = esm_number(json, "num_attention_heads", file);
    own["rotary_dim"] = heads_of == 0 ? 0 : esm_number(json, "hidden_size", file) / heads_of;
    own["rotary_base"] = 10000.0;
  }
  own["head_form"] = "roberta";
  own["token_dropout"] = is_true(json, "token_dropout");
  own["mask_token_id"] = esm_number(json, "mask_token_id", file);
  if (gated) {
    own["gated_feed_forward"] = true;
    own["feed_forward_bias"] = is_true(json, "add_bias_fnn");
    own["head_activation"] = "gelu";
  }
  json["hidden_act"] = gated ? "silu" : "gelu";  // esm reads no other of its config
  json["type_vocab_size"] = 0;
  json["attention_type"] = "original_full";
  json["max_position_embeddings"] = rows - unused;
  json["block_size"] = own.value("block_size", EsmJson(block_of(rows - unused)));
  json["num_random_blocks"] = own.value("num_random_blocks", EsmJson(3));
  json["classifier_dropout"] = own.value("classifier_dropout", EsmJson());
  const EsmJson classes = json.value("architectures", EsmJson::array());
  const EsmJson first = classes.is_array() && !classes.empty() ? classes[0] : EsmJson("EsmModel");
  const auto known = std::find_if(esm_heads.begin(), esm_heads.end(),
                                  [&](HeadType head) { return first == esm_class(head); });
  json["architectures"] = {architecture_name(known == esm_heads.end() ? HeadType::encoder : *known)};
  if (known == esm_heads.end()) json["class_in_file"] = first;
  json["bigbird"] = own;
  return json_text(json);
}

std::string esm_config_json(const ModelConfig& config, const std::string& torch_dtype) {
  // What the two forms have in common, as ours is written.
  const EsmJson own = EsmJson::parse(own_config_json(config, torch_dtype));
  EsmJson json;
  json["architectures"] = {esm_class(config.head)};
  json["model_type"] = "esm";
  for (const char* field :
       {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
        "hidden_act", "hidden_dropout_prob", "attention_probs_dropout_prob", "initializer_range",
        "layer_norm_eps", "pad_token_id"})
    json[field] = own.at(field);
  json["max_position_embeddings"] = config.max_position_embeddings + longformer_first_position(config);
  json["mask_token_id"] = config.mask_token_id;
  json["position_embedding_type"] = name_of(config.position_type);
  json["emb_layer_norm_before"] = config.embedding_norm == EmbeddingNorm::before_dropout;
  json["token_dropout"] = config.token_dropout;
  json["is_folding_model"] = false;
  json["esmfold_config"] = nullptr;
  json["vocab_list"] = nullptr;
  json["tie_word_embeddings"] = config.tie_word_embeddings;
  for (const char* field : {"torch_dtype", "problem_type", "id2label", "label2id"}) {
    if (own.contains(field)) json[field] = own.at(field);
  }
  json["bigbird"] = EsmJson::parse(fields_without_a_place(config));
  return json_text(json, 2) + "\n";
}

}  // namespace bigbird
