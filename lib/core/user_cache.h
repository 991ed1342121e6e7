// The folder of the user for what can be made again: tables of products, packed weights.
#pragma once

#include <functional>
#include <string>

namespace bigbird {

// The program's part of $XDG_CACHE_HOME, or of $HOME/.cache (XDG Base Directory Specification); "" without
// either. `variable(name)` is null where there is none.
std::string user_cache_folder(const std::function<const char*(const char*)>& variable);

}  // namespace bigbird
