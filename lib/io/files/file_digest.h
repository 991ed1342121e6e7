// What a file held when it was written, to tell later whether it is still that file: whole, not cut, not
// another one.
#pragma once

#include <cstdint>
#include <string>

namespace bigbird {

struct FileDigest {
  std::uint64_t bytes = 0;
  std::string sha256;  // empty: not known
};

// Of a regular file as stored; without a sha256 for anything else (a folder, a pipe, "-", nothing at all).
FileDigest digest_of_file(const std::string& path);

// Whether `path` holds these bytes; looks at the size first. False where the digest is not known.
bool file_has_digest(const std::string& path, const FileDigest& digest);

// What tells a large file from another one in a fraction of a second: sha256 over its size and 512 stretches
// of 4 KiB, evenly spaced, the first and the last bytes included. A file that differs in single bytes
// elsewhere is not told apart. Errors as MappedFile.
std::string sampled_digest(const std::string& path);

}  // namespace bigbird
