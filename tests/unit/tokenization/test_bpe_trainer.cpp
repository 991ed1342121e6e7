// The exact trainer against the quadratic definition in reference/, and the rules that the definition states.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/tokenization/bpe_trainer.h"
#include "reference/tokenization.h"
#include "tests/support/sanitizer.h"

namespace bigbird {
namespace {

std::vector<std::string> train_exact(const std::vector<std::string>& sentences, std::uint32_t wanted,
                                     std::uint32_t max_piece_length, PairRule rule = PairRule::adjacent) {
  BpeSample sample;
  for (const std::string& sentence : sentences) sample.add(sentence);
  return make_exact_bpe_trainer(rule)->train(sample, {wanted, max_piece_length});
}

std::vector<std::string> train_reference(const std::vector<std::string>& sentences, std::uint32_t wanted,
                                         std::uint32_t max_piece_length, PairRule rule) {
  std::vector<std::string> pieces;
  const std::int64_t limit = max_piece_length == 0 ? 1000000 : max_piece_length;
  const auto pairs = rule == PairRule::adjacent ? reference::BpePairs::adjacent : reference::BpePairs::apart;
  for (const auto& learnt : reference::train_bpe(sentences, wanted, limit, pairs)) {
    pieces.push_back(learnt.piece);
  }
  return pieces;
}

// Sentences full of what makes training hard: homopolymers, tandem repeats, copies, N runs, tiny alphabets.
std::vector<std::string> difficult_sentences(std::uint64_t index) {
  CounterRng rng(7, Purpose::test, index);
  const std::uint64_t letters = 1 + rng.below(5);
  std::vector<std::string> sentences(static_cast<std::size_t>(rng.between(1, 6)));
  for (std::string& sentence : sentences) {
    const auto target = static_cast<std::size_t>(rng.between(0, 90));
    while (sentence.size() < target) {
      const std::uint64_t kind = rng.below(4);
      if (kind == 0) {
        sentence.append(static_cast<std::size_t>(rng.between(1, 12)), "ACGTN"[rng.below(letters)]);
      } else if (kind == 1) {
        std::string unit;
        for (std::int64_t i = rng.between(1, 4); i > 0; --i) unit += "ACGTN"[rng.below(letters)];
        for (std::int64_t i = rng.between(1, 6); i > 0; --i) sentence += unit;
      } else if (kind == 2 && sentence.size() > 4) {
        const auto begin = static_cast<std::size_t>(rng.below(sentence.size()));
        sentence += sentence.substr(begin, static_cast<std::size_t>(rng.between(1, 15)));
      } else {
        for (std::int64_t i = rng.between(1, 8); i > 0; --i) sentence += "ACGTN"[rng.below(letters)];
      }
    }
  }
  return sentences;
}

TEST(ExactBpeTrainer, EqualsTheQuadraticOraclePieceByPiece) {
  const std::uint32_t limits[] = {0, 0, 2, 3, 7, 16};
  constexpr std::uint64_t inputs = testing::under_sanitizer ? 120 : 600;
  std::size_t pieces = 0;
  for (std::uint64_t index = 0; index < inputs; ++index) {
    const std::vector<std::string> sentences = difficult_sentences(index);
    const std::uint32_t limit = limits[index % 6];
    const std::uint32_t wanted = index % 5 == 0 ? 4 : 400;
    for (const PairRule rule : {PairRule::adjacent, PairRule::apart}) {
      const std::vector<std::string> expected = train_reference(sentences, wanted, limit, rule);
      ASSERT_EQ(train_exact(sentences, wanted, limit, rule), expected)
          << "input " << index << ", limit " << limit;
      pieces += expected.size();
    }
  }
  EXPECT_GT(pieces, testing::under_sanitizer ? 1800u : 10000u);  // the inputs did give something to learn
}

TEST(ExactBpeTrainer, EqualsTheOracleOnALongerMixture) {
  std::vector<std::string> sentences;
  for (std::uint64_t index = 1000; index < 1060; ++index) {
    for (std::string& sentence : difficult_sentences(index)) sentences.push_back(std::move(sentence));
  }
  for (const PairRule rule : {PairRule::adjacent, PairRule::apart}) {
    EXPECT_EQ(train_exact(sentences, 300, 0, rule), train_reference(sentences, 300, 0, rule));
  }
}

TEST(ExactBpeTrainer, CountsRunsByTheRule) {
  // AAAAA holds four (A, A) side by side, two of them apart: more than the three (C, G), and fewer.
  const std::vector<std::string> sentences{"AAAAA", "CGTCGTTCG"};
  EXPECT_EQ(train_exact(sentences, 1, 0, PairRule::adjacent), std::vector<std::string>{"AA"});
  EXPECT_EQ(train_exact(sentences, 1, 0, PairRule::apart), std::vector<std::string>{"CG"});
}

TEST(ExactBpeTrainer, BreaksTiesByTheRule) {
  // (T, T) makes TT first. Of (A, TT) and (G, C), twice each, the older left piece wins side by side, the
  // shorter piece apart.
  const std::vector<std::string> sentences{"TTT", "TTT", "ATT", "ATT", "GC", "GC"};
  EXPECT_EQ(train_exact(sentences, 2, 0, PairRule::adjacent), (std::vector<std::string>{"TT", "ATT"}));
  EXPECT_EQ(train_exact(sentences, 2, 0, PairRule::apart), (std::vector<std::string>{"TT", "GC"}));
}

// tests/peers/bpe_trainer.py printed them: the merges of Hugging Face's BpeTrainer (tokenizers 0.22,
// min_frequency 2), in order. Runs, tandem repeats and many ties.
TEST(ExactBpeTrainer, EqualsHuggingFacesTrainerMergeByMerge) {
  const std::vector<std::string> sentences{"AAAAAAACGTTTTTCACACACACAGATTACAGATTACA",
                                           "GGGGCCCCGGGGTATATATATAAAAAAAAACGNNNNNNNNCGT",
                                           "CACACAGGGTTTTTACGACGACGNNNNAACCGGTT"};
  // As "left right".
  const std::vector<std::string> merges{
      "A A",   "A C",  "T T",  "N N",   "G G",  "AA AA",  "AC G",  "A T",     "C C",      "AC A",    "NN NN",
      "AT AT", "A TT", "C AC", "G ATT", "TT T", "TT TTT", "GG GG", "ACG ACG", "ACG NNNN", "ACA GATT"};
  std::vector<std::string> pieces = merges;
  for (std::string& piece : pieces) piece.erase(piece.find(' '), 1);
  EXPECT_EQ(train_exact(sentences, 40, 8), pieces);
  const auto learnt = reference::train_bpe(sentences, 40, 8, reference::BpePairs::adjacent);
  ASSERT_EQ(learnt.size(), merges.size());
  for (std::size_t i = 0; i < merges.size(); ++i)
    EXPECT_EQ(learnt[i].left + " " + learnt[i].right, merges[i]);
}

TEST(ExactBpeTrainer, NeverMergesAcrossSentences) {
  EXPECT_TRUE(train_exact({"A", "C", "A", "C", "A", "C"}, 10, 0).empty());
}

TEST(ExactBpeTrainer, StopsWhenNoPairOccursTwice) {
  EXPECT_EQ(train_exact({"ACGT", "AC"}, 100, 0), std::vector<std::string>{"AC"});
}

TEST(ExactBpeTrainer, RespectsTheLengthLimit) {
  for (const std::string& piece : train_exact({std::string(500, 'N'), std::string(300, 'A')}, 100, 16)) {
    EXPECT_LE(piece.size(), 16u);
  }
  EXPECT_TRUE(train_exact({"AAAAAAAA"}, 10, 1).empty());
}

TEST(BpeTrainer, RefusesAnUnknownName) {
  try {
    make_bpe_trainer("fast");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(error.message().find("fast"), std::string::npos);
  }
}

}  // namespace
}  // namespace bigbird
