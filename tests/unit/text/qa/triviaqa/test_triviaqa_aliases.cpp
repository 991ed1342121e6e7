// Names of an answer in a document, and the tokens that they begin and end with.
#include "lib/text/qa/triviaqa/questions.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/core/unicode.h"
#include "lib/metrics/answer_metrics.h"

namespace bigbird {
namespace {

std::vector<std::string> word_texts(std::string_view text) {
  std::vector<std::string> list;
  for (const NormalizedWord& word : normalized_words(text)) list.push_back(word.text);
  return list;
}

// What stands in the text at every occurrence.
std::vector<std::string> found_texts(const std::string& text, const std::vector<std::string>& aliases,
                                     std::size_t most = most_alias_positions) {
  std::vector<std::string> list;
  const CodePointIndex index(text);
  for (const TextSpan& span : AliasFinder(text).find(aliases, most)) {
    list.emplace_back(index.slice(span.begin, span.end));
  }
  return list;
}

using Texts = std::vector<std::string>;

TEST(NormalizedWords, AreSmallWithoutPunctuationAndArticles) {
  EXPECT_EQ(word_texts("The Sunset-Boulevard, a film_noir (1950)!"),
            (Texts{"sunset", "boulevard", "film", "noir", "1950"}));
  EXPECT_EQ(word_texts("\u2018An\u2019 \u00b4x` Anne theatre THE"), (Texts{"x", "anne", "theatre"}));
  EXPECT_EQ(word_texts(" the \n"), Texts{});
  EXPECT_EQ(word_texts(""), Texts{});
}

TEST(NormalizedWords, AreThoseOfTheOfficialEvaluation) {
  for (const char* text :
       {"The Sunset-Boulevard, a film_noir (1950)!", "O\u2019Neil\u2019s the\u2013a \u20aca an", "A.B. C",
        "\u0130stanbul\u2003\u00c9T\u00c9 \u00df", "the \U0001F600a a\U0001F600 na\u00efve a\u0301"}) {
    std::string joined;
    for (const std::string& word : word_texts(text)) joined += (joined.empty() ? "" : " ") + word;
    EXPECT_EQ(joined, normalize_trivia_answer(text).text) << text;
  }
}

TEST(NormalizedWords, HaveTheirCodePoints) {
  const auto words = normalized_words("\u00c9t\u00e9, (the \U0001F600 Sun)");
  ASSERT_EQ(words.size(), 3u);
  EXPECT_EQ(words[0].span, (TextSpan{0, 3}));
  EXPECT_EQ(words[1].span, (TextSpan{10, 11}));
  EXPECT_EQ(words[2].span, (TextSpan{12, 15}));
}

TEST(AliasFinder, FindsEveryPlaceOfEveryName) {
  EXPECT_EQ(found_texts("Sunset Blvd. was filmed; SUNSET BOULEVARD (film) and sunset-boulevard.",
                        {"sunset boulevard", "sunset blvd", "sunset boulevard film"}),
            (Texts{"Sunset Blvd", "SUNSET BOULEVARD", "SUNSET BOULEVARD (film", "sunset-boulevard"}));
}

TEST(AliasFinder, NamesBeginAndEndAtWords) {
  EXPECT_EQ(found_texts("Romeo and Rome and Jerome Romes", {"rome"}), Texts{"Rome"});
  EXPECT_EQ(found_texts("in Great Britain", {"great brit"}), Texts{});
}

TEST(AliasFinder, ArticlesInTheTextBelongToTheOccurrence) {
  EXPECT_EQ(found_texts("He wrote The Lord of the Rings there.", {"lord of rings", "The Lord Of The Rings"}),
            Texts{"Lord of the Rings"});
}

TEST(AliasFinder, SmallAndCapitalLettersAreEqualInAllAlphabets) {
  EXPECT_EQ(found_texts("\u039f\u0394\u039f\u03a3 x \u03bf\u03b4\u03bf\u03c2 y \u03bf\u03b4\u03bf\u03c3",
                        {"\u03bf\u03b4\u03bf\u03c2"})
                .size(),
            3u);
  EXPECT_EQ(found_texts("\u00c9T\u00c9 et \u00e9t\u00e9", {"\u00e9t\u00e9"}),
            (Texts{"\u00c9T\u00c9", "\u00e9t\u00e9"}));
}

TEST(AliasFinder, TheSameNameTwiceIsOnePlace) {
  EXPECT_EQ(found_texts("In Rome.", {"rome", "Rome", "ROME!"}), Texts{"Rome"});
}

TEST(AliasFinder, AtMostSoManyFromTheLeft) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += fmt::format("Rome {} ", i);
  EXPECT_EQ(AliasFinder(text).find(Texts{"rome"}).size(), 64u);
  const auto few = AliasFinder(text).find(Texts{"rome"}, 2);
  ASSERT_EQ(few.size(), 2u);
  EXPECT_EQ(few[0], (TextSpan{0, 4}));
  EXPECT_EQ(few[1], (TextSpan{7, 11}));
}

TEST(AliasFinder, NamesThatVanishOccurNowhere) {
  EXPECT_TRUE(found_texts("the ... a", {"the", "...", "", "A"}).empty());
  EXPECT_TRUE(found_texts("", {"rome"}).empty());
  EXPECT_TRUE(found_texts("Rome", {"rome italy"}).empty());
}

TEST(PositionSets, HoldEveryAnswerOfTheWindowOnce) {
  // Tokens "aa bb cc dd": (0, 2), (2, 5), (5, 8), (8, 11); one question token, context at position 3.
  ContextTokens context;
  context.spans = {{0, 2}, {2, 5}, {5, 8}, {8, 11}};
  context.ids.resize(4);
  const std::vector<TextSpan> answers{{3, 5}, {3, 8}, {9, 11}};
  const PositionSets all = position_sets(context, {0, 4}, 1, answers);
  EXPECT_EQ(all.starts, (std::vector<std::size_t>{4, 6}));
  EXPECT_EQ(all.ends, (std::vector<std::size_t>{4, 5, 6}));
  const PositionSets part = position_sets(context, {1, 1}, 1, answers);
  EXPECT_EQ(part.starts, std::vector<std::size_t>{3});
  EXPECT_EQ(part.ends, std::vector<std::size_t>{3});
  const PositionSets none = position_sets(context, {0, 1}, 1, answers);
  EXPECT_TRUE(none.starts.empty());
  EXPECT_TRUE(none.ends.empty());
}

}  // namespace
}  // namespace bigbird
