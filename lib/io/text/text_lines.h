// Lines of a text file, checked: what every reader of text but JSON's stands on. UTF-8 in, UTF-8 out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/text/text_input.h"

namespace bigbird {

// Lines of a file, `.gz`/BGZF or "-", without their ends. A line ends at \n or \r\n; a \r at the end of the
// file belongs to that end too, any other is text, and so are U+0085, U+2028 and their kin. The last line
// needs no \n; a byte-order mark at the begin is dropped.
//
// Error{bad_input}, all with the path: a byte that is not UTF-8 (surrogates and overlong forms are none)
// "FILE:LINE: byte N of the line is not UTF-8", N from 1; NUL; UTF-16; what InputStream refuses (a .gz cut
// short). With replace_invalid, every maximal stretch of bytes that begins a character and does not end it,
// and every other stray byte, becomes one U+FFFD, as Python's errors="replace" has it; NUL stays an error.
class TextLines {
 public:
  explicit TextLines(const std::string& path, bool replace_invalid = false);
  explicit TextLines(TextInput input, bool replace_invalid = false);

  // False at the end. The view is valid until the next call.
  bool next(std::string_view& line);
  // 1-based number of the line returned last; 0 before the first.
  std::uint64_t line_number() const { return line_number_; }
  const std::string& path() const { return input_.path(); }
  // "FILE:LINE", to open an error message with.
  std::string where() const;
  // U+FFFD put in so far.
  std::uint64_t replaced() const { return replaced_; }

 private:
  TextInput input_;
  bool replace_invalid_ = false;
  std::string repaired_;
  std::uint64_t line_number_ = 0;
  std::uint64_t replaced_ = 0;
};

// A whole file of text, its lines joined by \n, without its last line end. Adds to `replaced`.
std::string whole_text_of(const std::string& path, bool replace_invalid, std::uint64_t& replaced);

// The lines that are left, with \n between them: of a file without its last line end.
std::string joined_lines(TextLines& lines);

// One text that is no file (an argument of the command line), by the same rules: the text, repaired if
// `replace_invalid`. `what` opens the message ("`question`: byte 3 is not UTF-8").
std::string checked_text(std::string_view text, const std::string& what, bool replace_invalid = false);

// find_invalid_utf8 (lib/core/unicode.h), quick over ASCII.
std::size_t first_invalid_byte(std::string_view text);
// Bytes of the maximal stretch at `at`, where no character is: 1 to 3 (Unicode 15, section 3.9: the begin of
// a character counts as one error).
std::size_t invalid_length(std::string_view text, std::size_t at);
// `text` with U+FFFD for what is not UTF-8; adds their number to `replaced`.
std::string replace_invalid_utf8(std::string_view text, std::uint64_t& replaced);

// Nothing but white space (of str.strip(): U+00A0 and U+3000 are white space).
bool is_blank(std::string_view text);

}  // namespace bigbird
