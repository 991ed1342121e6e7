// Sums over slots and ranks: one order, whatever the number of ranks.
#include "kernels/ranks/slice_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "tests/ranks/thread_ranks.h"

namespace bigbird::kernels {
namespace {

using Floats = std::vector<float>;

// Numbers whose sum depends on the order.
Floats numbers_of_slot(Index slot, Index count) {
  Floats numbers;
  std::uint64_t state = static_cast<std::uint64_t>(slot) * 0x9e3779b97f4a7c15u + 1;
  for (Index i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    numbers.push_back((static_cast<float>(state >> 40) / 16777216.0f - 0.5f) *
                      static_cast<float>(1 << (i % 20)));
  }
  return numbers;
}

// What the headers promise, as it is written there: halves of a power of two.
Floats tree(Index first, Index slots, Index count) {
  if (slots == 1) return numbers_of_slot(first, count);
  Floats sum = tree(first, slots / 2, count);
  const Floats right = tree(first + slots / 2, slots / 2, count);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += right[i];
  return sum;
}

bool same_bytes(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

Floats sum_of_slots(Index first, Index slots, Index count) {
  const auto backend = make_cpu_backend();
  SlotSums sums(*backend, count, slots);
  Floats data;
  for (Index slot = first; slot < first + slots; ++slot) {
    data = numbers_of_slot(slot, count);
    sums.add(data.data());
  }
  return data;
}

TEST(SlotSums, OfAPowerOfTwoAreTheTree) {
  for (const Index slots : {1, 2, 4, 8, 16, 32})
    EXPECT_TRUE(same_bytes(sum_of_slots(3, slots, 33), tree(3, slots, 33))) << slots;
}

TEST(SlotSums, AnOrderOfTheNumbersAsTheyComeWouldDiffer) {
  Floats sum = numbers_of_slot(0, 33);
  for (Index slot = 1; slot < 16; ++slot) {
    const Floats next = numbers_of_slot(slot, 33);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += next[i];
  }
  EXPECT_FALSE(same_bytes(sum, tree(0, 16, 33)));
}

TEST(SlotSums, OtherNumbersOfSlotsHoldEveryOneOnce) {
  const auto backend = make_cpu_backend();
  for (Index slots = 1; slots <= 19; ++slots) {
    SlotSums sums(*backend, 1, slots);
    float data = 0;
    for (const int round : {0, 1}) {  // the second update begins anew
      for (Index slot = 0; slot < slots; ++slot) {
        data = static_cast<float>(1 << slot);
        sums.add(&data);
      }
      EXPECT_EQ(data, static_cast<float>((1 << slots) - 1)) << slots << " slots, round " << round;
    }
  }
  EXPECT_EQ(SlotSums::levels(1), 0);
  EXPECT_EQ(SlotSums::levels(8), 3);
  EXPECT_EQ(SlotSums::levels(9), 4);
}

// Arrays of fewer numbers than parts, of a part that is not full, and of many.
TEST(SliceSums, AreTheBytesOfOneRankForAnyNumberOfRanksAndAnyBucket) {
  constexpr Index slots = 16;
  for (const Index count : {Index{5}, Index{592}, 64 * Index{64} * 2, Index{20011}}) {
    const Floats expected = tree(0, slots, count);
    for (const int ranks : {1, 2, 4, 8, 16}) {
      for (const Index bucket : {Index{1000}, Index{7777}, Index{0}}) {
        std::vector<Floats> results(static_cast<std::size_t>(ranks));
        testing::run_ranks(ranks, [&](Ranks& own) {
          const auto backend = make_cpu_backend();
          const IndexRange mine = slots_of_rank(own, slots);
          Floats data = sum_of_slots(mine.first, mine.count, count);
          SliceSums sums(own, *backend, count, bucket);
          sums.reduce_scatter(data.data());
          sums.all_gather(data.data());
          results[static_cast<std::size_t>(own.rank())] = data;
        });
        for (const Floats& result : results)
          EXPECT_TRUE(same_bytes(result, expected)) << count << " " << ranks << " " << bucket;
      }
    }
  }
}

TEST(SliceSums, OwnEveryNumberOnceAndCollectThemOnRankZero) {
  for (const Index count : {Index{5}, Index{592}, Index{20011}}) {
    Floats expected;
    for (Index i = 0; i < count; ++i) expected.push_back(static_cast<float>(i));
    for (const int ranks : {1, 2, 8, 64}) {
      testing::run_ranks(ranks, [&](Ranks& own) {
        const auto backend = make_cpu_backend();
        SliceSums sums(own, *backend, count, 700);
        Floats slice;
        for (Index i = sums.own().first; i < sums.own().end(); ++i) slice.push_back(static_cast<float>(i));
        const bool first = own.rank() == 0;
        Floats whole(first ? static_cast<std::size_t>(count) : 0);
        sums.collect(slice.data(), first ? whole.data() : nullptr);
        EXPECT_EQ(whole, first ? expected : Floats{}) << count << " on " << ranks;
      });
    }
  }
}

TEST(SliceSums, TheNormIsThatOfOneRankToTheBit) {
  for (const Index count : {Index{5}, Index{20011}}) {
    Floats data = numbers_of_slot(1, count);
    const auto backend = make_cpu_backend();
    const double expected = norm_of_parts(*backend, data.data(), count);
    double plain = 0;
    for (const float x : data) plain += static_cast<double>(x) * static_cast<double>(x);
    EXPECT_NEAR(expected, std::sqrt(plain), 1e-9 * expected);
    for (const int ranks : {1, 2, 16}) {
      testing::run_ranks(ranks, [&](Ranks& own) {
        const auto mine = make_cpu_backend();
        EXPECT_EQ(SliceSums(own, *mine, count).norm(data.data()), expected) << count << " on " << ranks;
      });
    }
  }
}

TEST(SlotRange, NeighboursAndAllOfThem) {
  testing::run_ranks(4, [](Ranks& own) {
    const IndexRange range = slots_of_rank(own, 16);
    EXPECT_EQ(range.first, own.rank() * 4);
    EXPECT_EQ(range.count, 4);
    EXPECT_THROW(slots_of_rank(own, 2), RanksError);
    EXPECT_THROW(slots_of_rank(own, 12), RanksError);
  });
  testing::run_ranks(3, [](Ranks& own) { EXPECT_THROW(slots_of_rank(own, 6), RanksError); });
  EXPECT_EQ(slots_of_rank(*make_self_ranks(), 6).count, 6);
}

TEST(SliceSums, ThreeRanksAndMoreThanPartsAreRefused) {
  const auto backend = make_cpu_backend();
  testing::run_ranks(3, [&](Ranks& own) { EXPECT_THROW(SliceSums(own, *backend, 4), RanksError); });
  testing::run_ranks(128, [&](Ranks& own) { EXPECT_THROW(SliceSums(own, *backend, 4), RanksError); });
}

}  // namespace
}  // namespace bigbird::kernels
