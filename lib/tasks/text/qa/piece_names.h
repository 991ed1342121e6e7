// Pieces of a vocabulary by name: the signs that open and close the parts of an input ("<sep_0>", "<ans>").
#pragma once

#include <cstdint>
#include <string>

#include "lib/tokenization/tokenizer.h"

namespace bigbird {

// The id of the piece with this name; Error{bad_input} where the vocabulary has none. Looks through the whole
// vocabulary: once a run, not once a question.
std::uint32_t piece_named(const Tokenizer& tokenizer, const std::string& name);

}  // namespace bigbird
