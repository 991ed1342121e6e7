// Folders of transformers' esm, and of Nucleotide Transformer, whose second version goes on from that code
// (Dalla-Torre et al. 2024): pre-LN, learned or rotary positions, in version 2 gated feed-forward layers
// without biases. Read, and written where transformers' own class holds the model.
#pragma once

#include <string>

#include "lib/model/config.h"

namespace bigbird {

// The name in ParameterLayout of a tensor of such a file, with or without the prefix `esm.`. Empty for what
// no head reads (contact_head).
std::string esm_layout_name(const std::string& stored_name);
// The other way.
std::string esm_stored_name(const std::string& layout_name);

// transformers' class of a head; null where it has none.
const char* esm_class(HeadType head);

// config.json of such a model in our own form (config_json.h). A field add_bias_fnn is version 2's, which
// gates with silu. Error{bad_input} naming `file` and the field.
std::string translated_esm_config(const std::string& config_text, const std::string& file);
// And as transformers reads it, of a model that is_esm_architecture(); what that has no field for is under
// "bigbird".
std::string esm_config_json(const ModelConfig& config, const std::string& torch_dtype);

}  // namespace bigbird
