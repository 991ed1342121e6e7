// Work that repeats, as CUDA graphs: one start for hundreds of kernels. Plain C++.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>

#include "kernels/cuda/runtime.h"

namespace bigbird::kernels::cuda {

class Recordings {
 public:
  // Keys that are remembered; the one that was used longest ago is forgotten.
  static constexpr std::size_t most = 64;

  explicit Recordings(Stream stream) : stream_(stream) {}
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

 private:
  struct Entry {
    std::uint64_t key = 0;
    Graph graph{};  // null until the second time
    bool refused = false;
  };
  std::list<Entry> entries_;  // the latest first
  std::map<std::uint64_t, std::list<Entry>::iterator> by_key_;
  Stream stream_;
  bool recording_ = false;
  std::size_t replays_ = 0;
  std::size_t refused_ = 0;
};

}  // namespace bigbird::kernels::cuda
