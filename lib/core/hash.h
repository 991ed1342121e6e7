// A stable hash of text, for random streams that are keyed by a name. Not for untrusted input.
#pragma once

#include <cstdint>
#include <string_view>

namespace bigbird {

// FNV-1a, 64 bits.
constexpr std::uint64_t fnv1a_64(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char letter : text) {
    hash ^= static_cast<unsigned char>(letter);
    hash *= 0x100000001b3ull;
  }
  return hash;
}

}  // namespace bigbird
