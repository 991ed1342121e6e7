// lib/tokenization holds text and DNA to pieces and back, with offsets: our BPE, SentencePiece, byte-level
// BPE, tokenizer.json, and the trainers of vocabularies. Every tokenizer stands behind tokenizer.h, and gives
// the ids that its original gives.
//
// Tokens that were added to a vocabulary after it was made, as transformers writes them down beside it:
// `added_tokens_decoder` in tokenizer_config.json, else added_tokens.json (of the classes in Python);
// `additional_special_tokens` of tokenizer_config.json or special_tokens_map.json. What a tokenizer.json
// lists itself is its own (tokenizer_json.h, byte_level_definition.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/tokenization/added_tokens.h"

namespace bigbird {

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
