// Pretraining documents: the recipe of appendix F.1, exclusion, N limits, and what they must not depend on.
#include "lib/data/documents.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lib/core/error.h"
#include "lib/core/rng.h"

namespace bigbird {
namespace {

constexpr std::int64_t chr21_length = 48'129'895;

bool same(const Document& a, const Document& b) {
  return a.begin == b.begin && a.sentence_lengths == b.sentence_lengths;
}

bool same(const std::vector<Document>& a, const std::vector<Document>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return same(x, y); });
}

TEST(DrawDocuments, FollowsTheRecipeAndCoversTheChromosomeWithoutGaps) {
  const DocumentRecipe recipe;
  const auto documents = draw_documents("21", chr21_length, 0, 7, recipe);
  ASSERT_GT(documents.size(), 700u);
  EXPECT_GE(documents.front().begin, 0);
  EXPECT_LE(documents.front().begin, 5000);
  for (std::size_t i = 0; i + 1 < documents.size(); ++i) {
    const Document& document = documents[i];
    EXPECT_EQ(document.end(), documents[i + 1].begin);
    EXPECT_GE(document.sentence_lengths.size(), 50u);
    EXPECT_LE(document.sentence_lengths.size(), 100u);
    const auto [low, high] =
        std::minmax_element(document.sentence_lengths.begin(), document.sentence_lengths.end());
    EXPECT_GE(*low, 500);
    EXPECT_LE(*high, 1000);
  }
  EXPECT_LE(documents.back().end(), chr21_length);
  EXPECT_GT(documents.back().end(), chr21_length - 500);
}

TEST(DrawDocuments, ReachesBothEndsOfEveryRangeAndTheirMean) {
  const DocumentRecipe recipe;
  std::vector<int> lengths(1001, 0);
  std::vector<int> sentences(101, 0);
  double sum = 0;
  double count = 0;
  for (int pass = 0; pass < 10; ++pass) {
    auto documents = draw_documents("21", chr21_length, pass, 1, recipe);
    documents.pop_back();  // the last one is truncated
    for (const Document& document : documents) {
      ++sentences[document.sentence_lengths.size()];
      for (const auto length : document.sentence_lengths) {
        ++lengths[static_cast<std::size_t>(length)];
        sum += length;
        ++count;
      }
    }
  }
  EXPECT_GT(lengths[500], 0);
  EXPECT_GT(lengths[1000], 0);
  EXPECT_GT(sentences[50], 0);
  EXPECT_GT(sentences[100], 0);
  EXPECT_NEAR(sum / count, 750, 1);
}

TEST(DrawDocuments, AStartBeyondTheEndGivesNothing) {
  for (int pass = 0; pass < 20; ++pass)
    EXPECT_TRUE(draw_documents("tiny", 1, pass, 1, {.max_start = 0, .min_sentence_length = 2}).empty());
  EXPECT_TRUE(draw_documents("empty", 0, 0, 1, {}).empty());
}

TEST(DrawDocuments, TruncatesTheLastSentenceAndDropsLessThanOne) {
  // Sentences of exactly 10, documents of exactly 2: 45 bases are 20 + 20 + 5, and the last 5 are less than
  // one sentence.
  const DocumentRecipe recipe{.passes = 1,
                              .max_start = 0,
                              .min_sentences = 2,
                              .max_sentences = 2,
                              .min_sentence_length = 10,
                              .max_sentence_length = 10};
  const auto dropped = draw_documents("a", 45, 0, 1, recipe);
  ASSERT_EQ(dropped.size(), 2u);
  EXPECT_EQ(dropped.back().end(), 40);
  const auto truncated = draw_documents("a", 55, 0, 1, recipe);
  ASSERT_EQ(truncated.size(), 3u);
  EXPECT_EQ(truncated.back().begin, 40);
  EXPECT_EQ(truncated.back().sentence_lengths, (std::vector<std::int32_t>{10, 5}));
}

TEST(DrawDocuments, DependsOnSeedPassAndNameOnly) {
  const auto base = draw_documents("21", 500'000, 0, 1, {});
  EXPECT_TRUE(same(base, draw_documents("21", 500'000, 0, 1, {})));
  EXPECT_FALSE(same(base, draw_documents("21", 500'000, 1, 1, {})));
  EXPECT_FALSE(same(base, draw_documents("21", 500'000, 0, 2, {})));
  EXPECT_FALSE(same(base, draw_documents("22", 500'000, 0, 1, {})));
}

TEST(DrawDocuments, RefusesRangesThatAreEmpty) {
  EXPECT_THROW(check_recipe({.passes = 0}), Error);
  EXPECT_THROW(check_recipe({.max_start = -1}), Error);
  EXPECT_THROW(check_recipe({.min_sentences = 3, .max_sentences = 2}), Error);
  EXPECT_THROW(check_recipe({.min_sentence_length = 0}), Error);
  EXPECT_NO_THROW(check_recipe({}));
}

TEST(IntervalSet, CountsOverlapsAsAPlainLoopDoes) {
  CounterRng rng(3, Purpose::test, 0);
  for (int round = 0; round < 50; ++round) {
    std::vector<IntervalSet::Interval> intervals;
    std::vector<bool> covered(200, false);
    for (int i = 0; i < 8; ++i) {
      const auto begin = rng.between(0, 190);
      const auto end = std::min<std::int64_t>(200, begin + rng.between(0, 20));
      intervals.push_back({begin, end});
      for (auto p = begin; p < end; ++p) covered[static_cast<std::size_t>(p)] = true;
    }
    const IntervalSet set(intervals);
    for (int probe = 0; probe < 50; ++probe) {
      const auto begin = rng.between(0, 199);
      const auto end = rng.between(begin, 200);
      EXPECT_EQ(set.overlap(begin, end), std::count(covered.begin() + begin, covered.begin() + end, true));
    }
    EXPECT_EQ(set.bases(), std::count(covered.begin(), covered.end(), true));
  }
}

// Three sentences of 10 at 0, 10, 20.
const std::vector<Document> three_sentences = {{0, {10, 10, 10}}};

TEST(FilterDocuments, CutsADocumentWhereASentenceTouchesAnExcludedBase) {
  DocumentFilter filter;
  filter.excluded = IntervalSet({{19, 20}});
  FilterCounts counts;
  const auto kept = filter_documents(three_sentences, filter, counts);
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_TRUE(same(kept[0], {0, {10}}));
  EXPECT_TRUE(same(kept[1], {20, {10}}));
  EXPECT_EQ(counts.sentences_excluded, 1);
}

TEST(FilterDocuments, RegionsThatOnlyTouchTheEdgeOrAreEmptyTakeNothing) {
  DocumentFilter filter;
  filter.excluded = IntervalSet({{30, 40}, {5, 5}});
  FilterCounts counts;
  EXPECT_TRUE(same(filter_documents(three_sentences, filter, counts), three_sentences));
  EXPECT_EQ(counts.sentences_excluded, 0);
}

TEST(FilterDocuments, AppliesTheNLimitsToSentencesThenToDocuments) {
  DocumentFilter filter;
  filter.n_bases = IntervalSet({{10, 16}, {20, 25}});
  filter.max_n_sentence = 0.5;  // 6 of 10 is above, 5 of 10 is not
  FilterCounts counts;
  auto kept = filter_documents(three_sentences, filter, counts);
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_TRUE(same(kept[1], {20, {10}}));
  EXPECT_EQ(counts.sentences_with_n, 1);
  filter.max_n_document = 0.4;  // the second document, 5 of 10, goes too
  counts = {};
  kept = filter_documents(three_sentences, filter, counts);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_TRUE(same(kept[0], {0, {10}}));
  EXPECT_EQ(counts.documents_with_n, 1);
}

TEST(FilterDocuments, NoSentenceOfARealisticCutTouchesTheHeldOutRegion) {
  DocumentFilter filter;
  filter.excluded = IntervalSet({{1'000'000, 2'000'000}});
  FilterCounts counts;
  const auto drawn = draw_documents("20", 5'000'000, 3, 9, {});
  const auto kept = filter_documents(drawn, filter, counts);
  std::int64_t bases = 0;
  for (const Document& document : kept) {
    EXPECT_TRUE(document.end() <= 1'000'000 || document.begin >= 2'000'000);
    bases += document.bases();
  }
  std::int64_t all = 0;
  for (const Document& document : drawn) all += document.bases();
  EXPECT_NEAR(static_cast<double>(all - bases), 1e6, 2000);  // at most one sentence too much on either side
}

}  // namespace
}  // namespace bigbird
