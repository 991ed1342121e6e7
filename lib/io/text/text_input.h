// Private to lib/io/text: the bytes of a text file behind a window that can be looked into before it is read,
// so that a format is told from content where nothing can be opened twice (the standard input).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "lib/io/files/file.h"

namespace bigbird {

// The bytes of a file, `.gz` or "-". Errors: as InputStream. Movable.
class TextInput {
 public:
  explicit TextInput(const std::string& path);

  // What has been read and not taken. Valid until the next call of a member that is not const.
  std::string_view window() const { return {buffer_.data() + begin_, end_ - begin_}; }
  // The first `size` bytes of the window are done with.
  void take(std::size_t size) { begin_ += size; }
  // Reads more behind the window, which moves; false at the end, and the window is as it was.
  bool fill();
  // The window once it holds `size` bytes or all there are.
  std::string_view peek(std::size_t size);
  const std::string& path() const { return input_.path(); }

 private:
  InputStream input_;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool at_end_ = false;
};

}  // namespace bigbird
