// Reading at any place; see random_file.h.
#include "lib/io/files/random_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "lib/core/error.h"

namespace bigbird {

bool is_stream_only(const std::string& path) {
  struct stat status {};
  if (path == "-" || stat(path.c_str(), &status) != 0) return false;
  return S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || S_ISCHR(status.st_mode);
}

void refuse_stream(const std::string& path, const std::string& why) {
  if (!is_stream_only(path)) return;
  throw_bad_input(fmt::format("{}: can be read only once, and {}", path, why),
                  "write it to a file first, and give its name");
}

RandomFile::RandomFile(const std::string& path) : path_(path) {
  // A pipe that nobody writes to must not hold the program: O_NONBLOCK says nothing of regular files.
  descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  if (descriptor_ < 0 || fstat(descriptor_, &status) != 0) {
    const int error = errno;
    if (descriptor_ >= 0) close(descriptor_);
    throw_bad_input(fmt::format("{}: cannot read: {}", path, system_text(error)),
                    error == ENOENT ? "check the path" : "check that it is a file that you may read");
  }
  if (!S_ISREG(status.st_mode)) {
    close(descriptor_);
    throw_bad_input(fmt::format("{}: not a regular file", path),
                    "give the path of a file on disk, not a pipe or a folder");
  }
  size_ = status.st_size;
}

RandomFile::~RandomFile() {
  close(descriptor_);
}

std::size_t RandomFile::read(std::int64_t offset, void* buffer, std::size_t size) const {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t count = pread(descriptor_, static_cast<char*>(buffer) + done, size - done,
                                offset + static_cast<std::int64_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      throw_bad_input(fmt::format("{}: cannot read: {}", path_, system_text(errno)),
                      "check the disk that holds it");
    }
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

}  // namespace bigbird
