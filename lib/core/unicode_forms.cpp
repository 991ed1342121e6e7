// Over ICU; see unicode_forms.h.
#include "lib/core/unicode_forms.h"

#include <unicode/ubrk.h>
#include <unicode/unorm2.h>
#include <unicode/utext.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/unicode.h"

namespace bigbird {
namespace {

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

}  // namespace

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
  UErrorCode code = U_ZERO_ERROR;
  const std::unique_ptr<UBreakIterator, void (*)(UBreakIterator*)> breaks(
      ubrk_open(UBRK_CHARACTER, "", nullptr, 0, &code), ubrk_close);
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

}  // namespace bigbird
