// The table of characters that SentencePiece compiles into a model ("precompiled_charsmap"): stretches of
// bytes and what they become. Layout: the bytes of a double array (little-endian units of 32 bits,
// darts-clone's), their number in front, and behind it the texts that it points to, each ended by a NUL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bigbird {

// Immutable after construction: safe from many threads at once.
class CharacterMap {
 public:
  // Error{bad_input} "WHERE: ..." for bytes that are no such table.
  CharacterMap(std::string_view bytes, const std::string& where);

  // What the shortest entry that begins the text becomes (the choice of Hugging Face's tokenizers).
  std::optional<std::string_view> find(std::string_view text) const;
  // The bytes as they were given.
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  std::vector<std::uint32_t> units_;
  std::string_view texts_;  // of bytes_
};

// Base64, as tokenizer.json holds such a table. nullopt for text that is none.
std::optional<std::string> decode_base64(std::string_view text);
std::string encode_base64(std::string_view bytes);

}  // namespace bigbird
