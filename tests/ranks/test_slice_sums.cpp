// Sums over slots and ranks: one order, whatever the number of ranks.
#include "kernels/ranks/slice_sums.h"

#include <gtest/gtest.h>

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
  SlotSums sums(count, slots);
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
    add_to(sum.data(), next.data(), 33);
  }
  EXPECT_FALSE(same_bytes(sum, tree(0, 16, 33)));
}

TEST(SlotSums, OtherNumbersOfSlotsHoldEveryOneOnce) {
  for (Index slots = 1; slots <= 19; ++slots) {
    SlotSums sums(1, slots);
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

TEST(SliceSums, AreTheBytesOfOneRankForAnyNumberOfRanksAndAnyBucket) {
  constexpr Index slots = 16, count = 16 * 37;
  const Floats expected = tree(0, slots, count);
  for (const int ranks : {1, 2, 4, 8, 16}) {
    for (const Index bucket : {Index{1}, Index{7}, Index{36}, Index{1000}}) {
      std::vector<Floats> results(static_cast<std::size_t>(ranks));
      testing::run_ranks(ranks, [&](Ranks& own) {
        const Index mine = slots / ranks;
        Floats data = sum_of_slots(own.rank() * mine, mine, count);
        SliceSums sums(own, count / ranks, bucket);
        sums.reduce_scatter(data.data());
        sums.all_gather(data.data());
        results[static_cast<std::size_t>(own.rank())] = data;
      });
      for (const Floats& result : results)
        EXPECT_TRUE(same_bytes(result, expected)) << ranks << " " << bucket;
    }
  }
}

TEST(SlotRange, NeighboursAndAllOfThem) {
  testing::run_ranks(4, [](Ranks& own) {
    const SlotRange range = slots_of_rank(own, 12);
    EXPECT_EQ(range.first, own.rank() * 3);
    EXPECT_EQ(range.count, 3);
    EXPECT_THROW(slots_of_rank(own, 6), RanksError);
  });
  testing::run_ranks(3, [](Ranks& own) { EXPECT_THROW(slots_of_rank(own, 6), RanksError); });
}

TEST(SliceSums, ThreeRanksAreRefused) {
  testing::run_ranks(3, [](Ranks& own) { EXPECT_THROW(SliceSums(own, 4, 4), RanksError); });
}

}  // namespace
}  // namespace bigbird::kernels
