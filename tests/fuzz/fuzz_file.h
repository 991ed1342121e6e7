// A fuzzer's bytes as a file: the readers take paths, and their memory maps and error messages belong to what
// is fuzzed.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "lib/core/error.h"

namespace bigbird::fuzz {

// A new file every time: cutting an old one to nothing makes some file systems write it out at once.
inline void write_bytes(const std::string& path, const std::uint8_t* data, std::size_t size) {
  std::remove(path.c_str());
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
}

// Writes the bytes to this process's own file, and calls read(path). An Error is a right answer; anything
// else that escapes, or that a sanitizer sees, is a finding.
template <typename Read>
int with_file(const char* suffix, const std::uint8_t* data, std::size_t size, const Read& read) {
  static const std::string path = "/tmp/bigbird-fuzz-" + std::to_string(getpid()) + suffix;
  write_bytes(path, data, size);
  try {
    read(path);
  } catch (const Error&) {
  }
  return 0;
}

}  // namespace bigbird::fuzz
