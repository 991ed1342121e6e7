// Reading and writing of config.json; see config_json.h.
#include "lib/model_folder/config_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/names.h"
#include "lib/io/files/file.h"
#include "lib/io/files/sha256.h"
#include "lib/model/network/validate_config.h"
#include "lib/model/plans/plan_table.h"
#include "lib/model/quantization.h"
#include "lib/model_folder/dialect.h"
#include "lib/model_folder/esm.h"
#include "lib/model_folder/etc_lift.h"
#include "lib/model_folder/int8_folder.h"
#include "lib/model_folder/led.h"
#include "lib/model_folder/longformer.h"
#include "lib/model_folder/options_json.h"
#include "lib/model_folder/pegasus.h"
#include "lib/model_folder/roberta.h"

namespace bigbird {
namespace {

using Json = nlohmann::json;

// transformers has no class of this name; big_bird with a decoder is something else there.
constexpr const char* own_decoder = "BigBirdForConditionalGeneration";
// transformers' BigBirdForCausalLM has another head, and no attention of BigBird's with it.
constexpr const char* own_causal = "BigBirdForNextToken";
constexpr std::array<std::pair<HeadType, const char*>, 12> architecture_names{
    {{HeadType::encoder, "BigBirdModel"},
     {HeadType::pretraining, "BigBirdForPreTraining"},
     {HeadType::masked_lm, "BigBirdForMaskedLM"},
     {HeadType::causal_lm, own_causal},
     {HeadType::classification, "BigBirdForSequenceClassification"},
     {HeadType::token_classification, "BigBirdForTokenClassification"},
     {HeadType::question_answering, "BigBirdForQuestionAnswering"},
     {HeadType::structured_answers, "BigBirdForStructuredAnswers"},  // transformers has none of this name
     {HeadType::generation, "BigBirdPegasusForConditionalGeneration"},
     {HeadType::generation, own_decoder},
     {HeadType::masked_sentences, "BigBirdForMaskedSentences"},  // nor of the next
     {HeadType::sentence_labels, "BigBirdForSentenceLabels"}}};
// The first name of a value is the one that is written.
constexpr std::array<std::pair<Activation, const char*>, 7> activation_names{
    {{Activation::gelu_tanh, "gelu_new"},
     {Activation::gelu_tanh, "gelu_pytorch_tanh"},
     {Activation::gelu_tanh, "gelu_fast"},
     {Activation::gelu_erf, "gelu"},
     {Activation::relu, "relu"},
     {Activation::silu, "silu"},
     {Activation::silu, "swish"}}};
constexpr std::array<std::pair<bool, const char*>, 2> score_losses{{{true, "softmax"}, {false, "sigmoid"}}};
constexpr std::array<std::pair<ProblemType, const char*>, 3> problem_names{
    {{ProblemType::single_label, "single_label_classification"},
     {ProblemType::multi_label, "multi_label_classification"},
     {ProblemType::regression, "regression"}}};

[[noreturn]] void reject_json(std::string message) {
  throw_bad_input(std::move(message),
                  "correct the value, or take a folder as bigbird or Hugging Face wrote it");
}

// Fields of one JSON object, with errors that name the file and the field.
class Fields {
 public:
  Fields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {}

  template <typename Number>
  void number(const char* field, Number& value, bool required = false) const {
    const auto found = object_.find(field);
    if (found == object_.end() || found->is_null()) {
      if (required)
        throw_bad_input(fmt::format("{}: field {} is missing", where_, field),
                        "is this a BigBird model folder?");
      return;
    }
    const bool whole = std::is_integral_v<Number>;
    if (whole ? !found->is_number_integer() : !found->is_number()) {
      reject_json(fmt::format("{}: field {} is not a{} number: {}", where_, field, whole ? " whole" : "",
                              found->dump()));
    }
    value = found->get<Number>();
  }
  void boolean(const char* field, bool& value) const {
    const auto found = object_.find(field);
    if (found == object_.end() || found->is_null()) return;
    if (!found->is_boolean()) reject_json(fmt::format("{}: field {} is not true or false", where_, field));
    value = found->get<bool>();
  }
  std::string text(const char* field, const std::string& otherwise) const {
    const auto found = object_.find(field);
    if (found == object_.end() || found->is_null()) return otherwise;
    if (!found->is_string()) reject_json(fmt::format("{}: field {} is not a text", where_, field));
    return found->get<std::string>();
  }

 private:
  const Json& object_;
  std::string where_;
};

// Of a class that is not read, what can be had of it.
void read_class(const Json& json, const std::string& file, ModelConfig& config) {
  const auto found = json.find("architectures");
  config.head = HeadType::pretraining;
  if (found != json.end() && found->is_array() && !found->empty() && (*found)[0].is_string()) {
    const auto name = (*found)[0].get<std::string>();
    const auto known = std::find_if(architecture_names.begin(), architecture_names.end(),
                                    [&](const auto& entry) { return name == entry.second; });
    config.head = known == architecture_names.end() ? HeadType::encoder : known->first;
    if (known == architecture_names.end()) config.foreign_class = name;
  }
  // What translated_config() found in a file of another kind.
  if (const auto other = json.find("class_in_file"); other != json.end() && other->is_string())
    config.foreign_class = other->get<std::string>();
  const auto truth = [&](const char* field) {
    const auto value = json.find(field);
    return value != json.end() && value->is_boolean() && value->get<bool>();
  };
  if (!config.has_decoder() && (truth("is_decoder") || truth("add_cross_attention"))) {
    throw_bad_input(
        fmt::format("{}: a decoder (is_decoder or add_cross_attention){}", file,
                    config.foreign_class.empty() ? "" : ", " + one_line_name(config.foreign_class)),
        "only encoders are read, and the decoders of bigbird_pegasus");
  }
}

// id2label as {"0": name, ...}: the names in order of their ids.
void read_labels(const Json& json, const std::string& file, ModelConfig& config) {
  const auto found = json.find("id2label");
  if (found == json.end() || !found->is_object()) return;
  config.num_labels = static_cast<std::int64_t>(found->size());
  bool own_names = false;
  for (std::int64_t label = 0; label < config.num_labels; ++label) {
    const auto entry = found->find(std::to_string(label));
    if (entry == found->end() || !entry->is_string()) {
      reject_json(fmt::format("{}: field id2label has {} entries but no name for label {}", file,
                              config.num_labels, label));
    }
    config.label_names.push_back(entry->get<std::string>());
    own_names = own_names || config.label_names.back() != fmt::format("LABEL_{}", label);
  }
  if (!own_names && config.head != HeadType::structured_answers) config.label_names.clear();
}

// [{"name": "start", "loss": "softmax"}, ...]
std::vector<TokenScore> token_scores_of(const Json& own, const std::string& file) {
  const auto found = own.find("token_scores");
  if (found == own.end() || !found->is_array()) reject_json(file + ": bigbird: token_scores are missing");
  std::vector<TokenScore> scores;
  for (const Json& entry : *found) {
    const std::string where = fmt::format("{}: bigbird: token_scores[{}]", file, scores.size());
    if (!entry.is_object()) reject_json(where + " is not an object");
    const Fields fields(entry, where);
    const std::string loss = fields.text("loss", "");
    const auto softmax = find_value(score_losses, loss);
    if (!softmax) reject_json(fmt::format("{}: loss \"{}\" is neither softmax nor sigmoid", where, loss));
    scores.push_back({fields.text("name", ""), *softmax});
    if (scores.size() > most_token_scores) break;  // validate() refuses them
  }
  return scores;
}

void read_decoder(const Json& own, const std::string& file, ModelConfig& config) {
  const auto found = own.find("decoder");
  if (found == own.end() || !found->is_object()) reject_json(file + ": bigbird: decoder is missing");
  const Fields fields(*found, file + ": decoder");
  DecoderConfig& decoder = config.decoder;
  fields.boolean("coupled", decoder.coupled);
  fields.number("encoder_layer_drop", decoder.encoder_layer_drop);
  fields.number("layer_drop", decoder.layer_drop);
  if (decoder.coupled) {
    decoder.num_hidden_layers = config.num_hidden_layers;
    decoder.num_attention_heads = config.num_attention_heads;
    decoder.intermediate_size = config.intermediate_size;
    fields.number("start_token_id", decoder.start_token_id);
    return;
  }
  fields.number("num_hidden_layers", decoder.num_hidden_layers, true);
  fields.number("num_attention_heads", decoder.num_attention_heads, true);
  fields.number("intermediate_size", decoder.intermediate_size, true);
  fields.number("start_token_id", decoder.start_token_id);
  fields.number("positions", decoder.positions);
}

void read_documents(const Json& own, const std::string& file, DocumentConfig& documents) {
  const auto found = own.find("documents");
  if (found == own.end() || !found->is_object()) reject_json(file + ": bigbird: documents are missing");
  const Fields fields(*found, file + ": documents");
  fields.number("num_hidden_layers", documents.num_hidden_layers, true);
  fields.number("sentences", documents.sentences, true);
  fields.number("sentence_length", documents.sentence_length, true);
}

// A value from a file may be misspelt there: the message names the file, not the command line.
template <typename Parse>
auto parse_in_file(const Parse& parse, const std::string& name, const std::string& file) {
  try {
    return parse(name);
  } catch (const Error& error) {
    throw Error(ErrorKind::bad_input, file + ": " + error.message(), error.hint());
  }
}

Activation activation_of(const std::string& name, const std::string& where) {
  if (const auto known = find_value(activation_names, name)) return *known;
  throw_bad_input(fmt::format("{} {} is not supported", where, name),
                  "gelu_new (BigBird's, the tanh form), gelu (the erf form), relu and silu are");
}

}  // namespace

std::string AttentionChoice::identity() const {
  std::string text = random_mode ? name_of(*random_mode) : "";
  if (plan != nullptr) text += " " + sha256_bytes(plan->json());
  if (!attention && options.empty()) return text;
  text += fmt::format("{}attention {}", text.empty() ? "" : " ", attention ? name_of(*attention) : "own");
  for (const auto& [flag, typed] : options) text += fmt::format(" {} {}", flag, typed);
  return text;
}

void apply_attention(const AttentionChoice& chosen, ModelConfig& config) {
  if (chosen.attention) {
    const bool same = *chosen.attention == config.attention;
    take_attention(*chosen.attention, same ? config.attention_options : AttentionOptions{}, config);
  }
  const AttentionSystem& system = system_of(config.attention);
  const auto option_of = [](const AttentionSystem& of, const std::string& flag) {
    return std::find_if(of.options.begin(), of.options.end(),
                        [&](const AttentionOption& option) { return option.flag() == flag; });
  };
  for (const auto& [flag, typed] : chosen.options) {
    const auto option = option_of(system, flag);
    if (option != system.options.end()) {
      option->parse(config.attention_options, typed, flag);
      continue;
    }
    std::string of;
    for (const AttentionSystem& other : attention_systems()) {
      if (option_of(other, flag) != other.options.end())
        of += (of.empty() ? "" : ", ") + std::string(other.name);
    }
    throw_usage(fmt::format("{} is of attention {}, not of {}", flag, of, system.name),
                message("leave {} out, or take another `attention`", flag));
  }
}

void take_attention(AttentionPattern attention, const AttentionOptions& options, ModelConfig& config) {
  if (attention == AttentionPattern::etc && config.attention != attention) become_etc(config);
  if (attention == AttentionPattern::bpt && config.attention != attention) become_bpt(config);
  config.attention = attention;
  config.attention_options = options;
  if (attention == AttentionPattern::bigbird || config.random_mode != RandomMode::file) return;
  config.random_mode = RandomMode::google;  // a written plan is of bigbird alone
  config.plan = nullptr;
}

AttentionChoice& chosen_attention() {
  static AttentionChoice choice;
  return choice;
}

ModelConfig read_config(const std::string& file, const std::string& plan_file) {
  const std::string text = read_file(file);
  const AttentionChoice& chosen = chosen_attention();
  // A plan is one of BigBird's.
  const bool planned = chosen.random_mode.has_value() || !plan_file.empty();
  const std::optional<AttentionPattern> asked =
      !chosen.attention && planned ? std::optional(AttentionPattern::bigbird) : chosen.attention;
  ModelConfig config = parse_config(translated_config(text, file, asked), file);
  if (dialect_of(text, file) == Dialect::original_pegasus) {
    config.use_bias = has_attention_biases(parent_folder(file));
    config.output_bias = config.use_bias;
  }
  apply_attention(chosen, config);
  if (!plan_file.empty()) {
    config.attention = AttentionPattern::bigbird;
    config.random_mode = RandomMode::file;
    config.plan = std::make_shared<const PlanTable>(PlanTable::read(plan_file));
  } else if (chosen.random_mode) {
    config.random_mode = *chosen.random_mode;
    config.plan = chosen.plan;
    if (config.plan != nullptr) config.attention = AttentionPattern::bigbird;
    if (config.plan == nullptr && config.random_mode == RandomMode::file)
      config.plan = plan_of_folder(parent_folder(file), config);
  } else if (config.random_mode == RandomMode::file) {
    config.plan = plan_of_folder(parent_folder(file), config);
  }
  validate(config,
           chosen.attention ? message("{} with `attention` {}", file, name_of(*chosen.attention)) : file);
  return config;
}

ModelConfig parse_config(const std::string& text, const std::string& file) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    reject_json(fmt::format("{}: not valid JSON ({})", file, json_problem(error)));
  }
  if (!json.is_object()) reject_json(file + ": not a JSON object");
  const Fields fields(json, file);
  ModelConfig config;
  fields.number("vocab_size", config.vocab_size, true);
  fields.number("hidden_size", config.hidden_size, true);
  fields.number("num_hidden_layers", config.num_hidden_layers, true);
  fields.number("num_attention_heads", config.num_attention_heads, true);
  fields.number("intermediate_size", config.intermediate_size, true);
  fields.number("max_position_embeddings", config.max_position_embeddings, true);
  fields.number("type_vocab_size", config.type_vocab_size);
  fields.number("block_size", config.block_size);
  fields.number("num_random_blocks", config.num_random_blocks);
  fields.number("pad_token_id", config.pad_token_id);
  fields.number("bos_token_id", config.bos_token_id);
  fields.number("eos_token_id", config.eos_token_id);
  fields.number("sep_token_id", config.sep_token_id);
  fields.number("hidden_dropout_prob", config.hidden_dropout_prob);
  fields.number("attention_probs_dropout_prob", config.attention_probs_dropout_prob);
  fields.number("classifier_dropout", config.classifier_dropout);
  fields.number("initializer_range", config.initializer_range);
  fields.number("layer_norm_eps", config.layer_norm_eps);
  fields.boolean("use_bias", config.use_bias);
  fields.boolean("rescale_embeddings", config.rescale_embeddings);
  fields.boolean("tie_word_embeddings", config.tie_word_embeddings);
  config.activation = activation_of(fields.text("hidden_act", "gelu_new"), file + ": hidden_act");
  const std::string attention = fields.text("attention_type", "block_sparse");
  if (attention == "original_full") {
    config.attention = AttentionPattern::full;
  } else if (attention != "block_sparse") {
    throw_bad_input(
        fmt::format("{}: attention_type {} is neither block_sparse nor original_full", file, attention));
  }
  read_class(json, file, config);
  if (config.head == HeadType::structured_answers) config.num_labels = 0;  // without id2label
  read_labels(json, file, config);
  if (config.num_labels == 1) config.problem_type = ProblemType::regression;  // as transformers infers it
  if (const std::string problem = fields.text("problem_type", ""); !problem.empty()) {
    config.problem_type =
        parse_in_file([](const std::string& name) { return parse_name(problem_names, name, "problem_type"); },
                      problem, file);
  }
  const auto own = json.find("bigbird");
  if ((config.has_decoder() || config.has_documents()) && (own == json.end() || !own->is_object())) {
    reject_json(fmt::format("{}: field bigbird, with {}, is missing", file,
                            config.has_decoder() ? "decoder" : "documents"));
  }
  if (config.head == HeadType::structured_answers) {
    if (own == json.end() || !own->is_object())
      reject_json(file + ": field bigbird, with token_scores, is missing");
    config.token_scores = token_scores_of(*own, file);
  }
  if (own != json.end() && own->is_object()) {
    const Fields ours(*own, file + ": bigbird");
    if (attention == "block_sparse") {
      config.attention = parse_in_file(parse_attention_pattern, ours.text("attention", "bigbird"), file);
    }
    if (const auto options = own->find("attention_options"); options != own->end())
      read_attention_options(options->dump(), file + ": bigbird: attention_options", config);
    config.random_mode = parse_in_file(parse_random_mode, ours.text("random_mode", "google"), file);
    config.norm_type = parse_in_file(parse_norm_type, ours.text("norm_type", "postnorm"), file);
    config.embedding_norm = usual_embedding_norm(config.norm_type);
    ours.boolean("final_norm", config.final_norm);
    if (config.norm_type == NormType::postnorm && own->contains("final_norm") &&
        (*own)["final_norm"] == true) {
      reject_json(file + ": bigbird: final_norm is true, but norm_type is postnorm");
    }
    if (const std::string norm = ours.text("embedding_norm", ""); !norm.empty()) {
      config.embedding_norm = parse_in_file(parse_embedding_norm, norm, file);
    }
    config.position_type = parse_in_file(parse_position_type, ours.text("positions", "absolute"), file);
    config.head_form = parse_in_file(parse_head_form, ours.text("head_form", "bigbird"), file);
    ours.boolean("pooler", config.pooler);
    ours.boolean("causal", config.causal);
    ours.boolean("output_bias", config.output_bias);
    ours.boolean("feed_forward_bias", config.feed_forward_bias);
    ours.boolean("gated_feed_forward", config.gated_feed_forward);
    if (const std::string name = ours.text("head_activation", ""); !name.empty())
      config.head_activation = activation_of(name, file + ": bigbird: head_activation");
    ours.boolean("token_dropout", config.token_dropout);
    ours.number("mask_token_id", config.mask_token_id);
    if (config.has_any_decoder()) read_decoder(*own, file, config);
    if (config.has_documents()) read_documents(*own, file, config.documents);
    ours.number("rotary_dim", config.rotary_dim);
    ours.number("rotary_base", config.rotary_base);
    config.pooling = parse_in_file(parse_head_pooling, ours.text("pooling", "cls"), file);
    if (const auto stem = own->find("stem"); stem != own->end()) {
      if (!stem->is_object()) reject_json(file + ": bigbird: stem is not an object");
      const Fields fields_of_stem(*stem, file + ": bigbird: stem");
      fields_of_stem.number("kernel", config.stem.kernel, true);
      fields_of_stem.number("channels", config.stem.channels, true);
      fields_of_stem.number("stride", config.stem.stride, true);
    }
    ours.number("positive_weight", config.positive_weight);
    ours.number("input_length", config.input_length);
    config.tokenizer_digest = ours.text("tokenizer_sha256", "");
    if (const auto int8 = own->find("quantization"); int8 != own->end()) {
      config.quantization = std::make_shared<const Quantization>(
          parse_quantization(int8->dump(), file + ": bigbird: quantization", config));
    }
  }
  return config;
}

std::set<std::string> read_json_fields(const std::string& text, const std::string& file,
                                       const std::vector<JsonField>& fields, const std::string& required) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) reject_json(file + ": not a JSON object");
  std::set<std::string> given;
  for (const auto& [key, value] : json.items()) {
    const auto known = std::find_if(fields.begin(), fields.end(),
                                    [&name = key](const JsonField& field) { return name == field.key; });
    if (known == fields.end()) {
      throw_bad_input(fmt::format("{}: field {} is not known", file, json_text(Json(key))),
                      "it may change what the model computes; remove it where it does not");
    }
    if (!value.is_null()) given.insert(key);
  }
  const Fields reader(json, file);
  for (const JsonField& field : fields) {
    if (field.key == required && !given.contains(required))
      throw_bad_input(fmt::format("{}: field {} is missing", file, required), "is this the file of a model?");
    if (auto* const* const whole = std::get_if<std::int64_t*>(&field.value))
      reader.number(field.key, **whole);
    if (auto* const* const number = std::get_if<double*>(&field.value)) reader.number(field.key, **number);
    if (auto* const* const flag = std::get_if<bool*>(&field.value)) reader.boolean(field.key, **flag);
    if (auto* const* const word = std::get_if<std::string*>(&field.value))
      **word = reader.text(field.key, **word);
  }
  return given;
}

std::string architecture_name(HeadType head) {
  return find_name(architecture_names, head);
}

std::string architecture_name(const ModelConfig& config) {
  if (is_led_architecture(config)) return led_class;
  if (is_esm_architecture(config)) return esm_class(config.head);
  if (is_bert_architecture(config)) return bert_class(config);
  return is_longformer_architecture(config) ? longformer_class(config.head) : architecture_name(config.head);
}

std::string activation_name(Activation activation) {
  return find_name(activation_names, activation);
}

std::string config_json(const ModelConfig& config, const std::string& torch_dtype) {
  if (is_led_architecture(config)) return led_config_json(config, torch_dtype);
  if (config.has_decoder() && is_huggingface_architecture(config))
    return pegasus_config_json(config, torch_dtype);
  if (is_longformer_architecture(config)) return longformer_config_json(config, torch_dtype);
  if (is_esm_architecture(config)) return esm_config_json(config, torch_dtype);
  if (is_bert_architecture(config)) return bert_config_json(config, torch_dtype);
  return own_config_json(config, torch_dtype);
}

std::string own_config_json(const ModelConfig& config, const std::string& torch_dtype) {
  nlohmann::ordered_json json;
  json["architectures"] = {config.has_decoder() ? own_decoder : architecture_name(config.head)};
  json["model_type"] = is_huggingface_architecture(config) ? "big_bird" : "bigbird_extended";
  json["vocab_size"] = config.vocab_size;
  json["hidden_size"] = config.hidden_size;
  json["num_hidden_layers"] = config.num_hidden_layers;
  json["num_attention_heads"] = config.num_attention_heads;
  json["intermediate_size"] = config.intermediate_size;
  json["hidden_act"] = activation_name(config.activation);
  json["hidden_dropout_prob"] = config.hidden_dropout_prob;
  json["attention_probs_dropout_prob"] = config.attention_probs_dropout_prob;
  json["classifier_dropout"] = nullptr;
  if (config.classifier_dropout >= 0.0) json["classifier_dropout"] = config.classifier_dropout;
  json["max_position_embeddings"] = config.max_position_embeddings;
  json["type_vocab_size"] = config.type_vocab_size;
  json["initializer_range"] = config.initializer_range;
  json["layer_norm_eps"] = config.layer_norm_eps;
  json["pad_token_id"] = config.pad_token_id;
  json["bos_token_id"] = config.bos_token_id;
  json["eos_token_id"] = config.eos_token_id;
  json["sep_token_id"] = config.sep_token_id;
  json["attention_type"] = config.attention == AttentionPattern::full ? "original_full" : "block_sparse";
  json["block_size"] = config.block_size;
  json["num_random_blocks"] = config.num_random_blocks;
  json["use_bias"] = config.use_bias;
  json["rescale_embeddings"] = config.rescale_embeddings;
  if (!config.tie_word_embeddings) json["tie_word_embeddings"] = false;
  json["torch_dtype"] = torch_dtype;
  if (config.head == HeadType::classification) {
    json["problem_type"] = find_name(problem_names, config.problem_type);
  }
  if (config.has_classes() || config.head == HeadType::structured_answers) {
    for (std::int64_t label = 0; label < config.num_labels; ++label) {
      const std::string name = config.label_names.empty()
                                   ? fmt::format("LABEL_{}", label)
                                   : config.label_names[static_cast<std::size_t>(label)];
      json["id2label"][std::to_string(label)] = name;
      json["label2id"][name] = label;
    }
  }
  auto& own = json["bigbird"];
  own["attention"] = name_of(config.attention);
  if (const std::string options = attention_options_json(config); !options.empty())
    own["attention_options"] = nlohmann::ordered_json::parse(options);
  own["random_mode"] = name_of(config.random_mode);
  own["norm_type"] = name_of(config.norm_type);
  if (config.norm_type == NormType::prenorm) own["final_norm"] = config.final_norm;
  own["embedding_norm"] = name_of(config.embedding_norm);
  if (config.causal) own["causal"] = true;
  if (!config.output_bias) own["output_bias"] = false;
  if (!config.feed_forward_bias) own["feed_forward_bias"] = false;
  if (config.gated_feed_forward) own["gated_feed_forward"] = true;
  if (config.head_activation) own["head_activation"] = activation_name(*config.head_activation);
  if (config.token_dropout) own["token_dropout"] = true;
  if (config.has_esm_form()) own["mask_token_id"] = config.mask_token_id;
  own["positions"] = name_of(config.position_type);
  if (config.head_form != HeadForm::bigbird) own["head_form"] = name_of(config.head_form);
  if (!config.pooler) own["pooler"] = false;
  if (config.position_type == PositionType::rotary) {
    own["rotary_dim"] = config.rotary_dim;
    own["rotary_base"] = config.rotary_base;
  }
  if (config.pools()) own["pooling"] = name_of(config.pooling);
  if (config.has_stem()) {
    own["stem"] = {
        {"kernel", config.stem.kernel}, {"channels", config.stem.channels}, {"stride", config.stem.stride}};
  }
  if (config.head == HeadType::classification && config.problem_type == ProblemType::multi_label) {
    own["positive_weight"] = config.positive_weight;
  }
  if (config.head == HeadType::structured_answers) {
    own["token_scores"] = Json::array();
    for (const TokenScore& score : config.token_scores) {
      own["token_scores"].push_back({{"name", score.name}, {"loss", find_name(score_losses, score.softmax)}});
    }
  }
  if (config.has_documents()) {
    own["documents"] = {{"num_hidden_layers", config.documents.num_hidden_layers},
                        {"sentences", config.documents.sentences},
                        {"sentence_length", config.documents.sentence_length}};
  }
  if (config.has_any_decoder()) {
    auto& decoder = own["decoder"];
    decoder["coupled"] = config.decoder.coupled;
    decoder["num_hidden_layers"] = config.decoder.num_hidden_layers;
    decoder["num_attention_heads"] = config.decoder.num_attention_heads;
    decoder["intermediate_size"] = config.decoder.intermediate_size;
    decoder["start_token_id"] = config.decoder.start_token_id;
    if (config.decoder.positions > 0) decoder["positions"] = config.decoder.positions;
    // Only where they do something, so that runs of before they were there go on.
    if (config.decoder.encoder_layer_drop > 0)
      decoder["encoder_layer_drop"] = config.decoder.encoder_layer_drop;
    if (config.decoder.layer_drop > 0) decoder["layer_drop"] = config.decoder.layer_drop;
  }
  own["input_length"] = config.input_length;
  own["tokenizer_sha256"] = config.tokenizer_digest;
  if (config.quantization != nullptr)
    own["quantization"] = nlohmann::ordered_json::parse(quantization_json(*config.quantization));
  return json_text(json, 2) + "\n";
}

std::string fields_without_a_place(const ModelConfig& config) {
  const auto own = nlohmann::ordered_json::parse(own_config_json(config, "float32"));
  nlohmann::ordered_json fields;
  for (const char* field : {"random_mode", "positive_weight", "input_length", "tokenizer_sha256"}) {
    if (own.at("bigbird").contains(field)) fields[field] = own.at("bigbird").at(field);
  }
  for (const char* field : {"block_size", "num_random_blocks", "classifier_dropout"})
    fields[field] = own.at(field);
  return json_text(fields);
}

std::map<std::string, std::string> config_fields(const ModelConfig& config) {
  std::map<std::string, std::string> fields;
  const auto flatten = [&](const auto& self, const std::string& prefix, const Json& object) -> void {
    for (const auto& [key, value] : object.items()) {
      if (value.is_object()) {
        self(self, prefix + key + ".", value);
      } else {
        fields[prefix + key] = json_text(value);
      }
    }
  };
  ModelConfig trained = config;
  trained.quantization = nullptr;  // what is trained has lost it
  flatten(flatten, "model.", Json::parse(config_json(trained)));
  if (config.plan != nullptr) fields["model.bigbird.plan_sha256"] = sha256_bytes(config.plan->json());
  return fields;
}

}  // namespace bigbird
