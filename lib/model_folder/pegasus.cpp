// See pegasus.h; what the names mean is in docs/specification.md 2.6.
#include "lib/model_folder/pegasus.h"

#include <array>
#include <string_view>

#include "lib/model_folder/two_stacks.h"

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
constexpr std::array<BartStack, 2> pegasus_stacks{
    {{{"model.encoder.layers.", "bert.encoder.layer."}, encoder_parts},
     {{"model.decoder.layers.", "decoder.layer."}, bart_decoder_parts}}};

}  // namespace

std::string pegasus_layout_name(const std::string& name_in_file) {
  // A module that held the model: transformers' own names begin with "model." once.
  std::string stored_name = name_in_file;
  for (const std::string_view doubled : {"model.model.", "model.lm_head.", "model.final_logits_bias"}) {
    if (stored_name.starts_with(doubled)) stored_name.erase(0, 6);
  }
  const bool bare = stored_name.starts_with("shared.") || stored_name.starts_with("encoder.") ||
                    (stored_name.starts_with("decoder.") && !stored_name.starts_with("decoder.layer."));
  return respelt(bare ? "model." + stored_name : stored_name, outside_layers, pegasus_stacks,
                 &BartName::theirs, &BartName::ours);
}

std::string pegasus_stored_name(const std::string& layout_name) {
  return respelt(layout_name, outside_layers, pegasus_stacks, &BartName::ours, &BartName::theirs);
}

}  // namespace bigbird
