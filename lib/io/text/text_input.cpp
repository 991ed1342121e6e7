// Bytes of a text file with a look ahead, and what lies in a folder; see text_input.h.
#include "lib/io/text/text_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "lib/core/error.h"
#include "lib/io/files/file.h"

namespace bigbird {
namespace {

constexpr std::size_t text_piece_size = 1 << 16;

namespace fs = std::filesystem;

bool is_hidden(const fs::path& path) {
  return path.filename().native().front() == '.';
}

[[noreturn]] void throw_unreadable(const std::string& folder, const std::error_code& error) {
  throw_bad_input(fmt::format("{}: cannot read: {}", folder, error.message()),
                  "check that it is a folder that you may read");
}

template <typename Wanted>
std::vector<std::string> names_in(const std::string& folder, const Wanted& wanted) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (!is_hidden(entry->path()) && wanted(*entry)) names.push_back(entry->path().filename().native());
  }
  if (error) throw_unreadable(folder, error);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TextInput::TextInput(const std::string& path) : input_(path) {
  fill();  // a file that is no text is refused here
}

bool TextInput::fill() {
  if (at_end_) return false;
  if (begin_ > 0) {
    if (end_ > begin_) std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - end_ < text_piece_size) buffer_.resize(end_ + text_piece_size + end_ / 2);
  const std::size_t count = input_.read(buffer_.data() + end_, buffer_.size() - end_);
  end_ += count;
  at_end_ = count == 0;
  return !at_end_;
}

std::string_view TextInput::peek(std::size_t size) {
  while (end_ - begin_ < size && fill()) {
  }
  return window().substr(0, size);
}

bool is_text_file_name(const std::string& name) {
  return is_one_of(name, {".txt"});
}

bool is_one_of(std::string_view path, std::initializer_list<const char*> suffixes) {
  if (path.ends_with(".gz")) path.remove_suffix(3);
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](const char* suffix) { return path.ends_with(suffix); });
}

std::vector<std::string> text_files_in(const std::string& folder) {
  return names_in(folder, [](const fs::directory_entry& entry) {
    std::error_code ignored;
    return is_text_file_name(entry.path().filename().native()) && !entry.is_directory(ignored);
  });
}

std::vector<std::string> folders_in(const std::string& folder) {
  return names_in(folder, [](const fs::directory_entry& entry) {
    std::error_code ignored;
    return entry.is_directory(ignored);
  });
}

std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    const bool directory = entry->is_directory(ignored);
    if (is_hidden(entry->path())) {
      if (directory) entry.disable_recursion_pending();
    } else if (!directory) {
      paths.push_back(entry->path().lexically_relative(folder).native());
    }
  }
  if (error) throw_unreadable(folder, error);
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace bigbird
