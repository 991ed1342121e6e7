// bigbird.attention_options of config.json: the options of a model's system of attention, those that
// lib/model/attention_systems.h lists for it.
#pragma once

#include <string>

#include "lib/model/config.h"

namespace bigbird {

// Of an object as JSON text, {"stride": 128, "heads_as": "split"}, into the config, whose `attention` is
// known. Error{bad_input} naming `where` and the key: one that the system does not have, a value of another
// type, out of its range or none of its names.
void read_attention_options(const std::string& json, const std::string& where, ModelConfig& config);

// The object with every option of the system; empty where it has none.
std::string attention_options_json(const ModelConfig& config);

}  // namespace bigbird
