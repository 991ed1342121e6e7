// Pieces that are looked for in the text itself before it is encoded: [MASK] and its kin, and what a
// tokenizer.json lists as added tokens.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/tokenization/text_steps.h"

namespace bigbird {

struct AddedToken {
  std::string text;
  std::uint32_t id = 0;
  bool special = false;
  bool strips_left = false;   // takes the white space before it along
  bool strips_right = false;  // and after it
  bool normalized = false;    // is looked for in the normalised text
};

class AddedTokenFinder {
 public:
  AddedTokenFinder() = default;
  explicit AddedTokenFinder(const std::vector<AddedToken>& tokens);

  bool empty() const { return tokens_.empty(); }
  // Cuts `text` at its added tokens, from left to right, the longest where several begin. Calls
  // part(range, id) in order: id is the token's, or nothing for the text between tokens (never empty).
  void split(std::string_view text,
             const std::function<void(TextRange, std::optional<std::uint32_t>)>& part) const;

 private:
  const AddedToken* token_at(std::string_view text, std::size_t at) const;

  std::vector<AddedToken> tokens_;          // by first byte, then the longest first
  std::array<std::uint32_t, 257> first_{};  // tokens_[first_[byte]] is the first that begins with byte
};

}  // namespace bigbird
