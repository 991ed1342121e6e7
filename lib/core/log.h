// Messages from the library to whoever runs it. The library never prints: without a sink, messages are
// dropped.
#pragma once

#include <functional>
#include <string>

namespace bigbird {

enum class LogLevel { debug, info, warning };

using LogSink = std::function<void(LogLevel, const std::string&)>;

// Installed once by the app before any work starts; not thread-safe against concurrent log calls.
void set_log_sink(LogSink sink);

// Safe from any thread: calls to the sink are serialised.
void log_debug(const std::string& message);
void log_info(const std::string& message);
void log_warning(const std::string& message);

// Says a message only the first time this exact text is seen in the process (alias notes, full-attention
// notes).
void log_info_once(const std::string& message);
void log_warning_once(const std::string& message);

}  // namespace bigbird
