// Times of indexes; see index_age.h.
#include "lib/io/genome/index_age.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "lib/core/log.h"

namespace bigbird {

void warn_if_older(const std::string& index, const std::string& path) {
  struct stat of_index {};
  struct stat of_file {};
  if (stat(index.c_str(), &of_index) != 0 || stat(path.c_str(), &of_file) != 0) return;
  if (of_index.st_mtime < of_file.st_mtime) {
    log_warning_once(fmt::format("{} is older than {}: make it again if the file changed", index, path));
  }
}

}  // namespace bigbird
