// See file_digest.h.
#include "lib/io/files/file_digest.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "lib/io/files/file.h"
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

std::string sampled_digest(const std::string& path) {
  constexpr std::size_t stretches = 512, stretch_bytes = 4096;
  const MappedFile file(path);
  Sha256 digest;
  const std::string size = std::to_string(file.size());
  digest.update(size.data(), size.size());
  const std::size_t bytes = std::min(stretch_bytes, file.size());
  const std::size_t room = file.size() - bytes;  // for the first byte of a stretch
  for (std::size_t i = 0; i < stretches; ++i) {
    // Of quotient and remainder, so that the product stays in range.
    constexpr std::size_t steps = stretches - 1;
    digest.update(file.data() + room / steps * i + room % steps * i / steps, bytes);
  }
  return digest.finish();
}

}  // namespace bigbird
