// Progress sink registry; see progress.h.
#include "lib/core/progress.h"

#include <mutex>
#include <utility>

namespace bigbird {
namespace {

std::mutex& progress_mutex() {
  static std::mutex mutex;
  return mutex;
}

ProgressSink& progress_sink() {
  static ProgressSink sink;
  return sink;
}

}  // namespace

void set_progress_sink(ProgressSink sink) {
  const std::lock_guard<std::mutex> lock(progress_mutex());
  progress_sink() = std::move(sink);
}

Progress::Progress(std::string task, std::uint64_t total, std::string unit) {
  event_.task = std::move(task);
  event_.total = total;
  event_.unit = std::move(unit);
}

Progress::~Progress() {
  const std::lock_guard<std::mutex> lock(progress_mutex());
  event_.finished = true;
  if (progress_sink()) progress_sink()(event_);
}

void Progress::advance(std::uint64_t amount, const std::string& note) {
  const std::lock_guard<std::mutex> lock(progress_mutex());
  event_.done += amount;
  if (!note.empty()) event_.note = note;
  if (progress_sink()) progress_sink()(event_);
}

}  // namespace bigbird
