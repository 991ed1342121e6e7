// The tokenizer files of a folder: what they say together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/tokenization/added_tokens.h"
#include "lib/tokenization/byte_level_definition.h"
#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/tokenization/tokenizer_json.h"

namespace bigbird {

// What load_tokenizer() makes a tokenizer of.
struct TokenizerSource {
  enum class Kind { dna, library, subword, byte_level };
  Kind kind = Kind::dna;
  bool from_json = false;  // tokenizer.json itself was read
  std::string path;        // the file, for messages
  std::string bytes;       // of it
  std::string digest;
  SpecialIds special;
  std::optional<SentencePieceModel> model;  // of a spiece.model
  std::vector<std::string> pieces;          // of it by id, and of what was added behind them
  std::vector<AddedToken> added;            // found in texts: of spiece.model, vocab.json and merges.txt
  std::string more;          // of a tokenizer.json, what files beside it add to it, in lines for the digest
  TokenizerJson definition;  // subword; dna where from_json
  ByteLevelDefinition byte_level;
};

// What was added beside the vocabulary's own file, into a definition of that file alone.
void add_tokens(const TokenizerSource& source, TokenizerJson& definition);

// Errors as load_tokenizer().
TokenizerSource read_tokenizer_source(const std::string& folder);

}  // namespace bigbird
