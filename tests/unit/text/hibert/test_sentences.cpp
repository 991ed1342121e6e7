// Texts cut into sentences, and labels of those that make the extract nearest to a summary.
#include <gtest/gtest.h>

#include "lib/metrics/rouge.h"
#include "lib/text/hibert/documents.h"
#include "lib/text/hibert/extract_labels.h"
#include "lib/text/hibert/extracts.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using Texts = std::vector<std::string>;

TEST(Sentences, LinesAreSentencesWhereThereAreSeveral) {
  EXPECT_EQ(sentences_of("One. Still one.\n\n  Two \r\nthree"), (Texts{"One. Still one.", "Two", "three"}));
}

TEST(Sentences, OneLineIsCutAtItsMarks) {
  EXPECT_EQ(sentences_of("It rained. The \"bridge\" was shut! Why? (Nobody knew.) End"),
            (Texts{"It rained.", "The \"bridge\" was shut!", "Why?", "(Nobody knew.)", "End"}));
  EXPECT_EQ(sentences_of("He paid 3.50 at no. 7 of e.g. the list ... and left.\n"),
            (Texts{"He paid 3.50 at no.", "7 of e.g. the list ... and left."}));
  EXPECT_EQ(sentences_of("She said \xE2\x80\x9CGo.\xE2\x80\x9D Then rain."),
            (Texts{"She said \xE2\x80\x9CGo.\xE2\x80\x9D", "Then rain."}));
  EXPECT_EQ(sentences_of(" \n\t\n"), Texts());
  EXPECT_EQ(sentences_of(""), Texts());
}

TEST(ExtractLabels, TakeWhatRaisesRouge) {
  const Texts sentences = {"the market was loud", "a bridge was shut after rain", "nobody came",
                           "trains were late"};
  EXPECT_EQ(extract_labels(sentences, "The bridge was shut. Trains were late."),
            (std::vector<std::int32_t>{0, 1, 0, 1}));
  EXPECT_EQ(extract_labels(sentences, "zebra"), (std::vector<std::int32_t>{0, 0, 0, 0}));
  EXPECT_EQ(extract_labels({"same words", "same words"}, "same words"), (std::vector<std::int32_t>{1, 0}));
}

// Where the greedy search ends, no further sentence makes the extract better.
TEST(ExtractLabels, EndWhereNoSentenceRaisesTheSum) {
  const Texts sentences = {"a b c d", "c d e", "e f g", "a g h", "b d f"};
  const std::string summary = "a b c d e f";
  const auto sum = [&](const std::vector<std::size_t>& numbers) {
    double f1 = 0;
    for (const RougeScore& score :
         rouge(summary, extract_of(sentences, numbers), {.types = {"rouge1", "rouge2"}}))
      f1 += score.f1;
    return f1;
  };
  const std::vector<std::int32_t> labels = extract_labels(sentences, summary);
  std::vector<std::size_t> taken;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == 1) taken.push_back(i);
  }
  ASSERT_FALSE(taken.empty());
  for (std::size_t more = 0; more < labels.size(); ++more) {
    if (labels[more] == 1) continue;
    std::vector<std::size_t> numbers = taken;
    numbers.insert(std::lower_bound(numbers.begin(), numbers.end(), more), more);
    EXPECT_LE(sum(numbers), sum(taken)) << more;
  }
}

TEST(Extracts, TakeTheMostProbableInTheOrderOfTheDocument) {
  const RankedDocument document{{"a", "b", "c", "d"}, {0, 1, 2, 4}, {0.2, 0.7, 0.7, 0.9}, false};
  EXPECT_EQ(document.best(1), (std::vector<std::size_t>{3}));
  EXPECT_EQ(document.best(2), (std::vector<std::size_t>{1, 3}));
  EXPECT_EQ(document.best(9), (std::vector<std::size_t>{0, 1, 2, 3}));
}

TEST(Extracts, TheNumberOfSentencesIsKeptInItsFile) {
  const testing::TemporaryFolder folder;
  EXPECT_EQ(read_extract_size(folder.path().string()), usual_extract);
  write_extract_size(folder.path().string(), 5, "dev.jsonl");
  EXPECT_EQ(read_extract_size(folder.path().string()), 5);
  testing::write_text(folder / "extraction.json", "{\"sentences\": 0}");
  EXPECT_ANY_THROW(read_extract_size(folder.path().string()));
  testing::write_text(folder / "extraction.json", "{");
  EXPECT_ANY_THROW(read_extract_size(folder.path().string()));
}

}  // namespace
}  // namespace bigbird
