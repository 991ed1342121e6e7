// Whole-word masking: how many words, none in part, what takes their place, and what is no word.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "lib/core/error.h"
#include "lib/data/mlm_masking.h"
#include "tests/support/sanitizer.h"
#include "tests/support/tiny_text_data.h"
#include "tests/support/tiny_training_data.h"

namespace bigbird {
namespace {

using testing::first_inner;
using testing::first_word_start;

using Ids = std::vector<std::int32_t>;

class WholeWords : public ::testing::Test {
 protected:
  WholeWords() {
    testing::write_tiny_text_tokenizer(folder_.path());
    tokenizer_ = load_tokenizer(folder_.path().string());
  }
  MlmMasker masker(std::int64_t ordinary_tokens, double probability = 0.15) const {
    return {*tokenizer_, probability, MaskingUnit::words, ordinary_tokens};
  }
  static std::int32_t start(std::uint64_t letter) {
    return static_cast<std::int32_t>(first_word_start + letter % 26);
  }
  static std::int32_t inner(std::uint64_t letter) {
    return static_cast<std::int32_t>(first_inner + letter % 26);
  }
  // [CLS] words [SEP]; the number of the word at every place, -1 for special pieces.
  struct Sample {
    Ids ids{static_cast<std::int32_t>(testing::tiny_cls)};
    std::vector<std::int64_t> word{-1};
    std::int64_t words = 0;
    void add_word(std::size_t pieces, CounterRng& rng) {
      for (std::size_t i = 0; i < pieces; ++i) {
        ids.push_back(i == 0 ? start(rng.below(26)) : inner(rng.below(26)));
        word.push_back(words);
      }
      ++words;
    }
    void add_special(std::uint32_t id, std::int64_t of_word = -1) {
      ids.push_back(static_cast<std::int32_t>(id));
      word.push_back(of_word);
    }
  };
  static Sample random_sample(std::uint64_t index, std::size_t least, std::size_t most) {
    CounterRng rng(1, Purpose::test, index);
    Sample sample;
    const std::size_t words = least + static_cast<std::size_t>(rng.below(most - least + 1));
    for (std::size_t i = 0; i < words; ++i) sample.add_word(1 + static_cast<std::size_t>(rng.below(5)), rng);
    sample.add_special(testing::tiny_sep);
    return sample;
  }
  static MaskedTokens mask(const MlmMasker& masker, Ids& ids, std::uint64_t index, std::uint64_t seed = 1) {
    CounterRng rng(seed, Purpose::mlm_masking, index);
    return masker.mask(ids, rng);
  }
  // Places of each drawn word.
  static std::set<std::int64_t> drawn(const Sample& sample, const MaskedTokens& masked) {
    std::set<std::int64_t> words;
    for (const std::int32_t position : masked.positions)
      words.insert(sample.word[static_cast<std::size_t>(position)]);
    return words;
  }

  testing::TemporaryFolder folder_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_F(WholeWords, BeginAtPiecesWithTheSignOfABlank) {
  const std::vector<bool> starts = word_starts(*tokenizer_);
  ASSERT_EQ(starts.size(), testing::tiny_text_pieces);
  for (std::uint32_t id = 0; id < starts.size(); ++id) {
    EXPECT_EQ(starts[id], id == 7 || (id >= first_word_start && id < first_inner)) << tokenizer_->piece(id);
  }
}

TEST_F(WholeWords, NeedAVocabularyThatMarksThem) {
  testing::TemporaryFolder folder;
  testing::write_tiny_tokenizer(folder.path());
  const auto dna = load_tokenizer(folder.path().string());
  EXPECT_THROW(word_starts(*dna), Error);
  EXPECT_THROW(MlmMasker(*dna, 0.15, MaskingUnit::words, 100), Error);
  EXPECT_NO_THROW(MlmMasker(*dna, 0.15, MaskingUnit::tokens, 100));
}

TEST_F(WholeWords, FifteenPercentOfAMillionWordsAndNoneInPart) {
  const MlmMasker words = masker(3000);
  std::int64_t all = 0, hidden = 0;
  for (std::uint64_t index = 0; all < (testing::under_sanitizer ? 50'000 : 1'000'000); ++index) {
    const Sample sample = random_sample(index, 300, 600);
    Ids ids = sample.ids;
    const MaskedTokens masked = mask(words, ids, index);
    const std::set<std::int64_t> found = drawn(sample, masked);
    ASSERT_EQ(static_cast<std::int64_t>(found.size()), masked_count(0.15, sample.words));
    const auto pieces = std::count_if(sample.word.begin(), sample.word.end(),
                                      [&](std::int64_t word) { return found.contains(word); });
    ASSERT_FALSE(found.contains(-1));
    ASSERT_EQ(static_cast<std::int64_t>(masked.positions.size()), pieces) << "a word is hidden in part";
    ASSERT_TRUE(std::is_sorted(masked.positions.begin(), masked.positions.end()));
    for (std::size_t i = 0; i < masked.labels.size(); ++i) {
      ASSERT_EQ(masked.labels[i], sample.ids[static_cast<std::size_t>(masked.positions[i])]);
    }
    all += sample.words;
    hidden += static_cast<std::int64_t>(found.size());
  }
  EXPECT_NEAR(static_cast<double>(hidden) / static_cast<double>(all), 0.15, 0.001);
}

TEST_F(WholeWords, EveryWordIsAsLikelyWhateverItsLength) {
  const MlmMasker words = masker(100);
  CounterRng rng(1, Purpose::test, 0);
  Sample sample;
  for (const std::size_t pieces : {1u, 6u, 2u, 4u, 1u, 3u, 5u, 1u, 2u, 3u}) sample.add_word(pieces, rng);
  std::vector<int> hits(10);
  constexpr int samples = 40000;
  for (std::uint64_t index = 0; index < samples; ++index) {
    Ids ids = sample.ids;
    for (const std::int64_t word : drawn(sample, mask(words, ids, index)))
      ++hits[static_cast<std::size_t>(word)];
  }
  for (const int count : hits) EXPECT_NEAR(count / double{samples}, 0.2, 0.01);  // round(1.5) of 10
}

TEST_F(WholeWords, EightyTenTenPieceByPiece) {
  if (testing::under_sanitizer) GTEST_SKIP() << "shares of a million draws; other tests draw too";
  const MlmMasker words = masker(3000);
  double all = 0, masks = 0, same = 0;
  std::vector<double> random(testing::tiny_text_pieces);
  std::int64_t mixed_words = 0;
  for (std::uint64_t index = 0; all < 1'000'000; ++index) {
    const Sample sample = random_sample(index, 400, 500);
    Ids ids = sample.ids;
    const MaskedTokens masked = mask(words, ids, index, 7);
    for (std::size_t i = 0; i < masked.positions.size(); ++i) {
      const auto at = static_cast<std::size_t>(masked.positions[i]);
      all += 1;
      if (ids[at] == static_cast<std::int32_t>(testing::tiny_mask)) {
        masks += 1;
      } else if (ids[at] == sample.ids[at]) {
        same += 1;
      } else {
        random[static_cast<std::size_t>(ids[at])] += 1;
      }
      const bool whole =
          i > 0 && sample.word[at] == sample.word[static_cast<std::size_t>(masked.positions[i - 1])];
      if (whole && (ids[at] == 6) != (ids[static_cast<std::size_t>(masked.positions[i - 1])] == 6))
        ++mixed_words;
    }
  }
  constexpr double ordinary = 53;
  double others = 0;
  for (std::uint32_t id = 0; id < random.size(); ++id) {
    others += random[id];
    // Ordinary pieces only, each as likely: "▁" is never a label here, so it is drawn a little more often.
    EXPECT_NEAR(random[id] / all, id < 7 ? 0.0 : 0.1 / ordinary, id < 7 ? 0.0 : 0.0003) << id;
  }
  EXPECT_NEAR(masks / all, 0.8, 0.003);
  EXPECT_NEAR(same / all, 0.1 + 0.1 / ordinary, 0.003);
  EXPECT_NEAR(others / all, 0.1 - 0.1 / ordinary, 0.003);
  EXPECT_GT(mixed_words, 10000) << "pieces of a word do not draw for themselves";
}

TEST_F(WholeWords, AreAFunctionOfSeedAndIndex) {
  const MlmMasker words = masker(3000);
  const Sample sample = random_sample(5, 300, 300);
  Ids first = sample.ids, again = sample.ids, other_index = sample.ids, other_seed = sample.ids;
  const MaskedTokens masked = mask(words, first, 9);
  EXPECT_EQ(mask(words, again, 9).positions, masked.positions);
  EXPECT_EQ(again, first);
  EXPECT_NE(mask(words, other_index, 10).positions, masked.positions);
  EXPECT_NE(mask(words, other_seed, 9, 2).positions, masked.positions);
}

TEST_F(WholeWords, OneIsAlwaysHiddenAndNoneWhereThereIsNone) {
  const MlmMasker words = masker(100);
  Ids one = {4, start(1), inner(2), 5};
  EXPECT_EQ(mask(words, one, 0).positions, (Ids{1, 2}));
  Ids none = {4, 3, 5, 3, 5};
  EXPECT_TRUE(mask(words, none, 0).positions.empty());
  EXPECT_EQ(none, (Ids{4, 3, 5, 3, 5}));
}

TEST_F(WholeWords, EndAtSeparatorsAndGoOnBehindUnknownPieces) {
  const MlmMasker words = masker(100, 0.01);  // one word each
  // a b [SEP] c d: without a word start behind [SEP], two words. a [UNK] b: one, without the unknown piece.
  const Ids parted = {4, start(0), inner(1), 5, inner(2), inner(3), 5};
  const Ids unknown = {4, start(0), 3, inner(1), start(2), 5};
  std::set<Ids> of_parted, of_unknown;
  for (std::uint64_t index = 0; index < 50; ++index) {
    Ids a = parted, b = unknown;
    of_parted.insert(mask(words, a, index).positions);
    of_unknown.insert(mask(words, b, index).positions);
    EXPECT_EQ(b[2], 3);
  }
  EXPECT_EQ(of_parted, (std::set<Ids>{{1, 2}, {4, 5}}));
  EXPECT_EQ(of_unknown, (std::set<Ids>{{1, 3}, {4}}));
}

TEST_F(WholeWords, AStretchWithoutBlanksIsMaskedPieceByPiece) {
  const MlmMasker words = masker(1000);
  Ids text = {4, start(0)};
  for (std::int64_t i = 1; i < longest_word; ++i) text.push_back(inner(1));
  Ids longer = text;
  text.push_back(5);
  longer.push_back(inner(2));
  longer.push_back(5);
  EXPECT_EQ(mask(words, text, 0).positions.size(), static_cast<std::size_t>(longest_word));
  EXPECT_EQ(mask(words, longer, 0).positions.size(), 5u);  // of 33
}

TEST_F(WholeWords, NeverMoreThanTheMemoryIsPlannedFor) {
  EXPECT_EQ(most_masked(MaskingUnit::tokens, 0.15, 4094), 614);
  EXPECT_EQ(most_masked(MaskingUnit::words, 0.15, 4094), 1228);
  EXPECT_EQ(most_masked(MaskingUnit::words, 0.15, 126), 64);
  EXPECT_EQ(most_masked(MaskingUnit::words, 0.15, 14), 14);
  // A sample whose long words may all be drawn together: 210 of its 300 pieces.
  const MlmMasker words = masker(300, 0.15);
  CounterRng rng(1, Purpose::test, 0);
  Sample sample;
  for (int i = 0; i < 7; ++i) sample.add_word(30, rng);
  for (int i = 0; i < 90; ++i) sample.add_word(1, rng);
  for (std::uint64_t index = 0; index < 500; ++index) {
    Ids ids = sample.ids;
    const MaskedTokens masked = mask(words, ids, index);
    ASSERT_LE(masked.positions.size(), 90u);
    const std::set<std::int64_t> found = drawn(sample, masked);
    const auto pieces = std::count_if(sample.word.begin(), sample.word.end(),
                                      [&](std::int64_t word) { return found.contains(word); });
    ASSERT_EQ(static_cast<std::int64_t>(masked.positions.size()), pieces);
  }
}

TEST_F(WholeWords, TokensAreMaskedAsBeforeByBothConstructors) {
  const MlmMasker before(*tokenizer_, 0.15), now(*tokenizer_, 0.15, MaskingUnit::tokens, 3000);
  const Sample sample = random_sample(3, 300, 300);
  Ids a = sample.ids, b = sample.ids;
  EXPECT_EQ(mask(before, a, 4).positions, mask(now, b, 4).positions);
  EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace bigbird
