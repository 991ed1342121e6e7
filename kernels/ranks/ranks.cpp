// What all engines share, and the run of one process; see ranks.h.
#include "kernels/ranks/ranks.h"

#include <cstdint>
#include <cstring>

namespace bigbird::kernels {

namespace {

class SelfRanks : public Ranks {
 public:
  int rank() const override { return 0; }
  int count() const override { return 1; }
  int rank_on_machine() const override { return 0; }
  int count_on_machine() const override { return 1; }
  std::string engine() const override { return {}; }
  void broadcast(void*, std::size_t, int) override {}
  void exchange(const void* to_each, void* from_each, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(from_each, to_each, bytes);
  }
  void all_gather(const void* mine, void* all, std::size_t bytes) override {
    if (bytes > 0 && mine != all) std::memcpy(all, mine, bytes);
  }
  void end_all(int) override {}
};

}  // namespace

std::unique_ptr<Ranks> make_self_ranks() {
  return std::make_unique<SelfRanks>();
}

Ranks& this_process() {
  static SelfRanks alone;
  return alone;
}

std::vector<double> gather_numbers(Ranks& ranks, std::span<const double> mine) {
  std::vector<double> all(mine.size() * static_cast<std::size_t>(ranks.count()));
  ranks.all_gather(mine.data(), all.data(), mine.size_bytes());
  return all;
}

std::vector<std::string> gather_texts(Ranks& ranks, const std::string& mine) {
  const auto count = static_cast<std::size_t>(ranks.count());
  const std::uint64_t size = mine.size();
  std::vector<std::uint64_t> sizes(count);
  ranks.all_gather(&size, sizes.data(), sizeof size);
  std::uint64_t longest = 0;
  for (const std::uint64_t one : sizes) longest = one > longest ? one : longest;
  std::string padded = mine;
  padded.resize(longest);
  std::string all(longest * count, '\0');
  ranks.all_gather(padded.data(), all.data(), longest);
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < count; ++r) texts.push_back(all.substr(r * longest, sizes[r]));
  return texts;
}

}  // namespace bigbird::kernels
