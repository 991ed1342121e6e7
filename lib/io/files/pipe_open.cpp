// Waiting for the writer of a pipe; see pipe_open.h.
#include "lib/io/files/pipe_open.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/core/cancel.h"
#include "lib/core/error.h"

namespace bigbird {

int open_pipe(const std::string& path) {
  struct stat status {};
  if (path == "-" || stat(path.c_str(), &status) != 0 || !S_ISFIFO(status.st_mode)) return -1;
  const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return -1;  // whoever opens the path then says why
  constexpr int milliseconds = 100;
  // Before the first writer comes there is neither something to read nor an end.
  for (pollfd waiting{descriptor, POLLIN, 0}; poll(&waiting, 1, milliseconds) <= 0;) {
    try {
      throw_if_cancelled();
    } catch (const Error&) {
      close(descriptor);
      throw;
    }
  }
  const int flags = fcntl(descriptor, F_GETFL);
  fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK);
  return descriptor;
}

}  // namespace bigbird
