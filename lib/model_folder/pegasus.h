// BigBird-Pegasus folders of transformers (model_type bigbird_pegasus), seen as ours and written: the names
// of their tensors, and their config.json. They are the form of every model with a decoder.
#pragma once

#include <string>

#include "lib/model/config.h"

namespace bigbird {

// The name in ParameterLayout of a tensor of such a file, or of an original Pegasus's, with or without the
// prefix `model.`; what the file repeats of the word table (embed_tokens of both stacks) comes out as
// "tied." and its name. lm_head.weight, which repeats it too unless the model is untied, keeps its own.
std::string pegasus_layout_name(const std::string& stored_name);
// The other way, for every tensor of the layout.
std::string pegasus_stored_name(const std::string& layout_name);

// config.json of such a model in our own form (config_json.h). Error{bad_input} naming `file` and the field.
std::string translated_pegasus_config(const std::string& config_text, const std::string& file);
// And as transformers reads it; what it has no field for is under "bigbird".
std::string pegasus_config_json(const ModelConfig& config, const std::string& torch_dtype);

}  // namespace bigbird
