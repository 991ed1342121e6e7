// SHA-256; see sha256.h. FIPS 180-4, section 6.2.
#include "lib/io/files/sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/io/files/placing.h"

namespace bigbird {
void Sha256::update(const void* data, std::size_t size) {
  if (size == 0) return;  // an empty vector's data() may be null, which memcpy does not take
  static const Sha256Compress compress =
      sha256_compress_x86() != nullptr ? sha256_compress_x86() : sha256_compress_plain;
  const auto* next = static_cast<const std::uint8_t*>(data);
  total_ += size;
  if (pending_size_ > 0) {
    const std::size_t taken = std::min(size, pending_.size() - pending_size_);
    std::memcpy(pending_.data() + pending_size_, next, taken);
    pending_size_ += taken;
    next += taken;
    size -= taken;
    if (pending_size_ < pending_.size()) return;
    compress(state_, pending_.data(), 1);
    pending_size_ = 0;
  }
  const std::size_t whole = size / pending_.size();
  compress(state_, next, whole);
  next += whole * pending_.size();
  size -= whole * pending_.size();
  if (size > 0) std::memcpy(pending_.data(), next, size);
  pending_size_ = size;
}

std::string Sha256::finish() {
  const std::uint64_t bits = total_ * 8;
  std::array<std::uint8_t, 72> padding{};
  padding[0] = 0x80;
  const std::size_t zeros_end = (pending_size_ < 56 ? 56 : 120) - pending_size_;
  for (std::size_t i = 0; i < 8; ++i)
    padding[zeros_end + i] = static_cast<std::uint8_t>(bits >> (56 - 8 * i));
  update(padding.data(), zeros_end + 8);
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (const std::uint32_t word : state_) {
    for (int shift = 28; shift >= 0; shift -= 4) text += digits[(word >> shift) & 15u];
  }
  return text;
}

std::string sha256_bytes(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes.data(), bytes.size());
  return hash.finish();
}

std::string sha256_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int error = errno;
    throw_bad_input(fmt::format("{}: cannot read: {}", path, system_text(error)), reading_hint(error));
  }
  Sha256 hash;
  std::string piece(1 << 18, '\0');
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0) {
    hash.update(piece.data(), static_cast<std::size_t>(file.gcount()));
    throw_if_cancelled_anywhere();
  }
  if (file.bad()) throw_bad_input(path + ": cannot read", "check the file");
  return hash.finish();
}

}  // namespace bigbird
