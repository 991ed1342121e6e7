// Names of etcmodel's checkpoints, see etc_checkpoint.h.
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "lib/model_folder/etc_checkpoint.h"

namespace bigbird {
namespace {

constexpr std::string_view released_scope = "etc_document_bert/";
constexpr std::string_view layers_scope = "global_local_transformer_layers/";

// A part of a name there and here. # stands for the number of a layer.
struct EtcPair {
  std::string_view theirs;
  std::string_view ours;
};

// Modules: what stands before the last part of a name.
constexpr std::array<EtcPair, 6> etc_embeddings{
    {{"token_emb_lookup", "bert.embeddings.word_embeddings"},
     {"segment_emb_lookup", "bert.embeddings.token_type_embeddings"},
     {"position_emb_lookup_long", "bert.embeddings.position_embeddings"},
     {"position_emb_lookup_global", "bert.embeddings.global_position_embeddings"},
     {"long_emb_layer_norm", "bert.embeddings.LayerNorm"},
     {"global_emb_layer_norm", "bert.embeddings.global_LayerNorm"}}};
// Of a layer, behind layers_scope and "bert.encoder.layer.#.". Projections have a level `linear` but for
// those of the output, and the long relative tables one more than the global ones.
constexpr std::array<EtcPair, 25> etc_modules{
    {{"fused_att_layer_#/layer_norm_0", "attention.long_LayerNorm"},
     {"fused_att_layer_#/layer_norm_1", "attention.global_LayerNorm"},
     {"fused_att_layer_#/fused_global_local_att/long_query_projection/linear", "attention.long_query"},
     {"fused_att_layer_#/fused_global_local_att/global_query_projection/linear", "attention.global_query"},
     {"fused_att_layer_#/fused_global_local_att/l2l_key_projection/linear", "attention.l2l_key"},
     {"fused_att_layer_#/fused_global_local_att/l2g_key_projection/linear", "attention.l2g_key"},
     {"fused_att_layer_#/fused_global_local_att/g2g_key_projection/linear", "attention.g2g_key"},
     {"fused_att_layer_#/fused_global_local_att/g2l_key_projection/linear", "attention.g2l_key"},
     {"fused_att_layer_#/fused_global_local_att/l2l_value_projection/linear", "attention.l2l_value"},
     {"fused_att_layer_#/fused_global_local_att/l2g_value_projection/linear", "attention.l2g_value"},
     {"fused_att_layer_#/fused_global_local_att/g2g_value_projection/linear", "attention.g2g_value"},
     {"fused_att_layer_#/fused_global_local_att/g2l_value_projection/linear", "attention.g2l_value"},
     {"fused_att_layer_#/fused_global_local_att/long_output_projection", "attention.long_output"},
     {"fused_att_layer_#/fused_global_local_att/global_output_projection", "attention.global_output"},
     {"fused_att_layer_#/fused_global_local_att/long_qkv_attention/qkv_relative_attention",
      "attention.long_relative"},
     {"fused_att_layer_#/fused_global_local_att/global_qkv_attention", "attention.global_relative"},
     {"feed_forward_layer_#/dense_layers/layer_0", "intermediate.dense"},
     {"feed_forward_layer_#/dense_layers/layer_1", "output.dense"},
     {"feed_forward_layer_#/layer_norm", "output.LayerNorm"},
     {"long_feed_forward_layer_#/dense_layers/layer_0", "intermediate.dense"},
     {"long_feed_forward_layer_#/dense_layers/layer_1", "output.dense"},
     {"long_feed_forward_layer_#/layer_norm", "output.LayerNorm"},
     {"global_feed_forward_layer_#/dense_layers/layer_0", "global_intermediate.dense"},
     {"global_feed_forward_layer_#/dense_layers/layer_1", "global_output.dense"},
     {"global_feed_forward_layer_#/layer_norm", "global_output.LayerNorm"}}};

// The last part, by what a module is: a lookup, a norm, a relative table, or a linear layer.
constexpr std::array<EtcPair, 1> of_lookups{{{"embedding_table", "weight"}}};
constexpr std::array<EtcPair, 2> of_norms{{{"gamma", "weight"}, {"beta", "bias"}}};
constexpr std::array<EtcPair, 2> of_tables{
    {{"relative_emb_table", "weight"}, {"relative_bias_table", "bias"}}};
constexpr std::array<EtcPair, 2> of_linears{{{"kernel", "weight"}, {"bias", "bias"}}};

std::span<const EtcPair> last_parts(std::string_view our_module) {
  if (our_module.ends_with("_embeddings")) return of_lookups;
  if (our_module.ends_with("LayerNorm")) return of_norms;
  if (our_module.ends_with("_relative")) return of_tables;
  return of_linears;
}

// Heads stand outside of the encoder's scope, and are whole names. Their matrices are [classes, width]: not
// transposed.
constexpr std::array<EtcPair, 10> etc_heads{
    {{"supporting_facts_output_weights", "heads.supporting_facts.weight"},
     {"supporting_facts_output_bias", "heads.supporting_facts.bias"},
     {"answer_type_output_weights", "heads.answer_type.weight"},
     {"answer_type_output_bias", "heads.answer_type.bias"},
     {"answer_span_output_weights", "heads.answer_span.weight"},
     {"answer_span_output_bias", "heads.answer_span.bias"},
     {"cls/nq/long_output_weights", "heads.natural_questions.weight"},
     {"cls/nq/long_output_bias", "heads.natural_questions.bias"},
     {"output_weights", "heads.candidates.weight"},
     {"output_bias", "heads.candidates.bias"}}};

constexpr std::string_view layer_prefix = "bert.encoder.layer.";

// Whether `name` is `path`, or ends with a "/" and it: whole parts only.
bool ends_with_path(std::string_view name, std::string_view path) {
  if (!name.ends_with(path)) return false;
  return name.size() == path.size() || name[name.size() - path.size() - 1] == '/';
}

// The number that `text` begins with, as digits without needless zeros, taken off it; empty: none.
std::string_view take_layer(std::string_view& text) {
  std::size_t size = 0;
  while (size < text.size() && text[size] >= '0' && text[size] <= '9') ++size;
  const std::string_view number = text.substr(0, size);
  if (size == 0 || size > 4 || (size > 1 && number.front() == '0')) return {};
  text.remove_prefix(size);
  return number;
}

// Whether `text` is `pattern` with a number in place of its #, and which.
bool fits(std::string_view text, std::string_view pattern, std::string_view& number) {
  const std::size_t at = pattern.find('#');
  if (!text.starts_with(pattern.substr(0, at))) return false;
  text.remove_prefix(at);
  number = take_layer(text);
  return !number.empty() && text == pattern.substr(at + 1);
}

EtcName named(std::string module, std::string_view last) {
  for (const EtcPair& part : last_parts(module)) {
    if (part.theirs == last) return {module.append(".").append(part.ours), last == "kernel"};
  }
  return {};
}

}  // namespace

std::optional<EtcName> etc_layout_name(const std::string& variable) {
  const std::string_view name = variable;
  for (const std::string_view slot : {"adam_m", "adam_v", "global_step"}) {
    if (ends_with_path(name, slot)) return EtcName{};
  }
  for (const EtcPair& head : etc_heads) {
    if (ends_with_path(name, head.theirs)) return EtcName{std::string(head.ours), false};
  }
  const std::size_t slash = name.rfind('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view module = name.substr(0, slash), last = name.substr(slash + 1);
  EtcName found;
  if (const std::size_t layers = module.rfind(layers_scope);
      layers != std::string_view::npos && (layers == 0 || module[layers - 1] == '/')) {
    for (const EtcPair& pair : etc_modules) {
      std::string_view number;
      if (fits(module.substr(layers + layers_scope.size()), pair.theirs, number))
        found = named(std::string(layer_prefix).append(number).append(".").append(pair.ours), last);
    }
  } else {
    for (const EtcPair& pair : etc_embeddings) {
      if (ends_with_path(module, pair.theirs)) found = named(std::string(pair.ours), last);
    }
  }
  if (found.name.empty()) return std::nullopt;
  return found;
}

StoredTensor etc_tensor(const StoredTensor& stored, const EtcName& name) {
  StoredTensor tensor = stored;
  tensor.name = name.name;
  if (name.transposed) {
    std::reverse(tensor.shape.begin(), tensor.shape.end());
    std::reverse(tensor.strides.begin(), tensor.strides.end());
  }
  return tensor;
}

std::optional<std::string> etc_variable_name(const std::string& layout_name, bool shared_feed_forward) {
  for (const EtcPair& head : etc_heads) {
    if (head.ours == layout_name) return std::string(head.theirs);
  }
  const std::size_t dot = layout_name.rfind('.');
  if (dot == std::string::npos) return std::nullopt;
  std::string_view module = std::string_view(layout_name).substr(0, dot);
  std::string theirs(released_scope);
  if (module.starts_with(layer_prefix)) {
    module.remove_prefix(layer_prefix.size());
    const std::string_view number = take_layer(module);
    if (number.empty() || !module.starts_with('.')) return std::nullopt;
    theirs += layers_scope;
    const std::size_t before = theirs.size();
    for (const EtcPair& pair : etc_modules) {
      if (pair.ours != module.substr(1)) continue;
      // What both inputs share has a name without a side.
      if (pair.theirs.starts_with(shared_feed_forward ? "long_feed" : "feed")) continue;
      const std::size_t at = pair.theirs.find('#');
      theirs.append(pair.theirs.substr(0, at)).append(number).append(pair.theirs.substr(at + 1));
    }
    if (theirs.size() == before) return std::nullopt;
  } else {
    for (const EtcPair& pair : etc_embeddings) {
      if (pair.ours == module) theirs += pair.theirs;
    }
    if (theirs.size() == released_scope.size()) return std::nullopt;
  }
  for (const EtcPair& part : last_parts(module)) {
    if (part.ours == layout_name.substr(dot + 1)) return theirs.append("/").append(part.theirs);
  }
  return std::nullopt;
}

}  // namespace bigbird
