// Sums in a fixed binary tree; see slice_sums.h.
#include "kernels/ranks/slice_sums.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>

namespace bigbird::kernels {

namespace {

void require_power_of_two(int count) {
  if ((count & (count - 1)) == 0) return;
  throw RanksError(std::to_string(count) + " ranks: their number is no power of two",
                   "use 1, 2, 4, 8, ... ranks, as many as divide the parts of an update");
}

}  // namespace

SlotRange slots_of_rank(const Ranks& ranks, Index slots) {
  require_power_of_two(ranks.count());
  const Index each = slots / ranks.count();
  if (each * ranks.count() != slots) {
    throw RanksError(std::to_string(ranks.count()) + " ranks do not divide the " + std::to_string(slots) +
                         " parts of an update",
                     "use as many ranks, or cut an update into as many parts, that one divides the other");
  }
  return {ranks.rank() * each, each};
}

void add_to(float* a, const float* b, Index count) {
  for (Index i = 0; i < count; ++i) a[i] += b[i];
}

SliceSums::SliceSums(Ranks& ranks, Index slice, Index bucket)
    : ranks_(ranks), slice_(slice), bucket_(std::min(slice, bucket)) {
  const int count = ranks.count();
  require_power_of_two(count);
  if (slice < 1 || bucket < 1) throw std::logic_error("SliceSums: an empty slice or bucket");
  if (count == 1) return;
  sent_.resize(static_cast<std::size_t>(bucket_ * count));
  received_.resize(sent_.size());
}

void SliceSums::reduce_scatter(float* data) {
  const Index count = ranks_.count();
  if (count == 1) return;
  float* const own = data + ranks_.rank() * slice_;
  for (Index at = 0; at < slice_; at += bucket_) {
    const Index size = std::min(bucket_, slice_ - at);
    for (Index r = 0; r < count; ++r) std::copy_n(data + r * slice_ + at, size, sent_.data() + r * size);
    ranks_.exchange(sent_.data(), received_.data(), static_cast<std::size_t>(size) * sizeof(float));
    for (Index step = 1; step < count; step *= 2) {
      for (Index r = 0; r < count; r += 2 * step)
        add_to(received_.data() + r * size, received_.data() + (r + step) * size, size);
    }
    std::copy_n(received_.data(), size, own + at);
  }
}

void SliceSums::all_gather(float* data) {
  ranks_.all_gather(data + ranks_.rank() * slice_, data, static_cast<std::size_t>(slice_) * sizeof(float));
}

Index SlotSums::levels(Index slots) {
  Index levels = 0;
  while ((Index{1} << levels) < slots) ++levels;
  return levels;
}

SlotSums::SlotSums(Index count, Index slots) : count_(count), slots_(slots) {
  waiting_.assign(static_cast<std::size_t>(levels(slots)),
                  std::vector<float>(static_cast<std::size_t>(count)));
}

// Slots are counted in binary: a bit of the count is an array that waits, and adding one carries.
void SlotSums::add(float* data) {
  const Index slot = next_++;
  const auto waits = [&](std::size_t level) { return (slot >> level & 1) != 0; };
  std::size_t level = 0;
  for (; waits(level); ++level) add_to(data, waiting_[level].data(), count_);
  if (next_ < slots_) {
    std::copy_n(data, count_, waiting_[level].data());
    return;
  }
  for (++level; level < waiting_.size(); ++level) {
    if (waits(level)) add_to(data, waiting_[level].data(), count_);
  }
  next_ = 0;
}

}  // namespace bigbird::kernels
