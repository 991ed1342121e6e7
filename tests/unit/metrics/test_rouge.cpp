// ROUGE and stems, with numbers of rouge_score and NLTK that were counted again by hand.
#include "lib/metrics/rouge.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

void expect_scores(const std::string& target, const std::string& prediction,
                   const std::vector<RougeScore>& wanted) {
  const std::vector<RougeScore> scores = rouge(target, prediction);
  ASSERT_EQ(scores.size(), wanted.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    EXPECT_NEAR(scores[i].precision, wanted[i].precision, 1e-6) << i;
    EXPECT_NEAR(scores[i].recall, wanted[i].recall, 1e-6) << i;
    EXPECT_NEAR(scores[i].f1, wanted[i].f1, 1e-6) << i;
  }
}

TEST(Rouge, OfStemmedSentences) {
  expect_scores("the quick brown fox jumps over the lazy dog .\nit was running quickly .",
                "the fast brown foxes jumped over lazy dogs .\nrunning was quick .",
                {{0.909091, 0.769231, 0.833333},
                 {0.4, 0.333333, 0.363636},
                 {0.727273, 0.615385, 0.666667},
                 {0.818182, 0.692308, 0.75}});
}

TEST(Rouge, OfASummaryTheUnionOfSubsequencesCountsEachWordOnce) {
  expect_scores("a b c d e\nf g a b", "a c e b\nb a g f\na a",
                {{0.8, 0.888889, 0.842105}, {0, 0, 0}, {0.5, 0.555556, 0.526316}, {0.6, 0.666667, 0.631579}});
}

TEST(Rouge, AWordOfThePredictionIsSpentOnce) {
  expect_scores("a b\na c", "a", {{1, 0.25, 0.4}, {0, 0, 0}, {1, 0.25, 0.4}, {1, 0.25, 0.4}});
}

TEST(Rouge, OfNothingIsNothing) {
  const RougeScore none, all{1, 1, 1};
  expect_scores("", "x", {none, none, none, none});
  expect_scores("x", "", {none, none, none, none});
  expect_scores("", "", {none, none, none, none});
  expect_scores(" \n.", "x", {none, none, none, none});
  expect_scores("Hello, World!", "hello world", {all, all, all, all});
}

TEST(Rouge, WordsAreAsciiButForTwoCharactersWhoseSmallLettersAre) {
  EXPECT_EQ(rouge_words("K\u212Aelvin \u0130stanbul x\u00E9y 4.5%", false),
            (std::vector<std::string>{"kkelvin", "i", "stanbul", "x", "y", "4", "5"}));
  EXPECT_EQ(rouge_words("Ties SKIES", true), (std::vector<std::string>{"tie", "sky"}));
  EXPECT_EQ(rouge_words("ate its", true), (std::vector<std::string>{"ate", "its"}));  // three letters stay
}

TEST(Rouge, OfSeveralTargetsTheBestForEachType) {
  const std::vector<std::string> targets = {"a b c d", "d c b a x y"};
  RougeOptions options;
  options.types = {"rouge1", "rouge2"};
  const std::vector<RougeScore> best = rouge(targets, "d c b a", options);
  EXPECT_EQ(best[0], (RougeScore{1, 1, 1}));                // of the first
  EXPECT_EQ(best[1], (RougeScore{1, 0.6, 2 * 0.6 / 1.6}));  // of the second
}

TEST(Rouge, ATypeThatThereIsNotIsAUsageError) {
  for (const std::string type : {"rouge0", "rouge10", "rougeW", "rouge", ""}) {
    RougeOptions options;
    options.types = {type};
    EXPECT_EQ(testing::error_of([&] { rouge("a", "a", options); })->kind(), ErrorKind::usage) << type;
  }
}

TEST(Rouge, OfOneDocumentEveryIntervalIsItsScore) {
  const std::vector<std::vector<RougeScore>> one = {{{0.25, 0.5, 1.0 / 3}}};
  const RougeSummary summary = summarize_rouge(one, 1).front();
  for (const RougeScore& score : {summary.mean, summary.low, summary.mid, summary.high})
    EXPECT_EQ(score, one[0][0]);
}

TEST(PorterStem, OfIrregularAndRegularWords) {
  const std::vector<std::pair<std::string, std::string>> stems = {{"ties", "tie"},
                                                                  {"died", "die"},
                                                                  {"tried", "tri"},
                                                                  {"dies", "die"},
                                                                  {"skies", "sky"},
                                                                  {"agreed", "agre"},
                                                                  {"bled", "bled"},
                                                                  {"hopping", "hop"},
                                                                  {"falling", "fall"},
                                                                  {"hissing", "hiss"},
                                                                  {"fizzed", "fizz"},
                                                                  {"failing", "fail"},
                                                                  {"filing", "file"},
                                                                  {"happy", "happi"},
                                                                  {"enjoy", "enjoy"},
                                                                  {"spied", "spi"},
                                                                  {"flies", "fli"},
                                                                  {"vileli", "vile"},
                                                                  {"radically", "radic"},
                                                                  {"formative", "form"},
                                                                  {"electricity", "electr"},
                                                                  {"hopefulness", "hope"},
                                                                  {"sensibility", "sensibl"},
                                                                  {"rate", "rate"},
                                                                  {"cease", "ceas"},
                                                                  {"controll", "control"},
                                                                  {"roll", "roll"},
                                                                  {"geology", "geolog"},
                                                                  {"usefully", "use"},
                                                                  {"owed", "owe"},
                                                                  {"ared", "are"},
                                                                  {"generalizations", "gener"},
                                                                  {"oscillators", "oscil"},
                                                                  {"bilingual", "bilingu"},
                                                                  {"covid19", "covid19"},
                                                                  {"ionizing", "ioniz"},
                                                                  {"news", "news"},
                                                                  {"is", "is"},
                                                                  {"", ""}};
  for (const auto& [word, stem] : stems) EXPECT_EQ(porter_stem(word), stem) << word;
}

}  // namespace
}  // namespace bigbird
