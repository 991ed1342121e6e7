// Work that repeats, as CUDA graphs: one start for hundreds of kernels. Plain C++.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <string>
#include <utility>

#include "kernels/cuda/runtime.h"

namespace bigbird::kernels::cuda {

class Recordings {
 public:
  // Keys that are remembered; the one that was used longest ago is forgotten.
  static constexpr std::size_t most = 64;

  // allowance: bytes of the device's memory that the graphs of all recordings may take. It is passed at most
  // by the last that was made; from then on nothing new is recorded, which is told once, and work that has
  // no recording runs as it is.
  explicit Recordings(Stream stream, std::size_t allowance = std::numeric_limits<std::size_t>::max(),
                      std::function<void(const std::string&)> remark = {})
      : stream_(stream), allowance_(allowance), remark_(std::move(remark)) {}
  ~Recordings() { clear(); }
  Recordings(const Recordings&) = delete;
  Recordings& operator=(const Recordings&) = delete;

  // See Backend::replay(): the first time work runs as it is, the second time it is recorded, later the
  // recording runs. Work that the device makes no graph of (it may have no memory left for one) runs as it
  // is, then and later.
  void replay(std::uint64_t key, const std::function<void()>& work);
  // Recordings name addresses: for when memory that they may use goes away.
  void clear() noexcept;
  bool recording() const { return recording_; }
  // Of all calls so far: how many ran a recording.
  std::size_t replays() const { return replays_; }
  std::size_t refused() const { return refused_; }  // keys whose work could not be made a graph
  // What the device's memory lost while graphs were made, less what it won while they were destroyed; other
  // programs on the device disturb it.
  std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::uint64_t key = 0;
    Graph graph{};  // null until the second time
    bool refused = false;
  };
  std::list<Entry> entries_;  // the latest first
  std::map<std::uint64_t, std::list<Entry>::iterator> by_key_;
  // Counts what was taken or given back since `free` bytes were free.
  void account(std::size_t free) noexcept;
  void forget(const Entry& entry) noexcept;

  Stream stream_;
  std::size_t allowance_;
  std::size_t bytes_ = 0;
  std::function<void(const std::string&)> remark_;
  bool told_ = false;
  bool recording_ = false;
  std::size_t replays_ = 0;
  std::size_t refused_ = 0;
};

}  // namespace bigbird::kernels::cuda
