// Normalised answers. Expected texts and numbers are what the official scripts of SQuAD 1.1, HotpotQA and
// TriviaQA give.
#include "lib/metrics/answer_metrics.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bigbird {
namespace {

struct NormalizedCase {
  std::string answer;
  std::string squad;
  std::string trivia;
};

TEST(AnswerText, IsNormalisedAsTheScriptsDo) {
  const std::vector<NormalizedCase> cases = {
      {"The U.S. Army's  best-known  A-team", "us armys bestknown ateam", "u s army s best known team"},
      {"th'e the-the", "thethe", "th e"},  // punctuation goes first and joins
      {"  An\u2003"
       "apple\u00A0"
       "a\x1C"
       "day\u0085",
       "apple day", "apple day"},
      {"a\u0301 a the\u0301", "\u0301 \u0301", "\u0301 \u0301"},  // a combining mark ends a word
      {"th\u00E9 the\u0301me", "th\u00E9 \u0301me", "th\u00E9 \u0301me"},
      {"...", "", ""},
      {"", "", ""},
      {" \u2003 ", "", ""},
      {"a an the", "", ""},
      {"\u0130stanbul \u0130", "i\u0307stanbul i\u0307", "i\u0307stanbul i\u0307"},
      {"ΟΔΟΣ ΟΔΟΣ. Σ ΑΣ'Β", "οδος οδος σ ασβ", "οδος οδος σ ασ β"},  // small first
      {"the_end", "theend", "end"},
      {"_the_ end", "end", "end"},
      {"‘The’ `x´ “the”", "‘ ’ x´ “ ”", "x “ ”"},
      {"1a a1 a\u00BD the\u00B2 \u0663a", "1a a1 a\u00BD the\u00B2 \u0663a",
       "1a a1 a\u00BD the\u00B2 \u0663a"},
      {"a\u4E2D the\u3002", "a\u4E2D \u3002", "a\u4E2D \u3002"},
      {"rock'n'roll", "rocknroll", "rock n roll"},
      {"New_York", "newyork", "new york"},
  };
  for (const NormalizedCase& c : cases) {
    EXPECT_EQ(normalize_answer(c.answer).text, c.squad) << c.answer;
    EXPECT_EQ(normalize_trivia_answer(c.answer).text, c.trivia) << c.answer;
  }
}

TEST(AnswerText, ComposedAndDecomposedLettersAreDifferentAnswers) {
  EXPECT_NE(normalize_answer("Caf\u00E9").text, normalize_answer("Cafe\u0301").text);
  EXPECT_NE(normalize_answer("\u00C5").text, normalize_answer("A\u030A").text);
  EXPECT_EQ(normalize_answer("\u212B").text,
            normalize_answer("\u00C5").text);  // the unit
}

TEST(AnswerText, WordsAreASortedBag) {
  EXPECT_EQ(normalize_answer("to be, or not to be").words,
            (std::vector<std::string>{"be", "be", "not", "or", "to", "to"}));
  EXPECT_TRUE(normalize_answer("the").words.empty());
}

TEST(AnswerText, OverlapCountsEveryWordAsOftenAsBothHaveIt) {
  struct Case {
    std::string prediction;
    std::string gold;
    double f1;
    double precision;
    double recall;
  };
  const std::vector<Case> cases = {
      {"the cat sat", "cat sat down", 0.8, 1.0, 0.6666666666666666},
      {"cat cat dog", "cat dog dog", 0.6666666666666666, 0.6666666666666666, 0.6666666666666666},
      {"dog", "dog dog dog dog", 0.4, 1.0, 0.25},
      {"x", "y", 0, 0, 0},
      {"a", "the", 0, 0, 0},  // both empty
      {"...", "", 0, 0, 0},
      {"", "x", 0, 0, 0},
  };
  for (const Case& c : cases) {
    const WordOverlap overlap = word_overlap(normalize_answer(c.prediction), normalize_answer(c.gold));
    EXPECT_DOUBLE_EQ(overlap.f1, c.f1) << c.prediction;
    EXPECT_DOUBLE_EQ(overlap.precision, c.precision) << c.prediction;
    EXPECT_DOUBLE_EQ(overlap.recall, c.recall) << c.prediction;
  }
}

}  // namespace
}  // namespace bigbird
