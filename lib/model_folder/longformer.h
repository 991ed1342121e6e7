// Longformer folders of transformers (model_type longformer), written: the names of their tensors, their
// config.json, and the position rows that no token has. dialect.h reads them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/model/config.h"

namespace bigbird {

// Rows in front of a stored table of positions: those of transformers count from pad_token_id + 1 on, and the
// pad token, which nobody sees, has row pad_token_id.
constexpr std::int64_t longformer_first_position(const ModelConfig& config) {
  return config.pad_token_id + 1;
}
// A table [rows, C] of the layout with those rows, zeros, in front.
std::vector<float> longformer_positions(const float* table, std::int64_t rows, const ModelConfig& config);

// The name that transformers gives a tensor of the layout of such a model.
std::string longformer_stored_name(const std::string& layout_name);
// transformers' class of a head; null where it has none.
const char* longformer_class(HeadType head);

// attention_window of config.json, one number or one for each layer, as the option `window` has it: one where
// all are the same. Both are texts in JSON. Error{bad_input} naming `file` where there are more or fewer.
std::string longformer_windows(const std::string& windows, std::int64_t layers, const std::string& file);

// config.json as LongformerConfig reads it, of a model that is_longformer_architecture(); what that has no
// field for is under "bigbird".
std::string longformer_config_json(const ModelConfig& config, const std::string& torch_dtype);

}  // namespace bigbird
