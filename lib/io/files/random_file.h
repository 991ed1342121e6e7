// Bytes of a regular file at any place, as stored. Safe for concurrent calls; nothing is mapped, so that a
// file that is cut meanwhile is an Error and no signal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace bigbird {

// True for what exists and can be read once only, from its beginning: a pipe, a socket, a terminal.
bool is_stream_only(const std::string& path);
// Error{bad_input} "PATH: can be read only once, and WHY" for such a path.
void refuse_stream(const std::string& path, const std::string& why);

class RandomFile {
 public:
  // Error{bad_input} for what cannot be opened, or is no regular file.
  explicit RandomFile(const std::string& path);
  ~RandomFile();
  RandomFile(const RandomFile&) = delete;
  RandomFile& operator=(const RandomFile&) = delete;

  std::int64_t size() const { return size_; }
  const std::string& path() const { return path_; }
  // Up to `size` bytes from `offset`; fewer only where the file ends.
  std::size_t read(std::int64_t offset, void* buffer, std::size_t size) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace bigbird
