// Sentences with labels of words in their three forms, and files that must be refused.
#include "lib/io/text/tagged_sentences.h"

#include <gtest/gtest.h>

#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using Names = std::vector<std::string>;
using testing::error_of;
using testing::expect_message;

class Tagged : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    testing::write_text(folder_ / name, text);
    return (folder_ / name).string();
  }
  static std::vector<TaggedSentence> all(const std::string& path, const TaggedSentenceOptions& options = {}) {
    TaggedSentences source(path, options);
    std::vector<TaggedSentence> sentences;
    for (TaggedSentence one; source.next(one);) sentences.push_back(one);
    return sentences;
  }
  std::optional<Error> refused(const std::string& name, const std::string& text,
                               const TaggedSentenceOptions& options = {}) {
    const std::string path = write(name, text);
    return error_of([&] { all(path, options); });
  }
  testing::TemporaryFolder folder_;
};

TEST_F(Tagged, ColumnsAreWordsAndLabels) {
  // As CoNLL 2003 has it.
  const std::string path = write("a.txt",
                                 "-DOCSTART- -X- O O\n\nEU NNP I-NP B-ORG\nrejects VBZ I-VP O\n\n\n"
                                 "Peter NNP I-NP B-PER\r\n");
  const auto sentences = all(path);
  ASSERT_EQ(sentences.size(), 2u);
  EXPECT_EQ(sentences[0].words, (Names{"EU", "rejects"}));
  EXPECT_EQ(sentences[0].labels, (Names{"B-ORG", "O"}));
  EXPECT_EQ(sentences[0].place, path + ":3");
  EXPECT_EQ(sentences[1].words, (Names{"Peter"}));
  EXPECT_EQ(sentences[1].labels, (Names{"B-PER"}));
  EXPECT_EQ(sentences[1].id, "1");
  TaggedSentenceOptions tags;
  tags.label_column = "2";
  EXPECT_EQ(all(path, tags)[0].labels, (Names{"NNP", "VBZ"}));
  // Words alone, and blanks inside of them between tabs; lines of provenance.
  TaggedSentenceOptions ignored;
  ignored.labels = Labels::ignored;
  EXPECT_EQ(all(write("b.txt", "one\ntwo\n"), ignored)[0].words, (Names{"one", "two"}));
  const auto tabs = all(write("c.txt", "##bigbird_version=1\nNew York\tB-LOC\n#x\tO\n"));
  EXPECT_EQ(tabs[0].words, (Names{"New York", "#x"}));
  TaggedSentenceOptions optional;
  optional.labels = Labels::optional;
  EXPECT_TRUE(all(write("d.txt", "one\n"), optional)[0].labels.empty());
}

TEST_F(Tagged, ConlluLeavesOutWhatIsNoWord) {
  const auto sentences =
      all(write("a.conllu",
                "# text = vámonos\n1-2\tvámonos\t_\t_\t_\n1\tvamos\tir\tVERB\t_\n"
                "2\tnos\tnosotros\tPRON\t_\n2.1\tx\t_\t_\t_\n\n# another\n1\tsí\tsí\tINTJ\t_\n"));
  ASSERT_EQ(sentences.size(), 2u);
  EXPECT_EQ(sentences[0].words, (Names{"vamos", "nos"}));
  EXPECT_EQ(sentences[0].labels, (Names{"VERB", "PRON"}));
  EXPECT_EQ(sentences[1].labels, (Names{"INTJ"}));
}

TEST_F(Tagged, JsonHasListsUnderSeveralNames) {
  const auto sentences = all(write("a.jsonl",
                                   "{\"id\": \"x\", \"tokens\": [\"EU\", \"no\"], \"ner_tags\": [3, 0]}\n"
                                   "{\"words\": [], \"labels\": []}\n"));
  ASSERT_EQ(sentences.size(), 2u);
  EXPECT_EQ(sentences[0].id, "x");
  EXPECT_EQ(sentences[0].labels, (Names{"3", "0"}));
  EXPECT_TRUE(sentences[1].words.empty());
  EXPECT_EQ(sentences[1].id, "1");
  TaggedSentenceOptions other;
  other.token_column = "w";
  other.label_column = "y";
  other.format = TaggedFormat::jsonl;
  EXPECT_EQ(all(write("b.data", "[{\"w\": [\"a\"], \"y\": [\"B\"]}]"), other)[0].labels, (Names{"B"}));
}

TEST_F(Tagged, WhatIsWrongIsNamedWithItsPlace) {
  expect_message(refused("a.txt", "a O\nb\n"), "a.txt:2", "1 columns, and the first line has 2");
  expect_message(refused("a.txt", "a\n"), "a.txt:1", "no column of labels");
  expect_message(refused("a.txt", "a O\n", {.token_column = "", .label_column = "3"}), "a.txt:1",
                 "number 3 is asked for");
  expect_message(refused("a.txt", "a O\n", {.token_column = "first", .label_column = ""}), "column first",
                 "numbers from 1 on");
  expect_message(refused("a.txt", "a\xff O\n"), "a.txt:1", "not UTF-8");
  expect_message(refused("a.jsonl", "{\"tokens\": [\"a\"], \"tags\": []}\n"), "a.jsonl:1",
                 "0 labels for 1 words");
  expect_message(refused("a.jsonl", "{\"tokens\": [\"a\"]}\n"), "a.jsonl:1", "no list of labels");
  expect_message(refused("a.jsonl", "{\"tags\": [\"a\"]}\n"), "a.jsonl:1", "no list of words");
  expect_message(refused("a.jsonl", "{\"tokens\": [1.5], \"tags\": [\"a\"]}\n"), "a.jsonl:1",
                 "neither a string nor a whole number");
  expect_message(refused("a.jsonl", "[1]\n"), "a.jsonl:1", "no JSON object");
}

}  // namespace
}  // namespace bigbird
