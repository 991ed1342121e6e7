// The byte-pair-encoding oracle on corpora small enough to work out by hand, one rule of the definition at a
// time.
#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "reference/tokenization.h"

namespace bigbird::reference {
namespace {

using Strings = std::vector<std::string>;

std::vector<BpePiece> train_apart(const Strings& sentences, std::int64_t pieces, std::int64_t longest) {
  return train_bpe(sentences, pieces, longest, BpePairs::apart);
}

std::vector<BpePiece> train_adjacent(const Strings& sentences, std::int64_t pieces, std::int64_t longest) {
  return train_bpe(sentences, pieces, longest, BpePairs::adjacent);
}

Strings names(const std::vector<BpePiece>& pieces) {
  Strings result;
  for (const BpePiece& piece : pieces) result.push_back(piece.piece);
  return result;
}

TEST(BpeTrainer, TakesTheMostFrequentPairAndRecounts) {
  // Pairs of GAGAGATA: GA 3, AG 2, AT 1, TA 1; then GA GA GA T A: (GA, GA) is one non-overlapping pair, so it
  // stops.
  EXPECT_EQ(train_apart({"GAGAGATA"}, 10, 16), (std::vector<BpePiece>{{"GA", "G", "A", 3}}));
  // A second copy makes it two: GAGA; then nothing but pairs that occur twice, and the shorter TA comes
  // first.
  const std::vector<BpePiece> twice = train_apart({"GAGAGATA", "GAGAGATA"}, 3, 16);
  EXPECT_EQ(twice,
            (std::vector<BpePiece>{{"GA", "G", "A", 6}, {"TA", "T", "A", 2}, {"GAGA", "GA", "GA", 2}}));
}

TEST(BpeTrainer, CountsRunsWithoutOverlap) {
  EXPECT_EQ(train_apart({"AAA"}, 1, 16).size(), 0u);        // one pair only
  EXPECT_EQ(train_apart({"AAAA"}, 1, 16).at(0).count, 2);   // two pairs
  EXPECT_EQ(train_apart({"AAAAA"}, 1, 16).at(0).count, 2);  // AA AA A
  EXPECT_EQ(train_apart({"AAA", "AAA"}, 1, 16).at(0).count, 2);
}

TEST(BpeTrainer, NeverJoinsTwoSentences) {
  EXPECT_TRUE(train_apart({"A", "C", "A", "C", "A", "C"}, 5, 16).empty());
  EXPECT_TRUE(train_apart({"", "AC", ""}, 5, 16).empty());
}

TEST(BpeTrainer, BreaksTiesByLengthThenLetters) {
  EXPECT_EQ(names(train_apart({"TG", "TG", "CA", "CA", "NN", "NN", "AT", "AT"}, 4, 16)),
            (Strings{"AT", "CA", "NN", "TG"}));
  // AC comes first by its letters; of (AC, G) and (C, C), twice each, the shorter wins.
  EXPECT_EQ(names(train_apart({"ACG", "ACG", "CC", "CC"}, 2, 16)), (Strings{"AC", "CC"}));
  // Occurrences are cut from the left: GGG becomes GG G, so the next piece is (GG, G).
  EXPECT_EQ(train_apart({"GGG", "GGG"}, 2, 16).at(1), (BpePiece{"GGG", "GG", "G", 2}));
}

TEST(BpeTrainer, CountsPairsSideBySide) {
  EXPECT_EQ(train_adjacent({"AAA"}, 1, 16).at(0).count, 2);
  EXPECT_EQ(train_adjacent({"AAAA"}, 2, 16), (std::vector<BpePiece>{{"AA", "A", "A", 3}}));
  EXPECT_EQ(train_adjacent({"AAAAAA"}, 2, 16).at(1), (BpePiece{"AAAA", "AA", "AA", 2}));
}

TEST(BpeTrainer, BreaksTiesSideBySideByAge) {
  EXPECT_EQ(names(train_adjacent({"TG", "TG", "CA", "CA", "NN", "NN", "AT", "AT"}, 4, 16)),
            (Strings{"AT", "CA", "NN", "TG"}));
  // AC comes first; of (C, C) and (AC, G), twice each, C is older than AC. Of (A, GG) and (C, C) A is older
  // than C, whatever the lengths are.
  EXPECT_EQ(names(train_adjacent({"ACG", "ACG", "CC", "CC"}, 2, 16)), (Strings{"AC", "CC"}));
  EXPECT_EQ(names(train_adjacent({"AGG", "AGG", "GG", "CC", "CC"}, 3, 16)), (Strings{"GG", "AGG", "CC"}));
}

TEST(BpeTrainer, NeverLearnsOnePieceTwice) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t letters = 1 + random() % 3;  // few letters: long runs, where borders could shift
    Strings corpus(1 + random() % 6);
    for (std::string& sentence : corpus) {
      for (std::size_t length = random() % 40; length > 0; --length) sentence += "ACG"[random() % letters];
    }
    for (const BpePairs pairs : {BpePairs::adjacent, BpePairs::apart}) {
      const Strings pieces = names(train_bpe(corpus, 30, 16, pairs));
      EXPECT_EQ(std::set<std::string>(pieces.begin(), pieces.end()).size(), pieces.size())
          << "trial " << trial;
    }
  }
}

TEST(BpeTrainer, ObeysTheLimitOnLength) {
  const Strings corpus(4, "ACGT");
  EXPECT_EQ(names(train_apart(corpus, 9, 2)), (Strings{"AC", "GT"}));
  EXPECT_EQ(names(train_apart(corpus, 9, 4)), (Strings{"AC", "GT", "ACGT"}));
  EXPECT_EQ(names(train_apart(corpus, 2, 4)), (Strings{"AC", "GT"}));
}

TEST(BpeTrainer, RefusesOtherLetters) {
  EXPECT_THROW(train_apart({"ACGT", "ACx"}, 1, 16), std::invalid_argument);
  EXPECT_THROW(train_apart({"acgt"}, 1, 16), std::invalid_argument);
}

TEST(BpeEncoder, MergesByRankAndLeftmostOnTies) {
  EXPECT_EQ(encode_bpe("ACG", {"CG", "AC"}), (Strings{"A", "CG"}));
  EXPECT_EQ(encode_bpe("ACG", {"AC", "CG"}), (Strings{"AC", "G"}));
  EXPECT_EQ(encode_bpe("AAA", {"AA"}), (Strings{"AA", "A"}));
  EXPECT_EQ(encode_bpe("", {"AA"}), Strings{});
  EXPECT_EQ(encode_bpe("ACGT", {}), (Strings{"A", "C", "G", "T"}));
}

TEST(BpeEncoder, AcceptsAPieceByAnySplit) {
  // TAA is listed after AA and was meant as (T, AA); TA first makes (TA, A), which spells it as well.
  EXPECT_EQ(encode_bpe("TAA", {"TA", "AA", "TAA"}), (Strings{"TAA"}));
  EXPECT_EQ(encode_bpe("TAA", {"AA", "TA", "TAA"}), (Strings{"TAA"}));
}

TEST(BpeEncoder, MergesOneOccurrenceAtATime) {
  // After the first AA, (AA, A) has the better rank than the second AA would have.
  EXPECT_EQ(encode_bpe("AAAA", {"AAA", "AA"}), (Strings{"AAA", "A"}));
  EXPECT_EQ(encode_bpe("AAAA", {"AA", "AAA"}), (Strings{"AA", "AA"}));
}

}  // namespace
}  // namespace bigbird::reference
