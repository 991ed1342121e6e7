// Opening a named pipe in a way that a stop ends: open() itself waits for a writer, and goes on after a
// signal.
#pragma once

#include <string>

namespace bigbird {

// A descriptor of a pipe that somebody writes to, the caller's; -1 for a path that is no pipe, or that cannot
// be opened. Error{interrupted} once a stop is requested while nobody writes.
int open_pipe(const std::string& path);

}  // namespace bigbird
