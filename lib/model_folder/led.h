// Longformer-Encoder-Decoder folders of transformers (model_type led), seen as ours and written: the names of
// their tensors, and their config.json. Their word table may come under any of its names, as in pegasus.h.
#pragma once

#include <string>

#include "lib/model/config.h"

namespace bigbird {

// transformers' class.
inline constexpr const char* led_class = "LEDForConditionalGeneration";

// The name in ParameterLayout of a tensor of such a file, with or without the prefix `led.`, as
// pegasus_layout_name().
std::string led_layout_name(const std::string& stored_name);
// The other way, for every tensor of the layout of such a model.
std::string led_stored_name(const std::string& layout_name);

// config.json of such a model in our own form (config_json.h). Error{bad_input} naming `file` and the field.
std::string translated_led_config(const std::string& config_text, const std::string& file);
// And as transformers reads it, of a model that is_led_architecture(); what that has no field for is under
// "bigbird".
std::string led_config_json(const ModelConfig& config, const std::string& torch_dtype);

}  // namespace bigbird
