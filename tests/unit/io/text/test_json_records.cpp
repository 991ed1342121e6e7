// JSON data sets record by record: layouts, places, and what is refused where.
#include "lib/io/text/json_records.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>

#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/io/files/file.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::TemporaryFolder;
using testing::write_text;

JsonRecordsOptions with_keys() {
  JsonRecordsOptions options;
  options.list_keys = {"data", "Data"};
  return options;
}

struct JsonFile {
  explicit JsonFile(const std::string& text) : path(folder / "x.json") { write_text(path, text); }
  std::vector<std::string> records(const JsonRecordsOptions& options = with_keys()) const {
    JsonRecords reader(path, options);
    std::vector<std::string> all;
    for (JsonRecord record; reader.next(record);) all.push_back(record.json);
    return all;
  }
  std::optional<Error> error(const JsonRecordsOptions& options = with_keys()) const {
    return error_of([&] { records(options); });
  }
  TemporaryFolder folder;
  std::string path;
};

using Texts = std::vector<std::string>;

TEST(JsonRecords, ElementsOfAListComeAsTheyStandInTheFile) {
  const JsonFile file(" [ {\"a\" : [1, 2]} ,\"x,]\\\"}\",\n 1.50 , [ ] , null]\n ");
  EXPECT_EQ(file.records(), (Texts{"{\"a\" : [1, 2]}", "\"x,]\\\"}\"", "1.50", "[ ]", "null"}));
}

TEST(JsonRecords, EmptyListsAndFilesHaveNoRecords) {
  EXPECT_EQ(JsonFile("[]").records(), Texts{});
  EXPECT_EQ(JsonFile(" [ \n ] ").records(), Texts{});
  EXPECT_EQ(JsonFile("{\"data\": []}").records(), Texts{});
  EXPECT_EQ(JsonFile("").records(), Texts{});
  EXPECT_EQ(JsonFile("\n\n").records(), Texts{});
}

TEST(JsonRecords, TheListMayBeAMemberAndScalarsAroundItAreKept) {
  const JsonFile file(
      "{\"version\": \"v2.0\", \"more\": {\"data\": [0]}, \"data\": [{\"t\": 1}, {\"t\": 2}], \"n\": -3e2, \"list\": [1, "
      "2], \"flag\": true}");
  JsonRecords reader(file.path, with_keys());
  EXPECT_TRUE(reader.is_list());
  EXPECT_EQ(reader.members().at("version"), "\"v2.0\"");
  JsonRecord record;
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(record.json, "{\"t\": 1}");
  ASSERT_TRUE(reader.next(record));
  ASSERT_FALSE(reader.next(record));
  EXPECT_EQ(reader.members(),
            (std::map<std::string, std::string>{{"version", "\"v2.0\""}, {"n", "-3e2"}, {"flag", "true"}}));
  EXPECT_FALSE(reader.next(record));
}

TEST(JsonRecords, TheSecondNameOfTheListIsFoundToo) {
  EXPECT_EQ(JsonFile("{\"Data\": [1, 2], \"Domain\": \"Web\"}").records(), (Texts{"1", "2"}));
}

TEST(JsonRecords, LinesAreRecords) {
  const JsonFile file("{\"a\": 1}\n\n  {\"b\": [2]}\r\n[3]\n\"four\"");
  JsonRecords reader(file.path, with_keys());
  EXPECT_FALSE(reader.is_list());
  EXPECT_EQ(file.records(), (Texts{"{\"a\": 1}", "{\"b\": [2]}", "[3]", "\"four\""}));
}

TEST(JsonRecords, OneObjectOverSeveralLinesIsARecord) {
  EXPECT_EQ(JsonFile("{\n \"a\": 1\n}\n").records(), (Texts{"{\n \"a\": 1\n}"}));
  EXPECT_EQ(JsonFile("{}\n{ }\n").records(), (Texts{"{}", "{ }"}));
}

TEST(JsonRecords, AMemberOfThatNameThatIsNoListMakesLines) {
  EXPECT_EQ(JsonFile("{\"data\": \"x\"}\n{\"data\": {\"y\": 1}}").records(),
            (Texts{"{\"data\": \"x\"}", "{\"data\": {\"y\": 1}}"}));
}

TEST(JsonRecords, WithoutKeysAnObjectIsARecord) {
  EXPECT_EQ(JsonFile("{\"data\": [1, 2]}").records({}), (Texts{"{\"data\": [1, 2]}"}));
}

TEST(JsonRecords, TheLayoutCanBeSaid) {
  JsonRecordsOptions lines = with_keys();
  lines.layout = JsonLayout::lines;
  EXPECT_EQ(JsonFile("[1, 2]\n[3]\n").records(lines), (Texts{"[1, 2]", "[3]"}));
  EXPECT_EQ(JsonFile("{\"data\": [1]}\n").records(lines), (Texts{"{\"data\": [1]}"}));
  JsonRecordsOptions list = with_keys();
  list.layout = JsonLayout::list;
  EXPECT_EQ(JsonFile("{\"data\": [1]}\n").records(list), (Texts{"1"}));
  const auto error = JsonFile("{\"version\": 1}").error(list);
  expect_bad_input(error, "x.json", "no list of records");
  EXPECT_NE(error->hint().find("data, Data"), std::string::npos) << error->hint();
}

TEST(JsonRecords, PlacesAreLinesAndColumnsInCodePoints) {
  const JsonFile file("[\"\xC3\xA9\xE2\x82\xAC\", {\"a\":\n  1},\n 7]");
  JsonRecords reader(file.path);
  JsonRecord record;
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(std::pair(record.line, record.column), std::pair(std::uint64_t{1}, std::uint64_t{2}));
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(record_place(reader.path(), record), file.path + ":1:8");
  EXPECT_EQ(record_place(reader.path(), record, record.json.find('1')), file.path + ":2:3");
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(record_place(reader.path(), record), file.path + ":3:2");
}

TEST(JsonRecords, EscapesAndSurrogatePairsStayAsTheyAre) {
  const std::string text = R"("\"\\\/\b\f\n\r\t\u00e9\ud83d\uDE00")";
  EXPECT_EQ(JsonFile("[" + text + "]").records(), Texts{text});
}

TEST(JsonRecords, BrokenJsonIsRefusedAtItsLineAndColumn) {
  const std::vector<std::tuple<std::string, std::string, std::string>> cases = {
      {"[1 2]", ":1:4: ", "'2' where ',' or ']' is expected, in the list that begins at 1:1"},
      {"[1,]", ":1:4: ", "']' where a value is expected"},
      {"[,1]", ":1:2: ", "',' where a value is expected"},
      {"[{\"a\" 1}]", ":1:7: ", "'1' where ':' is expected, in the object that begins at 1:2"},
      {"[{\"a\": 1,}]", ":1:10: ", "'}' where a key in quotes is expected"},
      {"[{a: 1}]", ":1:3: ", "'a' where a key in quotes is expected"},
      {"[{\"a\": 1]", ":1:9: ", "']' where ',' or '}' is expected"},
      {"[[1}]", ":1:4: ", "'}' where ',' or ']' is expected"},
      {"[1] 2", ":1:5: ", "'2' where the end of the file is expected"},
      {"[tru]", ":1:2: ", "'tru' where a value is expected"},
      {"[nulll]", ":1:2: ", "'nulll' where a value is expected"},
      {"[01]", ":1:2: ", "a number with a 0 in front"},
      {"[1.]", ":1:4: ", "']' where a digit is expected"},
      {"[-]", ":1:3: ", "']' where a digit is expected"},
      {"[1e+]", ":1:5: ", "']' where a digit is expected"},
      {"[+1]", ":1:2: ", "'+' where a value is expected"},
      {"['a']", ":1:2: ", "''' where a value is expected"},
      {"[\"\\x\"]", ":1:4: ", "'x' where one of"},
      {"[\"\\u12g4\"]", ":1:7: ", "'g' where a hexadecimal digit is expected"},
      {"[NaN]", ":1:2: ", "NaN is not JSON"},
      {"[-Infinity]", ":1:2: ", "-Infinity is not JSON"},
      {"[\xC3\xA9]", ":1:2: ", "'\xC3\xA9' where a value is expected"},
      {"{\"version\": 1, \"data\": [1]", ":1:27: ", "the file ends inside of the object that begins at 1:1"},
      {"{\"data\": [1], \"x\" 2}", ":1:19: ", "'2' where ':' is expected"},
      {"{\"a\": 1} {\"a\": 2}", ":1:10: ", "'{' where the end of the line is expected"},
      {"{\"a\": 1\n{\"a\": 2}",
       ":2:1: ", "'{' where ',' or '}' is expected, in the object that begins at 1:1"},
      {"{\"a\": 1},\n{\"a\": 2}", ":1:9: ", "',' where the end of the line is expected"},
      {"hello", ":1:1: ", "'hello' where a value is expected"},
      {"<html>", ":1:1: ", "'<' where a value is expected"},
  };
  for (const auto& [text, place, what] : cases) {
    SCOPED_TRACE(text);
    expect_bad_input(JsonFile(text).error(), "x.json" + place, what);
  }
}

TEST(JsonRecords, EveryCutOffFileIsRefused) {
  const std::string whole =
      "{\"version\": \"1\", \"data\": [{\"a\": [1.5e3, true], \"b\": \"x\\u00e9y\"}, null], \"n\": {\"k\": []}}";
  ASSERT_EQ(JsonFile(whole).records().size(), 2u);
  for (std::size_t kept = 1; kept < whole.size(); ++kept) {
    SCOPED_TRACE(whole.substr(0, kept));
    const auto error = JsonFile(whole.substr(0, kept)).error();
    expect_bad_input(error, "x.json:1:", "");
  }
  expect_bad_input(JsonFile("[{\"a\": \"bc").error(),
                   "x.json:1:11: ", "the file ends inside of the string that begins at 1:8");
  expect_bad_input(JsonFile("[{\"a\": 1},").error(),
                   "x.json:1:11: ", "the file ends inside of the list that begins at 1:1");
}

TEST(JsonRecords, ControlCharactersAndNulInStringsAreRefused) {
  expect_bad_input(JsonFile("[\"a\tb\"]").error(),
                   "x.json:1:4: ", "control character 0x09 inside of the string that begins at 1:2");
  expect_bad_input(JsonFile("[\"a\nb\"]").error(), "x.json:1:4: ", "the end of a line inside of the string");
  expect_bad_input(JsonFile(std::string("[\"a\0\"]", 6)).error(), "x.json:1:4: ", "NUL inside of the string");
  expect_bad_input(JsonFile(std::string("[\0]", 3)).error(), "x.json:1:2: ", "NUL where a value is expected");
}

TEST(JsonRecords, BytesThatAreNotUtf8AreRefusedOrReplaced) {
  const JsonFile file("[\"\xC3\xA9\", \"caf\xE9!\"]");
  const auto error = file.error();
  expect_bad_input(error, "x.json:1:11: ", "a byte that is not UTF-8, in the string that begins at 1:7");
  EXPECT_NE(error->hint().find("`replace_invalid`"), std::string::npos);
  JsonRecordsOptions options;
  options.replace_invalid = true;
  EXPECT_EQ(file.records(options), (Texts{"\"\xC3\xA9\"", "\"caf\uFFFD!\""}));
  expect_bad_input(JsonFile("[\xE9]").error(options),
                   "x.json:1:2: ", "a byte that is not UTF-8 where a value");
}

TEST(JsonRecords, LoneSurrogatesAreRefusedOrReplaced) {
  const auto error = JsonFile(R"(["ab\ud83d"])").error();
  expect_bad_input(error, "x.json:1:5: ", "a lone surrogate \\ud83d");
  expect_bad_input(JsonFile(R"(["\uDE00"])").error(), "x.json:1:3: ", "a lone surrogate");
  JsonRecordsOptions options;
  options.replace_invalid = true;
  const JsonFile file(R"(["\ud83d", "\ud83d\ud83d\ude00x", "\ude00\ud83d", "\ud83d\u0041", "\ud83d\n"])");
  EXPECT_EQ(file.records(options), (Texts{R"("\ufffd")", R"("\ufffd\ud83d\ude00x")", R"("\ufffd\ufffd")",
                                          R"("\ufffd\u0041")", R"("\ufffd\n")"}));
  JsonRecords reader(file.path, options);
  for (JsonRecord record; reader.next(record);) EXPECT_TRUE(nlohmann::json::accept(record.json));
  EXPECT_EQ(reader.replaced(), 6u);
}

TEST(JsonRecords, DepthIsLimited) {
  const auto nested = [](std::size_t depth) {
    return "[" + std::string(depth, '[') + std::string(depth, ']') + "]";
  };
  EXPECT_EQ(JsonFile(nested(JsonRecords::max_depth)).records().size(), 1u);
  expect_bad_input(JsonFile(nested(JsonRecords::max_depth + 1)).error(),
                   "x.json:1:514: ", "nested deeper than 512");
}

TEST(JsonRecords, TheSizeOfARecordIsLimited) {
  JsonRecordsOptions options;
  options.max_record_bytes = 100;
  EXPECT_EQ(JsonFile("[\"" + std::string(98, 'a') + "\"]").records(options).size(), 1u);
  expect_bad_input(JsonFile("[\"" + std::string(200, 'a') + "\"]").error(options),
                   "x.json:1:", "a record of more than 100 bytes");
  expect_bad_input(JsonFile("[[" + std::string(200, ' ') + "]]").error(options),
                   "x.json:1:", "a record of more than 100 bytes");
}

TEST(JsonRecords, TheMemberBehindTheListNeedsNoMemory) {
  JsonRecordsOptions options = with_keys();
  options.max_record_bytes = 100;
  EXPECT_EQ(
      JsonFile("{\"data\": [1], \"rest\": [\"" + std::string(5000, 'a') + "\"]}").records(options).size(),
      1u);
}

TEST(JsonRecords, ByteOrderMarkAndCompressionAreSeenThrough) {
  const TemporaryFolder folder;
  std::string text = "\xEF\xBB\xBF[";
  for (int i = 0; i < 20000; ++i)
    text += (i == 0 ? "" : ",") + ("{\"i\": \"\xC3\xA9" + std::to_string(i) + "\"}");
  OutputStream out(folder / "x.json.gz");
  out.write(text + "]");
  out.close();
  JsonRecords reader(folder / "x.json.gz");
  int count = 0;
  for (JsonRecord record; reader.next(record); ++count) {
    ASSERT_EQ(nlohmann::json::parse(record.json)["i"], "\xC3\xA9" + std::to_string(count));
  }
  EXPECT_EQ(count, 20000);
}

TEST(JsonRecords, WhatTheJsonLibraryReadsIsReadAndNothingElse) {
  // Random texts of the signs of JSON: the scanner takes what nlohmann's parser takes.
  const std::vector<std::string> pieces = {"[",      "]",    "{", "}",    ",",       ":", "\"a\"", "1",
                                           "-0.5e1", "true", " ", "null", "\"\\n\"", "0", "e",     "\""};
  const TemporaryFolder folder;
  const std::string path = folder / "x.json";
  std::uint64_t taken = 0;
  for (std::uint64_t index = 0; index < 2000; ++index) {
    CounterRng rng(7, Purpose::test, index);
    std::string text = "[";
    for (std::uint64_t i = 1 + rng.below(8); i > 0; --i) text += pieces[rng.below(pieces.size())];
    text += rng.below(2) == 0 ? "]" : "";
    std::filesystem::remove(path);  // cutting an old file to nothing is slow on some file systems
    write_text(path, text);
    const auto error = error_of([&] {
      JsonRecords reader(path);
      for (JsonRecord record; reader.next(record);) {
      }
    });
    const bool valid = nlohmann::json::accept(text);
    EXPECT_EQ(!error, valid) << text;
    taken += valid ? 1 : 0;
  }
  EXPECT_GT(taken, 50u);
}

TEST(JsonRecords, AParseErrorOfTheLibraryIsNamedAtItsPlace) {
  JsonRecord record{"{\"a\":\n [1, 1e999]}", 3, 10};
  const auto error = error_of([&] {
    try {
      std::ignore = nlohmann::json::parse(record.json);
    } catch (const nlohmann::json::exception& caught) {
      throw_json_error("x.json", record, caught);
    }
  });
  expect_bad_input(error, "x.json:3:10: ", "number overflow");
  record.json = "{\"a\":\n [1, }";
  const auto broken = error_of([&] {
    try {
      std::ignore = nlohmann::json::parse(record.json);
    } catch (const nlohmann::json::exception& caught) {
      throw_json_error("x.json", record, caught);
    }
  });
  expect_bad_input(broken, "x.json:4:6: ", "syntax error");
}

TEST(JsonRecords, ATypeErrorNamesTheRecordAndItsId) {
  const JsonRecord record{"{\"a\": 1}", 3, 10};
  const auto error = error_of([&] {
    try {
      nlohmann::json::parse(record.json).at("a").get<std::string>();
    } catch (const nlohmann::json::exception& caught) {
      throw_json_error("x.json", record, caught, "question\n7");
    }
  });
  expect_bad_input(error, "x.json:3:10: question?7: ", "type must be string, but is number");
}

TEST(JsonRecords, AnExceptionOfAnotherKindIsThrownOn) {
  EXPECT_THROW(
      {
        try {
          throw std::out_of_range("x");
        } catch (const std::exception& caught) {
          throw_json_error("x.json", {}, caught);
        }
      },
      std::out_of_range);
}

}  // namespace
}  // namespace bigbird
