// Line breaks as BigBird-Pegasus reads and writes them: its vocabulary turns a newline into a blank, and has
// a piece "<n>" for it. The published code rewrites texts around the tokenizer (docs/specification.md 5.6);
// these are its two rewritings, on bytes, where white space is ASCII's as in RE2.
#pragma once

#include <string>
#include <string_view>

namespace bigbird {

// Before the tokenizer: every newline becomes "<n>"; then the blank before each mark, a stretch without white
// space from < or [ to the last > or ] in it with something between, is dropped (one blank). That takes
// citations along: "see [12]," becomes "see[12],".
std::string with_line_marks(std::string_view text);

// Behind it: a blank before every such mark, then "<n>" becomes a newline. Not the inverse: blanks around a
// line break stay, " first .<n> second ." reads " first . \n second .".
std::string without_line_marks(std::string_view text);

// Every `from`, which is not empty, becomes `to`, from left to right.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

}  // namespace bigbird
