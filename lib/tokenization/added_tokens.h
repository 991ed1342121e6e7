// lib/tokenization holds text and DNA to pieces and back, with offsets: our BPE, SentencePiece, byte-level
// BPE, tokenizer.json, and the trainers of vocabularies. Every tokenizer stands behind tokenizer.h, and gives
// the ids that its original gives.
//
// Pieces that are looked for in the text itself before it is encoded: [MASK] and its kin, and tokens that
// were added to a vocabulary after it was made.
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

// Those that are looked for in the normalised text, or the others.
std::vector<AddedToken> tokens_looked_for(const std::vector<AddedToken>& added, bool normalized);

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

// Tokens that were added to a vocabulary after it was made, as transformers writes them down beside it:
// `added_tokens_decoder` in tokenizer_config.json, else added_tokens.json (of the classes in Python);
// `additional_special_tokens` of tokenizer_config.json or special_tokens_map.json. What a tokenizer.json
// lists itself is its own (tokenizer_json.h, byte_level_definition.h).
struct AddedTokens {
  std::vector<AddedToken> tokens;       // ascending ids, each with its piece
  std::vector<std::string> new_pieces;  // texts of the ids behind those of the vocabulary
};

// Those of `folder`, for a vocabulary of these pieces in the file `where`. `known` are tokens that the
// vocabulary's own file lists: their flags hold. An additional special token that has no id yet gets the next
// one, as in transformers. Special tokens whose ids belong to other pieces (Pegasus's, which are numbered
// otherwise) are left out with one warning. Error{bad_input} naming the file: no JSON, a token without
// content or id, the id of another piece, ids with holes.
AddedTokens read_added_tokens(const std::string& folder, const std::vector<std::string>& pieces,
                              const std::vector<AddedToken>& known, const std::string& where);

}  // namespace bigbird
