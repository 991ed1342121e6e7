// See user_cache.h.
#include "lib/core/user_cache.h"

namespace bigbird {

std::string user_cache_folder(const std::function<const char*(const char*)>& variable) {
  const auto word = [&](const char* name) {
    const char* const value = variable(name);
    return std::string(value == nullptr ? "" : value);
  };
  std::string folder = word("XDG_CACHE_HOME");
  if (folder.empty() && !word("HOME").empty()) folder = word("HOME") + "/.cache";
  return folder.empty() ? "" : folder + "/bigbird";
}

}  // namespace bigbird
