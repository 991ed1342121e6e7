// See recordings.h.
#include "kernels/cuda/recordings.h"

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
      destroy(entries_.back().graph);
      by_key_.erase(entries_.back().key);
      entries_.pop_back();
    }
    return;
  }
  entries_.splice(entries_.begin(), entries_, known->second);
  Entry& entry = entries_.front();
  if (entry.refused) return work();
  if (entry.graph.handle == nullptr) {
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
      return work();
    }
  } else {
    ++replays_;
  }
  run(entry.graph, stream_);
}

void Recordings::clear() noexcept {
  for (const Entry& entry : entries_) destroy(entry.graph);
  entries_.clear();
  by_key_.clear();
}

}  // namespace bigbird::kernels::cuda
