// Reading, writing and checking config.json; see config.h.
#include "lib/model/config.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/file.h"

namespace bigbird {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::pair<AttentionPattern, const char*>, 5> pattern_names{
    {{AttentionPattern::bigbird, "bigbird"},
     {AttentionPattern::full, "full"},
     {AttentionPattern::window, "window"},
     {AttentionPattern::random, "random"},
     {AttentionPattern::window_random, "window+random"}}};
constexpr std::array<std::pair<RandomMode, const char*>, 4> mode_names{
    {{RandomMode::google, "google"},
     {RandomMode::huggingface, "huggingface"},
     {RandomMode::zeros, "zeros"},
     {RandomMode::none, "none"}}};
constexpr std::array<std::pair<NormType, const char*>, 2> norm_names{
    {{NormType::postnorm, "postnorm"}, {NormType::prenorm, "prenorm"}}};

template <typename Table, typename Value>
std::string find_name(const Table& table, Value value) {
  for (const auto& [entry, name] : table) {
    if (entry == value) return name;
  }
  throw_runtime("a value without a name");
}

template <typename Table>
auto parse_name(const Table& table, const std::string& name, const char* what) {
  std::string known;
  for (const auto& [entry, entry_name] : table) {
    if (name == entry_name) return entry;
    known += known.empty() ? "" : ", ";
    known += entry_name;
  }
  throw_usage(fmt::format("'{}' is no {}", name, what), "one of: " + known);
}

[[noreturn]] void reject(std::string message) {
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
      reject(fmt::format("{}: field {} is not a{} number: {}", where_, field, whole ? " whole" : "",
                         found->dump()));
    }
    value = found->get<Number>();
  }
  void boolean(const char* field, bool& value) const {
    const auto found = object_.find(field);
    if (found == object_.end() || found->is_null()) return;
    if (!found->is_boolean()) reject(fmt::format("{}: field {} is not true or false", where_, field));
    value = found->get<bool>();
  }
  std::string text(const char* field, const std::string& otherwise) const {
    const auto found = object_.find(field);
    if (found == object_.end() || found->is_null()) return otherwise;
    if (!found->is_string()) reject(fmt::format("{}: field {} is not a text", where_, field));
    return found->get<std::string>();
  }

 private:
  const Json& object_;
  std::string where_;
};

HeadType head_of(const Json& json) {
  const auto found = json.find("architectures");
  if (found != json.end() && found->is_array() && !found->empty() && (*found)[0].is_string() &&
      (*found)[0].get<std::string>() == "BigBirdForSequenceClassification") {
    return HeadType::classification;
  }
  return HeadType::pretraining;
}

std::int64_t label_count(const Json& json) {
  const auto found = json.find("id2label");
  if (found != json.end() && found->is_object()) return static_cast<std::int64_t>(found->size());
  return 2;
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

}  // namespace

std::string name_of(AttentionPattern pattern) {
  return find_name(pattern_names, pattern);
}
std::string name_of(RandomMode mode) {
  return find_name(mode_names, mode);
}
std::string name_of(NormType norm) {
  return find_name(norm_names, norm);
}
AttentionPattern parse_attention_pattern(const std::string& name) {
  return parse_name(pattern_names, name, "attention pattern");
}
RandomMode parse_random_mode(const std::string& name) {
  return parse_name(mode_names, name, "random mode");
}
NormType parse_norm_type(const std::string& name) {
  return parse_name(norm_names, name, "norm type");
}

void validate(const ModelConfig& config, const std::string& where) {
  const auto in_range = [&](const char* field, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value < low || value > high) {
      reject(fmt::format("{}: {} = {} is outside {}..{}", where, field, value, low, high));
    }
  };
  const auto probability = [&](const char* field, double value) {
    if (!(value >= 0.0 && value < 1.0)) {
      reject(fmt::format("{}: {} = {} is outside 0 <= p < 1", where, field, value));
    }
  };
  in_range("vocab_size", config.vocab_size, 8, 16'777'216);
  in_range("hidden_size", config.hidden_size, 1, 65'536);
  in_range("num_hidden_layers", config.num_hidden_layers, 1, 1'024);
  in_range("num_attention_heads", config.num_attention_heads, 1, 1'024);
  in_range("intermediate_size", config.intermediate_size, 1, 1'048'576);
  in_range("max_position_embeddings", config.max_position_embeddings, 1, 16'777'216);
  in_range("type_vocab_size", config.type_vocab_size, 1, 65'536);
  in_range("block_size", config.block_size, 1, 4'096);
  in_range("num_random_blocks", config.num_random_blocks, 0, 1'024);
  in_range("num_labels", config.num_labels, 1, 1'048'576);
  in_range("input_length", config.input_length, 0, config.max_position_embeddings);
  in_range("pad_token_id", config.pad_token_id, 0, config.vocab_size - 1);
  probability("hidden_dropout_prob", config.hidden_dropout_prob);
  probability("attention_probs_dropout_prob", config.attention_probs_dropout_prob);
  if (config.classifier_dropout >= 0.0) probability("classifier_dropout", config.classifier_dropout);
  if (!(config.layer_norm_eps > 0.0 && config.layer_norm_eps < 1.0)) {
    reject(fmt::format("{}: layer_norm_eps = {} is outside 0 < eps < 1", where, config.layer_norm_eps));
  }
  if (!(config.initializer_range > 0.0 && config.initializer_range < 10.0)) {
    reject(
        fmt::format("{}: initializer_range = {} is outside 0 < sigma < 10", where, config.initializer_range));
  }
  if (config.hidden_size % config.num_attention_heads != 0) {
    reject(fmt::format("{}: hidden_size {} is not a multiple of num_attention_heads {}", where,
                       config.hidden_size, config.num_attention_heads));
  }
  if (config.input_length % config.block_size != 0) {
    reject(fmt::format("{}: input_length {} is not a multiple of block_size {}", where, config.input_length,
                       config.block_size));
  }
  if (config.max_position_embeddings % config.block_size != 0) {
    reject(fmt::format("{}: max_position_embeddings {} is not a multiple of block_size {}", where,
                       config.max_position_embeddings, config.block_size));
  }
}

ModelConfig read_config(const std::string& file) {
  Json json;
  try {
    json = Json::parse(read_file(file));
  } catch (const Json::exception& error) {
    reject(fmt::format("{}: not valid JSON ({})", file, error.what()));
  }
  if (!json.is_object()) reject(file + ": not a JSON object");
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
  const std::string activation = fields.text("hidden_act", "gelu_new");
  if (activation != "gelu_new" && activation != "gelu_pytorch_tanh") {
    throw_bad_input(fmt::format("{}: hidden_act {} is not supported", file, activation),
                    "BigBird uses gelu_new, the tanh form of gelu");
  }
  const std::string attention = fields.text("attention_type", "block_sparse");
  if (attention == "original_full") {
    config.attention = AttentionPattern::full;
  } else if (attention != "block_sparse") {
    throw_bad_input(
        fmt::format("{}: attention_type {} is neither block_sparse nor original_full", file, attention));
  }
  config.head = head_of(json);
  config.num_labels = label_count(json);
  const auto own = json.find("bigbird");
  if (own != json.end() && own->is_object()) {
    const Fields ours(*own, file + ": bigbird");
    if (attention == "block_sparse") {
      config.attention = parse_in_file(parse_attention_pattern, ours.text("attention", "bigbird"), file);
    }
    config.random_mode = parse_in_file(parse_random_mode, ours.text("random_mode", "google"), file);
    config.norm_type = parse_in_file(parse_norm_type, ours.text("norm_type", "postnorm"), file);
    ours.number("input_length", config.input_length);
    config.tokenizer_digest = ours.text("tokenizer_sha256", "");
  }
  validate(config, file);
  return config;
}

std::string config_json(const ModelConfig& config) {
  nlohmann::ordered_json json;
  const bool classification = config.head == HeadType::classification;
  json["architectures"] = {classification ? "BigBirdForSequenceClassification" : "BigBirdForPreTraining"};
  json["model_type"] = "big_bird";
  json["vocab_size"] = config.vocab_size;
  json["hidden_size"] = config.hidden_size;
  json["num_hidden_layers"] = config.num_hidden_layers;
  json["num_attention_heads"] = config.num_attention_heads;
  json["intermediate_size"] = config.intermediate_size;
  json["hidden_act"] = "gelu_new";
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
  json["torch_dtype"] = "float32";
  if (classification) {
    for (std::int64_t label = 0; label < config.num_labels; ++label) {
      const std::string name = fmt::format("LABEL_{}", label);
      json["id2label"][std::to_string(label)] = name;
      json["label2id"][name] = label;
    }
  }
  auto& own = json["bigbird"];
  own["attention"] = name_of(config.attention);
  own["random_mode"] = name_of(config.random_mode);
  own["norm_type"] = name_of(config.norm_type);
  own["input_length"] = config.input_length;
  own["tokenizer_sha256"] = config.tokenizer_digest;
  return json.dump(2) + "\n";
}

std::map<std::string, std::string> config_fields(const ModelConfig& config) {
  std::map<std::string, std::string> fields;
  const auto flatten = [&](const auto& self, const std::string& prefix, const Json& object) -> void {
    for (const auto& [key, value] : object.items()) {
      if (value.is_object()) {
        self(self, prefix + key + ".", value);
      } else {
        fields[prefix + key] = value.dump();
      }
    }
  };
  flatten(flatten, "model.", Json::parse(config_json(config)));
  return fields;
}

}  // namespace bigbird
