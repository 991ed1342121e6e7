// config.json in the form of other models, and back; see dialect.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/ordered_map.h"
#include "lib/model/plans/plan_table.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/dialect.h"
#include "lib/model_folder/esm.h"
#include "lib/model_folder/etc_checkpoint.h"
#include "lib/model_folder/led.h"
#include "lib/model_folder/longformer.h"
#include "lib/model_folder/pegasus.h"

namespace bigbird {
namespace {

using OrderedJson = nlohmann::basic_json<OrderedMap>;

constexpr std::int64_t roberta_offset = 2;  // position rows that RoBERTa never uses, with pad token 1
constexpr std::int64_t roberta_pad = 1;     // of RobertaConfig
constexpr std::int64_t warm_block_size = 64;

struct HeadName {
  const char* foreign;
  const char* ours;
};
// Those of BERT that only a BERT has.
constexpr std::array<HeadName, 2> bert_heads{
    {{"BertForSequenceClassification", "BigBirdForSequenceClassification"},
     {"BertForQuestionAnswering", "BigBirdForQuestionAnswering"}}};
constexpr std::array<HeadName, 12> foreign_heads{
    {{"BertForPreTraining", "BigBirdForPreTraining"},
     {"BertForMaskedLM", "BigBirdForMaskedLM"},
     {"RobertaForMaskedLM", "BigBirdForMaskedLM"},
     {"BertModel", "BigBirdModel"},
     {"RobertaModel", "BigBirdModel"},
     {"BertForTokenClassification", "BigBirdForTokenClassification"},
     {"RobertaForTokenClassification", "BigBirdForTokenClassification"},
     {"LongformerForTokenClassification", "BigBirdForTokenClassification"},
     {"LongformerForMaskedLM", "BigBirdForMaskedLM"},
     {"LongformerModel", "BigBirdModel"},
     {"LongformerForSequenceClassification", "BigBirdForSequenceClassification"},
     {"LongformerForQuestionAnswering", "BigBirdForQuestionAnswering"}}};

OrderedJson parse_object(const std::string& text, const std::string& file) {
  OrderedJson json;
  try {
    json = OrderedJson::parse(text);
  } catch (const OrderedJson::exception& error) {
    throw_bad_input(fmt::format("{}: not valid JSON ({})", file, json_problem(error)),
                    "copy or download the file again");
  }
  if (!json.is_object()) throw_bad_input(file + ": not a JSON object", "copy or download the file again");
  return json;
}

std::string text_of(const OrderedJson& json, const char* field, const std::string& otherwise) {
  const auto found = json.find(field);
  return found != json.end() && found->is_string() ? found->get<std::string>() : otherwise;
}
bool truth_of(const OrderedJson& json, const char* field, bool otherwise = false) {
  const auto found = json.find(field);
  return found != json.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}
bool is_sparse(const OrderedJson& json) {
  return !text_of(json, "sparse_config_cls", "").empty() ||
         json.value("sparse_attention", OrderedJson()).is_object();
}

// Kinds of models for DNA whose layers are other than an encoder's with attention, by model_type.
struct OtherLayers {
  std::string_view type;
  std::string_view layers;
};
constexpr std::array<OtherLayers, 8> other_layers{{{"hyenadna", "HyenaDNA's are long convolutions"},
                                                   {"caduceus", "Caduceus's are state spaces (Mamba)"},
                                                   {"mamba", "Mamba's are state spaces"},
                                                   {"stripedhyena", "Evo's are convolutions (StripedHyena)"},
                                                   {"evo", "Evo's are convolutions (StripedHyena)"},
                                                   {"evo2", "Evo 2's are convolutions (StripedHyena)"},
                                                   {"convnet", "GPN's are dilated convolutions"},
                                                   {"gpn", "GPN's are dilated convolutions"}}};

[[noreturn]] void refuse_type(const std::string& type, const std::string& file) {
  std::string lower = type;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  const auto known = std::find_if(other_layers.begin(), other_layers.end(),
                                  [&](const OtherLayers& other) { return lower == other.type; });
  throw_bad_input(fmt::format("{}: model_type {} is not read", file, one_line_name(type)),
                  known != other_layers.end()
                      ? fmt::format("layers with attention are read, and {}", known->layers)
                      : "big_bird, bigbird_pegasus, bert, roberta, longformer, led, esm (Nucleotide "
                        "Transformer), GENA-LM's bert, and pegasus as a warm start are");
}

// Of a config that names a class and no type, as DNABERT's and Nucleotide Transformer's second version's.
std::string type_of_class(const OrderedJson& json) {
  const auto classes = json.find("architectures");
  if (classes == json.end() || !classes->is_array() || classes->empty() || !(*classes)[0].is_string())
    return "big_bird";
  const auto name = (*classes)[0].get<std::string>();
  return name.starts_with("Esm") ? "esm" : name.starts_with("Bert") ? "bert" : "big_bird";
}

Dialect dialect_of_config(const OrderedJson& json, const std::string& file) {
  const std::string type = text_of(json, "model_type", type_of_class(json));
  if (type == "big_bird" || type == "bigbird_extended") return Dialect::huggingface;
  if (type == "roberta") return Dialect::roberta;
  if (type == "longformer") return Dialect::longformer;
  if (type == "led") return Dialect::led;
  if (type == "bigbird_pegasus") return Dialect::pegasus;
  if (type == "pegasus") return Dialect::original_pegasus;
  if (type == "esm") return Dialect::esm;
  if (type != "bert") refuse_type(type, file);
  if (json.contains("alibi_starting_size")) {
    throw_bad_input(file + ": a BERT with ALiBi (alibi_starting_size), as DNABERT-2, which is not read",
                    "DNABERT, Nucleotide Transformer and GENA-LM are read");
  }
  const bool gena = is_sparse(json) || json.contains("pre_layer_norm") ||
                    text_of(json, "position_embedding_type", "absolute") == "rotary";
  return gena ? Dialect::gena : Dialect::bert;
}

// PegasusConfig with its defaults as BigBirdPegasusConfig says the same, which has other ones.
std::string translated_original_pegasus(OrderedJson json, const std::string& file) {
  const OrderedJson otherwise = {{"vocab_size", 50265},
                                 {"d_model", 1024},
                                 {"encoder_layers", 12},
                                 {"encoder_attention_heads", 16},
                                 {"encoder_ffn_dim", 4096},
                                 {"decoder_layers", 12},
                                 {"decoder_attention_heads", 16},
                                 {"decoder_ffn_dim", 4096},
                                 {"max_position_embeddings", 1024},
                                 {"activation_function", "gelu"},
                                 {"decoder_start_token_id", 0},
                                 {"scale_embedding", false}};
  for (const auto& [field, value] : otherwise.items()) {
    if (!json.contains(field) || json[field].is_null()) json[field] = value;
  }
  json["use_bias"] = true;  // has_attention_biases() says more
  json["attention_type"] = "block_sparse";
  json["block_size"] = warm_block_size;
  json["num_random_blocks"] = 3;
  return translated_pegasus_config(json_text(json), file);
}

// Heads that are not ours (choices of several texts) leave the encoder; so do BERT's and RoBERTa's for
// classes and answers, which BigBird's classes do not have, but for a model that keeps RoBERTa's form of
// heads.
void translate_head(OrderedJson& json, bool in_roberta_form) {
  const OrderedJson architectures = json.value("architectures", OrderedJson::array());
  const OrderedJson first =
      architectures.is_array() && !architectures.empty() ? architectures[0] : OrderedJson();
  std::string name = first.is_string() ? first.get<std::string>() : "";
  if (in_roberta_form && name.starts_with("Roberta")) name = "Longformer" + name.substr(7);
  const auto has_name = [&](const HeadName& head) { return name == head.foreign; };
  const HeadName* known = std::find_if(foreign_heads.begin(), foreign_heads.end(), has_name);
  if (known == foreign_heads.end()) {
    known = in_roberta_form ? std::find_if(bert_heads.begin(), bert_heads.end(), has_name) : bert_heads.end();
    if (known == bert_heads.end()) known = nullptr;
  }
  json["architectures"] = {known == nullptr ? "BigBirdModel" : known->ours};
  if (known == nullptr && first.is_string()) json["class_in_file"] = first;
}

void refuse_decoder(const OrderedJson& json, const std::string& file) {
  if (truth_of(json, "is_decoder") || truth_of(json, "add_cross_attention")) {
    throw_bad_input(file + ": a decoder (is_decoder or add_cross_attention)", "only encoders are read");
  }
}

void translate_gena(OrderedJson& json, const std::string& file) {
  const bool prenorm = truth_of(json, "pre_layer_norm");
  const std::string positions = text_of(json, "position_embedding_type", "absolute");
  if (positions != "absolute" && positions != "rotary") {
    throw_bad_input(fmt::format("{}: position_embedding_type {} is not read", file, one_line_name(positions)),
                    "absolute and rotary are");
  }
  OrderedJson own;
  own["norm_type"] = prenorm ? "prenorm" : "postnorm";
  if (prenorm) own["final_norm"] = truth_of(json, "last_layer_norm", prenorm);
  own["embedding_norm"] = "before-dropout";
  own["positions"] = positions;
  if (positions == "rotary") {
    own["rotary_base"] = json.value("rotary_base", OrderedJson(10000));
    own["rotary_dim"] = json.value("rotary_dim", OrderedJson());
    const auto hidden = json.find("hidden_size"), heads = json.find("num_attention_heads");
    const bool known = hidden != json.end() && heads != json.end() && hidden->is_number_integer() &&
                       heads->is_number_integer() && heads->get<std::int64_t>() > 0;
    if (own["rotary_dim"].is_null() && known) {
      own["rotary_dim"] = hidden->get<std::int64_t>() / heads->get<std::int64_t>();
    }
  }
  if (is_sparse(json)) {
    const OrderedJson sparse = json.value("sparse_attention", OrderedJson::object());
    if (!sparse.is_object() || !sparse.contains("block")) {
      throw_bad_input(file + ": field sparse_attention.block is missing", "take the model's own config.json");
    }
    json["attention_type"] = "block_sparse";
    json["block_size"] = sparse["block"];
    json["num_random_blocks"] = sparse.value("num_random_blocks", OrderedJson(1));
    own["random_mode"] = "file";
  } else {
    json["attention_type"] = "original_full";
  }
  json["bigbird"] = own;
}

// Rows of the position table that tokens have; 0 where the config says nothing that could be used.
std::int64_t used_positions(const OrderedJson& json, bool is_roberta, const std::string& file) {
  if (const std::string positions = text_of(json, "position_embedding_type", "absolute");
      positions != "absolute") {
    throw_bad_input(fmt::format("{}: position_embedding_type {} is not read", file, one_line_name(positions)),
                    "take a model with absolute positions");
  }
  constexpr std::int64_t most_rows = 1 << 20;
  const auto number = [&](const char* field, std::int64_t otherwise) {
    const auto found = json.find(field);
    return found != json.end() && found->is_number_integer() ? found->get<std::int64_t>() : otherwise;
  };
  const std::int64_t rows = number("max_position_embeddings", 0);
  const std::int64_t unused = is_roberta ? number("pad_token_id", roberta_pad) + 1 : 0;
  return unused >= 0 && unused < rows && rows <= most_rows ? rows - unused : 0;
}

// What text stands between: RoBERTa's </s>, and of BERT what bert-base's vocabularies have.
void name_separators(OrderedJson& json, bool is_roberta) {
  if (is_roberta) {
    json["pad_token_id"] = json.value("pad_token_id", OrderedJson(roberta_pad));
    json["sep_token_id"] = json.value("eos_token_id", OrderedJson(2));
  } else {
    json["bos_token_id"] = 101;
    json["eos_token_id"] = 102;
    json["sep_token_id"] = 102;
  }
}

// A BERT or RoBERTa as it is. Blocks are how it is computed and nothing else.
void translate_bert(OrderedJson& json, bool is_roberta, const std::string& file) {
  std::int64_t block = warm_block_size;
  if (const std::int64_t used = used_positions(json, is_roberta, file); used > 0) {
    json["max_position_embeddings"] = used;
    while (used % block != 0) block /= 2;
  }
  OrderedJson own = json.value("bigbird", OrderedJson::object());  // of a folder that this program wrote
  if (!own.is_object()) own = OrderedJson::object();
  json["attention_type"] = "original_full";
  json["block_size"] = own.value("block_size", OrderedJson(block));
  json["num_random_blocks"] = own.value("num_random_blocks", OrderedJson(3));
  name_separators(json, is_roberta);
  for (const char* field : {"bos_token_id", "eos_token_id", "sep_token_id"}) {
    if (own.contains(field)) json[field] = own[field];
  }
  own["embedding_norm"] = "before-dropout";
  own["head_form"] = "roberta";
  json["bigbird"] = own;
}

void translate_warm_start(OrderedJson& json, bool is_roberta, bool as_longformer, const std::string& file) {
  if (const std::int64_t used = used_positions(json, is_roberta, file); used > 0) {
    const std::int64_t blocks = (used * warm_position_repeats + warm_block_size - 1) / warm_block_size;
    json["max_position_embeddings"] = blocks * warm_block_size;
  }
  json["bigbird"] = OrderedJson::object();  // what this program wrote there is of the model as it was
  if (as_longformer) json["bigbird"] = {{"embedding_norm", "before-dropout"}, {"head_form", "roberta"}};
  const auto types = json.find("type_vocab_size");
  if (!as_longformer && types != json.end() && types->is_number_integer() && types->get<std::int64_t>() == 1)
    *types = 2;
  json["attention_type"] = "block_sparse";
  json["block_size"] = warm_block_size;
  json["num_random_blocks"] = 3;
  name_separators(json, is_roberta);
}

// LongformerConfig with its defaults. Global tokens are not of the model there but of each call; what this
// program wrote names them under "bigbird", and others have those of their class.
void translate_longformer(OrderedJson& json, const std::string& file) {
  const OrderedJson otherwise = {
      {"vocab_size", 30522},       {"hidden_size", 768},        {"num_hidden_layers", 12},
      {"num_attention_heads", 12}, {"intermediate_size", 3072}, {"max_position_embeddings", 512},
      {"pad_token_id", 1},         {"bos_token_id", 0},         {"eos_token_id", 2},
      {"sep_token_id", 2},         {"attention_window", 512}};
  for (const auto& [field, value] : otherwise.items()) {
    if (!json.contains(field) || json[field].is_null()) json[field] = value;
  }
  if (json["pad_token_id"] != 1) {  // positions are counted from pad_token_id + 1 on
    throw_bad_input(fmt::format("{}: field pad_token_id is {}", file, json_text(json["pad_token_id"])),
                    "models whose pad token is 1, as in the published ones, are read");
  }
  OrderedJson& rows = json["max_position_embeddings"];
  if (rows.is_number_integer() && rows.get<std::int64_t>() > roberta_offset)
    rows = rows.get<std::int64_t>() - roberta_offset;
  json["attention_type"] = "block_sparse";
  OrderedJson own = json.value("bigbird", OrderedJson::object());
  if (!own.is_object()) own = OrderedJson::object();
  // Blocks are how it is computed and nothing else: any size that positions are a multiple of.
  std::int64_t block = warm_block_size;
  while (rows.is_number_integer() && rows.get<std::int64_t>() % block != 0) block /= 2;
  json["block_size"] = own.value("block_size", OrderedJson(block));
  json["num_random_blocks"] = own.value("num_random_blocks", OrderedJson(3));
  json["classifier_dropout"] = own.value("classifier_dropout", OrderedJson());
  OrderedJson options = own.value("attention_options", OrderedJson::object());
  const OrderedJson& layers = json["num_hidden_layers"];
  if (options.is_object() && layers.is_number_integer())  // any other value is refused as it stands
    options["window"] = OrderedJson::parse(
        longformer_windows(json_text(json["attention_window"]), layers.get<std::int64_t>(), file));
  own["attention"] = "longformer";
  own["attention_options"] = options;
  own["embedding_norm"] = "before-dropout";
  own["head_form"] = "roberta";
  json["bigbird"] = own;
}

bool is_etc_config(const std::string& file) {
  return file == etc_config_name || file.ends_with(std::string("/") + etc_config_name);
}

}  // namespace

Dialect dialect_of(const std::string& config_text, const std::string& file) {
  if (is_etc_config(file)) return Dialect::etcmodel;
  return dialect_of_config(parse_object(config_text, file), file);
}

std::string translated_config(const std::string& config_text, const std::string& file,
                              std::optional<AttentionPattern> attention) {
  if (is_etc_config(file)) return config_json(parse_etc_config(config_text, file));
  OrderedJson json = parse_object(config_text, file);
  const Dialect dialect = dialect_of_config(json, file);
  if (dialect == Dialect::huggingface) return config_text;
  if (dialect == Dialect::pegasus) return translated_pegasus_config(config_text, file);
  if (dialect == Dialect::led) return translated_led_config(config_text, file);
  if (dialect == Dialect::original_pegasus) return translated_original_pegasus(std::move(json), file);
  refuse_decoder(json, file);
  if (dialect == Dialect::esm) return translated_esm_config(config_text, file);
  const bool is_roberta = dialect == Dialect::roberta;
  const bool as_longformer = is_roberta && attention == AttentionPattern::longformer;
  const bool starts_another = attention.value_or(AttentionPattern::full) != AttentionPattern::full;
  translate_head(json, as_longformer || (is_bert_or_roberta(dialect) && !starts_another));
  if (!json.contains("hidden_act")) json["hidden_act"] = "gelu";
  if (dialect == Dialect::gena) {
    translate_gena(json, file);
  } else if (dialect == Dialect::longformer) {
    translate_longformer(json, file);
  } else if (starts_another) {
    translate_warm_start(json, is_roberta, as_longformer, file);
  } else {
    translate_bert(json, is_roberta, file);
  }
  return json_text(json);
}

std::string gena_config_json(const ModelConfig& config, const std::string& torch_dtype,
                             const std::string& where) {
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    throw_bad_input(fmt::format("{}: GENA-LM's form cannot hold {}", where, what), hint);
  };
  if (config.has_stem()) refuse("a stem", "write the hf form");
  if (config.gated_feed_forward || !config.feed_forward_bias || config.head_activation ||
      config.token_dropout)
    refuse("gated feed-forward layers, layers without biases or token dropout", "write the hf form");
  if (config.embedding_norm == EmbeddingNorm::none)
    refuse("embeddings without LayerNorm", "write the hf form");
  if (config.has_own_output_table())
    refuse("an output table that is not the word table", "write the hf form");
  if (!config.use_bias || config.rescale_embeddings)
    refuse("use_bias or rescale_embeddings", "write the hf form");
  const char* architecture = config.head == HeadType::masked_lm     ? "BertForMaskedLM"
                             : config.head == HeadType::pretraining ? "BertForPreTraining"
                             : config.head == HeadType::encoder     ? "BertModel"
                                                                    : nullptr;
  if (architecture == nullptr) refuse(fmt::format("a {} head", name_of(config.head)), "write the hf form");
  OrderedJson json;
  json["architectures"] = {architecture};
  json["model_type"] = "bert";
  // What BERT's config has in common with BigBird's, as that is written.
  const OrderedJson own = OrderedJson::parse(own_config_json(config, torch_dtype));
  for (const char* field :
       {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
        "hidden_act", "hidden_dropout_prob", "attention_probs_dropout_prob", "max_position_embeddings",
        "type_vocab_size", "initializer_range", "layer_norm_eps", "pad_token_id"}) {
    json[field] = own.at(field);
  }
  json["pre_layer_norm"] = config.norm_type == NormType::prenorm;
  json["last_layer_norm"] = config.norm_type == NormType::prenorm && config.final_norm;
  json["position_embedding_type"] = config.position_type == PositionType::rotary ? "rotary" : "absolute";
  if (config.position_type == PositionType::rotary) {
    json["rotary_base"] = config.rotary_base;
    json["rotary_dim"] = config.rotary_dim;
  }
  json["torch_dtype"] = torch_dtype;
  if (config.attention == AttentionPattern::full) return json_text(json, 2) + "\n";
  if (config.random_mode != RandomMode::file || config.attention != AttentionPattern::bigbird) {
    refuse(
        "a plan that is drawn for every length",
        message(
            "write it down for one length: bigbird attention writes a plan as JSON, and `plan_file` takes it"));
  }
  if (config.plan->blocks() * config.block_size != config.max_position_embeddings) {
    refuse(fmt::format("a plan of {} tokens for {} positions", config.plan->blocks() * config.block_size,
                       config.max_position_embeddings),
           message("give a plan of that many positions with `plan_file`"));
  }
  json["sparse_config_cls"] = "deepspeed.ops.sparse_attention:BigBirdSparsityConfig";
  json["sparse_attention"] = {{"num_heads", config.num_attention_heads},
                              {"block", config.block_size},
                              {"different_layout_per_head", true},
                              {"num_sliding_window_blocks", 3},
                              {"num_global_blocks", 2},
                              {"num_random_blocks", config.num_random_blocks}};
  return json_text(json, 2) + "\n";
}

}  // namespace bigbird
