// Documents of running text: every format, its detection, folders, and what is refused.
#include "lib/io/text/documents.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "lib/io/files/file.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::TemporaryFolder;
using testing::write_text;

// A document as one line: name: line / line.
std::string shown_document(const TextDocument& document) {
  std::string text = document.name + ":";
  for (const std::string& line : document.lines) text += " " + line + " /";
  return text;
}

std::vector<std::string> shown_documents(const std::vector<std::string>& inputs,
                                         const TextDocumentOptions& options = {}) {
  TextDocuments documents(inputs, options);
  std::vector<std::string> all;
  for (TextDocument document; documents.next(document);) all.push_back(shown_document(document));
  return all;
}

struct DocumentFile {
  DocumentFile(const std::string& name, const std::string& text) : path(folder / name) {
    write_text(path, text);
  }
  std::vector<std::string> documents(const TextDocumentOptions& options = {}) const {
    return shown_documents({path}, options);
  }
  std::optional<Error> error(const TextDocumentOptions& options = {}) const {
    return error_of([&] { documents(options); });
  }
  TemporaryFolder folder;
  std::string path;
};

TextDocumentOptions documents_as(DocumentFormat format) {
  TextDocumentOptions options;
  options.format = format;
  return options;
}

using Documents = std::vector<std::string>;

TEST(TextDocuments, PlainTextIsCutAtBlankLines) {
  const DocumentFile file("x.txt", "\n one\ntwo \n\n \t\n\u3000\nthree\n");
  EXPECT_EQ(file.documents(), (Documents{file.path + ":2:  one / two  /", file.path + ":7: three /"}));
}

TEST(TextDocuments, OneDocumentALine) {
  TextDocumentOptions options;
  options.one_per_line = true;
  const DocumentFile file("x.txt", "one\n\ntwo\n \n");
  TextDocuments documents({file.path}, options);
  TextDocument document;
  ASSERT_TRUE(documents.next(document));
  ASSERT_TRUE(documents.next(document));
  EXPECT_EQ(document.place, file.path + ":3");
  EXPECT_EQ(document.lines, (std::vector<std::string>{"two"}));
  EXPECT_FALSE(documents.next(document));
  EXPECT_EQ(documents.blank(), 2u);
}

TEST(TextDocuments, OneDocumentALineHoldsForNoOtherFormat) {
  TextDocumentOptions options = documents_as(DocumentFormat::jsonl);
  options.one_per_line = true;
  const auto error = DocumentFile("x.jsonl", "{\"text\": \"a\"}\n").error(options);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::usage);
}

TEST(TextDocuments, AFolderIsItsTextFilesByNameEachADocument) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "a.d");
  write_text(folder / "b.txt", "one\n\ntwo\n");
  write_text(folder / "a.d" / "z.txt", "deep\n");
  write_text(folder / "a.txt", "= not = wikitext\n");
  write_text(folder / "c.txt", " \n\n");
  write_text(folder / "notes.md", "no document\n");
  write_text(folder / ".hidden.txt", "no document\n");
  OutputStream packed(folder / "d.txt.gz");
  packed.write("packed\n");
  packed.close();
  const std::string path = folder.path().string();
  EXPECT_EQ(shown_documents({path}), (Documents{"a.d/z.txt: deep /", "a.txt: = not = wikitext /",
                                                "b.txt: one / two /", "d.txt.gz: packed /"}));
  TextDocuments documents({path});
  for (TextDocument document; documents.next(document);) {
  }
  EXPECT_EQ(documents.blank(), 1u);
}

TEST(TextDocuments, AFolderWithAnotherFormatIsAllItsFiles) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "AA");
  std::filesystem::create_directories(folder / "AB");
  write_text(folder / "AB" / "wiki_00", "<doc id=\"2\" url=\"u\" title=\"B\">\nB\n\nb\n</doc>\n");
  write_text(folder / "AA" / "wiki_01", "<doc id=\"1\" url=\"u\" title=\"A\">\nA\n\na\n</doc>\n");
  const std::string path = folder.path().string();
  EXPECT_EQ(shown_documents({path}), (Documents{"A: a /", "B: b /"}));
  EXPECT_EQ(shown_documents({path}, documents_as(DocumentFormat::wikiextractor)),
            (Documents{"A: a /", "B: b /"}));
  expect_bad_input(error_of([&] { shown_documents({path}, documents_as(DocumentFormat::plain)); }), path,
                   "no .txt files in this folder");
}

TEST(TextDocuments, AnEmptyFolderIsAnError) {
  const TemporaryFolder folder;
  expect_bad_input(error_of([&] { shown_documents({folder.path().string()}); }), folder.path().string(),
                   "no files in this folder");
}

TEST(TextDocuments, SeveralInputsInTheOrderGiven) {
  const TemporaryFolder folder;
  write_text(folder / "b.txt", "b\n");
  write_text(folder / "a.jsonl", "{\"text\": \"a\", \"id\": 7}\n");
  EXPECT_EQ(shown_documents({folder / "b.txt", folder / "a.jsonl", folder / "b.txt"}),
            (Documents{(folder / "b.txt").string() + ":1: b /", "7: a /",
                       (folder / "b.txt").string() + ":1: b /"}));
}

TEST(TextDocuments, JsonObjectsHoldTheTextInAField) {
  const DocumentFile file("x.jsonl",
                          "{\"text\": \"one\\r\\n\\n two &amp; \\n\"}\n{\"title\": \"T\", \"id\": \"i\", "
                          "\"text\": \"x\\u2028y\"}\n{\"text\": \" \\n \"}\n");
  EXPECT_EQ(file.documents(), (Documents{file.path + ":1: one /  two &amp;  /", "T: x\u2028y /"}));
  TextDocuments documents({file.path});
  for (TextDocument document; documents.next(document);) {
  }
  EXPECT_EQ(documents.blank(), 1u);
  TextDocumentOptions options;
  options.field = "body";
  EXPECT_EQ(DocumentFile("x.json", "[{\"body\": \"a\", \"id\": 3}, {\"body\": \"b\", \"id\": 4}]")
                .documents(options),
            (Documents{"3: a /", "4: b /"}));
}

TEST(TextDocuments, JsonWithoutTheFieldOrOfAnotherTypeNamesTheLine) {
  const auto missing = DocumentFile("x.jsonl", "{\"text\": \"a\"}\n{\"body\": \"b\"}\n").error();
  expect_bad_input(missing, "x.jsonl:2: ", "no field 'text'");
  EXPECT_NE(missing->hint().find("body"), std::string::npos) << missing->hint();
  expect_bad_input(DocumentFile("x.jsonl", "{\"text\": null}\n").error(),
                   "x.jsonl:1: ", "field 'text' is null, not a string");
  expect_bad_input(DocumentFile("x.jsonl", "{\"text\": 1, \"id\": 7}\n").error(),
                   "x.jsonl:1: '7': ", "field 'text' is number, not a string");
  expect_bad_input(DocumentFile("x.jsonl", "[\"text\"]\n").error(documents_as(DocumentFormat::jsonl)),
                   "x.jsonl:1:2: ", "no field 'text'");
  expect_bad_input(DocumentFile("x.jsonl", "{\"text\": \"a\n").error(),
                   "x.jsonl:1:12: ", "the end of a line");
}

TEST(TextDocuments, WikiExtractsLoseTheRepeatedTitleOnly) {
  const DocumentFile file(
      "wiki_00",
      "<doc id=\"12\" url=\"https://x/?curid=12\" title=\"The \"X\" affair &amp; more\">\n"
      "The \"X\" affair & more\n\nFirst &lt;p&gt;.\nThe \"X\" affair & more\n\n</doc>\n\n"
      "<doc id=\"13\" url=\"u\" title=\"Empty\">\nEmpty\n\n\n</doc>\n"
      "<doc id=\"14\" url=\"u\" title=\"Other\">\nNot the title.\n</doc>\n");
  EXPECT_EQ(file.documents(),
            (Documents{"The \"X\" affair &amp; more: First &lt;p&gt;. / The \"X\" affair & more /",
                       "Other: Not the title. /"}));
  TextDocuments documents({file.path});
  TextDocument document;
  ASSERT_TRUE(documents.next(document));
  EXPECT_EQ(document.place, file.path + ":1");
  ASSERT_TRUE(documents.next(document));
  EXPECT_EQ(document.place, file.path + ":14");
  EXPECT_EQ(documents.blank(), 1u);
}

TEST(TextDocuments, BrokenWikiExtractsAreRefusedWithTheLine) {
  const std::string begin = "<doc id=\"1\" url=\"u\" title=\"A\">\n";
  expect_bad_input(DocumentFile("w", begin + "A\n\nb\n").error(),
                   "w:1: ", "the file ends inside of this <doc>");
  expect_bad_input(DocumentFile("w", begin + "b\n" + begin).error(),
                   "w:3: ", "<doc> inside of the one that begins at");
  expect_bad_input(DocumentFile("w", begin + "b\n</doc>\nstray\n").error(), "w:4: ", "text outside of <doc>");
}

TEST(TextDocuments, WikitextIsCutAtTitlesOfLevelOne) {
  const DocumentFile file(
      "x.txt",
      " \n = First title = \n \n A @-@ b <unk> . \n = 5 = \n \n = = Section = = \n \n c \n \n"
      " = Second = \n \n = = = Deep = = = \n d \n");
  EXPECT_EQ(
      file.documents(),
      (Documents{"First title:  = First title =  /  A @-@ b <unk> .  /  = 5 =  /  = = Section = =  /  c  /",
                 "Second:  = Second =  /  = = = Deep = = =  /  d  /"}));
  TextDocuments documents({file.path});
  TextDocument document;
  ASSERT_TRUE(documents.next(document));
  ASSERT_TRUE(documents.next(document));
  EXPECT_EQ(document.place, file.path + ":11");
}

TEST(TextDocuments, WikitextMustBeginWithATitle) {
  expect_bad_input(DocumentFile("x.txt", "\na\n").error(documents_as(DocumentFormat::wikitext)),
                   "x.txt:2: ", "wikitext does not begin with a title");
}

TEST(TextDocuments, TheFormatIsTakenFromTheFirstLineThatIsNotBlank) {
  const std::string plain = "x.txt:2: ";
  const auto first = [](const std::string& line) {
    const DocumentFile file("x.txt", "\n" + line + "\n");
    const auto documents = file.documents();
    return documents.empty()
               ? ""
               : documents[0].substr(
                     documents[0].find("x.txt") == std::string::npos ? 0 : documents[0].find("x.txt"));
  };
  EXPECT_EQ(first("{\"text\": \"a\"}"), plain + "a /");
  EXPECT_EQ(first("  { \"text\": \"a\"}"), plain + "a /");
  EXPECT_EQ(first("{ braces } of a text"), plain + "{ braces } of a text /");
  EXPECT_EQ(first("[1] a reference"), plain + "[1] a reference /");
  EXPECT_EQ(first("<doc id=\"1\" url=\"u\" title=\"A\">\na\n</doc>"), "A: a /");
  EXPECT_EQ(first("<doc>"), plain + "<doc> /");
  EXPECT_EQ(first("<p id=\"1\">"), plain + "<p id=\"1\"> /");
  EXPECT_EQ(first(" = A = "), "A:  = A =  /");
  EXPECT_EQ(first("= A ="), plain + "= A = /");
  EXPECT_EQ(first(" = = A = = "), plain + " = = A = =  /");
}

TEST(TextDocuments, TheFormatIsFoundBehindManyBlankLines) {
  const std::string blank(100000, '\n');
  EXPECT_EQ(DocumentFile("x", blank + "{\"text\": \"a\", \"id\": 1}\n").documents(), (Documents{"1: a /"}));
}

TEST(TextDocuments, AFormatThatIsSaidIsNotLookedFor) {
  const DocumentFile file("x.jsonl", "{\"text\": \"a\"}\n");
  EXPECT_EQ(file.documents(documents_as(DocumentFormat::plain)),
            (Documents{file.path + ":1: {\"text\": \"a\"} /"}));
}

TEST(TextDocuments, FormatsHaveNames) {
  for (const DocumentFormat format : {DocumentFormat::automatic, DocumentFormat::plain, DocumentFormat::jsonl,
                                      DocumentFormat::wikiextractor, DocumentFormat::wikitext}) {
    EXPECT_EQ(parse_document_format(document_format_name(format)), format);
  }
  const auto error = error_of([] { parse_document_format("xml"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), ErrorKind::usage);
  EXPECT_NE(error->hint().find("wikiextractor"), std::string::npos);
}

TEST(TextDocuments, InvalidBytesAreAnErrorOrReplacedInAllInputs) {
  const TemporaryFolder folder;
  write_text(folder / "a.txt", "x\n\ncaf\xE9\n");
  write_text(folder / "b.jsonl", "{\"text\": \"caf\xE9\"}\n");
  const std::vector<std::string> inputs{folder / "a.txt", folder / "b.jsonl"};
  expect_bad_input(error_of([&] { shown_documents(inputs); }),
                   "a.txt:3: ", "byte 4 of the line is not UTF-8");
  TextDocumentOptions options;
  options.replace_invalid = true;
  TextDocuments documents(inputs, options);
  std::vector<std::string> lines;
  for (TextDocument document; documents.next(document);)
    lines.insert(lines.end(), document.lines.begin(), document.lines.end());
  EXPECT_EQ(lines, (std::vector<std::string>{"x", "caf\uFFFD", "caf\uFFFD"}));
}

TEST(TextDocuments, AFileThatIsNotThereIsAnError) {
  expect_bad_input(error_of([] { shown_documents({"/nowhere/x.txt"}); }), "/nowhere/x.txt", "cannot read");
}

}  // namespace
}  // namespace bigbird
