// Sums in a fixed binary tree; see slice_sums.h.
#include "kernels/ranks/slice_sums.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>

namespace bigbird::kernels {

namespace {

constexpr Index usual_bucket = Index{8} << 20;

bool is_power_of_two(Index count) {
  return (count & (count - 1)) == 0;
}

void require_tree_of_ranks(int count) {
  if (!is_power_of_two(count)) {
    throw RanksError(std::to_string(count) + " ranks: their number is not a power of two",
                     "use 1, 2, 4, 8, ... ranks, as many as divide the parts of an update");
  }
  if (count > most_ranks) {
    throw RanksError(
        std::to_string(count) + " ranks: at most " + std::to_string(most_ranks) + " share an update",
        "use fewer ranks, each with more of the batch");
  }
}

Index bucket_size(const Ranks& ranks, Index count, Index bucket) {
  const Index each = (bucket > 0 ? bucket : usual_bucket) / ranks.count();
  return std::clamp<Index>(each, 1, std::max<Index>(slice_size(ranks.count(), count), 1));
}

IndexRange clipped(Index first, Index count, Index end) {
  const Index begin = std::min(first, end);
  return {begin, std::min(first + count, end) - begin};
}

std::size_t bytes_of(Index floats) {
  return static_cast<std::size_t>(floats) * sizeof(float);
}

// sums[p] of the parts that begin in `range`.
std::vector<double> squares_of_parts(Backend& backend, const float* data, Index count, IndexRange range) {
  const Index size = part_size(count);
  // Of parts that begin behind the end: 0.
  std::vector<double> squares(size > 0 ? static_cast<std::size_t>((range.count + size - 1) / size) : 0);
  const IndexRange there = clipped(range.first, range.count, count);
  if (there.count > 0) backend.sums_of_squares(data + there.first, there.count, size, squares.data());
  return squares;
}

// Adds what passes while it lives, work of the device before it not counted.
class Timed {
 public:
  Timed(Backend& backend, double& seconds) : backend_(backend), seconds_(seconds) {
    backend_.synchronize();
    start_ = Clock::now();
  }
  ~Timed() { seconds_ += std::chrono::duration<double>(Clock::now() - start_).count(); }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  Backend& backend_;
  double& seconds_;
  Clock::time_point start_;
};

double root_of_sum(const std::vector<double>& squares) {
  double sum = 0;
  for (const double square : squares) sum += square;
  return std::sqrt(sum);
}

}  // namespace

IndexRange slots_of_rank(const Ranks& ranks, Index slots) {
  const int count = ranks.count();
  require_tree_of_ranks(count);
  if (count > 1 && (slots % count != 0 || !is_power_of_two(slots))) {
    throw RanksError(std::to_string(count) + " ranks, and an update of " + std::to_string(slots) + " parts",
                     "give an update 2, 4, 8, ... parts, as many for every rank");
  }
  const Index each = slots / count;
  return {ranks.rank() * each, each};
}

Index part_size(Index count) {
  constexpr Index multiple = 64;
  const Index part = (count + parts_of_array - 1) / parts_of_array;
  return (part + multiple - 1) / multiple * multiple;
}

Index slice_size(int ranks, Index count) {
  return part_size(count) * (parts_of_array / ranks);
}

double norm_of_parts(Backend& backend, const float* data, Index count) {
  return root_of_sum(squares_of_parts(backend, data, count, {0, part_size(count) * parts_of_array}));
}

SliceSums::SliceSums(Ranks& ranks, Backend& backend, Index count, Index bucket)
    : ranks_(ranks), backend_(backend), count_(count) {
  require_tree_of_ranks(ranks.count());
  slice_ = slice_size(ranks.count(), count);
  bucket_ = bucket_size(ranks, count, bucket);
  own_ = clipped(ranks.rank() * slice_, slice_, count);
  if (ranks.count() == 1) return;
  const Index floats = bucket_ * ranks.count();
  sent_ = static_cast<float*>(backend_.allocate(2 * bytes_of(floats)));
  received_ = sent_ + floats;
  backend_.zero(sent_, 2 * bytes_of(floats));
  if (backend_.in_host_memory() || ranks_.device_copies() != nullptr) return;
  host_sent_.resize(static_cast<std::size_t>(floats));
  host_received_.resize(static_cast<std::size_t>(floats));
}

SliceSums::~SliceSums() {
  if (sent_ != nullptr) backend_.release(sent_);
}

SliceSums::Memory SliceSums::memory(const Ranks& ranks, const Backend& backend, Index count, Index bucket) {
  if (ranks.count() == 1) return {};
  const std::size_t bytes = 2 * bytes_of(bucket_size(ranks, count, bucket) * ranks.count());
  return {bytes, backend.in_host_memory() || ranks.device_copies() != nullptr ? 0 : bytes};
}

IndexRange SliceSums::piece(Index r, Index at, Index size) const {
  return clipped(r * slice_ + at, std::min(size, slice_ - at), count_);
}

void SliceSums::exchange(Index size) {
  const auto slice_bytes = bytes_of(size);
  if (DeviceCopies* const copies = ranks_.device_copies()) {
    backend_.synchronize();
    copies->exchange(sent_, received_, slice_bytes);
    return;
  }
  if (backend_.in_host_memory()) {
    ranks_.exchange(sent_, received_, slice_bytes);
    return;
  }
  const auto all = bytes_of(size * ranks_.count());
  backend_.download(host_sent_.data(), sent_, all);
  ranks_.exchange(host_sent_.data(), host_received_.data(), slice_bytes);
  backend_.upload(received_, host_received_.data(), all);
}

void SliceSums::reduce_scatter(float* data) {
  const Index count = ranks_.count();
  if (count == 1) return;
  const Timed timed(backend_, seconds_);
  for (Index at = 0; at < slice_; at += bucket_) {
    const Index size = std::min(bucket_, slice_ - at);
    for (Index r = 0; r < count; ++r) {
      const IndexRange there = piece(r, at, size);
      if (there.count > 0) backend_.copy(sent_ + r * size, data + there.first, bytes_of(there.count));
    }
    exchange(size);
    for (Index step = 1; step < count; step *= 2) {
      for (Index r = 0; r < count; r += 2 * step)
        backend_.add(received_ + (r + step) * size, received_ + r * size, size);
    }
    const IndexRange own = piece(ranks_.rank(), at, size);
    if (own.count > 0) backend_.copy(data + own.first, received_, bytes_of(own.count));
  }
}

void SliceSums::all_gather(float* data) {
  const Index count = ranks_.count();
  if (count == 1) return;
  const Timed timed(backend_, seconds_);
  for (Index at = 0; at < slice_; at += bucket_) {
    const Index size = std::min(bucket_, slice_ - at);
    const IndexRange own = piece(ranks_.rank(), at, size);
    if (own.count > 0) backend_.copy(sent_, data + own.first, bytes_of(own.count));
    if (DeviceCopies* const copies = ranks_.device_copies()) {
      backend_.synchronize();
      copies->all_gather(sent_, received_, bytes_of(size));
    } else if (backend_.in_host_memory()) {
      ranks_.all_gather(sent_, received_, bytes_of(size));
    } else {
      backend_.download(host_sent_.data(), sent_, bytes_of(size));
      ranks_.all_gather(host_sent_.data(), host_received_.data(), bytes_of(size));
      backend_.upload(received_, host_received_.data(), bytes_of(size * count));
    }
    for (Index r = 0; r < count; ++r) {
      const IndexRange there = piece(r, at, size);
      if (r != ranks_.rank() && there.count > 0)
        backend_.copy(data + there.first, received_ + r * size, bytes_of(there.count));
    }
  }
}

double SliceSums::norm(const float* data) {
  const std::vector<double> own = squares_of_parts(backend_, data, count_, {ranks_.rank() * slice_, slice_});
  return root_of_sum(gather_numbers(ranks_, own));
}

void SliceSums::collect(const float* own, float* whole) {
  std::vector<float> passing(static_cast<std::size_t>(bucket_));
  for (int r = 0; r < ranks_.count(); ++r) {
    for (Index at = 0; at < slice_; at += bucket_) {
      const IndexRange there = piece(r, at, bucket_);
      if (there.count == 0) break;
      float* const host = whole != nullptr ? whole + there.first : passing.data();
      if (r == ranks_.rank()) backend_.download(host, own + at, bytes_of(there.count));
      if (r > 0) ranks_.broadcast(host, bytes_of(there.count), r);
    }
  }
}

Index SlotSums::levels(Index slots) {
  Index levels = 0;
  while ((Index{1} << levels) < slots) ++levels;
  return levels;
}

SlotSums::SlotSums(Backend& backend, Index count, Index slots)
    : backend_(backend), count_(count), slots_(slots) {
  if (levels(slots) > 0) waiting_ = static_cast<float*>(backend_.allocate(bytes_of(levels(slots) * count)));
}

SlotSums::~SlotSums() {
  if (waiting_ != nullptr) backend_.release(waiting_);
}

// Slots are counted in binary: a bit of the count is an array that waits, and adding one carries.
void SlotSums::add(float* data) {
  const Index slot = next_++;
  const auto waits = [&](Index level) { return (slot >> level & 1) != 0; };
  Index level = 0;
  for (; waits(level); ++level) backend_.add(waiting(level), data, count_);
  if (next_ < slots_) {
    backend_.copy(waiting(level), data, bytes_of(count_));
    return;
  }
  const Index all = levels(slots_);
  for (++level; level < all; ++level) {
    if (waits(level)) backend_.add(waiting(level), data, count_);
  }
  next_ = 0;
}

}  // namespace bigbird::kernels
