// Teams whose ranks are threads of one process (tests/ranks/thread_ranks.h).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lib/training/rank_team.h"
#include "tests/ranks/thread_ranks.h"

namespace bigbird::testing {

// A team owns its ranks; these are a thread's.
class BorrowedRanks : public kernels::Ranks {
 public:
  explicit BorrowedRanks(kernels::Ranks& ranks) : ranks_(ranks) {}
  int rank() const override { return ranks_.rank(); }
  int count() const override { return ranks_.count(); }
  int rank_on_machine() const override { return ranks_.rank_on_machine(); }
  int count_on_machine() const override { return ranks_.count_on_machine(); }
  std::string engine() const override { return ranks_.engine(); }
  void broadcast(void* data, std::size_t bytes, int from) override { ranks_.broadcast(data, bytes, from); }
  void exchange(const void* to_each, void* from_each, std::size_t bytes) override {
    ranks_.exchange(to_each, from_each, bytes);
  }
  void all_gather(const void* mine, void* all, std::size_t bytes) override {
    ranks_.all_gather(mine, all, bytes);
  }
  void end_all(int status) override { ranks_.end_all(status); }

 private:
  kernels::Ranks& ranks_;
};

// body(team) as each of `count` ranks, side by side.
inline void run_team(int count, const std::function<void(RankTeam&)>& body) {
  run_ranks(count, [&](kernels::Ranks& ranks) {
    RankTeam team(std::make_unique<BorrowedRanks>(ranks));
    body(team);
  });
}

}  // namespace bigbird::testing
