// Progress of long work, reported by the library and drawn by the app (rate, time left, terminal or one line
// a minute).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace bigbird {

struct ProgressEvent {
  std::string task;         // "tokenize"
  std::uint64_t done = 0;   // in `unit`s
  std::uint64_t total = 0;  // 0 when unknown
  std::string unit;         // "bp", "steps", "merges"
  std::string note;         // free text for the end of the line ("loss 7.91, 1234 tokens/s"); may be empty
  bool finished = false;
};

using ProgressSink = std::function<void(const ProgressEvent&)>;

void set_progress_sink(ProgressSink sink);

// One running task. Thread-safe; cheap enough to call per document, not per base.
class Progress {
 public:
  Progress(std::string task, std::uint64_t total, std::string unit);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(std::uint64_t amount, const std::string& note = {});

 private:
  ProgressEvent event_;
};

}  // namespace bigbird
