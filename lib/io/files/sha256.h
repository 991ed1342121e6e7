// SHA-256 (FIPS 180-4), for provenance and checksums of inputs; not for secrets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/io/files/sha256_blocks.h"

namespace bigbird {

class Sha256 {
 public:
  void update(const void* data, std::size_t size);
  // The digest as 64 lower-case hexadecimal digits. Call once.
  std::string finish();

 private:
  Sha256State state_{0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
                     0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};
  std::array<std::uint8_t, sha256_block_bytes> pending_{};
  std::size_t pending_size_ = 0;
  std::uint64_t total_ = 0;
};

std::string sha256_bytes(std::string_view bytes);
// Of the bytes as stored (a .gz is not decompressed).
std::string sha256_file(const std::string& path);

}  // namespace bigbird
