// Labelled texts: every format, which columns are read, and rows that are refused.
#include "lib/io/text/labelled_texts.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::expect_message;
using testing::TemporaryFolder;
using testing::write_text;

// A row as one line: id|text|pair|labels.
std::string shown(const LabelledText& row) {
  std::string labels;
  for (const std::string& label : row.labels) labels += (labels.empty() ? "" : "+") + label;
  return row.id + "|" + row.text + "|" + row.pair.value_or("-") + "|" + labels;
}

std::vector<std::string> shown_rows(const std::string& path, const LabelledTextOptions& options = {}) {
  LabelledTexts texts(path, options);
  std::vector<std::string> rows;
  for (LabelledText row; texts.next(row);) rows.push_back(shown(row));
  return rows;
}

struct LabelledFile {
  LabelledFile(const std::string& name, const std::string& text) : path(folder / name) {
    write_text(path, text);
  }
  std::vector<std::string> rows(const LabelledTextOptions& options = {}) const {
    return shown_rows(path, options);
  }
  std::optional<Error> error(const LabelledTextOptions& options = {}) const {
    return error_of([&] { rows(options); });
  }
  TemporaryFolder folder;
  std::string path;
};

using Shown = std::vector<std::string>;

LabelledTextOptions labels_ignored() {
  LabelledTextOptions options;
  options.labels = Labels::ignored;
  return options;
}

TEST(LabelledTexts, CsvWithTheUsualNames) {
  const LabelledFile file("x.csv", "id,text,label\nq1,\"a, b\",pos\nq2,c,neg\n");
  EXPECT_EQ(file.rows(), (Shown{"q1|a, b|-|pos", "q2|c|-|neg"}));
  EXPECT_EQ(LabelledTexts(file.path).columns(), "text: text; label: label; id: id");
}

TEST(LabelledTexts, PairsByTheirUsualNames) {
  EXPECT_EQ(LabelledFile("x.tsv", "label\tsentence2\tsentence1\n0\tb\ta\n").rows(), (Shown{"0|a|b|0"}));
  EXPECT_EQ(LabelledFile("x.csv", "text_pair,text,label\nb,a,1\n").rows(), (Shown{"0|a|b|1"}));
  EXPECT_EQ(LabelledFile("x.csv", "idx,sentence,label\n7,a,1\n").rows(), (Shown{"7|a|-|1"}));
}

TEST(LabelledTexts, UsualNamesGoBeforeTheOrderOfColumns) {
  EXPECT_EQ(LabelledFile("x.csv", "rating,text,label\n9,a,1\n").rows(), (Shown{"0|a|-|1"}));
  EXPECT_EQ(LabelledFile("x.csv", "text,sentence1,more,label\nx,a,y,1\n").rows(), (Shown{"0|a|-|1"}));
}

TEST(LabelledTexts, OtherwiseTheFirstTwoOtherColumns) {
  EXPECT_EQ(LabelledFile("x.csv", "title,label,body,rest\na,1,b,c\n").rows(), (Shown{"0|a|b|1"}));
  EXPECT_EQ(LabelledFile("x.csv", "review,label\na,1\n").rows(), (Shown{"0|a|-|1"}));
  LabelledTextOptions text_only;
  text_only.text_column = "body";
  EXPECT_EQ(LabelledFile("x.csv", "title,label,body\na,1,b\n").rows(text_only), (Shown{"0|b|-|1"}));
  LabelledTextOptions pair_only;
  pair_only.pair_column = "title";
  EXPECT_EQ(LabelledFile("x.csv", "title,label,body,rest\na,1,b,c\n").rows(pair_only), (Shown{"0|b|a|1"}));
}

TEST(LabelledTexts, NewsAndReviewsWithoutHeaderByNumbers) {
  LabelledTextOptions options;
  options.label_column = "1";
  options.text_column = "2,3";
  const LabelledFile news("x.csv", "\"3\",\"Title\",\"Some \"\"quoted\"\" text\"\n\"1\",\"T\",\"\"\n");
  EXPECT_EQ(news.rows(options), (Shown{"0|Title Some \"quoted\" text|-|3", "1|T |-|1"}));
  options.text_column = "2";
  options.backslash_newline = true;
  const LabelledFile reviews("x.csv", "\"5\",\"good\\n\\nvery \\\\ good\\\"\n");
  EXPECT_EQ(reviews.rows(options), (Shown{"0|good\n\nvery \\\\ good\\|-|5"}));
}

TEST(LabelledTexts, SeveralColumnsByNameAreJoinedByABlank) {
  LabelledTextOptions options;
  options.text_column = "title,body";
  options.pair_column = "a,b";
  EXPECT_EQ(LabelledFile("x.csv", "body,title,label,\"a,b\"\nx,y,1,z\n").rows(options), (Shown{"0|y x|z|1"}));
}

TEST(LabelledTexts, WhetherTheFirstRowIsAHeaderIsToldFromItOrSaid) {
  LabelledTextOptions numbers;
  numbers.label_column = "1";
  numbers.text_column = "2";
  EXPECT_EQ(LabelledFile("x.csv", "class,review\n1,a\n").rows(numbers),
            (Shown{"0|review|-|class", "1|a|-|1"}));
  EXPECT_EQ(LabelledFile("x.csv", "label,review\n1,a\n").rows(numbers), (Shown{"0|a|-|1"}));
  numbers.header = HeaderRow::yes;
  EXPECT_EQ(LabelledFile("x.csv", "class,review\n1,a\n").rows(numbers), (Shown{"0|a|-|1"}));
  LabelledTextOptions none;
  none.header = HeaderRow::no;
  none.label_column = "3";
  EXPECT_EQ(LabelledFile("x.csv", "text,id,label\na,b,c\n").rows(none),
            (Shown{"0|text|id|label", "1|a|b|c"}));
}

TEST(LabelledTexts, WithoutAColumnOfLabelsTheColumnsAreListed) {
  const auto error = LabelledFile("x.csv", "review,stars\na,1\n").error();
  expect_bad_input(error, "x.csv", "no column 'label'");
  EXPECT_NE(error->hint().find("review, stars"), std::string::npos) << error->hint();
  LabelledTextOptions options;
  options.label_column = "star";
  const auto named = LabelledFile("x.csv", "review,stars\na,1\n").error(options);
  expect_bad_input(named, "x.csv", "no column 'star'");
  EXPECT_NE(named->hint().find("review, stars"), std::string::npos) << named->hint();
}

TEST(LabelledTexts, LabelsAreNotReadForPrediction) {
  EXPECT_EQ(LabelledFile("x.csv", "text,label\na,\n").rows(labels_ignored()), (Shown{"0|a|-|"}));
  EXPECT_EQ(LabelledFile("x.csv", "label,review\n1,a\n").rows(labels_ignored()), (Shown{"0|a|-|"}));
  EXPECT_EQ(LabelledFile("x.jsonl", "{\"review\": \"a\"}\n").rows(labels_ignored()), (Shown{"0|a|-|"}));
  LabelledTextOptions named = labels_ignored();
  named.label_column = "stars";
  EXPECT_EQ(LabelledFile("x.csv", "stars,review\n1,a\n").rows(named), (Shown{"0|a|-|"}));
  EXPECT_EQ(LabelledFile("x.csv", "review\na\n").rows(named), (Shown{"0|a|-|"}));
}

TEST(LabelledTexts, OptionalLabelsAreReadWhereThereIsAColumn) {
  LabelledTextOptions options;
  options.labels = Labels::optional;
  EXPECT_EQ(LabelledFile("x.csv", "text\na\n").rows(options), (Shown{"0|a|-|"}));
  EXPECT_EQ(LabelledFile("x.csv", "text,label\na,1\n").rows(options), (Shown{"0|a|-|1"}));
  expect_bad_input(LabelledFile("x.csv", "text,label\na,\n").error(options),
                   "x.csv:2: ", "the label is empty");
}

TEST(LabelledTexts, JsonLabelsOfEveryKind) {
  const LabelledFile file("x.jsonl",
                          "{\"text\": \"a\", \"label\": \"pos\"}\n{\"text\": \"b\", \"label\": 3}\n"
                          "{\"text\": \"c\", \"label\": 2.5}\n{\"text\": \"d\", \"label\": true}\n"
                          "{\"text\": \"e\", \"label\": [\"x\", 1]}\n{\"text\": \"f\", \"label\": []}\n");
  EXPECT_EQ(file.rows(), (Shown{"0|a|-|pos", "1|b|-|3", "2|c|-|2.5", "3|d|-|true", "4|e|-|x+1", "5|f|-|"}));
  LabelledTexts texts(file.path);
  LabelledText row;
  for (const bool list : {false, false, false, false, true, true}) {
    ASSERT_TRUE(texts.next(row));
    EXPECT_EQ(row.label_is_list, list);
  }
}

TEST(LabelledTexts, JsonIdsAreStringsOrNumbers) {
  LabelledTextOptions options;
  options.id_column = "guid";
  const LabelledFile file(
      "x.jsonl",
      "{\"guid\": \"a7\", \"text\": \"a\", \"label\": 1}\n{\"guid\": -12, \"text\": \"b\", "
      "\"label\": 0}\n");
  EXPECT_EQ(file.rows(options), (Shown{"a7|a|-|1", "-12|b|-|0"}));
  expect_bad_input(LabelledFile("x.jsonl", "{\"id\": null, \"text\": \"a\", \"label\": 1}\n").error(),
                   "x.jsonl:1: ", "field 'id' is null, not a string or a number");
}

TEST(LabelledTexts, JsonListsAndObjectsAroundThemAreRead) {
  const Shown expected{"0|a|-|1", "1|b|-|0"};
  EXPECT_EQ(
      LabelledFile("x.json", "[{\"text\": \"a\", \"label\": 1},\n {\"text\": \"b\", \"label\": 0}]").rows(),
      expected);
  EXPECT_EQ(
      LabelledFile("x.json", "{\"data\": [{\"text\": \"a\", \"label\": 1}, {\"text\": \"b\", \"label\": 0}]}")
          .rows(),
      expected);
}

TEST(LabelledTexts, PlacesNameFileAndLine) {
  const LabelledFile csv("x.csv", "text,label\n\"a\nb\",1\nc,0\n");
  LabelledTexts texts(csv.path);
  LabelledText row;
  ASSERT_TRUE(texts.next(row));
  EXPECT_EQ(row.place, csv.path + ":2");
  ASSERT_TRUE(texts.next(row));
  EXPECT_EQ(row.place, csv.path + ":4");
  const LabelledFile list("x.json", "[{\"text\": \"a\", \"label\": 1}, {\"text\": \"b\", \"label\": 0}]");
  LabelledTexts elements(list.path);
  ASSERT_TRUE(elements.next(row));
  EXPECT_EQ(row.place, list.path + ":1:2");
  const LabelledFile lines("x.jsonl", "\n{\"text\": \"a\", \"label\": 1}\n");
  LabelledTexts objects(lines.path);
  ASSERT_TRUE(objects.next(row));
  EXPECT_EQ(row.place, lines.path + ":2");
}

TEST(LabelledTexts, JsonFieldsThatAreMissingOrOfAnotherTypeAreNamed) {
  const std::string first = "{\"text\": \"a\", \"label\": 1}\n";
  const auto missing = LabelledFile("x.jsonl", first + "{\"label\": 1, \"body\": \"b\"}\n").error();
  expect_bad_input(missing, "x.jsonl:2: ", "no field 'text'");
  EXPECT_NE(missing->hint().find("label, body"), std::string::npos) << missing->hint();
  expect_bad_input(LabelledFile("x.jsonl", first + "{\"text\": 5, \"label\": 1}\n").error(),
                   "x.jsonl:2: ", "field 'text' is number, not a string");
  expect_bad_input(LabelledFile("x.jsonl", first + "{\"text\": null, \"label\": 1}\n").error(),
                   "x.jsonl:2: ", "field 'text' is null, not a string");
  expect_bad_input(LabelledFile("x.jsonl", first + "[1]\n").error(),
                   "x.jsonl:2: ", "a record is array, not an object");
  expect_bad_input(LabelledFile("x.jsonl", "{\"id\": \"a7\", \"text\": 5, \"label\": 1}\n").error(),
                   "x.jsonl:1: ", "id 'a7': field 'text' is number, not a string");
  LabelledTextOptions options;
  options.text_column = "body";
  expect_bad_input(LabelledFile("x.jsonl", first).error(options), "x.jsonl:1: ", "no field 'body'");
}

TEST(LabelledTexts, ANullLabelIsAnError) {
  const std::string first = "{\"text\": \"a\", \"label\": 1}\n";
  expect_bad_input(LabelledFile("x.jsonl", first + "{\"text\": \"b\", \"label\": null}\n").error(),
                   "x.jsonl:2: ", "field 'label' is null, not a label");
  expect_bad_input(LabelledFile("x.jsonl", first + "{\"text\": \"b\", \"label\": [\"x\", null]}\n").error(),
                   "x.jsonl:2: ", "field 'label' is null, not a label");
  expect_bad_input(LabelledFile("x.jsonl", first + "{\"text\": \"b\", \"label\": \" \"}\n").error(),
                   "x.jsonl:2: ", "the label is empty");
  expect_bad_input(LabelledFile("x.jsonl", first + "{\"text\": \"b\"}\n").error(),
                   "x.jsonl:2: ", "no field 'label'");
  expect_bad_input(LabelledFile("x.csv", "text,label\na,1\nb,\n").error(),
                   "x.csv:3: ", "the label is empty (column 'label')");
}

TEST(LabelledTexts, AnIdTwiceNamesBothPlaces) {
  const LabelledFile csv("x.csv", "id,text,label\na,b,1\nc,d,0\na,e,1\n");
  const auto error = csv.error();
  expect_bad_input(error, "x.csv:4: ", "the id 'a' is the one of");
  EXPECT_NE(error->message().find("x.csv:2 as well"), std::string::npos) << error->message();
  const LabelledFile list(
      "x.json", "[{\"id\": 1, \"text\": \"\", \"label\": 1},{\"id\": \"1\", \"text\": \"\", \"label\": 1}]");
  const auto twice = list.error();
  expect_bad_input(twice, "x.json:1:36: ", "the id '1' is the one of");
  EXPECT_NE(twice->message().find("x.json:1:2 as well"), std::string::npos) << twice->message();
}

TEST(LabelledTexts, BlankTextsAreRead) {
  const LabelledFile file("x.csv", "text,text_pair,label\n\" \",\"\",1\n\"\",b,1\na,b,0\n");
  LabelledTexts texts(file.path);
  std::vector<std::string> read;
  for (LabelledText row; texts.next(row);) read.push_back(row.text + "|" + row.pair.value_or("none"));
  EXPECT_EQ(read, (std::vector<std::string>{" |", "|b", "a|b"}));
  EXPECT_EQ(texts.rows(), 3u);
}

TEST(LabelledTexts, FoldersAreClassesReadByName) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "pos");
  std::filesystem::create_directories(folder / "neg");
  std::filesystem::create_directories(folder / ".cache");
  write_text(folder / "pos" / "10_9.txt", "good\nvery\n");
  write_text(folder / "pos" / "1_8.txt", "fine<br />");
  write_text(folder / "neg" / "0_1.txt",
             "\xEF\xBB\xBF"
             "bad\r\n");
  write_text(folder / "neg" / "notes.md", "no text of the class");
  write_text(folder / "urls.txt", "beside the classes");
  const std::string path = folder.path().string();
  EXPECT_EQ(shown_rows(path), (Shown{"neg/0_1.txt|bad|-|neg", "pos/10_9.txt|good\nvery|-|pos",
                                     "pos/1_8.txt|fine<br />|-|pos"}));
  LabelledTexts texts(path);
  LabelledText row;
  ASSERT_TRUE(texts.next(row));
  EXPECT_EQ(row.place, path + "/neg/0_1.txt");
}

TEST(LabelledTexts, AFolderOfTextsWithoutClassesIsReadForPrediction) {
  const TemporaryFolder folder;
  write_text(folder / "b.txt", "two");
  write_text(folder / "a.txt", "one");
  const std::string path = folder.path().string();
  EXPECT_EQ(shown_rows(path, labels_ignored()), (Shown{"a.txt|one|-|", "b.txt|two|-|"}));
  expect_bad_input(error_of([&] { shown_rows(path); }), path, "no folder of a class");
  std::filesystem::create_directories(folder / "pos");
  expect_bad_input(error_of([&] { shown_rows(path); }), path + "/pos",
                   "no .txt file in the folder of this class");
}

TEST(LabelledTexts, AnUnknownFormatIsAUsageErrorAndCanBeSaid) {
  const LabelledFile file("x.dat", "text\tlabel\na\t1\n");
  const auto error = file.error();
  expect_message(error, "x.dat", "does not show its format");
  EXPECT_EQ(error->kind(), ErrorKind::usage);
  LabelledTextOptions options;
  options.format = TableFormat::tsv;
  EXPECT_EQ(file.rows(options), (Shown{"0|a|-|1"}));
  options.format = TableFormat::folder;
  expect_bad_input(file.error(options), "x.dat", "is not a folder");
}

TEST(LabelledTexts, TabsWithoutQuotingKeepQuotes) {
  LabelledTextOptions options;
  for (const Quoting quoting : {Quoting::automatic, Quoting::none}) {
    options.quoting = quoting;
    EXPECT_EQ(LabelledFile("x.tsv", "sentence\tlabel\n\"a \"b\"\t1\n").rows(options),
              (Shown{"0|\"a \"b\"|-|1"}));
    EXPECT_EQ(LabelledFile("x.tsv", "sentence\tlabel\n\"a b\t1\nc\t0\n").rows(options),
              (Shown{"0|\"a b|-|1", "1|c|-|0"}));
  }
  options.quoting = Quoting::doubled;
  expect_bad_input(LabelledFile("x.tsv", "sentence\tlabel\n\"a b\t1\nc\t0\n").error(options),
                   "x.tsv:2: ", "never closed");
}

TEST(LabelledTexts, AFileWithoutRowsHasNone) {
  EXPECT_EQ(LabelledFile("x.csv", "text,label\n").rows(), Shown{});
  EXPECT_EQ(LabelledFile("x.jsonl", "").rows(), Shown{});
}

TEST(LabelledTexts, InvalidBytesAreReplacedAndCountedInEveryFormat) {
  LabelledTextOptions options;
  options.replace_invalid = true;
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "f" / "c");
  write_text(folder / "f" / "c" / "1.txt", "caf\xE9");
  write_text(folder / "x.csv", "text,label\ncaf\xE9,c\n");
  write_text(folder / "x.jsonl", "{\"text\": \"caf\xE9\", \"label\": \"c\"}");
  for (const char* name : {"f", "x.csv", "x.jsonl"}) {
    const std::string path = folder / name;
    expect_bad_input(error_of([&] { shown_rows(path); }), path, "not UTF-8");
    LabelledTexts texts(path, options);
    LabelledText row;
    ASSERT_TRUE(texts.next(row));
    EXPECT_EQ(row.text, "caf\uFFFD");
    EXPECT_EQ(texts.replaced(), 1u) << name;
  }
}

}  // namespace
}  // namespace bigbird
