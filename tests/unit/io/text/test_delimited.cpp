// CSV and TSV: quotes, rows of one width, columns by name and number.
#include "lib/io/text/delimited.h"

#include <gtest/gtest.h>

#include "lib/core/log.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::TemporaryFolder;
using testing::write_text;

using Row = std::vector<std::string>;
using Rows = std::vector<Row>;

DelimitedOptions tabs(Quoting quoting = Quoting::none) {
  DelimitedOptions options;
  options.separator = '\t';
  options.quoting = quoting;
  return options;
}

DelimitedOptions without_header() {
  DelimitedOptions options;
  options.header = false;
  return options;
}

struct DelimitedFile {
  explicit DelimitedFile(const std::string& text) : path(folder / "x.csv") { write_text(path, text); }
  Rows rows(const DelimitedOptions& options = without_header()) const {
    DelimitedReader reader(path, options);
    Rows all;
    for (Row row; reader.next(row);) all.push_back(row);
    return all;
  }
  TemporaryFolder folder;
  std::string path;
};

TEST(Delimited, QuotedFieldsHoldSeparatorsQuotesAndNewlines) {
  const DelimitedFile file("\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\"\nplain,,\"\"\n");
  EXPECT_EQ(file.rows(), (Rows{{"a,b", "say \"hi\"", "two\nlines"}, {"plain", "", ""}}));
}

TEST(Delimited, CrlfEndsRowsAndIsOneNewlineInsideOfQuotes) {
  const DelimitedFile file("a,\"b\r\nc\"\r\nd,\"e\"\r\n");
  EXPECT_EQ(file.rows(), (Rows{{"a", "b\nc"}, {"d", "e"}}));
}

TEST(Delimited, QuotesInsideOfAnUnquotedFieldAreText) {
  const DelimitedFile file("5\" disk,a \"b\" c\n");
  EXPECT_EQ(file.rows(), (Rows{{"5\" disk", "a \"b\" c"}}));
}

TEST(Delimited, BlanksBelongToFields) {
  const DelimitedFile file(" a , b\n");
  EXPECT_EQ(file.rows(), (Rows{{" a ", " b"}}));
}

TEST(Delimited, AQuotedFieldMayEndTheFileWithoutANewline) {
  EXPECT_EQ(DelimitedFile("a,\"b\"").rows(), (Rows{{"a", "b"}}));
  EXPECT_EQ(DelimitedFile("a,\"\"").rows(), (Rows{{"a", ""}}));
  EXPECT_EQ(DelimitedFile("a,").rows(), (Rows{{"a", ""}}));
}

TEST(Delimited, BlankLinesInsideOfQuotesAreKept) {
  const DelimitedFile file("\"a\n\n\nb\",c\n");
  EXPECT_EQ(file.rows(), (Rows{{"a\n\n\nb", "c"}}));
}

TEST(Delimited, BlankLinesBetweenRowsAreSkippedUnlessRowsHaveOneField) {
  EXPECT_EQ(DelimitedFile("\na,b\n\nc,d\n\n").rows(), (Rows{{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ(DelimitedFile("a\n\nb\n").rows(), (Rows{{"a"}, {""}, {"b"}}));
}

TEST(Delimited, AQuoteThatIsNeverClosedNamesTheLineItOpensOn) {
  const DelimitedFile file("a,b\nc,d\ne,\"f\ng,h\ni,j\n");
  const auto error = error_of([&] { file.rows(); });
  expect_bad_input(error, "x.csv:3: ", "the quote that opens field 2 is never closed");
  EXPECT_NE(error->hint().find("`quoting`"), std::string::npos);
}

TEST(Delimited, TextBehindAClosingQuoteNamesTheLineOfTheOpeningOne) {
  const DelimitedFile file("a,b\n\"c\nd\"x,e\n");
  expect_bad_input(error_of([&] { file.rows(); }), "x.csv:2: ",
                   "after the closing quote of field 1 there is 'x...' where a comma is expected");
}

TEST(Delimited, RaggedRowsAreRefusedWithTheLineTheyBeginOn) {
  expect_bad_input(error_of([] { DelimitedFile("a,b\n\"c\nd\",e\nf\n").rows(); }),
                   "x.csv:4: ", "1 field where the first row has 2");
  DelimitedOptions header;
  expect_bad_input(error_of([&] { DelimitedFile("a,b\n1,\"2\n2\",3\n").rows(header); }),
                   "x.csv:2: ", "3 fields where the header has 2");
}

TEST(Delimited, RaggedRowsAreKeptWhereTheyAreCounted) {
  DelimitedOptions options = tabs();
  options.ragged = RaggedRows::kept;
  EXPECT_EQ(DelimitedFile("a\tb\n1\t2\t3\n4\n").rows(options), (Rows{{"1", "2", "3"}, {"4"}}));
}

TEST(Delimited, WithoutQuotingAQuoteIsText) {
  DelimitedOptions options = tabs();
  options.header = false;
  const DelimitedFile file("\"a\t\"b\" c\t\nx\ty\"\tz\n");
  EXPECT_EQ(file.rows(options), (Rows{{"\"a", "\"b\" c", ""}, {"x", "y\"", "z"}}));
}

TEST(Delimited, TabsSeparateQuotedFieldsToo) {
  const DelimitedFile file("a\tb\n\"1\t1\"\t2\n");
  EXPECT_EQ(file.rows(tabs(Quoting::doubled)), (Rows{{"1\t1", "2"}}));
}

// What the log says while rows are read.
std::string said_of(const DelimitedFile& file, const DelimitedOptions& options) {
  std::string said;
  set_log_sink([&](LogLevel, const std::string& line) { said += line.substr(line.find("x.csv")) + "\n"; });
  file.rows(options);
  set_log_sink({});
  return said;
}

TEST(Delimited, AutomaticQuotingIsThatOfTheForm) {
  DelimitedOptions automatic = tabs(Quoting::automatic);
  automatic.header = false;
  const DelimitedFile text("1\t\"a\n2\tb\" \"\n");
  EXPECT_EQ(text.rows(automatic), (Rows{{"1", "\"a"}, {"2", "b\" \""}}));
  EXPECT_EQ(said_of(text, automatic), "");
  const DelimitedFile quoted("\"id\"\t\"text\"\n1\t\"a\tb\"\n");
  EXPECT_EQ(quoted.rows(automatic), (Rows{{"id", "text"}, {"1", "a\tb"}}));
  EXPECT_EQ(DelimitedFile("a,\"b,c\"\n").rows(), (Rows{{"a", "b,c"}}));
}

TEST(Delimited, WhatMayBeMisreadIsSaid) {
  DelimitedOptions automatic = tabs(Quoting::automatic);
  EXPECT_EQ(
      said_of(DelimitedFile("id\ttext\n1\t\"a\"\n\n2\tb\rc\n"), automatic),
      "x.csv: 1 field with a tab or a line end inside, the first in the row of line 4\n"
      "x.csv: 1 field in quotes, the first in line 2: the quotes are read as text; set `quoting` csv where "
      "they are not\n"
      "x.csv: 1 empty line passed over\n");
  EXPECT_EQ(
      said_of(DelimitedFile("id,text\n1,\"a\nb\"\n2,\"c\td\"\n"), {}),
      "x.csv: 2 fields with a tab or a line end inside, the first in the row of line 2; where \" is text, "
      "set `quoting` none: every line is a row then\n");
  EXPECT_EQ(said_of(DelimitedFile("id\ttext\n1\t\"a\"\n"), tabs(Quoting::none)), "") << "as it was asked for";
}

TEST(Delimited, AHeaderStandsOnceAndInOneLine) {
  expect_bad_input(error_of([] { DelimitedFile("a,b\n1,2\na,b\n").rows({}); }),
                   "x.csv:3: ", "the header is here again");
  EXPECT_EQ(DelimitedFile("text\ntext\n").rows({}), (Rows{{"text"}})) << "of one column any text may be";
  expect_bad_input(error_of([] { DelimitedFile("a,b\r1,2\r3,4\r").rows({}); }),
                   "x.csv:1: ", "the header holds a carriage return");
}

TEST(Delimited, AnotherSeparatorIsToldByKnownNames) {
  const auto told = [](const std::string& text, char usual) {
    const DelimitedFile file(text);
    TextInput input(file.path);
    return separator_of_table(input, usual, [](const std::string& name) { return name == "text"; });
  };
  EXPECT_EQ(told("id;text\n1;a\n", ','), ';');
  EXPECT_EQ(told("id\t\"text\"\n", ','), '\t');
  EXPECT_EQ(told("id,text\n", '\t'), ',');
  EXPECT_EQ(told("id;word\n", ','), ',') << "no name is known";
  EXPECT_EQ(told("id,a;text\n", ','), ',') << "there are commas";
}

TEST(Delimited, ARowHoldsNothingOfTheRowBefore) {
  DelimitedOptions options = without_header();
  options.ragged = RaggedRows::kept;
  const DelimitedFile file("a,\"long field\",c\nb,\n\"\",x,y\n");
  DelimitedReader reader(file.path, options);
  Row row;  // the same one each time, as readers of large files do
  ASSERT_TRUE(reader.next(row));
  ASSERT_TRUE(reader.next(row));
  EXPECT_EQ(row, (Row{"b", ""}));
  ASSERT_TRUE(reader.next(row));
  EXPECT_EQ(row, (Row{"", "x", "y"}));
}

TEST(Delimited, ColumnsAreFoundByNameAndByNumberFromOne) {
  const DelimitedFile file("\xEF\xBB\xBFname,2,\"a, b\"\n1,2,3\n");
  DelimitedReader reader(file.path);
  EXPECT_EQ(reader.header(), (Row{"name", "2", "a, b"}));
  EXPECT_EQ(reader.column("name"), 0u);
  EXPECT_EQ(reader.column("a, b"), 2u);
  EXPECT_EQ(reader.column("3"), 2u);
  EXPECT_EQ(reader.column("1"), 0u);
  EXPECT_EQ(reader.column("2"), 1u);  // its name
  EXPECT_TRUE(reader.has_column("name"));
  for (const char* name : {"label", "0", "4", "-1", "1x", ""}) EXPECT_FALSE(reader.has_column(name)) << name;
}

TEST(Delimited, AColumnThatIsNotThereListsThoseThatAre) {
  const DelimitedFile file("sentence,label\na,b\n");
  DelimitedReader reader(file.path);
  const auto error = error_of([&] { reader.column("text"); });
  expect_bad_input(error, "x.csv", "no column 'text'");
  EXPECT_NE(error->hint().find("sentence, label"), std::string::npos) << error->hint();
  DelimitedReader numbers(file.path, without_header());
  const auto numbered = error_of([&] { numbers.column("3"); });
  expect_bad_input(numbered, "x.csv", "no column '3'");
  EXPECT_NE(numbered->hint().find("from 1 to 2"), std::string::npos) << numbered->hint();
}

TEST(Delimited, ANameTwiceIsRefusedOnceItIsAskedFor) {
  const DelimitedFile file("a,b,a\n1,2,3\n");
  DelimitedReader reader(file.path);
  EXPECT_EQ(reader.column("b"), 1u);
  expect_bad_input(error_of([&] { reader.column("a"); }), "x.csv", "two columns are named 'a'");
}

TEST(Delimited, AnEmptyFileHasNoHeaderAndWithoutOneNoRows) {
  const DelimitedFile file("");
  expect_bad_input(error_of([&] { DelimitedReader{file.path}; }), "x.csv", "no header");
  EXPECT_EQ(file.rows(), Rows{});
  DelimitedReader reader(file.path, without_header());
  EXPECT_EQ(reader.width(), 0u);
  EXPECT_EQ(reader.peek(), nullptr);
}

TEST(Delimited, TheFirstRowCanBeLookedAtAndMadeTheHeader) {
  const DelimitedFile file("a,b\n1,2\n");
  DelimitedReader reader(file.path, without_header());
  ASSERT_NE(reader.peek(), nullptr);
  EXPECT_EQ(*reader.peek(), (Row{"a", "b"}));
  EXPECT_EQ(reader.width(), 2u);
  reader.use_first_row_as_header();
  EXPECT_EQ(reader.column("b"), 1u);
  Row row;
  ASSERT_TRUE(reader.next(row));
  EXPECT_EQ(row, (Row{"1", "2"}));
  EXPECT_EQ(reader.where(), file.path + ":2");
  EXPECT_FALSE(reader.next(row));
}

TEST(Delimited, LinesAreThoseOfTheFileAcrossQuotedNewlines) {
  const DelimitedFile file("\"a\nb\",c\n\nd,e\n");
  DelimitedReader reader(file.path, without_header());
  Row row;
  ASSERT_TRUE(reader.next(row));
  EXPECT_EQ(reader.line_number(), 1u);
  ASSERT_TRUE(reader.next(row));
  EXPECT_EQ(reader.line_number(), 4u);
}

TEST(Delimited, BytesThatAreNotUtf8AreAnErrorOrReplaced) {
  const DelimitedFile file("a,b\nc,caf\xE9\n");
  expect_bad_input(error_of([&] { file.rows(); }), "x.csv:2: ", "byte 6 of the line is not UTF-8");
  DelimitedOptions options = without_header();
  options.replace_invalid = true;
  DelimitedReader reader(file.path, options);
  Row row;
  while (reader.next(row)) {
  }
  EXPECT_EQ(reader.replaced(), 1u);
}

}  // namespace
}  // namespace bigbird
