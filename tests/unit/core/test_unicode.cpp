// Python's str over UTF-8. Expected values are what Python 3.11 answers.
#include "lib/core/unicode.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/core/unicode_borders.h"

namespace bigbird {
namespace {

using Words = std::vector<std::string_view>;

std::vector<char32_t> accepted_by(bool (*property)(char32_t)) {
  std::vector<char32_t> accepted;
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (property(c)) accepted.push_back(c);
  }
  return accepted;
}

// Code points of one to four bytes, by the stream of random numbers.
std::u32string random_code_points(CounterRng& rng, std::size_t count) {
  std::u32string text;
  while (text.size() < count) {
    constexpr char32_t bounds[] = {0x80, 0x800, 0x10000, 0x110000};
    const auto c = static_cast<char32_t>(rng.below(bounds[rng.below(4)]));
    if (c < 0xD800 || c > 0xDFFF) text += c;
  }
  return text;
}

TEST(Unicode, WhiteSpaceIsExactlyThatOfPythonsSplit) {
  EXPECT_EQ(
      accepted_by(is_white_space),
      (std::vector<char32_t>{0x09,   0x0A,   0x0B,   0x0C,   0x0D,   0x1C,   0x1D,   0x1E,   0x1F,   0x20,
                             0x85,   0xA0,   0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006,
                             0x2007, 0x2008, 0x2009, 0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}));
}

TEST(Unicode, PunctuationIsExactlyThe32SignsOfAscii) {
  const std::u32string signs = U"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
  EXPECT_EQ(accepted_by(is_ascii_punctuation), (std::vector<char32_t>(signs.begin(), signs.end())));
}

TEST(Unicode, LettersNumbersAndWordCharacters) {
  for (const char32_t c : U"aZ\u00E9\u00DF\u03A3\u0430\u4E2D\u05D0\u02B0\u01C5\U00010400") {
    if (c == 0) continue;
    EXPECT_TRUE(is_letter(c) && is_word_character(c)) << static_cast<std::uint32_t>(c);
    EXPECT_FALSE(is_number(c)) << static_cast<std::uint32_t>(c);
  }
  for (const char32_t c : U"09\u0663\u00BD\u00B2\u2167\U0001D7CE") {
    if (c == 0) continue;
    EXPECT_TRUE(is_number(c) && is_word_character(c)) << static_cast<std::uint32_t>(c);
    EXPECT_FALSE(is_letter(c)) << static_cast<std::uint32_t>(c);
  }
  // Combining marks, joiners, signs and a circled letter (category So) are none; '_' is a word character
  // alone.
  for (const char32_t c : U"\u0301\u0345\u200D\u2019-'\u24B6\U0001F600 ") {
    EXPECT_FALSE(is_word_character(c) || is_letter(c) || is_number(c)) << static_cast<std::uint32_t>(c);
  }
  EXPECT_TRUE(is_word_character(U'_'));
  EXPECT_FALSE(is_letter(U'_') || is_number(U'_') || is_ascii_punctuation(U'a'));
}

TEST(Unicode, LowerMapsEveryScriptAndKeepsTheRest) {
  EXPECT_EQ(lower(""), "");
  EXPECT_EQ(lower("The END, 42!"), "the end, 42!");
  EXPECT_EQ(lower("ÉCOLE Ünïcode"), "école ünïcode");
  EXPECT_EQ(lower("МОСКВА"), "москва");
  EXPECT_EQ(lower("\u01C4\u01C5 \u212A \u1E9E \u00DF"), "\u01C6\u01C6 k \u00DF \u00DF");
  EXPECT_EQ(lower("\U00010400\u13A0\u2160\u24B6"), "\U00010428\uAB70\u2170\u24D0");
  EXPECT_EQ(lower("\u4E2D\u0301\u0131"), "\u4E2D\u0301\u0131");
}

TEST(Unicode, LowerOfDottedCapitalIIsTwoCodePoints) {
  EXPECT_EQ(lower("\u0130stanbul \u0130"), "i\u0307stanbul i\u0307");
  EXPECT_EQ(count_code_points(lower("\u0130")), 2U);
}

TEST(Unicode, LowerOfSigmaDependsOnWhatIsAroundIt) {
  EXPECT_EQ(lower("\u03A3"), "\u03C3");                            // alone
  EXPECT_EQ(lower("\u0391\u03A3"), "\u03B1\u03C2");                // at the end
  EXPECT_EQ(lower("\u0391\u03A3 \u0391"), "\u03B1\u03C2 \u03B1");  // before a blank
  EXPECT_EQ(lower("\u0391\u03A3\u0391"), "\u03B1\u03C3\u03B1");    // inside
  EXPECT_EQ(lower("\u0391\u03A3'\u0391"), "\u03B1\u03C3'\u03B1");  // an apostrophe is ignorable
  EXPECT_EQ(lower("\u0391\u03A3'. "), "\u03B1\u03C2'. ");          // and so is a full stop
  EXPECT_EQ(lower("\u0391\u0301\u03A3"), "\u03B1\u0301\u03C2");    // an accent between
  EXPECT_EQ(lower(" .\u03A3"), " .\u03C3");                        // nothing cased before
  EXPECT_EQ(lower("\u0391\u03A3\u03A3"), "\u03B1\u03C3\u03C2");    // two
  EXPECT_EQ(lower("1\u03A3"), "1\u03C3");                          // a digit has no case
  EXPECT_EQ(lower("A\u03A3_\u0391"), "a\u03C2_\u03B1");            // '_' is not ignorable
  EXPECT_EQ(lower("\u0391\u03A3\u02B0"), "\u03B1\u03C2\u02B0");    // cased, but ignorable first
}

TEST(Unicode, SplitAtWhiteSpaceOfEveryKind) {
  EXPECT_EQ(split_white_space(""), Words{});
  EXPECT_EQ(split_white_space(" \t\u2003\u0085"), Words{});
  EXPECT_EQ(split_white_space("one"), Words{"one"});
  EXPECT_EQ(split_white_space("  a\u2003b\u00A0c\x1C"
                              "d\u3000\n"),
            (Words{"a", "b", "c", "d"}));
  // Zero-width space, byte order mark and Mongolian vowel separator are no white space.
  EXPECT_EQ(split_white_space("a\u200Bb\uFEFFc\u180Ed"), (Words{"a\u200Bb\uFEFFc\u180Ed"}));
}

TEST(Unicode, StripTakesWhiteSpaceFromTheEndsOnly) {
  EXPECT_EQ(strip_white_space("\u2003 a b\u00A0\n"), "a b");
  EXPECT_EQ(strip_white_space_left("\u2003 a b \n"), "a b \n");
  EXPECT_EQ(strip_white_space(" \u3000 "), "");
  EXPECT_EQ(strip_white_space("é"), "é");
  EXPECT_EQ(strip_white_space(""), "");
}

TEST(Unicode, CodePointsAreReadForwardsAndBackwards) {
  const std::string text = "a\u00E9\u4E2D\U0001F600\uFFFD";
  std::vector<CodePoint> read;
  for (const CodePoint& c : CodePoints(text)) read.push_back(c);
  ASSERT_EQ(read.size(), 5U);
  const std::vector<char32_t> values = {U'a', 0xE9, 0x4E2D, 0x1F600, 0xFFFD};
  const std::vector<std::size_t> begins = {0, 1, 3, 6, 10};
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].value, values[i]);
    EXPECT_EQ(read[i].begin, begins[i]);
    const CodePoint back = code_point_before(text, read[i].end);
    EXPECT_EQ(back.value, values[i]);
    EXPECT_EQ(back.begin, begins[i]);
    EXPECT_EQ(back.end, read[i].end);
  }
  EXPECT_EQ(read.back().end, text.size());
  EXPECT_TRUE(CodePoints("").begin() == CodePoints("").end());
}

TEST(Unicode, DecodingAndEncodingAreInverse) {
  CounterRng rng(3, Purpose::test, 0);
  for (int round = 0; round < 200; ++round) {
    const std::u32string code_points = random_code_points(rng, rng.below(40));
    const std::string text = encode_utf8(code_points);
    EXPECT_EQ(decode_utf8(text), code_points);
    EXPECT_EQ(count_code_points(text), code_points.size());
    EXPECT_EQ(find_invalid_utf8(text), text.size());
  }
}

TEST(Unicode, InvalidBytesAreFoundAndCountOneByOne) {
  struct Case {
    std::string text;
    std::size_t bad;          // first byte of no character
    std::size_t code_points;  // with one U+FFFD for every such byte
  };
  const std::vector<Case> cases = {
      {"ab\xFFyz", 2, 5},           // no lead byte
      {"\xC3", 0, 1},               // cut off
      {"a\xE4\xB8", 1, 3},          // cut off after two of three
      {"\x80\x80", 0, 2},           // nothing but followers
      {"\xC0\xAF", 0, 2},           // overlong
      {"\xED\xA0\x80", 0, 3},       // a surrogate
      {"\xF4\x90\x80\x80", 0, 4},   // above U+10FFFF
      {"\xE4\xB8\xAD\xC3(", 3, 3},  // a lead byte without its follower
  };
  for (const Case& c : cases) {
    EXPECT_EQ(find_invalid_utf8(c.text), c.bad);
    EXPECT_EQ(count_code_points(c.text), c.code_points);
    EXPECT_EQ(lower(c.text), c.text);
    std::size_t backwards = 0;
    for (std::size_t end = c.text.size(); end > 0; end = code_point_before(c.text, end).begin) ++backwards;
    EXPECT_EQ(backwards, c.code_points);
  }
  EXPECT_EQ(find_invalid_utf8("\uFFFD"), 3U);  // the character itself is valid
}

TEST(CodePointIndex, AsciiIsItsOwnIndex) {
  const std::string text = "plain text";
  const CodePointIndex index(text);
  EXPECT_EQ(index.size(), 10U);
  EXPECT_EQ(index.byte_of(6), 6U);
  EXPECT_EQ(index.code_point_of(10), 10U);
  EXPECT_EQ(index.slice(6, 10), "text");
  EXPECT_EQ(CodePointIndex("").size(), 0U);
  EXPECT_EQ(CodePointIndex("").byte_of(0), 0U);
}

TEST(CodePointIndex, AgreesWithCountingOverTextsOfEveryLength) {
  CounterRng rng(4, Purpose::test, 0);
  for (std::size_t length = 1; length < 400; length += 1 + length / 8) {
    const std::u32string code_points = random_code_points(rng, length);
    const std::string text = encode_utf8(code_points);
    const CodePointIndex index(text);
    ASSERT_EQ(index.size(), length);
    std::size_t byte = 0;
    for (std::size_t i = 0; i < length; ++i) {
      EXPECT_EQ(index.byte_of(i), byte);
      std::string one;
      append_utf8(one, code_points[i]);
      // Every byte of a character belongs to its code point.
      for (std::size_t k = 0; k < one.size(); ++k) EXPECT_EQ(index.code_point_of(byte + k), i);
      EXPECT_EQ(index.slice(i, i + 1), one);
      byte += one.size();
    }
    EXPECT_EQ(index.byte_of(length), text.size());
    EXPECT_EQ(index.code_point_of(text.size()), length);
    EXPECT_EQ(index.slice(0, length), text);
    EXPECT_EQ(index.slice(length / 2, length / 2), "");
  }
}

TEST(CodePointIndex, PositionsBeyondTheTextAreErrors) {
  const std::string text = "d\u00E9j\u00E0";
  const CodePointIndex index(text);
  EXPECT_EQ(index.size(), 4U);
  EXPECT_THROW(index.byte_of(5), Error);
  EXPECT_THROW(index.code_point_of(7), Error);
  EXPECT_THROW(index.slice(0, 5), Error);
}

// The sentences of a text, each with the white space after it.
std::vector<std::string> sentences_of(const std::string& text) {
  const std::vector<std::size_t> begins = sentence_begins(text);
  std::vector<std::string> sentences;
  for (std::size_t i = 0; i < begins.size(); ++i)
    sentences.push_back(
        text.substr(begins[i], (i + 1 < begins.size() ? begins[i + 1] : text.size()) - begins[i]));
  return sentences;
}

TEST(SentenceBegins, AreWhereASentenceEnds) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(sentences_of("He slept! \"Did he?\" Yes."), (Texts{"He slept! ", "\"Did he?\" ", "Yes."}));
  EXPECT_EQ(sentences_of("A line\nand  a line.\n\nThe end"),
            (Texts{"A line\n", "and  a line.\n\n", "The end"}));
  EXPECT_EQ(sentences_of("\n \nA"), (Texts{"\n \nA"}));
  EXPECT_EQ(sentences_of("It is 3.5 km. caf\u00E9s are. \u00C9t\u00E9."),
            (Texts{"It is 3.5 km. caf\u00E9s are. ", "\u00C9t\u00E9."}))
      << "not before a small letter";
  EXPECT_EQ(sentences_of("No border"), Texts{"No border"});
  EXPECT_TRUE(sentences_of("").empty());
  EXPECT_EQ(sentences_of(" \n"), Texts{" \n"});
}

TEST(SentenceBegins, NamesAreWhole) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(sentences_of("Dr. Smith met J. R. Doe. He left."),
            (Texts{"Dr. Smith met J. R. Doe. ", "He left."}));
  EXPECT_EQ(sentences_of("The U.S. Navy v. Smith. It won."), (Texts{"The U.S. Navy v. Smith. ", "It won."}));
  EXPECT_EQ(sentences_of("By J.\nNext line"), (Texts{"By J.\n", "Next line"})) << "a line ends all the same";
}

}  // namespace
}  // namespace bigbird
