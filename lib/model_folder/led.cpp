// See led.h; what the names mean is in docs/specification.md 2.6.
#include "lib/model_folder/led.h"

#include <array>
#include <string_view>

#include "lib/model_folder/two_stacks.h"

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

}  // namespace bigbird
