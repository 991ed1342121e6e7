// See file_digest.h.
#include "lib/io/files/file_digest.h"

#include <filesystem>
#include <system_error>

#include "lib/io/files/sha256.h"

namespace bigbird {

FileDigest digest_of_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  return error ? FileDigest{} : FileDigest{bytes, sha256_file(path)};
}

bool file_has_digest(const std::string& path, const FileDigest& digest) {
  std::error_code error;
  if (digest.sha256.empty() || !std::filesystem::is_regular_file(path, error)) return false;
  return std::filesystem::file_size(path, error) == digest.bytes && !error &&
         sha256_file(path) == digest.sha256;
}

}  // namespace bigbird
