// Where normalisation and grapheme clusters (unicode.h) end whatever stands around a place, for texts that
// are taken in parts; and where sentences begin.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "lib/core/unicode.h"

namespace bigbird {

// Whether for_each_normalized() cuts before this character, whatever stands before it.
bool normalization_begins_at(char32_t c, NormalForm form);
// Between two such characters side by side a grapheme cluster ends: no mark, no joiner, no part of a
// syllable, of a flag, no control.
bool is_plain_in_graphemes(char32_t c);

// The bytes that the sentences of a text begin at, the first at 0; none of an empty text. Borders are those
// of Unicode (UAX #29): after a full stop, but not before a small letter, after ! and ?, and after a line.
// No border follows an initial or a title ("J. Smith", "Dr. Smith"). White space belongs to the sentence
// before.
std::vector<std::size_t> sentence_begins(std::string_view text);

}  // namespace bigbird
