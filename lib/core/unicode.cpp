// Python's str over UTF-8, with ICU's tables of characters; see unicode.h.
#include "lib/core/unicode.h"

#include <fmt/format.h>
#include <unicode/ubrk.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/utext.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/unicode_borders.h"

namespace bigbird {
namespace {

constexpr char32_t replacement_character = 0xFFFD;
constexpr char32_t dotted_capital_i =
    0x130;  // the one letter with a longer small form: i, combining dot above
constexpr char32_t capital_sigma = 0x3A3;
constexpr char32_t small_sigma = 0x3C3;
constexpr char32_t final_sigma = 0x3C2;

constexpr bool is_ascii(char32_t c) {
  return c < 0x80;
}

constexpr bool is_ascii_letter(char32_t c) {
  return (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z');
}

constexpr bool is_ascii_digit(char32_t c) {
  return c >= U'0' && c <= U'9';
}

std::uint32_t category_of(char32_t c) {
  return U_GET_GC_MASK(static_cast<UChar32>(c));
}

bool has_property(char32_t c, UProperty property) {
  return u_hasBinaryProperty(static_cast<UChar32>(c), property) != 0;
}

// Python's rule (SpecialCasing's Final_Sigma): a cased letter before, none after, whatever ignorable
// characters lie between.
bool ends_a_word(std::string_view text, const CodePoint& sigma) {
  bool cased = false;
  for (std::size_t at = sigma.begin; at > 0;) {
    const CodePoint c = code_point_before(text, at);
    at = c.begin;
    if (has_property(c.value, UCHAR_CASE_IGNORABLE)) continue;
    cased = has_property(c.value, UCHAR_CASED);
    break;
  }
  if (!cased) return false;
  for (std::size_t at = sigma.end; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    at = c.end;
    if (has_property(c.value, UCHAR_CASE_IGNORABLE)) continue;
    return !has_property(c.value, UCHAR_CASED);
  }
  return true;
}

void check_icu(UErrorCode code) {
  if (U_FAILURE(code) != 0) {
    throw_environment(std::string("ICU cannot do its work: ") + u_errorName(code),
                      "its data must be installed with it");
  }
}

const UNormalizer2* normalizer_of(NormalForm form) {
  UErrorCode code = U_ZERO_ERROR;
  const UNormalizer2* found = nullptr;
  switch (form) {
    case NormalForm::nfc:
      found = unorm2_getNFCInstance(&code);
      break;
    case NormalForm::nfd:
      found = unorm2_getNFDInstance(&code);
      break;
    case NormalForm::nfkc:
      found = unorm2_getNFKCInstance(&code);
      break;
    case NormalForm::nfkd:
      found = unorm2_getNFKDInstance(&code);
      break;
  }
  check_icu(code);
  return found;
}

std::u16string utf16_of(std::string_view text) {
  std::u16string units;
  for (const CodePoint& c : CodePoints(text)) {
    if (c.value < 0x10000) {
      units += static_cast<char16_t>(c.value);
    } else {
      units += static_cast<char16_t>(0xd7c0 + (c.value >> 10));
      units += static_cast<char16_t>(0xdc00 + (c.value & 0x3ff));
    }
  }
  return units;
}

std::string utf8_of(std::u16string_view units) {
  std::string text;
  for (std::size_t i = 0; i < units.size(); ++i) {
    char32_t c = units[i];
    if (c >= 0xd800 && c < 0xdc00 && i + 1 < units.size())
      c = 0x10000 + ((c - 0xd800) << 10) + (units[++i] - 0xdc00);
    append_utf8(text, c);
  }
  return text;
}

// What lies between two borders of a kind, one stretch after the other.
void for_each_stretch(UBreakIteratorType kind, std::string_view text,
                      const std::function<void(std::string_view)>& take) {
  UErrorCode code = U_ZERO_ERROR;
  const std::unique_ptr<UBreakIterator, void (*)(UBreakIterator*)> breaks(
      ubrk_open(kind, "", nullptr, 0, &code), ubrk_close);
  check_icu(code);
  const std::unique_ptr<UText, UText* (*)(UText*)> source(
      utext_openUTF8(nullptr, text.data(), static_cast<std::int64_t>(text.size()), &code), utext_close);
  check_icu(code);
  ubrk_setUText(breaks.get(), source.get(), &code);
  check_icu(code);
  std::int32_t begin = ubrk_first(breaks.get());
  for (std::int32_t end = ubrk_next(breaks.get()); end != UBRK_DONE; end = ubrk_next(breaks.get())) {
    take(text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
    begin = end;
  }
}

// Whether a stretch of text ends in an abbreviation that a name follows: "Mr.", "J.", "U.S.".
bool is_abbreviation(std::string_view stretch) {
  constexpr std::array<std::string_view, 17> titles = {"capt", "col", "dr", "gen",  "gov", "lt",
                                                       "mr",   "mrs", "ms", "prof", "rep", "rev",
                                                       "sen",  "sgt", "st", "v",    "vs"};
  if (!stretch.ends_with('.')) return false;
  stretch.remove_suffix(1);
  std::size_t begin = stretch.size();
  while (begin > 0) {
    const CodePoint c = code_point_before(stretch, begin);
    if (!is_letter(c.value)) break;
    begin = c.begin;
  }
  const std::string word = lower(stretch.substr(begin));
  return count_code_points(word) == 1 || std::find(titles.begin(), titles.end(), word) != titles.end();
}

}  // namespace

bool is_white_space(char32_t c) {
  if (c <= 0xA0) return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0;
  return c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

bool is_ascii_punctuation(char32_t c) {
  return c > U' ' && c < 0x7F && !is_ascii_letter(c) && !is_ascii_digit(c);
}

bool is_letter(char32_t c) {
  return is_ascii(c) ? is_ascii_letter(c) : (category_of(c) & U_GC_L_MASK) != 0;
}

bool is_number(char32_t c) {
  return is_ascii(c) ? is_ascii_digit(c) : (category_of(c) & U_GC_N_MASK) != 0;
}

bool is_word_character(char32_t c) {
  if (is_ascii(c)) return is_ascii_letter(c) || is_ascii_digit(c) || c == U'_';
  return (category_of(c) & (U_GC_L_MASK | U_GC_N_MASK)) != 0;
}

CodePoint code_point_at(std::string_view text, std::size_t at) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  if (bytes[at] < 0x80) return {bytes[at], at, at + 1};
  // Four bytes are the longest character, so that ICU's 32-bit positions hold for any length of text.
  const auto length = static_cast<std::int32_t>(std::min<std::size_t>(4, text.size() - at));
  std::int32_t next = 0;
  UChar32 c = 0;
  U8_NEXT(bytes + at, next, length, c);
  if (c < 0) return {replacement_character, at, at + 1};
  return {static_cast<char32_t>(c), at, at + static_cast<std::size_t>(next)};
}

CodePoint code_point_before(std::string_view text, std::size_t end) {
  // The character that begins up to three bytes further left and ends here; else the last byte stands alone.
  for (std::size_t length = 1; length <= std::min<std::size_t>(4, end); ++length) {
    const CodePoint c = code_point_at(text.substr(0, end), end - length);
    if (c.end == end && (length > 1 || c.value != replacement_character)) return c;
  }
  return {replacement_character, end - 1, end};
}

std::size_t count_code_points(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) at = code_point_at(text, at).end;
  return count;
}

std::u32string decode_utf8(std::string_view text) {
  std::u32string code_points;
  code_points.reserve(text.size());
  for (const CodePoint& c : CodePoints(text)) code_points.push_back(c.value);
  return code_points;
}

void append_utf8(std::string& text, char32_t c) {
  const auto tail = [](char32_t bits) { return static_cast<char>(0x80 | (bits & 0x3F)); };
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xC0 | (c >> 6));
    text += tail(c);
  } else if (c < 0x10000) {
    text += static_cast<char>(0xE0 | (c >> 12));
    text += tail(c >> 6);
    text += tail(c);
  } else {
    text += static_cast<char>(0xF0 | (c >> 18));
    text += tail(c >> 12);
    text += tail(c >> 6);
    text += tail(c);
  }
}

std::string encode_utf8(std::u32string_view code_points) {
  std::string text;
  text.reserve(code_points.size());
  for (const char32_t c : code_points) append_utf8(text, c);
  return text;
}

std::size_t find_invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    // A U+FFFD of the text itself has three bytes.
    if (c.value == replacement_character && c.end - c.begin == 1) return at;
    at = c.end;
  }
  return text.size();
}

std::string lower(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const CodePoint& c : CodePoints(text)) {
    if (is_ascii(c.value)) {
      const bool capital = c.value >= U'A' && c.value <= U'Z';
      result += static_cast<char>(capital ? c.value + (U'a' - U'A') : c.value);
    } else if (c.value == dotted_capital_i) {
      result += "i\xCC\x87";
    } else if (c.value == capital_sigma) {
      append_utf8(result, ends_a_word(text, c) ? final_sigma : small_sigma);
    } else if (const auto small = static_cast<char32_t>(u_tolower(static_cast<UChar32>(c.value)));
               small != c.value) {
      append_utf8(result, small);
    } else {
      result += text.substr(c.begin, c.end - c.begin);
    }
  }
  return result;
}

std::vector<std::string_view> split_white_space(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t begin = 0;
  const auto close = [&](std::size_t end) {
    if (begin < end) words.push_back(text.substr(begin, end - begin));
  };
  for (const CodePoint& c : CodePoints(text)) {
    if (!is_white_space(c.value)) continue;
    close(c.begin);
    begin = c.end;
  }
  close(text.size());
  return words;
}

std::string_view strip_white_space_left(std::string_view text) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    const CodePoint c = code_point_at(text, begin);
    if (!is_white_space(c.value)) break;
    begin = c.end;
  }
  return text.substr(begin);
}

std::string_view strip_white_space(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    const CodePoint c = code_point_before(text, end);
    if (!is_white_space(c.value)) break;
    end = c.begin;
  }
  return strip_white_space_left(text.substr(0, end));
}

CodePointIndex::CodePointIndex(std::string_view text) : text_(text) {
  const bool ascii = std::all_of(text.begin(), text.end(),
                                 [](char byte) { return is_ascii(static_cast<unsigned char>(byte)); });
  if (ascii) {
    size_ = text.size();
    return;
  }
  for (std::size_t at = 0; at < text.size(); ++size_) {
    if (size_ % step == 0) marks_.push_back(at);
    at = code_point_at(text, at).end;
  }
}

std::size_t CodePointIndex::byte_of(std::size_t code_point) const {
  if (code_point > size_) {
    throw_bad_input(fmt::format("code point {} of a text that has {}", code_point, size_));
  }
  if (code_point == size_) return text_.size();
  if (marks_.empty()) return code_point;
  std::size_t at = marks_[code_point / step];
  for (std::size_t left = code_point % step; left > 0; --left) at = code_point_at(text_, at).end;
  return at;
}

std::size_t CodePointIndex::code_point_of(std::size_t byte) const {
  if (byte > text_.size()) throw_bad_input(fmt::format("byte {} of a text that has {}", byte, text_.size()));
  if (byte == text_.size()) return size_;
  if (marks_.empty()) return byte;
  const auto mark = std::upper_bound(marks_.begin(), marks_.end(), byte) - 1;
  std::size_t code_point = static_cast<std::size_t>(mark - marks_.begin()) * step;
  for (std::size_t at = *mark; (at = code_point_at(text_, at).end) <= byte;) ++code_point;
  return code_point;
}

std::string_view CodePointIndex::slice(std::size_t begin, std::size_t end) const {
  const std::size_t first = byte_of(begin);
  return text_.substr(first, byte_of(end) - first);
}

std::string lower_ascii(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return lower;
}

void for_each_normalized(std::string_view text, NormalForm form,
                         const std::function<void(std::string_view before, const std::string& after)>& part) {
  const UNormalizer2* normalizer = normalizer_of(form);
  std::size_t begin = 0;
  std::string after;
  const auto finish = [&](std::size_t end) {
    if (begin == end) return;
    const std::string_view before = text.substr(begin, end - begin);
    begin = end;
    const std::u16string units = utf16_of(before);
    std::vector<char16_t> normal(units.size() * 20 + 32);
    UErrorCode code = U_ZERO_ERROR;
    const std::int32_t size =
        unorm2_normalize(normalizer, units.data(), static_cast<std::int32_t>(units.size()), normal.data(),
                         static_cast<std::int32_t>(normal.size()), &code);
    check_icu(code);
    after = utf8_of({normal.data(), static_cast<std::size_t>(size)});
    part(before, after);
  };
  for (const CodePoint& c : CodePoints(text)) {
    if (unorm2_hasBoundaryBefore(normalizer, static_cast<UChar32>(c.value)) != 0) finish(c.begin);
  }
  finish(text.size());
}

void for_each_grapheme(std::string_view text, const std::function<void(std::string_view)>& take) {
  for_each_stretch(UBRK_CHARACTER, text, take);
}

std::vector<std::size_t> sentence_begins(std::string_view text) {
  std::vector<std::size_t> begins;
  bool ended = true;  // whether a sentence ends before the stretch at hand
  for_each_stretch(UBRK_SENTENCE, text, [&](std::string_view stretch) {
    const std::string_view words = strip_white_space(stretch);
    if (ended && (!words.empty() || begins.empty()))
      begins.push_back(static_cast<std::size_t>(stretch.data() - text.data()));
    if (words.empty()) {
      ended = ended && begins.back() != static_cast<std::size_t>(stretch.data() - text.data());
    } else {
      ended = stretch.ends_with('\n') || !is_abbreviation(words);
    }
  });
  return begins;
}

bool normalization_begins_at(char32_t c, NormalForm form) {
  return unorm2_hasBoundaryBefore(normalizer_of(form), static_cast<UChar32>(c)) != 0;
}

bool is_plain_in_graphemes(char32_t c) {
  const std::int32_t kind = u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_GRAPHEME_CLUSTER_BREAK);
  return kind == U_GCB_OTHER || kind == U_GCB_LV || kind == U_GCB_LVT;
}

}  // namespace bigbird
