// How a model folder wants summaries to be searched for.
#pragma once

#include <string>

#include "lib/text/search/token_search.h"

namespace bigbird {

struct ModelConfig;

// How a model folder wants summaries to be searched for: generation_config.json of transformers where it is
// there, else the same fields in an older config.json; fields that are missing have generate()'s defaults
// (docs/specification.md 5.6), one line names those that are not followed, and where none of num_beams,
// length_penalty, max_length and max_new_tokens is given the three are the paper's (table 17): 5 beams, 0.8,
// 256 tokens. Start and end are the config's where the file names none. Error{bad_input} naming file and
// field: a value of another type, lengths or a penalty that cannot be, a min_length above max_length.
SearchOptions generation_defaults(const std::string& folder, const ModelConfig& config);

// The text of a generation_config.json that says what `folder` says: its own, or the fields of config.json.
// Empty where there are none.
std::string generation_config_text(const std::string& folder);

}  // namespace bigbird
