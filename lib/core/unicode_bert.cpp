// Characters as BERT's tokenizers class them; see unicode_bert.h.
#include "lib/core/unicode_bert.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "lib/core/unicode.h"

namespace bigbird {
namespace {

constexpr std::uint8_t newest_version = 8;  // of Unicode, in the tables of the tokenizers package

// Of a character that Unicode 8 has: 0 for others.
std::uint32_t category_in_bert(char32_t c) {
  const auto character = static_cast<UChar32>(c);
  UVersionInfo age;
  u_charAge(character, age);
  return age[0] <= newest_version ? U_GET_GC_MASK(character) : 0;
}

// Characters whose category has changed since.
constexpr char32_t canadian_chi_sign = 0x166D;     // punctuation then
constexpr char32_t sharada_sandhi_mark = 0x111C9;  // punctuation then
constexpr char32_t hanunoo_pamudpod = 0x1734;      // a nonspacing mark then
constexpr std::array<char32_t, 4> no_accents{0x1885, 0x1886, 0xA9BD, sharada_sandhi_mark};  // nonspacing now

constexpr std::array<std::pair<char32_t, char32_t>, 7> ideographs{{{0x3400, 0x4DBF},
                                                                   {0x4E00, 0x9FFF},
                                                                   {0xF900, 0xFAFF},
                                                                   {0x20000, 0x2A6DF},
                                                                   {0x2A700, 0x2B81F},
                                                                   {0x2B920, 0x2CEAF},
                                                                   {0x2F800, 0x2FA1F}}};

}  // namespace

bool is_bert_control(char32_t c) {
  if (c == 0 || c == 0xFFFD) return true;
  if (c == U'\t' || c == U'\n' || c == U'\r') return false;
  return (category_in_bert(c) & (U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK)) != 0;
}

bool is_bert_punctuation(char32_t c) {
  if (c < 0x80) return is_ascii_punctuation(c);
  return c == canadian_chi_sign || c == sharada_sandhi_mark || (category_in_bert(c) & U_GC_P_MASK) != 0;
}

bool is_bert_accent(char32_t c) {
  if (std::find(no_accents.begin(), no_accents.end(), c) != no_accents.end()) return false;
  return c == hanunoo_pamudpod || (category_in_bert(c) & U_GC_MN_MASK) != 0;
}

bool is_bert_ideograph(char32_t c) {
  return std::any_of(ideographs.begin(), ideographs.end(),
                     [&](const auto& range) { return range.first <= c && c <= range.second; });
}

}  // namespace bigbird
