// Masking: how many, which, and what takes their place.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "lib/core/error.h"
#include "lib/data/mlm_masking.h"
#include "tests/support/support.h"
#include "tests/support/tiny_training_data.h"

namespace bigbird {
namespace {

class MlmMasking : public ::testing::Test {
 protected:
  MlmMasking() {
    testing::write_tiny_tokenizer(folder_.path());
    tokenizer_ = load_tokenizer(folder_.path().string());
  }
  // [CLS] 50 tokens [SEP] 50 tokens [UNK] [SEP]
  static std::vector<std::int32_t> sequence() {
    std::vector<std::int32_t> ids = {2};
    for (std::int32_t i = 0; i < 50; ++i) ids.push_back(5 + i % 21);
    ids.push_back(3);
    for (std::int32_t i = 0; i < 50; ++i) ids.push_back(5 + (i * 7) % 21);
    ids.push_back(1);
    ids.push_back(3);
    return ids;
  }
  testing::TemporaryFolder folder_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_F(MlmMasking, HidesTheRoundedShareOfOrdinaryTokensOnly) {
  const MlmMasker masker(*tokenizer_, 0.15);
  for (std::uint64_t index = 0; index < 200; ++index) {
    std::vector<std::int32_t> ids = sequence();
    CounterRng rng(1, Purpose::mlm_masking, index);
    const MaskedTokens masked = masker.mask(ids, rng);
    ASSERT_EQ(masked.positions.size(), 15u);  // of 100
    for (std::size_t i = 0; i < masked.positions.size(); ++i) {
      const auto position = static_cast<std::size_t>(masked.positions[i]);
      if (i > 0) {
        ASSERT_GT(masked.positions[i], masked.positions[i - 1]);
      }
      EXPECT_EQ(masked.labels[i], sequence()[position]);
      EXPECT_GE(masked.labels[i], 5);
      EXPECT_TRUE(ids[position] == 4 || ids[position] >= 5);
    }
    std::size_t changed = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) changed += ids[i] != sequence()[i] ? 1u : 0u;
    EXPECT_LE(changed, masked.positions.size());
  }
}

TEST_F(MlmMasking, EightyTenTenAndEveryPositionAlike) {
  const MlmMasker masker(*tokenizer_, 0.15);
  std::vector<int> hits(sequence().size());
  double mask = 0, same = 0, random = 0;
  const int rounds = 4000;
  for (int index = 0; index < rounds; ++index) {
    std::vector<std::int32_t> ids = sequence();
    CounterRng rng(1, Purpose::mlm_masking, static_cast<std::uint64_t>(index));
    const MaskedTokens masked = masker.mask(ids, rng);
    for (std::size_t i = 0; i < masked.positions.size(); ++i) {
      const auto position = static_cast<std::size_t>(masked.positions[i]);
      ++hits[position];
      if (ids[position] == 4) {
        ++mask;
      } else if (ids[position] == masked.labels[i]) {
        ++same;
      } else {
        ++random;
      }
    }
  }
  const double all = mask + same + random;
  // A random id is the old one once in 21: those count as unchanged here.
  EXPECT_NEAR(mask / all, 0.8, 0.01);
  EXPECT_NEAR(same / all, 0.1 + 0.1 / 21, 0.008);
  EXPECT_NEAR(random / all, 0.1 - 0.1 / 21, 0.008);
  for (std::size_t i = 0; i < hits.size(); ++i) {
    const bool special = i == 0 || i == 51 || i >= 102;
    if (special) {
      EXPECT_EQ(hits[i], 0);
    } else {
      EXPECT_NEAR(hits[i], 0.15 * rounds, 5 * std::sqrt(0.15 * 0.85 * rounds));
    }
  }
}

TEST_F(MlmMasking, TheSameTokensAreHiddenWhereMasksStandForAll) {
  const MlmMasker usual(*tokenizer_, 0.15);
  const MlmMasker all(*tokenizer_, 0.15, MaskingUnit::tokens, 0, Masks::all);
  for (std::uint64_t index = 0; index < 50; ++index) {
    std::vector<std::int32_t> ids = sequence(), other = sequence();
    CounterRng rng(1, Purpose::mlm_masking, index), again(1, Purpose::mlm_masking, index);
    const MaskedTokens masked = all.mask(ids, rng);
    EXPECT_EQ(masked.positions, usual.mask(other, again).positions);
    for (std::size_t i = 0; i < masked.positions.size(); ++i) {
      const auto position = static_cast<std::size_t>(masked.positions[i]);
      EXPECT_EQ(ids[position], 4);
      EXPECT_EQ(masked.labels[i], sequence()[position]);
      ids[position] = masked.labels[i];
    }
    EXPECT_EQ(ids, sequence());
  }
}

TEST_F(MlmMasking, AtLeastOneTokenIsHiddenWhereThereIsOne) {
  EXPECT_EQ(masked_count(0.15, 0), 0);
  EXPECT_EQ(masked_count(0.15, 1), 1);
  EXPECT_EQ(masked_count(0.15, 3), 1);
  EXPECT_EQ(masked_count(0.15, 10), 2);
  EXPECT_EQ(masked_count(0.15, 4093), 614);  // the paper's length
  const MlmMasker masker(*tokenizer_, 0.15);
  CounterRng rng(1, Purpose::mlm_masking, 0);
  std::vector<std::int32_t> none = {2, 3, 3};
  EXPECT_TRUE(masker.mask(none, rng).positions.empty());
}

TEST_F(MlmMasking, SharesOutsideZeroToOneAreRefused) {
  EXPECT_THROW(MlmMasker(*tokenizer_, 0.0), Error);
  EXPECT_THROW(MlmMasker(*tokenizer_, 1.0), Error);
}

}  // namespace
}  // namespace bigbird
