// Where sentences come from: documents on either strand are read from their first base to their last.
#include "lib/data/sentence_source.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/core/error.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using testing::TemporaryFolder;
using testing::write_text;

using SentenceTexts = std::vector<std::string>;

class SentenceSource : public ::testing::Test {
 protected:
  SentenceSource() { write_text(folder_ / "g.fa", ">c1\nAACCGGTTACGTNNGATTACA\n"); }

  SourceOptions options(const std::string& text, bool blocks) const {
    write_text(folder_ / "d.bed", text);
    SourceOptions options;
    options.fasta = (folder_ / "g.fa").string();
    (blocks ? options.documents : options.windows) = (folder_ / "d.bed").string();
    return options;
  }
  // The sentences of the only document.
  static SentenceTexts only(const SourceOptions& options) {
    const auto source = open_source(options);
    PlannedDocument document;
    EXPECT_TRUE(source->next(document));
    SentenceTexts sentences = SentenceLoader(*source).load(document);
    EXPECT_FALSE(source->next(document));
    return sentences;
  }
  TemporaryFolder folder_;
};

TEST_F(SentenceSource, BlocksOfTheOtherStrandAreReadFromTheLastToTheFirst) {
  const auto bed = [](char strand) {
    return std::string("c1\t1\t12\td\t0\t") + strand + "\t1\t12\t0\t2\t4,5,\t0,6,\n";
  };
  EXPECT_EQ(only(options(bed('+'), true)), (SentenceTexts{"ACCG", "TACGT"}));
  EXPECT_EQ(only(options(bed('-'), true)), (SentenceTexts{"ACGTA", "CGGT"}));
}

TEST_F(SentenceSource, AWindowIsADocumentOfOneSentence) {
  EXPECT_EQ(only(options("c1\t10\t16\tw\t0\t-\n", false)), SentenceTexts{"TCNNAC"});
  EXPECT_EQ(only(options("c1\t10\t16\n", false)), SentenceTexts{"GTNNGA"});
}

TEST_F(SentenceSource, WhatLiesOutsideOfTheContigIsRefusedWithItsLine) {
  try {
    only(options("c1\t10\t22\n", false));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("d.bed:1: c1:10-22 is not inside the contig"), std::string::npos)
        << error.message();
  }
}

}  // namespace
}  // namespace bigbird
