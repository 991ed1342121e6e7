// How names of folders of transformers with BART's two stacks (bigbird_pegasus, led), and of esm, are
// respelt, and the names of the decoder's layers, which the two share. two_stacks_config.cpp has their
// config.json.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace bigbird {

struct BartName {
  std::string_view theirs;
  std::string_view ours;
};
using BartSide = std::string_view BartName::*;

// The front of the names of a stack's layers, and what follows the number of a layer.
struct BartStack {
  BartName layers;
  std::span<const BartName> parts;
};

// The decoder's. final_layer_norm is that of the feed-forward part.
inline constexpr std::array<BartName, 13> bart_decoder_parts{
    {{"self_attn.q_proj.", "attention.self.query."},
     {"self_attn.k_proj.", "attention.self.key."},
     {"self_attn.v_proj.", "attention.self.value."},
     {"self_attn.out_proj.", "attention.output.dense."},
     {"self_attn_layer_norm.", "attention.output.LayerNorm."},
     {"encoder_attn.q_proj.", "crossattention.self.query."},
     {"encoder_attn.k_proj.", "crossattention.self.key."},
     {"encoder_attn.v_proj.", "crossattention.self.value."},
     {"encoder_attn.out_proj.", "crossattention.output.dense."},
     {"encoder_attn_layer_norm.", "crossattention.output.LayerNorm."},
     {"fc1.", "intermediate.dense."},
     {"fc2.", "output.dense."},
     {"final_layer_norm.", "output.LayerNorm."}}};

// The first pair of `outside` that the name begins with, replaced; else the front of a stack, and the first
// pair of its parts that fits behind the number. A name that is neither stays as it is.
std::string respelt(std::string name, std::span<const BartName> outside, std::span<const BartStack> stacks,
                    BartSide from, BartSide to);

}  // namespace bigbird
