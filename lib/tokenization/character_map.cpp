// A walk over a double array; see character_map.h.
#include "lib/tokenization/character_map.h"

#include <algorithm>

#include "lib/core/error.h"

namespace bigbird {
namespace {

constexpr std::string_view base64_letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::uint32_t unit_at(std::string_view bytes, std::size_t at) {
  std::uint32_t unit = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    unit |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return unit;
}

// darts-clone's fields of a unit.
bool has_leaf(std::uint32_t unit) {
  return ((unit >> 8) & 1) == 1;
}
std::uint32_t leaf_value(std::uint32_t unit) {
  return unit & 0x7fffffffu;
}
std::uint32_t label_of(std::uint32_t unit) {
  return unit & 0x800000ffu;
}
std::uint32_t offset_of(std::uint32_t unit) {
  return (unit >> 10) << ((unit & 0x200u) >> 6);
}

}  // namespace

CharacterMap::CharacterMap(std::string_view bytes, const std::string& where) : bytes_(bytes) {
  const std::size_t size = bytes_.size() < 4 ? 0 : unit_at(bytes_, 0);
  if (size == 0 || size % 4 != 0 || size > bytes_.size() - 4) {
    throw_bad_input(where + ": its table of characters is damaged", "copy the file again");
  }
  for (std::size_t at = 4; at < size + 4; at += 4) units_.push_back(unit_at(bytes_, at));
  texts_ = std::string_view(bytes_).substr(size + 4);
}

std::optional<std::string_view> CharacterMap::find(std::string_view text) const {
  std::uint32_t node = offset_of(units_[0]);
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte == 0) return std::nullopt;
    node ^= byte;
    if (node >= units_.size() || label_of(units_[node]) != byte) return std::nullopt;
    const std::uint32_t unit = units_[node];
    node ^= offset_of(unit);
    if (!has_leaf(unit)) continue;
    if (node >= units_.size()) return std::nullopt;
    const std::uint32_t begin = leaf_value(units_[node]);
    if (begin >= texts_.size()) return std::nullopt;
    return texts_.substr(begin, texts_.find('\0', begin) - begin);
  }
  return std::nullopt;
}

std::optional<std::string> decode_base64(std::string_view text) {
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  std::uint32_t held = 0;
  unsigned bits = 0;
  for (const char letter : text) {
    const std::size_t value = base64_letters.find(letter);
    if (value == std::string_view::npos) return std::nullopt;
    held = (held << 6 | static_cast<std::uint32_t>(value)) & 0xffffffu;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(held >> bits & 0xff);
  }
  return bytes;
}

std::string encode_base64(std::string_view bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t held = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    for (std::size_t i = 0; i < 3; ++i) {
      held = held << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= count ? base64_letters[held >> (18 - 6 * i) & 63] : '=';
    }
  }
  return text;
}

}  // namespace bigbird
