// TSV tables and provenance.
#include "lib/io/tables/tsv.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lib/core/log.h"
#include "lib/io/files/provenance.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::expect_message;
using testing::read_text;
using testing::TemporaryFolder;
using testing::write_text;

TEST(Tsv, WritesAndReadsBack) {
  const TemporaryFolder folder;
  for (const char* name : {"x.tsv", "x.tsv.gz"}) {
    OutputStream out(folder / name);
    TsvWriter writer(out, {"id", "score"}, {"bigbird_seed=1", "note"});
    writer.row({"a", "0.5"});
    writer.row({"", "x y"});
    out.close();
    TsvReader reader(folder / name);
    EXPECT_EQ(reader.comments(), (std::vector<std::string>{"bigbird_seed=1", "note"}));
    EXPECT_EQ(reader.columns(), (std::vector<std::string>{"id", "score"}));
    EXPECT_EQ(reader.column("score"), 1u);
    EXPECT_FALSE(reader.has_column("label"));
    std::vector<std::string_view> fields;
    ASSERT_TRUE(reader.next(fields));
    EXPECT_EQ(fields[1], "0.5");
    ASSERT_TRUE(reader.next(fields));
    EXPECT_EQ(fields[0], "");
    EXPECT_EQ(fields[1], "x y");
    EXPECT_EQ(reader.where(), (folder / name).string() + ":5");
    EXPECT_FALSE(reader.next(fields));
  }
  EXPECT_EQ(read_text(folder / "x.tsv"), "##bigbird_seed=1\n##note\nid\tscore\na\t0.5\n\tx y\n");
}

TEST(Tsv, BadTablesNameFileAndLine) {
  const TemporaryFolder folder;
  write_text(folder / "empty.tsv", "##only\n");
  expect_bad_input(error_of([&] { TsvReader{folder / "empty.tsv"}; }), "empty.tsv", "no line with the names");
  write_text(folder / "x.tsv", "#a\tb\r\n1\t2\r\n\n1\t2\t3\n");
  TsvReader reader(folder / "x.tsv");
  std::vector<std::string_view> fields;
  ASSERT_TRUE(reader.next(fields));
  EXPECT_EQ(fields[1], "2");
  expect_bad_input(error_of([&] { reader.next(fields); }), "x.tsv:4", "3 columns where the header has 2");
  const auto missing = error_of([&] { reader.column("c"); });
  expect_bad_input(missing, "x.tsv", "no column named c");
  EXPECT_NE(missing->hint().find("a, b"), std::string::npos);
}

// Earlier versions wrote a '#' before the names of the columns.
TEST(Tsv, TheLineOfNamesIsReadWithAndWithoutASign) {
  const TemporaryFolder folder;
  for (const char* names : {"#a\tb\n", "a\tb\n", "\n##c=d\n#a\tb\n"}) {
    write_text(folder / "x.tsv", std::string(names) + "1\t2\n");
    TsvReader reader(folder / "x.tsv");
    EXPECT_EQ(reader.columns(), (std::vector<std::string>{"a", "b"})) << names;
    std::vector<std::string_view> fields;
    ASSERT_TRUE(reader.next(fields));
    EXPECT_EQ(fields[0], "1");
  }
}

TEST(Tsv, CellsWithoutAValue) {
  for (const char* text : {"", ".", "NA", "nan", "NaN"}) EXPECT_TRUE(is_missing(text)) << text;
  for (const char* text : {"0", "N", "na", "..", "none"}) EXPECT_FALSE(is_missing(text)) << text;
  EXPECT_EQ(text_field("."), "NA");
  EXPECT_EQ(text_field(""), "NA");
  EXPECT_EQ(text_field("chr1"), "chr1");
}

TEST(Tsv, RowsThatWouldBreakTheTableAreRefused) {
  const TemporaryFolder folder;
  OutputStream out(folder / "x.tsv");
  TsvWriter writer(out, {"a", "b"}, {});
  expect_message(error_of([&] { writer.row({"1"}); }), "x.tsv", "1 fields for 2 columns");
  expect_message(error_of([&] { writer.row({"1", "2\t3"}); }), "x.tsv", "tab");
}

TEST(Tsv, NumbersUseTheWholeText) {
  EXPECT_EQ(parse_number("1e-3", "f:1", "score"), 1e-3);
  EXPECT_EQ(parse_integer("-12", "f:1", "start"), -12);
  for (const char* text : {"", " 1", "1 ", "1x", "0x10", "--1"}) {
    expect_bad_input(error_of([&] { parse_number(text, "f:1", "score"); }), "f:1", "score is not a number");
    expect_bad_input(error_of([&] { parse_integer(text, "f:1", "start"); }), "f:1",
                     "start is not a whole number");
  }
  expect_bad_input(error_of([&] { parse_integer("1.5", "f:1", "start"); }), "f:1", "whole number");
}

Provenance example() {
  Provenance provenance;
  provenance.version = "0.1.0";
  provenance.command = "bigbird chunk -f\ta.fa";
  provenance.seed = 7;
  provenance.reference = "a.fa";
  provenance.inputs = {{"documents", "d.bed", ""}, {"model", "m", "ab12"}};
  return provenance;
}

TEST(Provenance, LinesHoldNoTabs) {
  EXPECT_EQ(provenance_lines(example()),
            (std::vector<std::string>{"bigbird_version=0.1.0", "bigbird_command=bigbird chunk -f a.fa",
                                      "bigbird_seed=7", "bigbird_reference=a.fa",
                                      "bigbird_input=documents:d.bed", "bigbird_input=model:m sha256=ab12"}));
  EXPECT_FALSE(bigbird_version().empty());
}

TEST(Provenance, JsonHoldsTheSame) {
  const auto json = nlohmann::json::parse(provenance_json(example()));
  EXPECT_EQ(json["version"], "0.1.0");
  EXPECT_EQ(json["command"], "bigbird chunk -f\ta.fa");
  EXPECT_EQ(json["seed"], 7);
  EXPECT_EQ(json["inputs"][1]["sha256"], "ab12");
  EXPECT_FALSE(json["inputs"][0].contains("sha256"));
  Provenance plain;
  plain.version = "1";
  plain.reference = "\xff.fa";  // no UTF-8
  const auto other = nlohmann::json::parse(provenance_json(plain));
  EXPECT_FALSE(other.contains("seed"));
  EXPECT_TRUE(other["reference"].is_string());
}

// Beside an output lies what a table has no place for: the same lines come back.
TEST(Provenance, LiesBesideAFileAndIsReadBack) {
  const TemporaryFolder folder;
  Provenance told = example();
  told.inputs.push_back({"model", "a folder sha256=x/y", "cd34", "int8"});
  std::vector<std::string> lines = provenance_lines(told);
  lines.emplace_back("calibrated=platt");
  const std::string path = folder / "x.tsv";
  EXPECT_EQ(provenance_path(path), path + ".provenance.json");
  write_text(path, "a\n1\n");
  EXPECT_TRUE(TsvReader(path).comments().empty());
  write_text(provenance_path(path), provenance_json(lines));
  EXPECT_EQ(TsvReader(path).comments(), lines);
  EXPECT_TRUE(provenance_beside("-").empty());
  // Lines of the file itself count first.
  write_text(path, "##made=here\na\n1\n");
  EXPECT_EQ(TsvReader(path).comments(), std::vector<std::string>{"made=here"});

  const auto json = nlohmann::json::parse(provenance_json(lines));
  EXPECT_EQ(json["inputs"][2]["path"], "a folder sha256=x/y");
  EXPECT_EQ(json["inputs"][2]["arithmetic"], "int8");
  EXPECT_EQ(json["seed"], 7);
  EXPECT_EQ(json["settings"]["calibrated"], "platt");
  EXPECT_EQ(provenance_json(std::vector<std::string>{}), "null");
  EXPECT_EQ(provenance_json(std::vector<std::string>{}, 4), "null");
  write_text(provenance_path(path), "[1");
  expect_bad_input(error_of([&] { provenance_beside(path); }), "x.tsv.provenance.json", "");
  write_text(provenance_path(path), R"({"inputs": 5})");
  expect_bad_input(error_of([&] { provenance_beside(path); }), "x.tsv.provenance.json", "");
}

// After a shell's `> OUT` what lies beside OUT is of another file.
TEST(Provenance, CountsForAFileOfItsSizeOnly) {
  const TemporaryFolder folder;
  const std::vector<std::string> lines = provenance_lines(example());
  const std::string path = folder / "x.tsv";
  write_text(path, "a\n1\n");
  write_text(provenance_path(path), provenance_json(lines, 4));
  EXPECT_EQ(provenance_beside(path), lines);
  write_text(path, "a\n10\n");
  std::vector<std::string> said;
  set_log_sink([&](LogLevel, const std::string& message) { said.push_back(message); });
  EXPECT_TRUE(provenance_beside(path).empty());
  set_log_sink({});
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said[0].find("a file of 4 bytes, not of 5"), std::string::npos) << said[0];
  EXPECT_EQ(read_provenance(provenance_path(path)), lines);
  std::filesystem::remove(path);  // moved away, say
  EXPECT_EQ(provenance_beside(path), lines);
}

}  // namespace
}  // namespace bigbird
