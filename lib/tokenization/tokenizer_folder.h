// The tokenizer files of a folder: what they say together, and the same for transformers in a folder that is
// written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/tokenization/byte_level_definition.h"
#include "lib/tokenization/sentencepiece_model.h"
#include "lib/tokenization/text_encoding.h"
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

// The member of "bigbird" in tokenizer_config.json that holds the SHA-256 of a tokenizer.json which this
// program has written from the files beside it: they are read, not it.
inline constexpr const char* repeats_key = "tokenizer_json";

struct TokenizerFolderOptions {
  std::int64_t positions = 0;  // of the model: model_max_length; 0: as it is
  // What is done to texts before they are encoded, which a tokenizer.json then does in transformers.
  TextEncodingOptions encoding{.white_space = WhiteSpace::keep};
  bool second_type = false;  // the second text of a pair has token type 1
};

// Copies the tokenizer's files of folder `from` into `to` (which may be the same), with a tokenizer.json and
// a tokenizer_config.json by which AutoTokenizer of transformers 4 and 5 gives the ids of
// load_tokenizer(from): its own tokenizer.json where that is what is read, else one that is made. Word and
// character models of SentencePiece, which no tokenizer.json stands for, and what load_tokenizer() does not
// read, are copied as they are; the first with a warning.
void write_tokenizer_files(const std::string& from, const std::string& to,
                           const TokenizerFolderOptions& options = {});

}  // namespace bigbird
