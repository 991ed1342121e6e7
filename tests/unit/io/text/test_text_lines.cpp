// Lines of text: ends of lines, UTF-8 or not, compression, and single texts.
#include "lib/io/text/text_lines.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "lib/core/unicode.h"
#include "lib/io/files/file.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::read_text;
using testing::TemporaryFolder;
using testing::write_text;

std::vector<std::string> lines_of(const std::string& path, bool replace_invalid = false) {
  TextLines lines(path, replace_invalid);
  std::vector<std::string> all;
  for (std::string_view line; lines.next(line);) all.emplace_back(line);
  return all;
}

std::vector<std::string> lines_of_text(const std::string& text) {
  const TemporaryFolder folder;
  write_text(folder / "x.txt", text);
  return lines_of(folder / "x.txt");
}

using Lines = std::vector<std::string>;

TEST(TextLines, LinesEndAtLineFeedWithOrWithoutCarriageReturn) {
  EXPECT_EQ(lines_of_text("a\nb\r\nc\n"), (Lines{"a", "b", "c"}));
  EXPECT_EQ(lines_of_text("a\r\r\nb"), (Lines{"a\r", "b"}));
}

TEST(TextLines, ACarriageReturnInsideOfALineIsText) {
  EXPECT_EQ(lines_of_text("a\rb\nc"), (Lines{"a\rb", "c"}));
}

TEST(TextLines, ALoneCarriageReturnAtTheEndOfTheFileIsALineEnd) {
  EXPECT_EQ(lines_of_text("a\nb\r"), (Lines{"a", "b"}));
}

TEST(TextLines, OtherUnicodeLineSeparatorsAreText) {
  EXPECT_EQ(lines_of_text("a\xC2\x85"
                          "b\xE2\x80\xA8"
                          "c\x0B\x0C\nd"),
            (Lines{"a\xC2\x85"
                   "b\xE2\x80\xA8"
                   "c\x0B\x0C",
                   "d"}));
}

TEST(TextLines, TheLastLineNeedsNoEnd) {
  EXPECT_EQ(lines_of_text("a\nb"), (Lines{"a", "b"}));
  EXPECT_EQ(lines_of_text("\n\n"), (Lines{"", ""}));
  EXPECT_EQ(lines_of_text(""), Lines{});
}

TEST(TextLines, AByteOrderMarkIsDroppedAtTheBeginOnly) {
  EXPECT_EQ(lines_of_text("\xEF\xBB\xBF"
                          "a\n\xEF\xBB\xBF"
                          "b\n"),
            (Lines{"a",
                   "\xEF\xBB\xBF"
                   "b"}));
  EXPECT_EQ(lines_of_text("\xEF\xBB\xBF"), Lines{});
}

TEST(TextLines, UTF16AndUTF32AreNamed) {
  const TemporaryFolder folder;
  write_text(folder / "le.txt", std::string("\xFF\xFE"
                                            "a\0\n\0",
                                            6));
  expect_bad_input(error_of([&] { TextLines{folder / "le.txt"}; }), "le.txt", "is UTF-16");
  write_text(folder / "be.txt", std::string("\xFE\xFF\0a", 4));
  expect_bad_input(error_of([&] { TextLines{folder / "be.txt"}; }), "be.txt", "is UTF-16");
  write_text(folder / "32.txt", std::string("\xFF\xFE\0\0a\0\0\0", 8));
  const auto error = error_of([&] { TextLines{folder / "32.txt"}; });
  expect_bad_input(error, "32.txt", "is UTF-32");
  EXPECT_NE(error->hint().find("iconv"), std::string::npos);
}

TEST(TextLines, AByteThatIsNotUtf8NamesLineAndByte) {
  const TemporaryFolder folder;
  write_text(folder / "x.txt", "good\ncaf\xC3\xA9 and caf\xE9 in Latin-1\n");
  const auto error = error_of([&] { lines_of(folder / "x.txt"); });
  expect_bad_input(error, "x.txt:2: ", "byte 14 of the line is not UTF-8");
  EXPECT_NE(error->hint().find("iconv"), std::string::npos);
  EXPECT_NE(error->hint().find("`replace_invalid`"), std::string::npos);
}

TEST(TextLines, SurrogatesOverlongFormsAndWhatIsAboveTheLastCodePointAreNotUtf8) {
  for (const char* bytes :
       {"\xED\xA0\x80", "\xC0\x80", "\xE0\x80\x80", "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\x80", "\xFF"}) {
    const TemporaryFolder folder;
    write_text(folder / "x.txt", std::string("ab") + bytes + "\n");
    expect_bad_input(error_of([&] { lines_of(folder / "x.txt"); }),
                     "x.txt:1: ", "byte 3 of the line is not UTF-8");
  }
}

TEST(TextLines, ACharacterCutOffByTheEndOfTheLineIsNotUtf8) {
  const TemporaryFolder folder;
  write_text(folder / "x.txt", "a\xE2\x82\nb");
  expect_bad_input(error_of([&] { lines_of(folder / "x.txt"); }),
                   "x.txt:1: ", "byte 2 of the line is not UTF-8");
}

TEST(TextLines, ReplacedBytesAreCountedByTheReplacementCharactersPutIn) {
  const TemporaryFolder folder;
  // Three bytes of four: one; a stray continuation: one; E9 before a letter: one; surrogate: one for each
  // byte.
  write_text(folder / "x.txt", "\xF0\x9F\x98|\x80|\xE9t\xE9\n\xED\xA0\x80\n");
  TextLines lines(folder / "x.txt", true);
  std::string_view line;
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line, "\uFFFD|\uFFFD|\uFFFDt\uFFFD");
  EXPECT_EQ(lines.replaced(), 4u);
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line, "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(lines.replaced(), 7u);
}

TEST(TextLines, ReplacementCharactersOfTheTextItselfAreNotCounted) {
  const TemporaryFolder folder;
  write_text(folder / "x.txt", "a\uFFFDb\n");
  TextLines lines(folder / "x.txt", true);
  std::string_view line;
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line, "a\uFFFDb");
  EXPECT_EQ(lines.replaced(), 0u);
}

TEST(TextLines, NulIsAnErrorWhateverIsReplaced) {
  const TemporaryFolder folder;
  write_text(folder / "x.txt", std::string("a\nb\0c\n", 6));
  for (const bool replace : {false, true}) {
    expect_bad_input(error_of([&] { lines_of(folder / "x.txt", replace); }),
                     "x.txt:2: ", "byte 2 of the line is NUL");
  }
}

TEST(TextLines, LinesOfBgzfAndOfLinesLongerThanABufferAreWhole) {
  const TemporaryFolder folder;
  std::string text;
  Lines expected;
  for (std::size_t i = 0; i < 40; ++i) {
    // Characters of two bytes, so that some lie across the border of two reads.
    std::string line(i % 7 == 0 ? 1 : 0, 'x');
    for (std::size_t j = 0; j < i * 2000; ++j) line += "\xC3\xA9";
    expected.push_back(line);
    text += line + "\n";
  }
  OutputStream out(folder / "x.txt.gz");
  out.write(text);
  out.close();
  EXPECT_EQ(lines_of(folder / "x.txt.gz"), expected);
}

TEST(TextLines, ACutOffGzipFileIsAnError) {
  const TemporaryFolder folder;
  write_text(folder / "whole.txt", std::string(5000, 'a') + "\n");
  ASSERT_EQ(testing::run_program({"gzip", "-k", (folder / "whole.txt").string()}).status, 0);
  const std::string bytes = read_text(folder / "whole.txt.gz");
  for (const std::size_t kept : {bytes.size() - 1, bytes.size() / 2, std::size_t{20}, std::size_t{8}}) {
    write_text(folder / "cut.txt.gz", bytes.substr(0, kept));
    expect_bad_input(error_of([&] { lines_of(folder / "cut.txt.gz"); }), "cut.txt.gz",
                     "damaged or cut short");
  }
}

TEST(TextLines, WhereNamesTheLineReturnedLast) {
  const TemporaryFolder folder;
  write_text(folder / "x.txt", "a\nb\n");
  TextLines lines(folder / "x.txt");
  EXPECT_EQ(lines.line_number(), 0u);
  std::string_view line;
  lines.next(line);
  lines.next(line);
  EXPECT_EQ(lines.where(), (folder / "x.txt").string() + ":2");
  EXPECT_FALSE(lines.next(line));
}

TEST(CheckedText, ATextOfTheCommandLineFollowsTheRulesOfFiles) {
  EXPECT_EQ(checked_text("caf\xC3\xA9", "`text`"), "caf\xC3\xA9");
  expect_bad_input(error_of([] { checked_text("caf\xE9", "`question`"); }),
                   "`question`: ", "byte 4 is not UTF-8");
  expect_bad_input(error_of([] { checked_text(std::string_view("a\0b", 3), "`text`", true); }),
                   "`text`: ", "byte 2 is NUL");
  EXPECT_EQ(checked_text("caf\xE9!", "`text`", true), "caf\uFFFD!");
}

TEST(CheckedText, RepairedTextIsUtf8AndKeepsWhatWasRight) {
  // Every string of three of these bytes: what comes out is UTF-8, and whatever was UTF-8 comes out
  // unchanged.
  const std::string bytes("a\x80\xBF\xC2\xE0\xA0\xED\x9F\xF0\x90\xF4\x8F\xFF");
  for (const char first : bytes) {
    for (const char second : bytes) {
      for (const char third : bytes) {
        const std::string text{first, second, third};
        std::uint64_t replaced = 0;
        const std::string repaired = replace_invalid_utf8(text, replaced);
        EXPECT_EQ(find_invalid_utf8(repaired), repaired.size());
        EXPECT_EQ(replaced == 0, repaired == text);
        EXPECT_EQ(first_invalid_byte(text), find_invalid_utf8(text));
        std::string longer = "12345678" + text;
        EXPECT_EQ(first_invalid_byte(longer), find_invalid_utf8(longer));
      }
    }
  }
}

TEST(TextForMessage, IsOneLineAndCutAtACharacter) {
  EXPECT_EQ(text_for_message("a\nb\tc\x7F"), "a?b?c?");
  // U+009B, with which some terminals begin a sequence of commands; U+00A9 and U+04DB are letters and signs.
  EXPECT_EQ(text_for_message("a\xC2\x9B"
                             "31m \xC2\xA9 \xD3\x9B"),
            "a?31m \xC2\xA9 \xD3\x9B");
  EXPECT_EQ(text_for_message("\xC3\xA9\xC3\xA9\xC3\xA9", 2), "\xC3\xA9\xC3\xA9...");
}

TEST(IsBlank, AllWhiteSpaceOfUnicodeIsBlank) {
  EXPECT_TRUE(is_blank(""));
  EXPECT_TRUE(is_blank(" \t\u00A0\u3000\u2028"));
  EXPECT_FALSE(is_blank(" . "));
  EXPECT_FALSE(is_blank("\u200B"));  // a zero-width space is none in Python either
}

}  // namespace
}  // namespace bigbird
