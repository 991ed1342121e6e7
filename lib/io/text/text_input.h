// Private to lib/io/text: the bytes of a text file behind a window that can be looked into before it is read,
// so that a format is told from content where nothing can be opened twice (the standard input); and the names
// of the files in a folder.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

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

// What lies in a folder, in an order that depends on names only (bytes compared). What begins with a dot is
// left out. Error{bad_input} for a folder that cannot be read.
//
// NAME.txt or NAME.txt.gz.
bool is_text_file_name(const std::string& name);
// Whether a path ends in one of these, or in one with .gz after it.
bool is_one_of(std::string_view path, std::initializer_list<const char*> suffixes);
// Names of the text files in a folder, not of those below it.
std::vector<std::string> text_files_in(const std::string& folder);
// Names of the folders in a folder.
std::vector<std::string> folders_in(const std::string& folder);
// Paths, relative to it, of all files in a folder and in those below it; links to folders are not followed.
std::vector<std::string> files_below(const std::string& folder);

}  // namespace bigbird
