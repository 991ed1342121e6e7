// Documents and summaries: every format, which fields are read, and rows that are refused or passed over.
#include "lib/io/text/summary_pairs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::TemporaryFolder;
using testing::write_text;

using Pairs = std::vector<std::string>;

// A pair as one line: id|document|summaries.
Pairs shown_pairs(const std::string& path, const SummaryPairOptions& options = {}) {
  SummaryPairs file(path, options);
  Pairs pairs;
  for (SummaryPair pair; file.next(pair);) {
    std::string summaries;
    for (const std::string& summary : pair.summaries) summaries += (summaries.empty() ? "" : "+") + summary;
    pairs.push_back(pair.id + "|" + pair.document + "|" + summaries);
  }
  return pairs;
}

struct SummaryFile {
  SummaryFile(const std::string& name, const std::string& text) : path(folder / name) {
    write_text(path, text);
  }
  Pairs pairs(const SummaryPairOptions& options = {}) const { return shown_pairs(path, options); }
  std::optional<Error> error(const SummaryPairOptions& options = {}) const {
    return error_of([&] { pairs(options); });
  }
  TemporaryFolder folder;
  std::string path;
};

SummaryPairOptions parts(SummaryParts wanted) {
  SummaryPairOptions options;
  options.parts = wanted;
  return options;
}

TEST(SummaryPairs, JsonLinesByTheirUsualNames) {
  const SummaryFile file(
      "x.jsonl",
      "{\"document\": \"a\", \"summary\": \"b\", \"id\": 7}\n{\"summary\":\"d\",\"id\":\"x\","
      "\"document\":\"c\"}\n");
  EXPECT_EQ(file.pairs(), (Pairs{"7|a|b", "x|c|d"}));
  EXPECT_EQ(SummaryFile("x.json", "[{\"article\":\"a\",\"highlights\":\"b\"}]").pairs(), Pairs{"0|a|b"});
}

TEST(SummaryPairs, CohansListsOfSentencesBecomeLines) {
  const SummaryFile file(
      "pubmed.txt",
      "{\"article_id\": \"p1\", \"article_text\": [\"one .\", \"two .\"], \"abstract_text\": "
      "[\"<S> first . </S>\", \"<S> second . </S>\"], \"sections\": [[\"x\"]]}\n");
  EXPECT_EQ(file.pairs(), Pairs{"p1|one .\ntwo .| first . \n second . "});
}

TEST(SummaryPairs, ListsOfWordsAreJoinedByBlanks) {
  EXPECT_EQ(SummaryFile("x.jsonl", "{\"src\": [[\"a\", \"b\"], [\"c\"]], \"tgt\": [[\"d\"]]}").pairs(),
            Pairs{"0|a b\nc|d"});
}

TEST(SummaryPairs, AListMayHoldSeveralSummaries) {
  const SummaryFile file("x.jsonl",
                         "{\"source\": [\"a\", \"b\"], \"target\": [\"c\", \"d\"], \"paper_id\": \"P\"}");
  EXPECT_EQ(file.pairs(), Pairs{"P|a\nb|c\nd"});
  SummaryPairOptions several;
  several.list_of_summaries = true;
  EXPECT_EQ(file.pairs(several), Pairs{"P|a\nb|c+d"});
  expect_bad_input(SummaryFile("x.jsonl", "{\"source\": \"a\", \"target\": []}").error(several), "x.jsonl:1",
                   "has no summary");
}

TEST(SummaryPairs, TablesNeedAHeaderThatNamesTheColumns) {
  EXPECT_EQ(SummaryFile("x.csv", "article,highlights,id\n\"a, b\",c,1\n").pairs(), Pairs{"1|a, b|c"});
  EXPECT_EQ(SummaryFile("x.tsv", "summary\tdocument\nb\ta\n").pairs(), Pairs{"0|a|b"});
  SummaryPairOptions named;
  named.document_field = "body";
  named.summary_field = "gist";
  named.id_field = "n";
  EXPECT_EQ(SummaryFile("x.csv", "n,gist,body,document\n9,b,a,z\n").pairs(named), Pairs{"9|a|b"});
  expect_bad_input(SummaryFile("x.csv", "one,two\na,b\n").error(), "x.csv", "hold the document");
  expect_bad_input(SummaryFile("x.csv", "document,two\na,b\n").error(), "x.csv", "hold the summary");
}

TEST(SummaryPairs, LinesAreDocumentsOrSummaries) {
  const SummaryFile file("x.txt", "a\n\nb\n");
  EXPECT_EQ(file.pairs(parts(SummaryParts::summary)), (Pairs{"0||a", "1||", "2||b"}));
  EXPECT_EQ(file.pairs(parts(SummaryParts::document)), (Pairs{"0|a|", "1||", "2|b|"}));
  const auto error = file.error();
  testing::expect_message(error, "x.txt", "not both");
  EXPECT_EQ(error->kind(), ErrorKind::usage);
}

TEST(SummaryPairs, OnlyWhatIsAskedForIsLookedAt) {
  const SummaryFile file("x.jsonl", "{\"document\": 5, \"summary\": \"b\"}");
  EXPECT_EQ(file.pairs(parts(SummaryParts::summary)), Pairs{"0||b"});
  expect_bad_input(file.error(), "x.jsonl:1", "field 'document' is number");
}

TEST(SummaryPairs, FoldersPairFilesByName) {
  const TemporaryFolder folder;
  for (const char* name : {"documents", "documents/sub", "summaries", "summaries/sub"})
    std::filesystem::create_directory(folder / name);
  write_text(folder / "documents/b.txt", "doc b\nline\n");
  write_text(folder / "documents/sub/a.txt", "doc a");
  write_text(folder / "summaries/b.txt", "sum b\n");
  write_text(folder / "summaries/sub/a.txt", "sum a\n");
  EXPECT_EQ(shown_pairs(folder.path()), (Pairs{"b|doc b\nline|sum b", "sub/a|doc a|sum a"}));
  std::filesystem::remove(folder / "summaries/b.txt");
  expect_bad_input(error_of([&] { shown_pairs(folder.path()); }), "documents/b.txt", "is not there");
  SummaryPairOptions skip;
  skip.skip_bad = true;
  EXPECT_EQ(shown_pairs(folder.path(), skip), Pairs{"sub/a|doc a|sum a"});
  std::filesystem::remove_all(folder / "summaries");
  expect_bad_input(error_of([&] { shown_pairs(folder.path()); }), folder.path(), "no folder of summaries");
}

TEST(SummaryPairs, AFolderOfTextsIsDocuments) {
  const TemporaryFolder folder;
  write_text(folder / "one.txt", "a\n");
  write_text(folder / "two.md", "b\n");
  EXPECT_EQ(shown_pairs(folder.path(), parts(SummaryParts::document)), Pairs{"one|a|"});
  std::filesystem::remove(folder / "one.txt");
  expect_bad_input(error_of([&] { shown_pairs(folder.path(), parts(SummaryParts::document)); }),
                   folder.path(), "no .txt file");
}

TEST(SummaryPairs, ARecordWithoutAFieldIsNamedOrCounted) {
  const SummaryFile file(
      "x.jsonl",
      "{\"document\": \"a\", \"summary\": \"b\"}\n{\"document\": \"c\"}\n[1]\n{\"document\": "
      "\"e\", \"summary\": null}\n{\"document\": \"g\", \"summary\": \"h\"}\n");
  const auto error = file.error();
  expect_bad_input(error, "x.jsonl:2", "hold the summary");
  EXPECT_NE(error->hint().find("document"), std::string::npos);
  SummaryPairOptions skip;
  skip.skip_bad = true;
  SummaryPairs pairs(file.path, skip);
  Pairs ids;
  for (SummaryPair pair; pairs.next(pair);) ids.push_back(pair.id);
  EXPECT_EQ(ids, (Pairs{"0", "4"}));  // numbers are those of the file
  EXPECT_EQ(pairs.rows(), 2u);
  EXPECT_EQ(pairs.skipped(), 3u);
  EXPECT_NE(pairs.first_skipped().find("x.jsonl:2"), std::string::npos);
}

TEST(SummaryPairs, WhatCannotBeReadOnIsRefusedEvenSo) {
  SummaryPairOptions skip;
  skip.skip_bad = true;
  expect_bad_input(
      SummaryFile("x.jsonl", "{\"document\": \"a\", \"summary\": \"b\"}\n{\"document\": ").error(skip),
      "x.jsonl:2", "");
  expect_bad_input(SummaryFile("x.jsonl", "{\"document\": \"\xFF\", \"summary\": \"b\"}\n").error(skip),
                   "x.jsonl:1", "UTF-8");
  SummaryPairOptions replaced;
  replaced.replace_invalid = true;
  EXPECT_EQ(SummaryFile("x.jsonl", "{\"document\": \"\xFF\", \"summary\": \"b\"}\n").pairs(replaced),
            Pairs{"0|\xEF\xBF\xBD|b"});
}

TEST(SummaryPairs, AnIdTwiceNamesBothPlaces) {
  const auto error =
      SummaryFile(
          "x.jsonl",
          "{\"id\": \"q\", \"document\": \"a\", \"summary\": \"b\"}\n{\"id\": \"q\", \"document\": \"a\", "
          "\"summary\": \"b\"}\n")
          .error();
  expect_bad_input(error, "x.jsonl:2", "x.jsonl:1");
}

TEST(SummaryPairs, ANameThatTellsNoFormatIsAUsageError) {
  const auto error = SummaryFile("x.data", "").error();
  testing::expect_message(error, "x.data", "does not show its format");
  EXPECT_EQ(error->kind(), ErrorKind::usage);
}

// Records of public sets, where they are at hand.
TEST(SummaryPairs, RealRecords) {
  BIGBIRD_REQUIRE_SHARED();
  const std::filesystem::path folder = *testing::shared_dir() / "data" / "text" / "summarization";
  SummaryPairOptions options;
  const auto count = [&](const char* name) {
    std::size_t rows = 0;
    SummaryPairs pairs(folder / name, options);
    for (SummaryPair pair; pairs.next(pair); ++rows) {
      EXPECT_FALSE(pair.document.empty()) << name << ' ' << pair.id;
      EXPECT_FALSE(pair.summaries.front().empty()) << name << ' ' << pair.id;
    }
    return rows;
  };
  EXPECT_EQ(count("arxiv.val.txt.gz"), 2u);
  EXPECT_EQ(count("pubmed.train.txt.gz"), 2u);
  EXPECT_EQ(count("cnndm_sample.json.gz"), 4u);
  EXPECT_EQ(count("scitldr-FullText.train.jsonl.gz"), 5u);
  options.list_of_summaries = true;
  EXPECT_EQ(count("scitldr-A.dev.jsonl.gz"), 200u);
}

}  // namespace
}  // namespace bigbird
