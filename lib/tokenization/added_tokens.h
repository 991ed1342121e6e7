// Pieces that are looked for in the text itself before it is encoded: [MASK] and its kin, and tokens that
// were added to a vocabulary (added_token_files.h says where they are written down).
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
  bool normalized = false;    // is looked for in the normalised text, after those that are not
  bool single_word = false;   // not where a letter, a number or '_' stands beside it
};

class AddedTokenFinder {
 public:
  AddedTokenFinder() = default;
  explicit AddedTokenFinder(const std::vector<AddedToken>& tokens);

  bool empty() const { return tokens_.empty(); }
  // Cuts `text` at its added tokens, from left to right, the longest where several begin; where that one is
  // no word by itself, what it covers is passed over, as the tokenizers package does. Calls part(range, id)
  // in order: id is the token's, or nothing for the text between tokens (never empty).
  void split(std::string_view text,
             const std::function<void(TextRange, std::optional<std::uint32_t>)>& part) const;

 private:
  const AddedToken* token_at(std::string_view text, std::size_t at) const;

  std::vector<AddedToken> tokens_;          // by first byte, then the longest first
  std::array<std::uint32_t, 257> first_{};  // tokens_[first_[byte]] is the first that begins with byte
};

}  // namespace bigbird
