// Text from the standard input, which can be read once: its format is told from its first bytes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/io/text/documents.h"
#include "lib/io/text/json_records.h"
#include "lib/io/text/labelled_texts.h"
#include "lib/io/text/text_lines.h"
#include "tests/support/standard_input.h"

namespace bigbird {
namespace {

using testing::PipedInput;

std::string first_text(const std::string& bytes) {
  const PipedInput input(bytes);
  LabelledTexts texts("-");
  LabelledText row;
  return texts.next(row) ? row.place + " " + row.text + " " + row.labels.at(0) : "";
}

TEST(TextStandardInput, TablesAndJsonAreTold) {
  EXPECT_EQ(first_text("text,label\na b,1\n"), "-:2 a b 1");
  EXPECT_EQ(first_text("text\tlabel\na,b\t1\n"), "-:2 a,b 1");
  EXPECT_EQ(first_text("\n {\"text\": \"a\", \"label\": \"x\"}\n"), "-:2 a x");
  EXPECT_EQ(first_text("[{\"text\": \"a\", \"label\": \"x\"}]"), "-:1:2 a x");
}

TEST(TextStandardInput, LinesWithoutATableKeepTheirFirst) {
  const auto texts_of = [](const std::string& bytes) {
    const PipedInput input(bytes);
    LabelledTextOptions options;
    options.labels = Labels::ignored;
    LabelledTexts texts("-", options);
    std::string all;
    for (LabelledText row; texts.next(row);) all += row.id + ":" + row.text + "|";
    return all;
  };
  EXPECT_EQ(texts_of("A good film.\n\nA bad one."), "0:A good film.|1:|2:A bad one.|");
  EXPECT_EQ(texts_of("good, but long\nbad\n"), "0:good, but long|1:bad|");
  EXPECT_EQ(texts_of("text\na\n"), "0:a|");
  EXPECT_EQ(texts_of("review,stars\na b,5\n"), "0:a b|") << "words with commas between them are names";
  EXPECT_EQ(texts_of("id;text\n7;a, b\n"), "7:a, b|");
  EXPECT_EQ(texts_of("a b\tc d\ne\tf\n"), "0:a b|1:e|") << "a table without names";
  EXPECT_EQ(texts_of("[sic] a\n"), "0:[sic] a|");
}

TEST(TextStandardInput, DocumentsOfEveryFormatAreTold) {
  const auto first_document = [](const std::string& bytes) {
    const PipedInput input(bytes);
    TextDocuments documents({"-"});
    TextDocument document;
    return documents.next(document) ? document.name + " " + document.lines.at(0) : "";
  };
  EXPECT_EQ(first_document("\na\nb\n"), "-:2 a");
  EXPECT_EQ(first_document("{\"text\": \"a\"}\n"), "-:1 a");
  EXPECT_EQ(first_document(" \n = T = \n \n a \n"), "T  = T = ");
  EXPECT_EQ(first_document("<doc id=\"1\" url=\"u\" title=\"T\">\nT\n\na\n</doc>\n"), "T a");
}

TEST(TextStandardInput, LinesAndRecordsAreRead) {
  {
    const PipedInput input("a\r\nb");
    TextLines lines("-");
    std::string_view line;
    ASSERT_TRUE(lines.next(line));
    ASSERT_TRUE(lines.next(line));
    EXPECT_EQ(lines.where() + " " + std::string(line), "-:2 b");
  }
  const PipedInput input("{\"data\": [1, 2]}");
  JsonRecordsOptions options;
  options.list_keys = {"data"};
  JsonRecords records("-", options);
  JsonRecord record;
  ASSERT_TRUE(records.next(record));
  ASSERT_TRUE(records.next(record));
  EXPECT_EQ(record.json, "2");
  EXPECT_FALSE(records.next(record));
}

}  // namespace
}  // namespace bigbird
