// Random numbers: published vectors, the laws of each draw, and independence of what must be independent.
#include "lib/core/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "kernels/philox.h"
#include "lib/core/error.h"

namespace bigbird {
namespace {

// Random123's known-answer file (kat_vectors), philox4x32 with 10 rounds.
TEST(Philox, KnownAnswers) {
  struct Vector {
    std::uint64_t key, low, high;
    std::uint32_t words[4];
  };
  const Vector vectors[] = {
      {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {~0ull, ~0ull, ~0ull, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      // Digits of pi: counter 243f6a88 85a308d3 13198a2e 03707344, key a4093822 299f31d0.
      {0x299f31d0a4093822ull,
       0x85a308d3243f6a88ull,
       0x0370734413198a2eull,
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const Vector& vector : vectors) {
    const auto block = kernels::philox4x32(vector.key, vector.low, vector.high);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(block.word[i], vector.words[i]);
  }
}

TEST(Philox, DropoutKeepsTheShareItShould) {
  std::size_t kept = 0;
  for (std::uint64_t i = 0; i < 100000; ++i) kept += kernels::dropout_keep(1, 2, i, 0.1f) ? 1u : 0u;
  EXPECT_NEAR(static_cast<double>(kept), 90000, 500);  // five standard deviations
  EXPECT_TRUE(kernels::dropout_keep(1, 2, 3, 0.0f));
}

// first_kept_word() parts the words as the comparison of floats does: around the border and at both ends.
TEST(Philox, TheFirstKeptWordIsTheBorder) {
  for (const float probability : {0.0f, 1e-9f, 1.0f / 16777216.0f, 0.1f, 0.25f, 0.3f, 0.5f, 0.99999994f}) {
    const std::uint32_t border = kernels::first_kept_word(probability);
    std::vector<std::uint32_t> words{0u, 255u, 256u, ~0u};
    for (std::uint32_t away = 0; away < 600; ++away)
      words.insert(words.end(), {border - away, border + away});
    for (const std::uint32_t word : words) {
      EXPECT_EQ(word >= border, kernels::uniform_from_bits(word) >= probability)
          << probability << ' ' << word;
    }
  }
}

TEST(CounterRng, IsAFunctionOfSeedPurposeAndIndex) {
  CounterRng a(1, Purpose::test, 5);
  CounterRng b(1, Purpose::test, 5);
  std::vector<std::uint64_t> first;
  for (int i = 0; i < 9; ++i) first.push_back(a.next_u64());
  for (const std::uint64_t value : first) EXPECT_EQ(b.next_u64(), value);
  std::set<std::uint64_t> starts{first[0]};
  for (const std::uint64_t seed : {0ull, 2ull, 1ull << 32})
    starts.insert(CounterRng(seed, Purpose::test, 5).next_u64());
  for (const std::uint64_t index : {0ull, 4ull, 5ull | 1ull << 32, ~0ull})
    starts.insert(CounterRng(1, Purpose::test, index).next_u64());
  starts.insert(CounterRng(1, Purpose::dropout, 5).next_u64());
  EXPECT_EQ(starts.size(), 9u) << "two streams that differ in one thing begin alike";
}

TEST(CounterRng, BelowIsUniformAlsoForAwkwardBounds) {
  for (const std::uint64_t bound : {2ull, 3ull, 7ull, 5001ull}) {
    CounterRng rng(3, Purpose::test, bound);
    std::vector<double> counts(bound, 0);
    const std::size_t draws = 20000 * (bound < 100 ? 1 : 10);
    for (std::size_t i = 0; i < draws; ++i) {
      const std::uint64_t value = rng.below(bound);
      ASSERT_LT(value, bound);
      ++counts[value];
    }
    const double expected = static_cast<double>(draws) / static_cast<double>(bound);
    double chi_square = 0;
    for (const double count : counts) chi_square += (count - expected) * (count - expected) / expected;
    const double freedom = static_cast<double>(bound - 1);
    EXPECT_LT(chi_square, freedom + 5 * std::sqrt(2 * freedom) + 5) << bound;
  }
  CounterRng rng(3, Purpose::test, 0);
  EXPECT_EQ(rng.below(1), 0u);
  EXPECT_THROW(rng.below(0), Error);
}

TEST(CounterRng, BelowHandlesBoundsBeyond32Bits) {
  CounterRng rng(4, Purpose::test, 0);
  const std::uint64_t bound = (1ull << 40) + 12345;
  double sum = 0;
  bool above = false;
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t value = rng.below(bound);
    ASSERT_LT(value, bound);
    above = above || value > 0xffffffffull;
    sum += static_cast<double>(value);
  }
  EXPECT_TRUE(above);
  EXPECT_NEAR(sum / 20000 / static_cast<double>(bound), 0.5, 0.0102);  // five standard deviations of the mean
}

TEST(CounterRng, BetweenIncludesBothEnds) {
  CounterRng rng(5, Purpose::test, 0);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 200; ++i) seen.insert(rng.between(-2, 1));
  EXPECT_EQ(seen, (std::set<std::int64_t>{-2, -1, 0, 1}));
}

TEST(CounterRng, UniformAndNormalHaveTheirMoments) {
  CounterRng rng(6, Purpose::test, 0);
  constexpr int draws = 200000;
  double sum = 0, squares = 0, normal_sum = 0, normal_squares = 0, normal_fourth = 0;
  for (int i = 0; i < draws; ++i) {
    const double u = rng.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    squares += u * u;
    const double z = rng.normal();
    normal_sum += z;
    normal_squares += z * z;
    normal_fourth += z * z * z * z;
  }
  EXPECT_NEAR(sum / draws, 0.5, 0.0033);
  EXPECT_NEAR(squares / draws, 1.0 / 3, 0.0034);
  EXPECT_NEAR(normal_sum / draws, 0, 0.0112);
  EXPECT_NEAR(normal_squares / draws, 1, 0.0158);
  EXPECT_NEAR(normal_fourth / draws, 3, 0.11);
}

TEST(Shuffle, KeepsTheElementsAndReachesEveryOrder) {
  std::set<std::vector<int>> orders;
  for (std::uint64_t i = 0; i < 200; ++i) {
    std::vector<int> values{1, 2, 3};
    CounterRng rng(7, Purpose::test, i);
    shuffle(values, rng);
    orders.insert(values);
    std::sort(values.begin(), values.end());
    EXPECT_EQ(values, (std::vector<int>{1, 2, 3}));
  }
  EXPECT_EQ(orders.size(), 6u);
}

TEST(RandomPermutation, IsABijectionForEverySize) {
  for (std::uint64_t size = 1; size <= 260; ++size) {
    const RandomPermutation permutation(8, Purpose::test, 0, size);
    EXPECT_EQ(permutation.size(), size);
    std::vector<bool> seen(size, false);
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t value = permutation(i);
      ASSERT_LT(value, size);
      ASSERT_FALSE(seen[value]);
      seen[value] = true;
    }
  }
}

TEST(RandomPermutation, MixesAndDependsOnItsArguments) {
  constexpr std::uint64_t size = 10000;
  const RandomPermutation first(9, Purpose::test, 0, size);
  const RandomPermutation second(9, Purpose::test, 1, size);
  std::size_t fixed = 0, same = 0;
  double displacement = 0;
  for (std::uint64_t i = 0; i < size; ++i) {
    fixed += first(i) == i ? 1u : 0u;
    same += first(i) == second(i) ? 1u : 0u;
    displacement += std::fabs(static_cast<double>(first(i)) - static_cast<double>(i));
  }
  EXPECT_LT(fixed, 10u);
  EXPECT_LT(same, 10u);
  EXPECT_NEAR(displacement / size, size / 3.0, 150);
  EXPECT_THROW(RandomPermutation(9, Purpose::test, 0, 0), Error);
}

}  // namespace
}  // namespace bigbird
