// See recordings.h.
#include "kernels/cuda/recordings.h"

#include <algorithm>
#include <stdexcept>

namespace bigbird::kernels::cuda {

void Recordings::replay(std::uint64_t key, const std::function<void()>& work) {
  if (recording_) throw std::logic_error("replay() inside of replay()");
  const auto known = by_key_.find(key);
  if (known == by_key_.end()) {
    work();
    entries_.push_front({key, {}, false});
    by_key_[key] = entries_.begin();
    if (entries_.size() > most) {
      forget(entries_.back());
      by_key_.erase(entries_.back().key);
      entries_.pop_back();
    }
    return;
  }
  entries_.splice(entries_.begin(), entries_, known->second);
  Entry& entry = entries_.front();
  if (entry.refused) return work();
  if (entry.graph.handle == nullptr) {
    if (bytes_ >= allowance_) {
      if (!told_ && remark_)
        remark_("CUDA graphs hold " + std::to_string(bytes_ >> 20) + " MiB, and " +
                std::to_string(allowance_ >> 20) +
                " MiB were planned for them: batches of new shapes run without, which takes longer");
      told_ = true;
      return work();
    }
    const std::size_t free = free_device_memory();
    begin_recording(stream_);
    recording_ = true;
    try {
      work();
    } catch (...) {
      recording_ = false;
      try {
        destroy(end_recording(stream_));
      } catch (const CudaError&) {  // the failure of the work is the one to report
      }
      throw;
    }
    recording_ = false;
    try {
      entry.graph = end_recording(stream_);
    } catch (const GraphRefused&) {
      entry.refused = true;
      ++refused_;
      account(free);
      return work();
    }
    run(entry.graph, stream_);  // the first run may take memory too
    return account(free);
  }
  ++replays_;
  run(entry.graph, stream_);
}

void Recordings::account(std::size_t free) noexcept {
  try {
    const std::size_t now = free_device_memory();
    if (now <= free) {
      bytes_ += free - now;
    } else {
      bytes_ -= std::min(bytes_, now - free);
    }
  } catch (const CudaError&) {  // a failure of the device is met by whatever uses it next
  }
}

void Recordings::forget(const Entry& entry) noexcept {
  if (entry.graph.handle == nullptr) return;
  try {
    const std::size_t free = free_device_memory();
    destroy(entry.graph);
    account(free);
  } catch (const CudaError&) {  // as above
    destroy(entry.graph);
  }
}

void Recordings::clear() noexcept {
  for (const Entry& entry : entries_) forget(entry);
  entries_.clear();
  by_key_.clear();
}

}  // namespace bigbird::kernels::cuda
