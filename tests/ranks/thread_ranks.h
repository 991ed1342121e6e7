// Ranks that are threads of one process: an engine for tests of what stands above engines.
#pragma once

#include <barrier>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "kernels/ranks/ranks.h"

namespace bigbird::testing {

class ThreadRanks : public kernels::Ranks {
 public:
  struct Meeting {
    explicit Meeting(int ranks) : barrier(ranks), places(static_cast<std::size_t>(ranks)) {}
    std::barrier<> barrier;
    std::vector<const void*> places;
  };
  ThreadRanks(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}

  int rank() const override { return rank_; }
  int count() const override { return static_cast<int>(meeting_.places.size()); }
  int rank_on_machine() const override { return rank_; }
  int count_on_machine() const override { return count(); }
  std::string engine() const override { return "threads"; }
  void broadcast(void* data, std::size_t bytes, int from) override {
    meet(data, [&] {
      if (rank_ != from) std::memcpy(data, place(from), bytes);
    });
  }
  void exchange(const void* to_each, void* from_each, std::size_t bytes) override {
    meet(to_each, [&] {
      for (int r = 0; r < count(); ++r)
        std::memcpy(at(from_each, r, bytes), at(place(r), rank_, bytes), bytes);
    });
  }
  void all_gather(const void* mine, void* all, std::size_t bytes) override {
    meet(mine, [&] {
      for (int r = 0; r < count(); ++r) {
        if (place(r) != at(all, r, bytes)) std::memcpy(at(all, r, bytes), place(r), bytes);
      }
    });
  }
  void end_all(int) override {}

 private:
  static const char* at(const void* data, int slice, std::size_t bytes) {
    return static_cast<const char*>(data) + static_cast<std::size_t>(slice) * bytes;
  }
  static char* at(void* data, int slice, std::size_t bytes) {
    return static_cast<char*>(data) + static_cast<std::size_t>(slice) * bytes;
  }
  const void* place(int rank) const { return meeting_.places[static_cast<std::size_t>(rank)]; }
  // Nobody reads before all are there, and nobody goes before all have read.
  template <typename Copy>
  void meet(const void* data, const Copy& copy) {
    meeting_.places[static_cast<std::size_t>(rank_)] = data;
    meeting_.barrier.arrive_and_wait();
    copy();
    meeting_.barrier.arrive_and_wait();
  }

  Meeting& meeting_;
  int rank_;
};

// body(ranks) as each of `count` ranks, side by side.
inline void run_ranks(int count, const std::function<void(kernels::Ranks&)>& body) {
  ThreadRanks::Meeting meeting(count);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadRanks ranks(meeting, rank);
      body(ranks);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace bigbird::testing
