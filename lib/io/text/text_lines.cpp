// Lines of UTF-8, checked or repaired; see text_lines.h.
#include "lib/io/text/text_lines.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/unicode.h"

namespace bigbird {
namespace {

constexpr const char* replacement = "\xEF\xBF\xBD";  // U+FFFD
std::string encoding_hint() {
  return message(
      "convert it first (iconv -f LATIN1 -t UTF-8), or set `replace_invalid` to read U+FFFD for such bytes");
}
constexpr const char* nul_hint =
    "text holds no NUL; a file of UTF-16 is converted by iconv -f UTF-16 -t UTF-8";

}  // namespace

std::size_t first_invalid_byte(std::string_view text) {
  constexpr std::uint64_t high_bits = 0x8080808080808080ull;
  std::size_t ascii = 0;
  for (std::uint64_t eight = 0; ascii + 8 <= text.size(); ascii += 8) {
    std::memcpy(&eight, text.data() + ascii, 8);
    if ((eight & high_bits) != 0) break;
  }
  return ascii + find_invalid_utf8(text.substr(ascii));
}

std::size_t invalid_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(at);
  // Bytes of the character, and what its second byte may be: not every one may follow E0, ED, F0 and F4.
  std::size_t length = 1;
  unsigned low = 0x80, high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) length = 2;
  if (lead >= 0xE0 && lead <= 0xEF) length = 3;
  if (lead >= 0xF0 && lead <= 0xF4) length = 4;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  std::size_t taken = 1;
  while (taken < length && at + taken < text.size()) {
    const unsigned next = byte(at + taken);
    if (next < low || next > high) break;
    low = 0x80;
    high = 0xBF;
    ++taken;
  }
  return taken;
}

std::string replace_invalid_utf8(std::string_view text, std::uint64_t& replaced) {
  std::string result;
  result.reserve(text.size() + 8);
  for (;;) {
    const std::size_t bad = first_invalid_byte(text);
    result += text.substr(0, bad);
    if (bad == text.size()) return result;
    result += replacement;
    ++replaced;
    text.remove_prefix(bad + invalid_length(text, bad));
  }
}

bool is_blank(std::string_view text) {
  for (const CodePoint& c : CodePoints(text)) {
    if (!is_white_space(c.value)) return false;
  }
  return true;
}

std::string joined_lines(TextLines& lines) {
  std::string text;
  bool first = true;
  for (std::string_view line; lines.next(line);) {
    if (!std::exchange(first, false)) text += '\n';
    text += line;
  }
  return text;
}

std::string checked_text(std::string_view text, const std::string& what, bool replace_invalid) {
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    throw_bad_input(fmt::format("{}: byte {} is NUL", what, nul + 1), "text holds no NUL");
  }
  const std::size_t bad = first_invalid_byte(text);
  if (bad == text.size()) return std::string(text);
  if (!replace_invalid) {
    throw_bad_input(fmt::format("{}: byte {} is not UTF-8", what, bad + 1), encoding_hint());
  }
  std::uint64_t replaced = 0;
  return replace_invalid_utf8(text, replaced);
}

TextLines::TextLines(const std::string& path, bool replace_invalid)
    : TextLines(TextInput(path), replace_invalid) {}

TextLines::TextLines(TextInput input, bool replace_invalid)
    : input_(std::move(input)), replace_invalid_(replace_invalid) {}

std::string TextLines::where() const {
  return fmt::format("{}:{}", path(), line_number_);
}

bool TextLines::next(std::string_view& line) {
  std::size_t searched = 0;
  std::size_t newline = std::string_view::npos;
  for (;;) {
    newline = input_.window().find('\n', searched);
    if (newline != std::string_view::npos) break;
    searched = input_.window().size();
    if (searched > longest_line) throw_line_too_long(path(), line_number_, longest_line);
    if (!input_.fill()) break;
  }
  const std::string_view window = input_.window();
  if (newline == std::string_view::npos && window.empty()) return false;
  line = window.substr(0, newline);
  input_.take(newline == std::string_view::npos ? window.size() : newline + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  ++line_number_;
  if (const std::size_t nul = line.find('\0'); nul != std::string_view::npos) {
    throw_bad_input(fmt::format("{}: byte {} of the line is NUL", where(), nul + 1), nul_hint);
  }
  const std::size_t bad = first_invalid_byte(line);
  if (bad == line.size()) return true;
  if (!replace_invalid_) {
    throw_bad_input(fmt::format("{}: byte {} of the line is not UTF-8", where(), bad + 1), encoding_hint());
  }
  repaired_ = replace_invalid_utf8(line, replaced_);
  line = repaired_;
  return true;
}

}  // namespace bigbird
