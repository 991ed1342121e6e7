// Log sink registry; see log.h.
#include "lib/core/log.h"

#include <mutex>
#include <set>
#include <utility>

namespace bigbird {
namespace {

struct LogState {
  std::mutex mutex;
  LogSink sink;
  std::set<std::string> said;
};

LogState& state() {
  static LogState instance;
  return instance;
}

void emit(LogLevel level, const std::string& message, bool once) {
  LogState& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  if (once && !s.said.insert(message).second) return;
  if (s.sink) s.sink(level, message);
}

}  // namespace

void set_log_sink(LogSink sink) {
  LogState& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  s.sink = std::move(sink);
  s.said.clear();
}

void log_debug(const std::string& message) {
  emit(LogLevel::debug, message, false);
}
void log_info(const std::string& message) {
  emit(LogLevel::info, message, false);
}
void log_warning(const std::string& message) {
  emit(LogLevel::warning, message, false);
}
void log_info_once(const std::string& message) {
  emit(LogLevel::info, message, true);
}
void log_warning_once(const std::string& message) {
  emit(LogLevel::warning, message, true);
}

}  // namespace bigbird
