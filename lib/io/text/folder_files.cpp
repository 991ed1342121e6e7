// What lies in a folder, by name; see folder_files.h.
#include "lib/io/text/folder_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "lib/core/error.h"
#include "lib/io/files/file.h"

namespace bigbird {
namespace {

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

bool is_text_file_name(const std::string& name) {
  return has_suffix(name, ".txt") || has_suffix(name, ".txt.gz");
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
