// See crc32c.h.
#include "lib/io/files/crc32c.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace bigbird {
namespace {

constexpr std::size_t slices = 8;
using CrcTables = std::array<std::array<std::uint32_t, 256>, slices>;

// tables[k][b]: what byte b becomes with k bytes of zeros behind it, so that eight bytes are taken at once.
constexpr CrcTables crc_tables = [] {
  CrcTables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? 0x82f63b78u : 0u);
    tables[0][byte] = value;
  }
  for (std::size_t k = 1; k < slices; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte)
      tables[k][byte] = tables[k - 1][byte] >> 8 ^ tables[0][tables[k - 1][byte] & 255];
  }
  return tables;
}();

}  // namespace

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) {
  static_assert(std::endian::native == std::endian::little);
  std::uint32_t crc = ~before;
  while (bytes.size() >= slices) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, bytes.data(), sizeof eight);
    eight ^= crc;
    crc = 0;
    for (std::size_t k = 0; k < slices; ++k)
      crc ^= crc_tables[slices - 1 - k][static_cast<std::size_t>(eight >> (8 * k) & 255)];
    bytes.remove_prefix(slices);
  }
  for (const char c : bytes) crc = crc >> 8 ^ crc_tables[0][(crc ^ static_cast<unsigned char>(c)) & 255];
  return ~crc;
}

std::uint32_t masked_crc32c(std::uint32_t crc) {
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

}  // namespace bigbird
