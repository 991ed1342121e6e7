// See user_cache.h.
#include "lib/core/user_cache.h"

#include <sys/stat.h>
#include <unistd.h>

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

bool may_be_trusted(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return false;
  return (status.st_uid == geteuid() || status.st_uid == 0) && (status.st_mode & S_IWOTH) == 0;
}

}  // namespace bigbird
