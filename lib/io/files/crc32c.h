// CRC-32C (Castagnoli's, of RFC 3720, appendix B.4), which TensorFlow's records and checkpoints carry.
#pragma once

#include <cstdint>
#include <string_view>

namespace bigbird {

// Of `bytes` behind others whose checksum is `before`.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

// As TensorFlow and LevelDB store it: rotated and moved, so that the checksum of data that hold checksums is
// another.
std::uint32_t masked_crc32c(std::uint32_t crc);

}  // namespace bigbird
