// Private to lib/io: what puts files in their places, and why files cannot be written or read.
#pragma once

#include <string>

namespace bigbird {

[[noreturn]] void throw_cannot_write(const std::string& path, int error);
// What to do about a file that cannot be opened or read, by the system's error number.
const char* reading_hint(int error);
// A rename in the folder outlives a loss of power from then on.
void sync_folder(const std::string& path);

}  // namespace bigbird
