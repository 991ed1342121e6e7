// A pattern aligned to where it fits best in a text: edit distance, the ends of the text free.
#pragma once

#include <cstddef>
#include <string_view>

namespace bigbird {

struct FreeEndAlignment {
  std::size_t edits = 0;  // bases replaced, left out or put in
  std::size_t begin = 0;  // of the part of the text that the pattern is aligned to
  std::size_t end = 0;
};

// Of several ends with the fewest edits the first, then of several begins the last. Letters other than
// A C G T differ from every letter. Time: |pattern| / 64 for each base of the text, by the bit vectors of
// Myers 1999 in the blocks of Hyyro 2003.
FreeEndAlignment align_free_ends(std::string_view pattern, std::string_view text);

}  // namespace bigbird
