// Lines of a pipe as they are written; see plain_input.h.
#include "lib/io/files/plain_input.h"

#include <htslib/hfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

namespace bigbird {

bool comes_as_it_is_written(const std::string& path) {
  struct stat status = {};
  const int failed = path == "-" ? ::fstat(STDIN_FILENO, &status) : ::stat(path.c_str(), &status);
  return failed == 0 && !S_ISREG(status.st_mode);
}

ssize_t read_next_line(BGZF* file, char* buffer, std::size_t size) {
  if (file->is_compressed != 0) return bgzf_read(file, buffer, size);
  if (size > 1) return hgetdelim(buffer, size, '\n', file->fp);  // it puts a NUL behind what it has read
  const int letter = size == 0 ? EOF : hgetc(file->fp);
  if (letter == EOF) return 0;
  *buffer = static_cast<char>(letter);
  return 1;
}

}  // namespace bigbird
