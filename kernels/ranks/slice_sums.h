// Sums over ranks that do not depend on how many there are. An update has P = 2^k slots (micro-batches); R
// ranks, R a divisor of P, take P / R neighbouring slots each and fold them as a binary tree; here slices of
// the R sums go to their owners, who fold them as the upper levels of the same tree. So every sum of P
// numbers is taken in one order, ((0 + 1) + (2 + 3)) + ..., for R = 1 too, and the traffic is that of a
// ring's reduce-scatter.
#pragma once

#include <vector>

#include "kernels/ranks/ranks.h"
#include "kernels/types.h"

namespace bigbird::kernels {

// The slots of one rank.
struct SlotRange {
  Index first = 0;
  Index count = 0;
};
// RanksError where the ranks' number does not divide `slots`, or is no power of two.
SlotRange slots_of_rank(const Ranks& ranks, Index slots);

// a[i] += b[i]
void add_to(float* a, const float* b, Index count);

class SliceSums {
 public:
  // Arrays of ranks.count() slices of `slice` floats; at most `bucket` floats of a slice are on their way at
  // once, which bounds what is kept here: 2 * count() * bucket floats. The ranks' number must be a power of
  // two.
  SliceSums(Ranks& ranks, Index slice, Index bucket);

  // The own slice of `data` becomes the sum of all ranks' data there; the other slices stay as they are.
  void reduce_scatter(float* data);
  // Every rank's own slice of `data` to all.
  void all_gather(float* data);

 private:
  Ranks& ranks_;
  Index slice_;
  Index bucket_;
  std::vector<float> sent_;
  std::vector<float> received_;
};

// The sum of the slots of one rank, which come one after the other: lower levels of the tree. Any number of
// slots will do; of a power of two it is the tree of SliceSums.
class SlotSums {
 public:
  SlotSums(Index count, Index slots);
  // Arrays that wait for their other half, at most, beside the one that is given.
  static Index levels(Index slots);
  // Takes the next slot's numbers. After the last one `data` holds the sum, and the next call begins anew.
  void add(float* data);

 private:
  Index count_;
  Index slots_;
  Index next_ = 0;
  std::vector<std::vector<float>> waiting_;
};

}  // namespace bigbird::kernels
