// Sums over ranks that do not depend on how many there are. An update has P = 2^k slots (micro-batches); R
// ranks, R a divisor of P, take P / R neighbouring slots each and fold them as a binary tree (SlotSums); then
// slices of the R sums go to their owners, who fold them as the upper levels of the same tree (SliceSums). So
// every sum of P numbers is taken in one order, ((0 + 1) + (2 + 3)) + ..., for R = 1 too, and the traffic is
// that of a ring's reduce-scatter.
//
// Arrays are in the memory of a backend. Engines that copy in the program's memory alone (no
// Ranks::device_copies()) get what a device holds by way of it.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/backend.h"
#include "kernels/ranks/ranks.h"
#include "kernels/types.h"

namespace bigbird::kernels {

struct IndexRange {
  Index first = 0;
  Index count = 0;
  Index end() const { return first + count; }
};

// The slots of one rank. RanksError where the ranks' number does not divide `slots`, is no power of two, or,
// with several ranks, where `slots` is none: then there is no one tree.
IndexRange slots_of_rank(const Ranks& ranks, Index slots);

// Every array is cut into so many parts, whatever the number of ranks, which own neighbouring ones.
inline constexpr Index parts_of_array = 64;
inline constexpr int most_ranks = static_cast<int>(parts_of_array);
// Numbers of a part: a multiple of 64. The last parts of an array of `count` may be shorter, or empty.
Index part_size(Index count);
// Root of the sum of squares of an array of `count`, taken part by part: what SliceSums::norm() gives on any
// number of ranks.
double norm_of_parts(Backend& backend, const float* data, Index count);
// Numbers of the largest slice, the first.
Index slice_size(int ranks, Index count);

// What ranks do with arrays of one size. Owns the buffers of what is on its way.
class SliceSums {
 public:
  // Arrays of `count` floats. At most `bucket` floats are sent at once, and as many received; 0: 8 Mi.
  // RanksError for a number of ranks that is no power of two, or above most_ranks.
  SliceSums(Ranks& ranks, Backend& backend, Index count, Index bucket = 0);
  ~SliceSums();
  SliceSums(const SliceSums&) = delete;
  SliceSums& operator=(const SliceSums&) = delete;
  // Bytes that it takes of its backend, and of the program's memory beside it.
  struct Memory {
    std::size_t backend = 0;
    std::size_t host = 0;
  };
  static Memory memory(const Ranks& ranks, const Backend& backend, Index count, Index bucket = 0);

  Ranks& ranks() const { return ranks_; }
  // The numbers that this rank owns; may be none.
  const IndexRange& own() const { return own_; }

  // The own slice of `data` becomes the sum of all ranks' data there; the other slices are of no use
  // afterwards.
  void reduce_scatter(float* data);
  // Every rank's own slice of `data` to all.
  void all_gather(float* data);
  // Of an array of which every rank has its own slice: the same on all ranks, and for any number of them.
  double norm(const float* data);
  // That reduce_scatter() and all_gather() took so far, their waiting for the other ranks included.
  double seconds() const { return seconds_; }
  // The whole array, of which every rank has its own slice at `own`, into the program's memory on rank 0:
  // `count` numbers. On other ranks `whole` is null.
  void collect(const float* own, float* whole);

 private:
  // Of slice r: where the bucket that begins at `at` of the slice lies in the array, and what is in it.
  IndexRange piece(Index r, Index at, Index size) const;
  void exchange(Index size);

  Ranks& ranks_;
  Backend& backend_;
  Index count_;
  Index slice_;   // numbers of every slice, but for the last ones
  Index bucket_;  // of a slice
  IndexRange own_;
  double seconds_ = 0;
  float* sent_ = nullptr;  // [ranks, bucket] each
  float* received_ = nullptr;
  std::vector<float> host_sent_;
  std::vector<float> host_received_;
};

// The sum of the slots of one rank, which come one after the other: lower levels of the tree. Any number of
// slots will do; of a power of two it is the tree of SliceSums.
class SlotSums {
 public:
  SlotSums(Backend& backend, Index count, Index slots);
  ~SlotSums();
  SlotSums(const SlotSums&) = delete;
  SlotSums& operator=(const SlotSums&) = delete;
  // Arrays that wait for their other half, at most, beside the one that is given.
  static Index levels(Index slots);
  // Takes the next slot's numbers. After the last one `data` holds the sum, and the next call begins anew.
  void add(float* data);
  // Forgets the slots that were added: an update that was given up.
  void begin_anew() { next_ = 0; }

 private:
  float* waiting(Index level) { return waiting_ + level * count_; }

  Backend& backend_;
  Index count_;
  Index slots_;
  Index next_ = 0;
  float* waiting_ = nullptr;  // [levels, count]
};

}  // namespace bigbird::kernels
