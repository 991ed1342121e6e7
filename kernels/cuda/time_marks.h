// Marks in a CUDA stream, by its events. Plain C++.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cuda/runtime.h"

namespace bigbird::kernels::cuda {

class StreamTimeMarks final : public TimeMarks {
 public:
  explicit StreamTimeMarks(Stream stream) : stream_(stream) {}
  ~StreamTimeMarks() override;
  StreamTimeMarks(const StreamTimeMarks&) = delete;
  StreamTimeMarks& operator=(const StreamTimeMarks&) = delete;
  void add() override;
  std::vector<double> take_milliseconds() override;

 private:
  Stream stream_;
  std::vector<Event> events_;  // which are used again
  std::size_t marks_ = 0;      // how many of them are marks
};

}  // namespace bigbird::kernels::cuda
