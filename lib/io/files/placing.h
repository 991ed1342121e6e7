// Private to lib/io/files: what puts files in their places, and says why it cannot.
#pragma once

#include <string>

namespace bigbird {

[[noreturn]] void throw_cannot_write(const std::string& path, int error);
// A rename in the folder outlives a loss of power from then on.
void sync_folder(const std::string& path);

}  // namespace bigbird
