// What folders of transformers with BART's two stacks have in common (bigbird_pegasus, led): how their names
// and the fields of their config.json are respelt, and the names of the decoder's layers.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "lib/core/ordered_map.h"

namespace bigbird {

using BartJson = nlohmann::basic_json<OrderedMap>;

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

// A field of theirs and ours, with transformers' default. A second name of theirs is what its code takes too.
struct BartField {
  const char* theirs;
  const char* also;
  const char* ours;
  double otherwise;
  bool whole;
};
// Error{bad_input} naming file and field where it is not such a number.
BartJson value_of(const BartJson& json, const BartField& field, const std::string& file);
// `otherwise` where the field is missing or null.
BartJson value_of(const BartJson& json, const char* name, BartJson otherwise);
// The first of "architectures" where it is none of these; null otherwise.
BartJson other_class(const BartJson& json, std::span<const std::string_view> read);

}  // namespace bigbird
