// Hashes. Stable ones of text, for random streams that are keyed by a name, and of numbers, to tell arrays
// apart, and one for tables. Not for untrusted input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
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

// For maps with texts for keys that are asked for parts of a text: std::unordered_map<std::string, T,
// TextHash, std::equal_to<>>.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

// Of arrays of numbers, one behind the other, eight bytes at a time.
class NumberDigest {
 public:
  template <typename T>
  void add(std::span<const T> values) {
    const char* const bytes = reinterpret_cast<const char*>(values.data());
    const std::size_t size = values.size_bytes();
    for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + at, size - at < sizeof word ? size - at : sizeof word);
      hash_ = (hash_ ^ word) * 0x100000001b3ull;
    }
    hash_ = (hash_ ^ values.size()) * 0x100000001b3ull;
  }
  template <typename T>
  void add(std::span<T> values) {
    add(std::span<const T>(values));
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325ull;
};

}  // namespace bigbird
