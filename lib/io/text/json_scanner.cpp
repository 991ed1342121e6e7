// The grammar of JSON over a stream of bytes; see json_scanner.h.
#include "lib/io/text/json_scanner.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/io/text/text_lines.h"

namespace bigbird {
namespace {

constexpr std::size_t max_number_bytes = 4096;
constexpr const char* cut_off_hint = "the file is cut off: copy or download it again";
constexpr const char* broken_hint = "the file must hold JSON (RFC 8259), a list or one value a line";

bool is_json_digit(int byte) {
  return byte >= '0' && byte <= '9';
}

bool is_json_space(int byte) {
  return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

std::size_t columns_of(std::string_view text) {
  std::size_t count = 0;
  for (const char byte : text) count += (static_cast<unsigned char>(byte) & 0xC0) != 0x80 ? 1 : 0;
  return count;
}

}  // namespace

void JsonScanner::refuse(const JsonPlace& place, const std::string& what, const std::string& hint) const {
  throw_bad_input(fmt::format("{}:{}:{}: {}", path(), place.line, place.column, what), hint);
}

void JsonScanner::unexpected(const std::string& expected, const std::string& inside, const JsonPlace& begin) {
  const int byte = peek();
  const std::string within =
      inside.empty() ? "" : fmt::format(" the {} that begins at {}:{}", inside, begin.line, begin.column);
  if (byte < 0) {
    refuse(place_,
           within.empty() ? fmt::format("the file ends where {} is expected", expected)
                          : fmt::format("the file ends inside of{}", within),
           cut_off_hint);
  }
  const std::string_view bytes = input_.peek(4);
  const bool valid = first_invalid_byte(bytes.substr(0, code_point_at(bytes, 0).end)) > 0;
  const std::string shown = byte == 0     ? "NUL"
                            : byte < 0x20 ? fmt::format("control character {:#04x}", byte)
                            : !valid      ? "a byte that is not UTF-8"
                                          : fmt::format("'{}'", bytes.substr(0, code_point_at(bytes, 0).end));
  refuse(place_,
         fmt::format("{} where {} is expected{}", shown, expected, within.empty() ? "" : ", in" + within),
         broken_hint);
}

int JsonScanner::peek() {
  if (input_.window().empty() && !input_.fill()) return -1;
  return static_cast<unsigned char>(input_.window().front());
}

void JsonScanner::check_size(const std::string* out) const {
  if (out == nullptr || out->size() <= max_record_bytes_) return;
  refuse(place_, fmt::format("a record of more than {} bytes", max_record_bytes_),
         "check that no quote or bracket is missing before this place");
}

void JsonScanner::take(std::string* out) {
  const char byte = input_.window().front();
  input_.take(1);
  if (byte == '\n') {
    ++place_.line;
    place_.column = 1;
  } else {
    ++place_.column;
  }
  if (out != nullptr) *out += byte;
}

void JsonScanner::copy(std::string* out, std::size_t size) {
  const std::string_view bytes = input_.window().substr(0, size);
  if (out != nullptr) *out += bytes;
  place_.column += columns_of(bytes);
  input_.take(size);
  check_size(out);
}

void JsonScanner::white_space(std::string* out) {
  while (is_json_space(peek())) take(out);
  check_size(out);
}

void JsonScanner::value(std::string* out) {
  enum class Expected { value, first_element, key, first_key, rest };
  struct Open {
    char bracket;
    JsonPlace place;
  };
  std::vector<Open> open;
  Expected expected = Expected::value;
  do {
    if (!open.empty()) white_space(out);
    const bool object = !open.empty() && open.back().bracket == '{';
    const std::string inside = open.empty() ? "" : object ? "object" : "list";
    const JsonPlace begin = open.empty() ? JsonPlace{} : open.back().place;
    const int byte = peek();
    const bool closes = !open.empty() && byte == (object ? '}' : ']');
    if (closes && expected != Expected::value && expected != Expected::key) {
      take(out);
      open.pop_back();
      expected = Expected::rest;
    } else if (expected == Expected::rest) {
      if (byte != ',') unexpected(object ? "',' or '}'" : "',' or ']'", inside, begin);
      take(out);
      expected = object ? Expected::key : Expected::value;
    } else if (expected == Expected::key || expected == Expected::first_key) {
      if (byte != '"') unexpected("a key in quotes", inside, begin);
      string(out);
      white_space(out);
      if (peek() != ':') unexpected("':'", inside, begin);
      take(out);
      expected = Expected::value;
    } else if (byte == '{' || byte == '[') {
      if (open.size() == max_depth_) {
        refuse(place_, fmt::format("nested deeper than {}", max_depth_), "no data set is; check the file");
      }
      open.push_back({static_cast<char>(byte), place_});
      take(out);
      expected = byte == '{' ? Expected::first_key : Expected::first_element;
    } else {
      const bool begins = byte == '"' || byte == '-' || is_json_digit(byte) || (byte >= 'a' && byte <= 'z') ||
                          byte == 'N' || byte == 'I';
      if (!begins) unexpected("a value", inside, begin);
      scalar(out);
      expected = Expected::rest;
    }
  } while (!open.empty());
}

void JsonScanner::scalar(std::string* out) {
  const int byte = peek();
  if (byte == '"') return string(out);
  if (byte == '-' || is_json_digit(byte)) return number(out);
  word(out);
}

void JsonScanner::word(std::string* out) {
  const JsonPlace begin = place_;
  const std::string_view bytes = input_.peek(9);
  std::size_t size = 0;
  while (size < bytes.size() && ((bytes[size] | 0x20) >= 'a' && (bytes[size] | 0x20) <= 'z')) ++size;
  const std::string_view found = bytes.substr(0, size);
  if (found == "true" || found == "false" || found == "null") return copy(out, size);
  const bool cut = size == bytes.size() && size < 5;
  if (found == "NaN" || found == "Infinity") {
    refuse(begin, fmt::format("{} is not JSON", found), "write null, or leave the member out");
  }
  refuse(begin, fmt::format("'{}' where a value is expected", found), cut ? cut_off_hint : broken_hint);
}

void JsonScanner::number(std::string* out) {
  const JsonPlace begin = place_;
  std::string text;
  const auto digits = [&] {
    if (!is_json_digit(peek())) unexpected("a digit", "number", begin);
    while (is_json_digit(peek())) {
      take(&text);
      if (text.size() > max_number_bytes) {
        refuse(begin, fmt::format("a number of more than {} digits", max_number_bytes), broken_hint);
      }
    }
  };
  if (peek() == '-') take(&text);
  if (peek() == 'I') refuse(begin, "-Infinity is not JSON", "write null, or leave the member out");
  if (peek() == '0') {
    take(&text);
    if (is_json_digit(peek())) refuse(begin, "a number with a 0 in front", broken_hint);
  } else {
    digits();
  }
  if (peek() == '.') {
    take(&text);
    digits();
  }
  if (peek() == 'e' || peek() == 'E') {
    take(&text);
    if (peek() == '+' || peek() == '-') take(&text);
    digits();
  }
  if (out != nullptr) *out += text;
  check_size(out);
}

void JsonScanner::string(std::string* out) {
  const JsonPlace begin = place_;
  take(out);
  for (;;) {
    text_of_string(out, begin);
    const int byte = peek();
    if (byte == '"') return take(out);
    if (byte == '\\') {
      escape(out, begin);
      continue;
    }
    if (byte < 0) unexpected("", "string", begin);
    const std::string shown = byte == 0      ? "NUL"
                              : byte == '\n' ? "the end of a line"
                                             : fmt::format("control character {:#04x}", byte);
    refuse(place_,
           fmt::format("{} inside of the string that begins at {}:{}", shown, begin.line, begin.column),
           "a quote is missing, or the character is to be written as an escape (\\n, \\t, \\u0000)");
  }
}

void JsonScanner::text_of_string(std::string* out, const JsonPlace& begin) {
  for (;;) {
    std::string_view bytes = input_.window();
    std::size_t size = 0;
    while (size < bytes.size() && bytes[size] != '"' && bytes[size] != '\\' &&
           static_cast<unsigned char>(bytes[size]) >= 0x20) {
      ++size;
    }
    const bool to_be_continued = size == bytes.size();
    bytes = bytes.substr(0, size);
    const std::size_t bad = first_invalid_byte(bytes);
    copy(out, bad);
    if (bad == size) {
      if (!to_be_continued || !input_.fill()) return;
      continue;
    }
    // A character may go on behind the window.
    if (to_be_continued && size - bad < 4 && input_.fill()) continue;
    if (!replace_invalid_) {
      refuse(
          place_,
          fmt::format("a byte that is not UTF-8, in the string that begins at {}:{}", begin.line,
                      begin.column),
          message(
              "convert it first (iconv -f LATIN1 -t UTF-8), or set `replace_invalid` to read U+FFFD for it"));
    }
    input_.take(invalid_length(input_.window().substr(0, size - bad), 0));
    ++place_.column;
    ++replaced_;
    if (out != nullptr) append_utf8(*out, 0xFFFD);
  }
}

char32_t JsonScanner::hex_digits(std::string* out, const JsonPlace& begin) {
  char32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    const int byte = peek();
    const int lower = byte | 0x20;
    if (byte < 0) unexpected("", "string", begin);
    if (!is_json_digit(byte) && (lower < 'a' || lower > 'f'))
      unexpected("a hexadecimal digit", "string", begin);
    value = value * 16 + static_cast<char32_t>(is_json_digit(byte) ? byte - '0' : lower - 'a' + 10);
    take(out);
  }
  return value;
}

void JsonScanner::escape(std::string* out, const JsonPlace& begin) {
  const auto high = [](char32_t unit) { return unit >= 0xD800 && unit < 0xDC00; };
  const auto low = [](char32_t unit) { return unit >= 0xDC00 && unit < 0xE000; };
  JsonPlace place = place_;
  std::string text;
  take(&text);
  const int byte = peek();
  if (byte < 0) unexpected("", "string", begin);
  if (byte != 'u') {
    if (std::string_view("\"\\/bfnrt").find(static_cast<char>(byte)) == std::string_view::npos) {
      unexpected("one of \" \\ / b f n r t u after a backslash", "string", begin);
    }
    take(&text);
    if (out != nullptr) *out += text;
    return;
  }
  take(&text);
  char32_t unit = hex_digits(&text, begin);
  // A high surrogate waits for its low one; every one that is alone is an error of its own.
  while (high(unit) && input_.peek(2) == "\\u") {
    const JsonPlace second_place = place_;
    std::string second;
    take(&second);
    take(&second);
    const char32_t next = hex_digits(&second, begin);
    if (low(next)) {
      if (out != nullptr) *out += text + second;
      return;
    }
    if (!replace_invalid_) break;
    ++replaced_;
    if (out != nullptr) *out += "\\ufffd";
    text = second;
    unit = next;
    place = second_place;
  }
  if (high(unit) || low(unit)) {
    if (!replace_invalid_) {
      refuse(place, fmt::format("a lone surrogate {}, which is not a character", text),
             message("the file was cut inside of a character; `replace_invalid` reads U+FFFD"));
    }
    ++replaced_;
    text = "\\ufffd";
  }
  if (out != nullptr) *out += text;
}

}  // namespace bigbird
