// Where normalisation and grapheme clusters (unicode.h) end whatever stands around a place: for texts that are
// taken in parts.
#pragma once

#include "lib/core/unicode.h"

namespace bigbird {

// Whether for_each_normalized() cuts before this character, whatever stands before it.
bool normalization_begins_at(char32_t c, NormalForm form);
// Between two such characters side by side a grapheme cluster ends: no mark, no joiner, no part of a syllable,
// of a flag, no control.
bool is_plain_in_graphemes(char32_t c);

}  // namespace bigbird
