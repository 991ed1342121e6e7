// What comments and pages cite exists, links lead somewhere, and no tool has torn a comment: over the whole
// tree, and each rule over small bad texts, so that the checker is known to bite.
#include <gtest/gtest.h>

#include "tests/policy/comments.h"
#include "tests/policy/lines.h"
#include "tests/policy/policy.h"
#include "tests/support/support.h"

namespace bigbird::policy {
namespace {

std::string read(const std::string& path) {
  return testing::read_text(testing::source_dir() / path);
}

// Where a violation was found: "path:line: ", once for each.
std::string places(const std::vector<std::string>& found) {
  std::string text;
  for (const std::string& one : found) text += one.substr(0, one.find(": ")) + "\n";
  return text;
}

const Headings& example_pages() {
  static const Headings pages = {{"docs/method.md", {"1", "1.1", "1.2", "2"}}, {"docs/plain.md", {}}};
  return pages;
}

void expect_cited_badly(const std::string& text, std::size_t line = 1) {
  EXPECT_EQ(places(citation_violations("lib/x.h", text, example_pages())),
            "lib/x.h:" + std::to_string(line) + "\n")
      << text;
}
void expect_cited_well(const std::string& text) {
  EXPECT_EQ(joined(citation_violations("lib/x.h", text, example_pages())), "") << text;
}

TEST(Comments, CitationsResolve) {
  Headings headings = headings_of(testing::source_dir());
  ASSERT_GT(headings["docs/specification.md"].size(), 20u);
  ASSERT_GT(headings["docs/command-line.md"].size(), 10u);
  std::vector<std::string> all;
  for (const std::string& file : citing_files(testing::source_dir())) {
    if (file == "tests/policy/test_comments.cpp") continue;  // the bad examples
    for (const std::string& violation : citation_violations(file, read(file), headings))
      all.push_back(violation);
  }
  EXPECT_EQ(joined(all), "");
}

TEST(Comments, ACitationThatDoesNotResolveIsFound) {
  expect_cited_badly("// As drawn (docs/method.md 1.3).\n");
  expect_cited_badly("int x;\n// As drawn (docs/method.md\n// 1.3).\n", 2);
  expect_cited_badly("// docs/method.md 1.1 and 3 say so.\n");
  expect_cited_badly("// See docs/nowhere.md.\n");
  expect_cited_badly("throw_usage(\"no\", \"docs/nowhere.md says which\");\n");
  expect_cited_badly("// As drawn (specification 1.1).\n");
  expect_cited_badly("// As drawn (specification\n// 1.1).\n");
  expect_cited_well("// docs/method.md 1.1 to 1.2, and docs/method.md 2 and 1.\n");
  expect_cited_well("// docs/plain.md 4 times, docs/method.md.\n");
  expect_cited_well("// VCF 4.3 specification, section 6.3.\n");
}

TEST(Comments, HeadingsGiveTheirNumbers) {
  EXPECT_EQ(heading_numbers("# Title\n## 1. One\n### 1.1 More\ntext 3.3\n## Not numbered\n#### 2.1.4 x\n"),
            (std::set<std::string>{"1", "1.1", "2.1.4"}));
}

TEST(Comments, LinksLeadSomewhere) {
  std::vector<std::string> all;
  for (const std::string& file : citing_files(testing::source_dir())) {
    if (std::filesystem::path(file).extension() != ".md") continue;
    for (const std::string& violation : link_violations(file, read(file), testing::source_dir())) {
      all.push_back(violation);
    }
  }
  EXPECT_EQ(joined(all), "");
  const std::filesystem::path root = testing::source_dir();
  EXPECT_EQ(link_violations("docs/x.md", "[a](nowhere.md) and [b](../README.md#top)\n", root).size(), 1u);
  EXPECT_EQ(
      link_violations("docs/x.md", "[a](../docs/weights.md), [b](https://example.org/x)\n", root).size(), 0u);
}

TEST(Comments, NoToolHasTornThem) {
  std::vector<std::string> all;
  for (const std::string& file : source_files(testing::source_dir())) {
    for (const std::string& violation : torn_text(file, read(file))) all.push_back(violation);
  }
  EXPECT_EQ(joined(all), "");
}

TEST(Comments, TornCommentsAreFound) {
  // A line of prose that stops early: the next word had room.
  EXPECT_EQ(places(torn_text("lib/x.h", "// One line that stops in the middle\n// of a sentence.\n")),
            "lib/x.h:1\n");
  // Words of one row left over before the row goes on.
  EXPECT_EQ(
      places(torn_text("lib/x.h",
                       "//   bins.bed   a line per bin: chrom start end split (train, valid, test, none); in "
                       "genome order,\n"
                       "//   or\n"
                       "//              in the order of the samples\n")),
      "lib/x.h:2\n");
  // A row that begins with the last words of the one before.
  EXPECT_EQ(
      places(torn_text("lib/x.h",
                       "//   gena   the other program's own BERT: pre-LN, rotary positions, and layouts of "
                       "its block\n"
                       "//   layouts bert   a warm start\n")),
      "");  // short of the limit: as somebody wrote it
  EXPECT_EQ(
      places(torn_text("lib/x.h",
                       "//   gena         the other program's own BERT: pre-LN, rotary positions, and the "
                       "layouts of its block\n"
                       "//   layouts bert         a warm start\n")),
      "lib/x.h:2\n");
  // A line beyond the limit.
  EXPECT_EQ(places(torn_text("lib/x.h", "// " + std::string(108, 'x') + "\n")), "lib/x.h:1\n");
  EXPECT_EQ(places(torn_text("lib/x.h", "// " + std::string(107, 'x') + "\n")), "");
  // A literal in splinters.
  EXPECT_EQ(places(torn_text("lib/x.cpp", "f(\"one piece \"\n  \"that \"\n  \"you trust\");\n")),
            "lib/x.cpp:2\n");
}

TEST(Comments, WhatIsLaidOutIsNotTorn) {
  for (const char* good : {
           "// One.\n// Two.\n",                                 // sentences on lines of their own
           "// Rules:\n// - first of them\n// - second\n",       // a list
           "//   int f() {\n//     return 0;\n//   }\n",         // code
           "//   a     one\n//   bb    two\n//   c     three\n"  // a table
       }) {
    EXPECT_EQ(joined(torn_text("lib/x.h", good)), "") << good;
  }
  EXPECT_EQ(joined(torn_text("lib/x.cpp", "f(\"first line\\n\"\n  \"second\\n\"\n  \"third\\n\");\n")), "");
}

}  // namespace
}  // namespace bigbird::policy
