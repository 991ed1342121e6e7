// Looking for files that a file names; see find_file.h.
#include "lib/genomics/chromatin/find_file.h"

#include <fmt/format.h>

#include <filesystem>

#include "lib/core/error.h"
#include "lib/io/files/file.h"

namespace bigbird {
namespace {

bool is_absolute(const std::string& path) {
  return path.starts_with('/');
}

}  // namespace

std::string find_beside(const std::string& path, const std::string& folder, const std::string& where,
                        const std::string& hint) {
  if (is_absolute(path)) {
    if (file_exists(path)) return path;
    throw_bad_input(fmt::format("{}: the file {} that it names is not there", where, path), hint);
  }
  const std::string beside = folder == "." ? path : folder + "/" + path;
  if (file_exists(beside)) return beside;
  if (file_exists(path)) return path;
  throw_bad_input(fmt::format("{}: the file {} that it names is neither {} nor, from the working folder, {}",
                              where, path, folder == "." ? "./" + path : beside, path),
                  hint);
}

std::string path_from_folder(const std::string& path, const std::string& folder) {
  if (is_absolute(path)) return path;
  // Folders by their own names, not those of links to them: ".." leads out of the folder itself. The file
  // keeps its name, because an index may lie beside a link to it.
  const auto canonical = [](const std::string& place) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(place));
  };
  const std::filesystem::path file = canonical(parent_folder(path)) / std::filesystem::path(path).filename();
  return file.lexically_relative(canonical(folder)).string();
}

}  // namespace bigbird
