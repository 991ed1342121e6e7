// CSV and TSV: quotes, rows of one width, columns by name and number.
#include "lib/io/text/delimited.h"

#include <gtest/gtest.h>

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
