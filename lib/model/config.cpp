// The names of a model's choices, as files and the command line spell them; see config.h.
#include "lib/model/config.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <system_error>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/names.h"

namespace bigbird {
namespace {

constexpr std::int64_t longformer_pad = 1;
constexpr double esm_rotary_base = 10000.0;  // it has no other
constexpr double led_epsilon = 1e-5;         // its LayerNorms have no other
constexpr std::array<std::pair<RandomMode, const char*>, 5> mode_names{{{RandomMode::google, "google"},
                                                                        {RandomMode::hf_train, "hf-train"},
                                                                        {RandomMode::hf_eval, "hf-eval"},
                                                                        {RandomMode::none, "none"},
                                                                        {RandomMode::file, "file"}}};
constexpr std::array<std::pair<NormType, const char*>, 2> norm_names{
    {{NormType::postnorm, "postnorm"}, {NormType::prenorm, "prenorm"}}};
constexpr std::array<std::pair<EmbeddingNorm, const char*>, 3> embedding_norm_names{
    {{EmbeddingNorm::none, "none"},
     {EmbeddingNorm::after_dropout, "after-dropout"},
     {EmbeddingNorm::before_dropout, "before-dropout"}}};
constexpr std::array<std::pair<PositionType, const char*>, 4> position_names{
    {{PositionType::absolute, "absolute"},
     {PositionType::rotary, "rotary"},
     {PositionType::none, "none"},
     {PositionType::sinusoidal, "sinusoidal"}}};
constexpr std::array<std::pair<HeadForm, const char*>, 2> head_form_names{
    {{HeadForm::bigbird, "bigbird"}, {HeadForm::roberta, "roberta"}}};
constexpr std::array<std::pair<HeadType, const char*>, 11> head_names{
    {{HeadType::encoder, "encoder"},
     {HeadType::pretraining, "pretraining"},
     {HeadType::masked_lm, "masked-lm"},
     {HeadType::causal_lm, "causal-lm"},
     {HeadType::classification, "classification"},
     {HeadType::question_answering, "question-answering"},
     {HeadType::structured_answers, "structured-answers"},
     {HeadType::generation, "generation"},
     {HeadType::masked_sentences, "masked-sentences"},
     {HeadType::sentence_labels, "sentence-labels"},
     {HeadType::token_classification, "token-classification"}}};

// Post-LN, the embeddings dropped after their LayerNorm, learned positions, token types and all biases: what
// BERT, RoBERTa and Longformer have in common.
bool has_roberta_layers(const ModelConfig& config) {
  return config.norm_type == NormType::postnorm && config.embedding_norm == EmbeddingNorm::before_dropout &&
         config.position_type == PositionType::absolute && config.type_vocab_size > 0 && config.use_bias &&
         config.output_bias && !config.rescale_embeddings;
}

}  // namespace

void become_bpt(ModelConfig& config) {
  config.attention = AttentionPattern::bpt;
  config.embedding_norm = EmbeddingNorm::after_dropout;
  config.position_type = PositionType::none;
  config.rotary_dim = 0;
  config.num_random_blocks = 0;
  config.random_mode = RandomMode::none;
  config.plan = nullptr;
}

ModelConfig trunk_config(const ModelConfig& config) {
  if (!config.has_stem()) return config;
  ModelConfig trunk = config;
  for (auto* const tokens : {&trunk.block_size, &trunk.max_position_embeddings, &trunk.input_length})
    *tokens /= config.stem.stride;
  return trunk;
}

std::string name_of(RandomMode mode) {
  return find_name(mode_names, mode);
}
std::string name_of(NormType norm) {
  return find_name(norm_names, norm);
}
std::string name_of(EmbeddingNorm norm) {
  return find_name(embedding_norm_names, norm);
}
std::string name_of(PositionType position) {
  return find_name(position_names, position);
}
std::string name_of(HeadType head) {
  return find_name(head_names, head);
}
std::string name_of(HeadForm form) {
  return find_name(head_form_names, form);
}
std::string name_of(const HeadPooling& pooling) {
  if (pooling.kind == HeadPooling::Kind::middle) return fmt::format("middle:{}", pooling.tokens);
  return pooling.kind == HeadPooling::Kind::mean ? "mean" : "cls";
}
HeadPooling parse_head_pooling(const std::string& name) {
  if (name == "cls") return {};
  if (name == "mean") return {HeadPooling::Kind::mean, 0};
  const std::string middle = "middle:";
  HeadPooling pooling{HeadPooling::Kind::middle, 0};
  if (name.starts_with(middle)) {
    const char* const begin = name.data() + middle.size();
    const char* const end = name.data() + name.size();
    const auto [stopped, error] = std::from_chars(begin, end, pooling.tokens);
    if (error == std::errc() && stopped == end && pooling.tokens > 0) return pooling;
  }
  throw_usage(message("`pool` {}: is cls, mean, or middle:N for the N tokens in the middle", name));
}
RandomMode parse_random_mode(const std::string& name) {
  if (name == "huggingface") return RandomMode::hf_train;  // their names before 0.2, in folders of then
  if (name == "zeros") return RandomMode::hf_eval;
  return parse_name(mode_names, name, "random mode");
}
NormType parse_norm_type(const std::string& name) {
  return parse_name(norm_names, name, "norm type");
}
EmbeddingNorm parse_embedding_norm(const std::string& name) {
  return parse_name(embedding_norm_names, name, "place for the embeddings' LayerNorm");
}
PositionType parse_position_type(const std::string& name) {
  return parse_name(position_names, name, "kind of positions");
}
HeadForm parse_head_form(const std::string& name) {
  return parse_name(head_form_names, name, "form of heads");
}

EmbeddingNorm usual_embedding_norm(NormType norm) {
  return norm == NormType::postnorm ? EmbeddingNorm::after_dropout : EmbeddingNorm::none;
}

bool is_longformer_architecture(const ModelConfig& config) {
  if (config.attention != AttentionPattern::longformer || config.quantization != nullptr || config.causal)
    return false;
  if (config.attention_options.longformer.dilated_heads > 0) return false;  // its kernels have no dilation
  if (!has_roberta_layers(config) || config.pad_token_id != longformer_pad) return false;
  switch (config.head) {
    case HeadType::encoder:
    case HeadType::token_classification:
      return true;
    case HeadType::masked_lm:  // whose transform has this gelu always
      return config.activation == Activation::gelu_erf;
    case HeadType::classification:
    case HeadType::question_answering:
      return config.head_form == HeadForm::roberta;
    case HeadType::pretraining:
    case HeadType::causal_lm:
    case HeadType::structured_answers:
    case HeadType::generation:
    case HeadType::masked_sentences:
    case HeadType::sentence_labels:
      break;
  }
  return false;
}

bool computes_as_led(const ModelConfig& config) {
  return config.attention == AttentionPattern::longformer &&
         config.attention_options.longformer.dilated_heads == 0 && config.has_decoder() &&
         !config.decoder.coupled && config.norm_type == NormType::postnorm &&
         config.embedding_norm == EmbeddingNorm::before_dropout &&
         config.position_type == PositionType::absolute && config.type_vocab_size == 0 && config.use_bias &&
         config.output_bias && !config.rescale_embeddings && config.layer_norm_eps == led_epsilon;
}

bool is_led_architecture(const ModelConfig& config) {
  return config.quantization == nullptr && computes_as_led(config);
}

bool is_esm_architecture(const ModelConfig& config) {
  if (!config.has_esm_form() || config.attention != AttentionPattern::full || config.causal ||
      config.has_stem() || config.pools() || config.quantization != nullptr)
    return false;
  const bool turned = config.position_type == PositionType::rotary &&
                      config.rotary_dim == config.head_size() && config.rotary_base == esm_rotary_base;
  const bool layers = config.norm_type == NormType::prenorm && config.final_norm &&
                      config.embedding_norm != EmbeddingNorm::after_dropout && config.type_vocab_size == 0 &&
                      (config.position_type == PositionType::absolute || turned) && config.use_bias &&
                      config.output_bias && config.feed_forward_bias && !config.gated_feed_forward &&
                      !config.rescale_embeddings && config.activation == Activation::gelu_erf &&
                      config.masked_head_activation() == Activation::gelu_erf;
  const bool head = config.head == HeadType::encoder || config.head == HeadType::masked_lm ||
                    config.head == HeadType::token_classification ||
                    (config.head == HeadType::classification && config.head_form == HeadForm::roberta);
  return layers && head;
}

bool is_bert_architecture(const ModelConfig& config) {
  if (config.attention != AttentionPattern::full || config.quantization != nullptr || config.causal ||
      config.has_stem() || config.pools() || config.has_esm_form() || config.gated_feed_forward ||
      !config.feed_forward_bias || config.head_activation || config.token_dropout ||
      !has_roberta_layers(config))
    return false;
  const bool one_type = config.type_vocab_size == 1;  // a RoBERTa (lib/model_folder/roberta.h)
  if (config.head == HeadType::masked_lm)             // whose transform has this gelu always
    return !one_type || config.activation == Activation::gelu_erf;
  if (config.head == HeadType::classification || config.head == HeadType::question_answering)
    return config.head_form == HeadForm::roberta;
  return config.head == HeadType::token_classification ||
         (config.head == HeadType::encoder && config.pooler) ||
         (config.head == HeadType::pretraining && !one_type);
}

bool is_huggingface_architecture(const ModelConfig& config) {
  if (config.quantization != nullptr) return false;  // it would take the integers for the weights
  if (config.has_stem() || config.pools() || config.causal) return false;
  if (is_longformer_architecture(config) || is_led_architecture(config) || is_esm_architecture(config) ||
      is_bert_architecture(config))
    return true;
  if (config.has_esm_form() || config.gated_feed_forward || !config.feed_forward_bias ||
      config.head_activation || config.token_dropout)
    return false;
  if (system_of(config.attention).by_own_length) return false;  // none of BigBird's
  const bool either_form =
      config.head != HeadType::classification && config.head != HeadType::question_answering;
  if (!either_form && config.head_form != HeadForm::bigbird) return false;
  if (config.has_decoder()) {
    return !config.decoder.coupled && config.norm_type == NormType::prenorm && config.final_norm &&
           config.embedding_norm == EmbeddingNorm::none && config.position_type == PositionType::absolute &&
           config.type_vocab_size == 0 && config.use_bias == config.output_bias;
  }
  return config.norm_type == NormType::postnorm && config.embedding_norm == EmbeddingNorm::after_dropout &&
         config.position_type == PositionType::absolute && config.head != HeadType::structured_answers &&
         !config.has_documents() && config.type_vocab_size > 0 && config.output_bias && config.pooler;
}

}  // namespace bigbird
